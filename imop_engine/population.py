"""A simulated clientele: segments with their own appetite for risk, portfolios that arrive over
time, and beliefs that change on the way.

`simulate_investors` draws the investors of one kind; this file arranges several kinds in a stream
and keeps what an observer would not see, so that an estimate can be compared with the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from imop_engine.arguments import Matrix, Vector, asset
from imop_engine.errors import InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.investors import SIMULATED, Investors
from imop_engine.problem import Problem
from imop_engine.results import risk_aversion
from imop_engine.simulate import observe
from imop_engine.weight_families import DRAWN, family
from imop_engine.weight_families.base import Shape

# Shares that a person wrote down as decimals add up to one only to the last bits.
SHARES_TOLERANCE: Final = 1e-9
SEGMENT: Final = "segment"  # the attribute that names an investor's group


@dataclass(frozen=True)
class WeightLaw:
    """How the weights on return are distributed.

    `family` is "normal" (cut to 0..1), "uniform", "beta", "kumaraswamy", or "mixture", whose
    `parts` are (share, mean, sd) of normals cut to 0..1.
    """

    family: str = "normal"
    mean: float = 0.5
    sd: float = 0.15
    parts: tuple[tuple[float, float, float], ...] = ()

    def __post_init__(self) -> None:
        if self.family not in DRAWN:
            raise InvalidInput(
                f"There is no weight distribution {self.family!r}; choose one of "
                f"{', '.join(DRAWN)}."
            )
        if family(self.family).has_parts != bool(self.parts):
            raise InvalidInput(
                "A mixture needs parts, each (share, mean, sd), and only a mixture has them."
            )
        if self.parts:
            _require_shares([part[0] for part in self.parts], "the parts of the mixture")

    def draw(self, count: int, rng: np.random.Generator) -> Vector:
        """That many weights."""
        return family(self.family).drawn(Shape(self.mean, self.sd, self.parts), count, rng)


USUAL: Final = WeightLaw()


@dataclass(frozen=True)
class Segment:
    """A group of investors: its name, its share of all, and how its weights are distributed."""

    name: str
    share: float
    law: WeightLaw = USUAL


@dataclass(frozen=True, eq=False)
class BeliefChange:
    """From `date` on, investors believe in these returns (by asset; the others stay)."""

    date: pd.Timestamp
    returns: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Population(Investors):
    """Simulated investors in the order they are seen, and how their beliefs changed."""

    regimes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    beliefs: Matrix = field(default_factory=lambda: np.empty((0, 0)))  # regimes are rows of it

    @property
    def segments(self) -> tuple[str, ...] | None:
        """The group of each investor, where there are groups."""
        known = self.attributes
        return tuple(known[SEGMENT]) if SEGMENT in known.columns else None

    def wide(self) -> pd.DataFrame:
        """A row for each investor: investor (, date) (, segment), then a column for each asset."""
        return pd.concat(
            [self._about(), pd.DataFrame(self.portfolios, columns=list(self.names))], axis=1
        )

    def long(self) -> pd.DataFrame:
        """A row for each holding: investor (, date) (, segment), asset, weight; zeros left out."""
        rows, columns = np.nonzero(self.portfolios)
        table = self._about().iloc[rows].reset_index(drop=True)
        table["asset"] = np.array(self.names, dtype=object)[columns]
        table["weight"] = self.portfolios[rows, columns]
        return table

    def true_returns(self) -> pd.DataFrame:
        """asset, true: what investors believe; with a change, one column more for each."""
        table = pd.DataFrame({"asset": list(self.names), "true": self.beliefs[0]})
        for number, row in enumerate(self.beliefs[1:], start=2):
            table[f"true from change {number - 1}"] = row
        return table

    def true_investors(self) -> pd.DataFrame:
        """investor (, date) (, segment), weight, risk_aversion: what an observer does not see."""
        return self._about().assign(
            weight=self.weights,
            risk_aversion=risk_aversion(np.asarray(self.weights)),
            beliefs=self.regimes + 1,
        )

    def _about(self) -> pd.DataFrame:
        about: dict[str, Any] = {"investor": list(self.ids)}
        if self.dates is not None:
            about["date"] = self.dates
        if self.segments is not None:
            about[SEGMENT] = list(self.segments)
        return pd.DataFrame(about)


def simulate_population(
    problem: Problem,
    theta: ArrayLike,
    count: int,
    *,
    segments: Sequence[Segment] | WeightLaw = USUAL,
    noise: str = "round",
    noise_level: float = 0.001,
    dates: tuple[Any, Any] | None = None,
    changes: Sequence[BeliefChange] = (),
    rng: np.random.Generator,
) -> Population:
    """Draw a clientele.

    Args:
        problem: the assets, with their caps.
        theta: the returns they believe in, at first.
        count: how many investors.
        segments: the groups, whose shares add up to one; or one law of weights for all.
        noise, noise_level: how portfolios are observed, as in `simulate_investors`.
        dates: first and last day; investors are spread evenly over them, in order.
        changes: new beliefs from a date on.
        rng: the generator; the same one gives the same investors.
    """
    if count < 1:
        raise InvalidInput(f"The number of investors is {count!r}; give a whole number from 1 up.")
    days = None if dates is None else _days(dates, count)
    beliefs, regimes = _regimes(problem, problem.check_theta(theta), changes, days, count)
    groups, weights = _groups(segments, count, rng)
    portfolios = np.empty((count, problem.n))
    for regime, believed in enumerate(beliefs):
        rows = np.flatnonzero(regimes == regime)
        if rows.size:
            exact = efficient_frontier(problem, believed).at(weights[rows])
            portfolios[rows] = observe(
                problem, believed, weights[rows], exact, noise, noise_level, rng
            )
    width = len(str(count))
    ids = tuple(f"I{number:0{width}d}" for number in range(1, count + 1))
    index = pd.Index(ids, name="investor")
    known = pd.DataFrame() if groups is None else pd.DataFrame({SEGMENT: groups}, index=index)
    return Population(
        problem.names,
        ids,
        portfolios,
        attributes=known,
        dates=days,
        weights=weights,
        truth=beliefs[0],
        origin=SIMULATED,
        regimes=regimes,
        beliefs=beliefs,
    )


def matching_history(
    expected_returns: ArrayLike,
    covariance: ArrayLike,
    names: Sequence[str],
    *,
    periods: int,
    periods_per_year: int = 12,
    end: Any = "2024-12-31",
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Returns per period whose sample moments, annualised, are the given ones to rounding.

    Normal draws are centred, whitened by their own sample covariance, and given the wanted one.

    Args:
        expected_returns: Yearly.
        covariance: Yearly.
        names: The assets.
        periods: How many rows to draw; at least two more than there are assets.
        periods_per_year: 12 for months, 252 for trading days.
        end: The day of the last period.
        rng: Where random numbers come from.

    Returns:
        One row for each period, by month's end, and a column for each asset, in fractions.
    """
    mean = np.asarray(expected_returns, dtype=float) / periods_per_year
    wanted = np.asarray(covariance, dtype=float) / periods_per_year
    if periods <= mean.size + 1:
        raise InvalidInput(
            f"{periods} periods cannot show the covariance of {mean.size} assets; give "
            f"{mean.size + 2} or more."
        )
    drawn = rng.standard_normal((periods, mean.size))
    drawn -= drawn.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(drawn, rowvar=False))
    white = drawn @ (vectors / np.sqrt(values))
    values, vectors = np.linalg.eigh(wanted)
    returns = mean + white @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    index = pd.date_range(end=end, periods=periods, freq="ME", name="date")
    return pd.DataFrame(returns, index=index, columns=list(names))


def _days(dates: tuple[Any, Any], count: int) -> pd.DatetimeIndex:
    try:
        first, last = (pd.Timestamp(day) for day in dates)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"the dates {dates!r} cannot be read; give two days, 2020-01-31 and 2024-12-31 say."
        ) from None
    if not first <= last:
        raise InvalidInput(
            f"the first day {first:%Y-%m-%d} is after the last {last:%Y-%m-%d}; exchange them."
        )
    return pd.DatetimeIndex(pd.date_range(first, last, periods=count).normalize())


def _regimes(
    problem: Problem,
    theta: Vector,
    changes: Sequence[BeliefChange],
    days: pd.DatetimeIndex | None,
    count: int,
) -> tuple[Matrix, NDArray[np.int64]]:
    beliefs, regimes = [theta], np.zeros(count, np.int64)
    if not changes:
        return np.array(beliefs), regimes
    if days is None:
        raise InvalidInput("beliefs change on a date; give the first and last day of the stream.")
    for change in sorted(changes, key=lambda one: one.date):
        believed = beliefs[-1].copy()
        for name, value in change.returns.items():
            believed[asset(name, problem.names)] = value
        beliefs.append(believed)
        regimes += np.asarray(days >= change.date, dtype=np.int64)
    return np.array(beliefs), regimes


def _groups(
    segments: Sequence[Segment] | WeightLaw, count: int, rng: np.random.Generator
) -> tuple[tuple[str, ...] | None, Vector]:
    if isinstance(segments, WeightLaw):
        return None, segments.draw(count, rng)
    if not segments:
        raise InvalidInput("there are no segments; give at least one, or a law of weights.")
    _require_shares([one.share for one in segments], "the segments")
    which = rng.choice(len(segments), count, p=_normalised([one.share for one in segments]))
    drawn = np.array([one.law.draw(count, rng) for one in segments])
    weights: Vector = drawn[which, np.arange(count)]
    return tuple(segments[k].name for k in which), weights


def _require_shares(shares: Sequence[float], what: str) -> None:
    if any(not share > 0 for share in shares) or abs(sum(shares) - 1.0) > SHARES_TOLERANCE:
        raise InvalidInput(
            f"the shares of {what} are {', '.join(f'{share:g}' for share in shares)}; they must "
            "be positive and add up to 1."
        )


def _normalised(shares: Sequence[float]) -> Vector:
    array = np.array(shares, dtype=float)
    result: Vector = array / array.sum()
    return result
