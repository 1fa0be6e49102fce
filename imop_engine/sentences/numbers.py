"""Numbers, intervals, counts and lists in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

MISSING: Final = "–"  # stands where there is no number
NOT_DEFINED: Final = "not defined"
# A weight on return below 0.02: there the next grid point of any fit is twice or half of it.
MOST_AVERSE: Final = 98.0
# A frontier that misses holdings by more than twice what they vary by is none that they are on.
LEAST_EXPLAINED: Final = -1.0


def percent(value: float) -> str:
    """A return with two digits after the point, more where it is small.

    >>> percent(0.0731), percent(0.00002)
    ('7.31%', '0.002%')
    """
    size = abs(100.0 * value)
    digits = 2 if size >= 0.1 or size == 0.0 else int(np.ceil(-np.log10(size)))
    return f"{100.0 * value:.{min(digits, 8)}f}%"


def percent_and_points(value: float) -> str:
    """A small return in per cent and in basis points, with digits enough not to read as nothing.

    >>> percent_and_points(0.0123), percent_and_points(0.00012), percent_and_points(2e-7)
    ('1.23% (123 basis points)', '0.012% (1.2 basis points)', '0.0000% (0.00 basis points)')
    """
    size = abs(1e4 * value)
    digits = 0 if size >= 10.0 else 1 if size >= 1.0 else 2
    return f"{100.0 * value:.{digits + 2}f}% ({1e4 * value:.{digits}f} basis points)"


def between(low: float, high: float) -> str:
    """Both ends of an interval, with digits enough to tell them apart.

    >>> between(0.0731, 0.0944), between(0.179098, 0.179104)
    ('between 7.31% and 9.44%', 'between 17.9098% and 17.9104%')
    """
    width = 100.0 * (high - low)
    digits = max(2, min(8, int(np.ceil(-np.log10(width))))) if width > 0.0 else 2
    return f"between {100.0 * low:.{digits}f}% and {100.0 * high:.{digits}f}%"


def percent_cell(value: float, digits: int = 2) -> str:
    """A fraction as a table shows it: always two digits, a dash where there is no number.

    Args:
        value: The fraction.
        digits: How many after the point, where two are not enough.

    >>> percent_cell(0.07314), percent_cell(0.00012, 3), percent_cell(float("nan"))
    ('7.31%', '0.012%', '–')
    """
    return f"{100.0 * value:.{digits}f}%" if np.isfinite(value) else MISSING


def between_cell(low: float, high: float) -> str:
    """Both ends of an interval as a table shows them.

    >>> between_cell(-0.012, 0.0344)
    '-1.20% to 3.44%'
    """
    return f"{percent_cell(low)} to {percent_cell(high)}"


def points_cell(value: float) -> str:
    """A number of basis points as a table shows it.

    >>> points_cell(41.27), points_cell(float("nan"))
    ('41.3', '–')
    """
    return f"{value:.1f}" if np.isfinite(value) else MISSING


def number_cell(value: float) -> str:
    """A number as a table shows it: three digits after the point, a dash where there is none.

    >>> number_cell(2.0), number_cell(float("inf"))
    ('2.000', '–')
    """
    return f"{value:.3f}" if np.isfinite(value) else MISSING


def explained(share: float) -> str:
    """A share of the variation explained; below zero the average portfolio would do better.

    >>> explained(0.9312), explained(-0.2), explained(float("nan"))
    ('93.1%', 'nothing', 'not defined')
    """
    if not np.isfinite(share):
        return NOT_DEFINED
    return f"{share:.1%}" if share >= 0.0 else "nothing"


def aversion(risk_aversion: float) -> str:
    """A risk aversion; beyond the most that a weight can tell from "risk alone counts", none.

    >>> aversion(2.5), aversion(201.0), aversion(float("inf"))
    ('2.50', 'not defined', 'not defined')
    """
    return f"{risk_aversion:.2f}" if 0.0 <= risk_aversion <= MOST_AVERSE else NOT_DEFINED


def why_not_explained(share: float) -> str:
    """Why a share of the variation explained is no number to give; empty where it is one.

    >>> why_not_explained(0.93), why_not_explained(-3e32)[:26]
    ('', 'the frontier misses the po')
    """
    if not np.isfinite(share):
        return "the portfolios do not vary, so that there is nothing to explain"
    if share < LEAST_EXPLAINED:
        return (
            "the frontier misses the portfolios by more than they vary; the average portfolio "
            "explains them better"
        )
    return ""


def why_no_aversion(risk_aversion: float) -> str:
    """Why a risk aversion is no number to give; empty where it is one.

    >>> why_no_aversion(2.5), why_no_aversion(201.0)[:24]
    ('', 'at a weight on return th')
    """
    if 0.0 <= risk_aversion <= MOST_AVERSE:
        return ""
    return (
        "at a weight on return this small a risk aversion cannot be told from one at which risk "
        "alone counts"
    )


def no_aversion(risk_aversion: float) -> str:
    """Why an investor's row has no risk aversion; empty where it has one.

    >>> no_aversion(2.5), no_aversion(1e12)[:42]
    ('', 'no risk aversion: at a weight on return th')
    """
    why = why_no_aversion(risk_aversion)
    return f"no risk aversion: {why}" if why else ""


def some(names: Sequence[str], most: int) -> str:
    """The first names of a list and how many more there are.

    Args:
        names: What is listed.
        most: How many names are written out.

    Returns:
        The names with commas between them.

    >>> some(["A", "B", "C"], 2), some(["A"], 2)
    ('A, B and 1 more', 'A')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def parameters(values: dict[str, float], form: str) -> str:
    """The parameters of a fitted family, each with its name.

    Args:
        values: Number by name.
        form: How a number is written, as in a format string.

    Returns:
        Names and numbers with commas between them.

    >>> parameters({"mean": 0.5, "standard_deviation": 0.125}, ".2f")
    'mean 0.50, standard deviation 0.12'
    """
    return ", ".join(f"{name.replace('_', ' ')} {value:{form}}" for name, value in values.items())
