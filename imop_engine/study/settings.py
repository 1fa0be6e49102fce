"""What the analyst chose for a study, as one frozen value: equal settings give equal runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

import numpy as np

from imop_engine import gate
from imop_engine.arguments import Vector, asset
from imop_engine.errors import InvalidInput
from imop_engine.learner_options import DISTANCE, LearnerOptions
from imop_engine.limits import Limits, linear_limits

STARTS: Final = ("efficiency", "search", "history", "zero")
ERRORS: Final = ("auto", "holdings", "beliefs")
FITTED, OF_HISTORY = "fitted", "history"
RISKS: Final = (FITTED, OF_HISTORY)

Portfolio = tuple[tuple[str, float], ...]  # (asset, share) pairs
# An asset or a portfolio, its known return, and the standard error of that; 0 is exactly.
Anchor = tuple[str | Portfolio, float, float]


@gate.noun
@dataclass(frozen=True)
class StudySettings:
    """How to learn, and what is known beforehand.

    Args:
        weights: "exact" for the whole frontier, or K for the paper's even grid.
        algorithm: "accelerated", "full" or "newton", as in `OnlineLearner`.
        rate: eta_t = rate / sqrt(t).
        forgetting: what "newton" keeps each round; below 1 it follows beliefs that change.
        anchors: known returns, {asset: return} or a list of (asset or portfolio, return), where a
            portfolio is {asset: share}. None: the minimum-variance portfolio and the average
            observed one keep their historical return. A third entry, (asset, return, error), is the
            standard error of that return; without one it is exact.
        upper: cap on each holding; one number, or {asset: cap} where the others have none.
        lower: the least of each holding, zero or more; one number, or {asset: least holding}.
        limits: on what is held together, as in `portfolio_problem`: `LinearLimit`, or (holdings,
            relation, value).
        bounds: least and greatest return anybody may believe in. None: -1 to 1, wider where the
            history is.
        loss: "distance" (the paper's, squared distance to the frontier) or "efficiency" (return a
            year left on the table), as in `OnlineLearner`.
        start: "efficiency" begins where the first portfolios leave the least on the table, found
            from any start; "search" looks for a start among them by exact updates, from the
            historical returns on; "history" starts from those themselves, "zero" from the paper's
            zero.
        refine: fit all portfolios together once the stream has been seen.
        trim: set investors aside whom no common frontier explains, before that fit.
        errors: what keeps investors from the frontier: "holdings" (errors in what is held),
            "beliefs" (each believes in returns of her own), or "auto", by what explains investors
            better that were not fitted to.
        risks: which covariance the estimate is under: "fitted" together with the returns where a
            history of known length is behind it and other investors are then explained better, or
            "history", the history's own, whose error is then in the intervals alone.
        by: compare groups of investors: a column of what is known of them, or "year" or "quarter"
            of the portfolios' dates. None: no groups.
        level: confidence level of the intervals.
        seed: of whatever is drawn at random.
        strict: refuse the study for one bad portfolio, instead of the portfolio.
        title: of the report.
        notes: what the analyst wants to keep with it.
    """

    weights: int | str = "exact"
    algorithm: str = "accelerated"
    rate: float = 5.0
    forgetting: float = 1.0
    anchors: Any = None  # any form comes in; inside it is tuple[Anchor, ...] or None
    upper: Any = 1.0  # a number, or (asset, cap) pairs
    lower: Any = 0.0  # the same for least holdings
    limits: Any = ()  # any form comes in; inside it is tuple[LinearLimit, ...]
    bounds: tuple[float, float] | None = None
    loss: str = DISTANCE
    start: str = "efficiency"
    refine: bool = True
    trim: bool = True
    errors: str = "auto"
    risks: str = FITTED
    by: str | None = None
    level: float = 0.95
    seed: int = 0
    strict: bool = False
    title: str = ""
    notes: str = ""

    def __post_init__(self) -> None:
        gate.whole(0)("seed", self.seed)
        gate.text("by", self.by, none=True)
        object.__setattr__(self, "anchors", _anchors(self.anchors))
        if self.errors not in ERRORS:
            raise InvalidInput(
                f"there is no error model {self.errors!r}; choose one of {', '.join(ERRORS)}."
            )
        if self.risks not in RISKS:
            raise InvalidInput(
                f"risks cannot be {self.risks!r}; choose one of {', '.join(RISKS)}: fitted "
                "together with the returns, or as the history has them."
            )
        object.__setattr__(self, "upper", _caps(self.upper))
        object.__setattr__(self, "lower", _floors(self.lower))
        object.__setattr__(self, "limits", linear_limits(self.limits))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _pair(self.bounds))
        if self.start not in STARTS:
            raise InvalidInput(
                f"there is no start {self.start!r}; choose one of {', '.join(STARTS)}."
            )
        if not 0.0 < self.level < 1.0:
            raise InvalidInput(
                f"the level of the intervals is {self.level:g}; give a number between 0 and 1, "
                "0.95 say."
            )
        if type(self.weights) is not int and not isinstance(self.weights, str):
            raise InvalidInput(
                f"weights is {self.weights!r}; give a whole number from 2 up, 41 say, or 'exact'."
            )
        if callable(self.rate):
            raise InvalidInput("the rate is a function; a study takes a positive number, 5 say.")
        self.learner_options()  # refuses what no learner could do

    def learner_options(self) -> LearnerOptions:
        """How the learner of the study learns."""
        return LearnerOptions(
            self.weights, self.algorithm, self.rate, forgetting=self.forgetting, loss=self.loss
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        plain = asdict(self)
        if self.anchors is not None:
            plain["anchors"] = [
                {
                    **(
                        {"asset": target}
                        if isinstance(target, str)
                        else {"portfolio": dict(target)}
                    ),
                    "return": value,
                    **({"error": error} if error else {}),
                }
                for target, value, error in self.anchors
            ]
        for name in ("upper", "lower"):
            if isinstance(plain[name], tuple):
                plain[name] = dict(plain[name])
        plain["limits"] = [limit.to_dict() for limit in self.limits]
        plain["bounds"] = None if self.bounds is None else list(self.bounds)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> StudySettings:
        """The inverse of `to_dict`; what is missing takes its default."""
        known = {field.name for field in fields(cls)}
        strange = sorted(set(plain) - known)
        if strange:
            raise InvalidInput(
                f"there is no setting {strange[0]!r}; the settings are {', '.join(sorted(known))}."
            )
        values = dict(plain)
        if values.get("anchors") is not None:
            values["anchors"] = [
                (one.get("asset", one.get("portfolio")), one["return"], one.get("error", 0.0))
                for one in values["anchors"]
            ]
        return cls(**values)

    def anchor_vectors(self, names: tuple[str, ...]) -> list[tuple[Vector, float]]:
        """The anchors over the assets of a problem."""
        found: list[tuple[Vector, float]] = []
        for target, value, _ in self.anchors or ():
            row = np.zeros(len(names))
            pairs = ((target, 1.0),) if isinstance(target, str) else target
            for name, share in pairs:
                row[asset(name, names)] += share
            found.append((row, value))
        return found

    @property
    def anchor_errors(self) -> tuple[float, ...]:
        """Standard errors of the anchors' returns, 0 where they are exact."""
        return tuple(error for _, _, error in self.anchors or ())

    @property
    def all_limits(self) -> Limits:
        """Caps, least holdings, limits on what is held together, and bounds, as one value."""
        caps = {"caps": self.upper} if isinstance(self.upper, tuple) else {"upper": self.upper}
        least = {"floors": self.lower} if isinstance(self.lower, tuple) else {"lower": self.lower}
        return Limits(**caps, **least, bounds=self.bounds, linear=self.limits)


def _anchors(given: Any) -> tuple[Anchor, ...] | None:
    if given is None:
        return None
    items: Any = given.items() if isinstance(given, Mapping) else given
    if isinstance(items, str) or not isinstance(items, (Sequence, type({}.items()))):
        raise InvalidInput(
            f"anchors is {given!r}; give {{asset: return}} or a list of (asset or portfolio, "
            "return)."
        )
    listed: list[Any] = list(items)
    return tuple(_anchor(item) for item in listed)


def _anchor(item: Any) -> Anchor:
    try:
        target: Any
        target, value, *more = item
        if isinstance(value, (tuple, list)):  # {asset: (return, error)}
            value, *more = value
        (error,) = more or (0.0,)
        known, unsure = float(value), float(error)
        if isinstance(target, Mapping):
            target = tuple(target.items())
        if not isinstance(target, str):
            target = tuple((str(name), float(share)) for name, share in target)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"the anchor {item!r} cannot be read; give an asset or a portfolio {{asset: share}}, "
            "and its return as a number, with its standard error after it if it is not exact."
        ) from None
    if not np.isfinite(known):
        raise InvalidInput(f"the anchor of {target!r} is {known}; give a finite return, 0.05 say.")
    if not (np.isfinite(unsure) and unsure >= 0.0):
        raise InvalidInput(
            f"the error of the anchor of {target!r} is {unsure}; give a standard error, 0.01 say, "
            "or 0 where the return is exact."
        )
    return target, known, unsure


def _caps(given: Any) -> Any:
    if isinstance(given, (Mapping, tuple, list)):
        pairs = given.items() if isinstance(given, Mapping) else given
        return tuple((str(name), float(cap)) for name, cap in pairs)
    return float(given)


def _floors(given: Any) -> Any:
    floors = _caps(given)
    for least in [value for _, value in floors] if isinstance(floors, tuple) else [floors]:
        if not least >= 0.0:
            raise InvalidInput(
                f"lower is {least:g}; a study reads holdings of zero or more, so give a share of "
                "the portfolio, 0.05 say. Frontiers with short positions are drawn by "
                "portfolio_problem(lower=...)."
            )
    return floors


def _pair(given: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not low < high:
        raise InvalidInput(
            f"bounds is {given!r}; give the least and the greatest return, (-0.5, 0.5) say."
        )
    return low, high
