"""Many studies of one condition as one row: coverage, errors, verdicts, and whether it holds.

A condition holds where the 95 % intervals of identified returns cover between 88 and 99 %, or where
the verdict is "caution" or "poor" for a right reason in at least 90 % of the studies.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import shorten
from typing import Any, Final

import numpy as np

from .conditions import Condition
from .trust_study import IDENTIFIED, Record

COVERAGE: Final = (0.88, 0.99)
WARNED: Final = 0.9
# Intervals of studies that end say nothing of those that do not: beyond this share no coverage
# makes a condition hold, as the other way allows for a tenth as well.
RAISED: Final = 0.1
BOUNDS_HELD: Final = COVERAGE[0]  # bounds that hold less often than intervals must are told
CLEAN_GOOD: Final = 0.95  # share of clean studies whose verdict must be "good"
WORSE: Final = 1.05  # errors above the better of two others by this factor are worse
VERDICTS: Final = ("good", "caution", "poor")
BAD: Final = VERDICTS[1:]  # of verdicts and of the severity of a check
# Of an asset of a bundled market; fewer intervals say nothing of one asset.
INTERVALS_BY_ASSET: Final = 5
GIST_LENGTH: Final = 160
METHODS: Final = ("estimate", "implied", "history")


def summary(condition: Condition, records: Iterable[Record]) -> dict[str, Any]:
    """One row of the table.

    Args:
        condition: What all the studies have in common.
        records: One for each study.

    Returns:
        Plain values: shares between 0 and 1, returns as yearly fractions.
    """
    all_ = sorted(records, key=lambda one: one["seed"])
    ended = [one for one in all_ if not one["failure"]]
    intervals = [interval for one in ended for interval in _intervals(one)]
    known = [one for one in intervals if one["identified"]]
    bounded = [one["covered"] for one in intervals if one["open"] is not None]
    widths = [one["half"] for one in known if one["half"] is not None]
    row: dict[str, Any] = {
        "label": condition.label,
        "key": condition.key,
        "assets": condition.assets,
        "sentence": condition.sentence,
        "right_reasons": list(condition.right_reasons),
        "studies": len(all_),
        "raised": _share(bool(one["failure"]) for one in all_),
        "failures": dict(Counter(_gist(one["failure"]) for one in all_ if one["failure"])),
        "held": _mean(sum(one["held"]) for one in all_),
        "identified": _mean(one["status"].count(IDENTIFIED) for one in ended),
        "coverage": _share(one["covered"] for one in known),
        "coverage_error": _clustered_error(known),
        "worst_asset": worst_asset(known),
        "half_width": _median(widths),
        "bounded_coverage": _share(bounded),
        "bounded": len(bounded),
        "errors": {name: _error_row(all_, name) for name in METHODS},
        "errors_by_seed": {str(one["seed"]): _error(one, "estimate", "held") for one in all_},
        "implied_by_seed": {str(one["seed"]): _error(one, "implied", "held") for one in all_},
        "verdicts": dict(Counter(str(one.get("verdict") or "none") for one in ended)),
        "reasons": _reasons(ended),
        "warned": _share(one.get("verdict") in BAD for one in all_),
        "warned_rightly": _share(warned_rightly(one, condition.right_reasons) for one in all_),
        "seconds": _median([one["seconds"] for one in all_]),
    }
    row["holds"] = holds(row)
    return row


def holds(row: dict[str, Any]) -> str:
    """By which way a condition holds: "covered", "warned", or "" where it does not.

    Args:
        row: From `summary`, or as much of it.
    """
    good = row["verdicts"].get("good", 0) / max(1, row["studies"])
    if row["key"] == "clean" and row["verdicts"].keys() & set(VERDICTS) and good < CLEAN_GOOD:
        return ""
    if row["coverage"] is not None and row["raised"] <= RAISED:
        low, high = COVERAGE
        if low <= row["coverage"] <= high:
            return "covered"
    return "warned" if (row["warned_rightly"] or 0.0) >= WARNED else ""


def warned_rightly(record: Record, right_reasons: Sequence[str]) -> bool:
    """Whether a study says "caution" or "poor", and one of its checks gives a right reason.

    Args:
        record: Of the study.
        right_reasons: Names of checks.
    """
    reasons = {name for name, severity in record.get("checks", ()) if severity in BAD}
    return record.get("verdict") in BAD and bool(reasons & set(right_reasons))


def compare_errors(row: dict[str, Any], earlier: dict[str, Any] | None) -> dict[str, Any]:
    """The error over held assets beside an earlier version's and that of implied returns.

    Args:
        row: From `summary`.
        earlier: The same condition's row of an earlier version, if there is one.

    Returns:
        `estimate`, `earlier`, `implied`: medians, over common seeds where both versions have some;
        `ratio` and `implied_ratio`: the median over studies of the error over the earlier version's
        and over that of implied returns, on the same study; None where there are no such pairs;
        `worse`: whether the error is above that of the better of the two by more than 5 %: by those
        ratios, or by the medians where the earlier version saw other studies.
    """
    ours = row["errors_by_seed"]
    theirs = earlier["errors_by_seed"] if earlier else {}
    common = sorted(set(ours) & set(theirs))
    if common:
        ours, theirs = ({seed: of[seed] for seed in common} for of in (ours, theirs))
    medians = {
        "estimate": _median(list(ours.values())),
        "earlier": _median(list(theirs.values())),
        "implied": row["errors"]["implied"]["held"],
    }
    ratios = {
        "ratio": _median_ratio(ours, theirs),
        "implied_ratio": _median_ratio(ours, row.get("implied_by_seed", {})),
    }
    mine = medians["estimate"]
    if common or (ratios["implied_ratio"] is not None and not theirs):
        worse = any(one is not None and one > WORSE for one in ratios.values())
    else:
        others = [one for one in (medians["earlier"], medians["implied"]) if one is not None]
        worse = bool(others) and mine is not None and mine > WORSE * min(others)
    return {**medians, **ratios, "worse": worse, "common_seeds": len(common)}


def _median_ratio(ours: dict[str, float | None], theirs: dict[str, float | None]) -> float | None:
    """Of two errors on the same study, over the studies in which both have one."""
    pairs = [(ours[seed], theirs[seed]) for seed in ours if seed in theirs]
    return _median([a / b for a, b in pairs if a is not None and b])


def worst_asset(known: Sequence[dict[str, Any]]) -> float | None:
    """The least coverage of any one asset of a bundled market; random assets have no identity.

    Args:
        known: Intervals of identified returns, with `market`, `asset` and `covered`.
    """
    by_asset: dict[tuple[str, str], list[bool]] = {}
    for one in known:
        if one["market"] != "random":
            by_asset.setdefault((one["market"], one["asset"]), []).append(one["covered"])
    shares = [np.mean(one) for one in by_asset.values() if len(one) >= INTERVALS_BY_ASSET]
    return float(min(shares)) if shares else None


def _intervals(record: Record) -> list[dict[str, Any]]:
    """Each asset's interval against the truth; an end that is open covers everything there."""
    found = []
    columns = (record[name] for name in ("asset", "true", "low", "high", "status"))
    for asset, true, low, high, status in zip(*columns, strict=True):
        identified = status == IDENTIFIED
        both = low is not None and high is not None
        found.append(
            {
                "seed": record["seed"],
                "market": record["market"],
                "asset": asset,
                "identified": identified,
                "open": None if not status.startswith("bounded") else not both,
                "covered": (low is None or low <= true) and (high is None or true <= high),
                "half": (high - low) / 2.0 if both else None,
            }
        )
    return found


def _clustered_error(known: Sequence[dict[str, Any]]) -> float | None:
    """Standard error of the pooled coverage, studies being independent and their assets not."""
    seeds = sorted({one["seed"] for one in known})
    if len(seeds) < 2:
        return None
    pooled = np.mean([one["covered"] for one in known])
    surplus = [sum(one["covered"] - pooled for one in known if one["seed"] == s) for s in seeds]
    return float(np.sqrt(np.sum(np.square(surplus))) / len(known))


def _error(record: Record, method: str, where: str) -> float | None:
    value: float | None = record["errors"].get(method, {}).get(where)
    return value


def _error_row(records: Sequence[Record], method: str) -> dict[str, float | None]:
    """Medians over the studies, and the worst of them."""
    places = ("identified", "held", "identified_aligned", "held_aligned", "aligned")
    values = {where: [_error(one, method, where) for one in records] for where in places}
    worst = [one for one in values["held"] if one is not None]
    return {
        **{where: _median(found) for where, found in values.items()},
        "held_worst": max(worst, default=None),
    }


def _reasons(records: Sequence[Record]) -> dict[str, float]:
    """Share of the studies in which each check says "caution" or "poor"; the largest first."""
    counts = Counter(
        name
        for one in records
        for name in {name for name, severity in one.get("checks", ()) if severity in BAD}
    )
    return {name: count / len(records) for name, count in counts.most_common()}


def _gist(failure: str) -> str:
    """Why a study stopped, without numbers and cut: the same reason is then the same text."""
    return shorten(re.sub(r"-?\d[\d.,]*\d|-?\d", "…", failure), GIST_LENGTH, placeholder=" …")


def _present(values: Iterable[Any]) -> list[Any]:
    return [one for one in values if one is not None]


def _share(values: Iterable[bool]) -> float | None:
    found = list(values)
    return float(np.mean(found)) if found else None


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return float(np.mean(found)) if found else None


def _median(values: Iterable[float | None]) -> float | None:
    found = _present(values)
    return float(np.median(found)) if found else None
