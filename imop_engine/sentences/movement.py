"""Whether beliefs moved while portfolios came, in words."""

from __future__ import annotations


def moved(at: int, count: int, p_value: float, asset: str, change: float, error: float) -> str:
    """That beliefs moved, and when.

    Args:
        at: After how many portfolios.
        count: Of how many.
        p_value: Of the test.
        asset: The return that changed most, in standard errors.
        change: Of it, a fraction a year.
        error: Standard error of that.
    """
    return (
        f"Beliefs moved: after about {at:,} of {count:,} portfolios, most of all for {asset}, by "
        f"{change:+.2%} ± {2 * error:.2%} a year ({_chance(p_value)} where nobody's mind "
        "changes; double maximum test on the order of the scores)."
    )


def still(count: int, p_value: float) -> str:
    """That nothing shows beliefs to have moved.

    Args:
        count: Of how many portfolios.
        p_value: Of the test.
    """
    return (
        f"Nothing shows that beliefs moved over {count:,} portfolios (p = {p_value:.2f}, double "
        "maximum test on the order of the scores)."
    )


def _chance(p_value: float) -> str:
    return "less than once in 1,000" if p_value < 1e-3 else f"p = {p_value:.3f}"


def status(rows: int, refused: int, a_second: float, waiting: bool) -> str:
    """Where following is.

    Args:
        rows: Portfolios that were learned from.
        refused: Rows that are no portfolios.
        a_second: Rows of the last seconds, by the second.
        waiting: Whether there is nothing new.
    """
    aside = f", {refused:,} refused" if refused else ""
    pace = "waiting for more" if waiting else f"{a_second:,.0f} a second"
    return f"{rows:,} portfolios{aside}; {pace}. Ctrl+C ends it and writes the study."
