"""What a study found: the estimate, and the tables the analyst reads, each computed when asked for.

Everything follows from the data, the settings and theta, so a study that is read back from its
folder says the same as the one that was saved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from imop_engine.arguments import Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import Frontier, efficient_frontier, risk_of
from imop_engine.inference.fit import Fit, measure_fit
from imop_engine.inference.gaps import Gaps, measure_gaps
from imop_engine.inference.groups import Groups
from imop_engine.inference.own_tilt import OwnTilts
from imop_engine.inference.preferences import (
    Preferences,
    WeightDistribution,
    investor_preferences,
    weight_distribution,
)
from imop_engine.inference.specification import Specification, reporting_of, specification
from imop_engine.limit_prices import LimitPrices, limit_prices
from imop_engine.problem import Problem
from imop_engine.results import aligned_error, risk_aversion
from imop_engine.study.checks import Check, study_checks, verdict_of
from imop_engine.study.data import LEARNED, REFUSED, StudyData
from imop_engine.study.estimate import StudyEstimate
from imop_engine.study.groups import study_groups
from imop_engine.study.settings import StudySettings
from imop_engine.study.state import StudyState

OUTLIER: Final = "outlier"
# Far from the frontier too, and learned from all the same.
OUTLIER_KEPT: Final = "outlier, kept"
OUTLIERS: Final = (OUTLIER, OUTLIER_KEPT)
# Statuses of returns that have an estimate; "unknown": nothing could be said of how surely.
KNOWN: Final = ("identified", "anchored", "relative", "unknown")
FRONTIER_POINTS: Final = 200

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Study:
    """A finished (or stopped) study."""

    settings: StudySettings
    data: StudyData
    problem: Problem
    theta: Vector
    state: StudyState
    seconds: float
    estimate: StudyEstimate | None = None  # all portfolios together; None: the stream's end alone
    remarks: tuple[str, ...] = ()  # what was noticed when it was opened from its folder

    @property
    def rounds(self) -> int:
        """How many portfolios were learned from."""
        return self.state.rounds

    @cached_property
    def decisions(self) -> pd.DataFrame:
        """The portfolios that were learned from, in stream order."""
        return self.data.portfolios[self.data.good].iloc[: self.rounds]

    @cached_property
    def adjusted_decisions(self) -> pd.DataFrame:
        """What investors chose, as far as is known: the same portfolios with what the file hides
        of them, or without a tilt that all share, where that was recognised. A tilt of her own is
        an investor's choice, and stays in."""
        if self.estimate is None or self.estimate.adjusted is None or self.own_tilts is not None:
            return self.decisions
        return pd.DataFrame(
            self.estimate.adjusted.portfolios,
            index=self.decisions.index,
            columns=self.decisions.columns,
        )

    @property
    def complete_decisions(self) -> pd.DataFrame:
        """What investors hold: the portfolios with what the file hides of them. A tilt is held,
        too, and costs what it costs, so it stays in."""
        adjusted = None if self.estimate is None else self.estimate.adjusted
        hidden = adjusted is not None and adjusted.rule is not None
        return self.adjusted_decisions if hidden else self.decisions

    @cached_property
    def frontier(self) -> Frontier:
        """The estimated frontier."""
        return efficient_frontier(self.problem, self.theta)

    @cached_property
    def limit_prices(self) -> LimitPrices | None:
        """What limits cost under the estimate; None where there are caps at most."""
        limits = self.settings.all_limits
        if not (limits.linear or limits.floors or limits.lower):
            return None
        return limit_prices(self.problem.covariance, self.theta, limits, self.problem.names)

    @cached_property
    def identification(self) -> Any:
        """What the portfolios can and cannot tell; None where that cannot be said."""
        return self._identified[0]

    @property
    def checks(self) -> tuple[Check, ...]:
        """Whether the result is to be trusted: what was found, worst first."""
        return self._checks

    @property
    def verdict(self) -> str:
        """ "good", "caution" or "poor": the worst of the checks."""
        return verdict_of(self.checks)

    @cached_property
    def _checks(self) -> tuple[Check, ...]:
        return study_checks(self)

    @cached_property
    def specification(self) -> Specification:
        """What the portfolios that take part look like beside the fitted frontier."""
        kept = self.adjusted_decisions[self._kept]
        Y, own = kept.to_numpy(), pd.factorize(kept.index)[0].astype(np.int64)
        if self.own_tilts is not None:
            Y = self.own_tilts.portfolios[self._kept]
        noise_sd = self.noise_sd or 0.0
        found = specification(self.frontier, Y, self.frontier.project(Y), noise_sd, own)
        if self.adjusted_decisions is self.decisions and self.own_tilts is None:
            return found
        # how the file reports holdings is seen in the file
        return replace(found, **vars(reporting_of(self.decisions[self._kept].to_numpy())))

    @property
    def noise_sd(self) -> float | None:
        """The error in a single holding that is left, of those who take part."""
        if self.estimate is None:
            return None if self.preferences is None else self.preferences.noise.sd
        joint = self.estimate.joint
        return self.estimate.found.noise_sd if joint is None else joint.noise_sd

    @property
    def dispersion(self) -> float | None:
        """How much beliefs differ between investors, return a year, where that is the model."""
        known = self.identification
        return None if known is None else known.dispersion

    @property
    def own_tilts(self) -> OwnTilts | None:
        """What each investor keeps apart from the frontier at all her dates, where that is the
        model of errors."""
        adjusted = None if self.estimate is None else self.estimate.adjusted
        return None if adjusted is None else adjusted.own

    @property
    def explained_elsewhere(self) -> float | None:
        """Share of the differences between portfolios explained out of sample; None: too few."""
        return None if self.estimate is None else self.estimate.explained

    @property
    def _kept(self) -> Any:
        if self.estimate is None:
            return np.ones(len(self.decisions), dtype=bool)
        return self.estimate.kept

    @cached_property
    def fit(self) -> Fit:
        """How well one frontier explains the holdings."""
        limit = None if self.estimate is None else self.estimate.found.limit
        # the limit is of departures without the tilts
        known = limit is not None and np.isfinite(limit) and self.own_tilts is None
        return measure_fit(self.frontier, self.adjusted_decisions, limit if known else None)

    @property
    def gaps(self) -> Gaps | None:
        """What investors leave on the table; None where the frontier cannot be followed."""
        return self._left[0]

    @property
    def groups(self) -> Groups | None:
        """What groups believe, where settings ask for them; None where that cannot be said."""
        return self._grouped[0]

    def grouped_by(self, column: str | None) -> Study:
        """The same study with groups by that column in its tables and report.

        Args:
            column: an attribute of the investors, or "year" or "quarter" of the dates; None: none.
        """
        same = column == self.settings.by
        return self if same else self._told_otherwise({"_grouped", "figures"}, by=column)

    def labelled(self, name: str, values: Any) -> Study:
        """The same study with one more attribute of its investors, and what was computed kept.

        Args:
            name: of the attribute.
            values: one for each portfolio that came in.
        """
        known = self.data.investors.attributes.copy()
        known[name] = list(values)
        people = replace(self.data.investors, attributes=known)
        other = replace(self, data=replace(self.data, investors=people))
        vars(other).update(self._computed({"_grouped", "figures", "frame_investors"}))
        return other

    def described(self, title: str, notes: str) -> Study:
        """The same study under another title, with other notes of the analyst.

        Args:
            title: of the report.
            notes: below it.
        """
        return self._told_otherwise(set(), title=title, notes=notes)

    def _told_otherwise(self, depends: set[str], **chosen: Any) -> Study:
        """The same study with other settings of how it is told, and what was computed kept.

        Args:
            depends: what was computed and depends on these settings.
            **chosen: settings.
        """
        other = replace(self, settings=replace(self.settings, **chosen))
        vars(other).update(self._computed(depends))
        return other

    def _computed(self, depends: set[str]) -> dict[str, Any]:
        """What was computed already, but for some."""
        return {
            name: value
            for name, value in vars(self).items()
            if isinstance(getattr(type(self), name, None), cached_property) and name not in depends
        }

    def groups_by(self, column: str) -> Groups:
        """What groups of these investors believe; needs no new learning.

        Args:
            column: an attribute of the investors, or "year" or "quarter" of the dates.
        """
        return study_groups(self, column)

    @property
    def preferences(self) -> Preferences | None:
        """Each investor's weight with an interval; None where the noise cannot be estimated."""
        return self._preferred[0]

    @property
    def distribution(self) -> WeightDistribution | None:
        """How the weights are distributed; None where there are too few to say."""
        return self._distributed[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the analyst should know besides the tables."""
        failed = (
            self._identified[1], self._preferred[1], self._distributed[1], self._left[1],
            self._grouped[1],
        )  # fmt: skip
        notes = () if self.identification is None else tuple(self.identification.notes())
        return (*self.data.notes, *notes, *(one for one in failed if one))

    @cached_property
    def _identified(self) -> tuple[Any, str]:
        def compute() -> Any:
            level, seed = self.settings.level, self.settings.seed
            if self.estimate is not None:
                return self.estimate.identification(self.decisions.to_numpy(), level, seed)
            from imop_engine.inference.identify import identification

            return identification(self.problem, self.theta, self.decisions, level=level, seed=seed)

        return _attempt(compute)

    @cached_property
    def _preferred(self) -> tuple[Preferences | None, str]:
        return _attempt(
            lambda: investor_preferences(
                self.frontier,
                self.adjusted_decisions,
                level=self.settings.level,
                beliefs=self.identification,
                limit=self.fit.threshold,
            )
        )

    @cached_property
    def _distributed(self) -> tuple[WeightDistribution | None, str]:
        weights = self.frontier.project(self.adjusted_decisions).weights
        preferences = self.preferences
        if preferences is None:
            return _attempt(lambda: weight_distribution(weights))

        def compute() -> WeightDistribution:
            from imop_engine.inference.replay import replayed

            known = self.identification
            usual = ~preferences.investors["outlier"].to_numpy()
            return replayed(
                weight_distribution(preferences), self.frontier,
                self.adjusted_decisions.to_numpy()[usual], preferences.noise.sd,
                None if known is None else known.sources.sample, self.settings.seed,
            )  # fmt: skip

        return _attempt(compute)

    @cached_property
    def _left(self) -> tuple[Gaps | None, str]:
        return _attempt(
            lambda: measure_gaps(self.frontier, self.complete_decisions, self.known_assets)
        )

    @cached_property
    def known_assets(self) -> Any:
        """For each asset, whether its return is known, up to shift and scale where nothing fixes
        them, and not only bounded."""
        return self.frame_returns["status"].isin(KNOWN).to_numpy()

    @cached_property
    def _grouped(self) -> tuple[Groups | None, str]:
        by = self.settings.by
        return (None, "") if by is None else _attempt(lambda: self.groups_by(by))

    @cached_property
    def frame_returns(self) -> pd.DataFrame:
        """asset, estimate, low, high, status, investors, sentence, history (, true, error).

        An interval that is open on one side has no number there.
        """
        table = pd.DataFrame({"asset": list(self.problem.names), "estimate": self.theta})
        if self.identification is not None:
            identified = (
                self.identification.to_frame().set_index("asset").loc[list(self.problem.names)]
            )
            for column in ("low", "high", "status", "investors", "sentence"):
                table[column] = identified[column].to_numpy()
            if self.settings.bounds is None:
                self._open_ends(table)
        else:
            table["low"], table["high"], table["status"] = np.nan, np.nan, "unknown"
            table["investors"] = (self.decisions.to_numpy() > 0).sum(axis=0)
            table["sentence"] = self._identified[1]
        known = table["status"].isin(KNOWN)
        table["estimate"] = table["estimate"].where(known)  # a bound is no estimate
        if self.estimate is not None:
            everyone = self.estimate.found.everyone
            whole = self.theta if everyone is None else everyone
            table["with_everyone"] = np.where(known, whole, np.nan)
        table["history"] = self.data.expected_returns.to_numpy()
        if self.data.truth is not None:
            table["true"] = self.data.truth.to_numpy()
            table["error"] = table["estimate"] - table["true"]
        return table

    def _open_ends(self, table: pd.DataFrame) -> None:
        """Blank an end of an interval that is only the edge of the box, which nobody chose."""
        box = self.problem.theta
        table.loc[table["low"].to_numpy() <= box.lower, "low"] = np.nan
        table.loc[table["high"].to_numpy() >= box.upper, "high"] = np.nan

    @cached_property
    def frame_investors(self) -> pd.DataFrame:
        """id, weight, risk_aversion, distance, intervals, gap, gap_outlier, status, reason, then
        the attributes.

        Every portfolio that came in has its row: a refused one has a reason and no weight. Those
        that reading set aside come last. `gap` is the return a year left on the table, a fraction.
        """
        rows = np.flatnonzero(self.data.good)[: self.rounds]
        found = self.frontier.project(self.adjusted_decisions)
        count = len(self.data.portfolios)

        def spread(values: Any) -> Vector:
            column = np.full(count, np.nan)
            column[rows] = values
            return column

        table = pd.DataFrame(
            {
                "id": self.data.portfolios.index.astype(str),
                "weight": spread(found.weights),
                "risk_aversion": spread(risk_aversion(found.weights)),
                "distance": spread(found.distances),
            }
        )
        for column in ("weight_low", "weight_high", "risk_aversion_low", "risk_aversion_high"):
            known = self.preferences
            table[column] = spread(np.nan if known is None else known.investors[column])
        left = self.gaps
        table["gap"] = spread(np.nan if left is None else left.investors["gap"])
        large = spread(0.0 if left is None else left.investors["gap_outlier"])
        table["gap_outlier"] = large == 1.0
        status = np.full(count, "not reached", dtype=object)
        far = self.fit.investors["outlier"].to_numpy()
        if self.estimate is None:
            status[rows] = np.where(far, OUTLIER, LEARNED)
        else:
            status[rows] = np.where(far, OUTLIER_KEPT, LEARNED)
            status[rows[~self._kept]] = OUTLIER
        status[~self.data.good] = REFUSED
        table["status"] = status
        table["reason"] = list(self.data.reasons)
        own = set(table.columns)
        for name in self.data.attributes.columns:
            label = f"{name} (attribute)" if str(name) in own else str(name)
            table[label] = self.data.attributes[name].to_numpy()
        return _with_set_aside(table, self.data.set_aside, own)

    @cached_property
    def frame_frontier(self) -> pd.DataFrame:
        """weight, risk_aversion, risk, return, then the holding of each asset."""
        return frontier_frame(self.frontier)

    @cached_property
    def frame_distribution(self) -> pd.DataFrame:
        """low, high, count, share, then the share that each fitted family expects."""
        known = self.distribution
        if known is None:
            weights = self.frontier.project(self.adjusted_decisions).weights
            counts, edges = np.histogram(weights, bins=20, range=(0.0, 1.0))
            families: tuple[Any, ...] = ()
        else:
            counts, edges, families = known.counts, known.edges, known.families
        table = pd.DataFrame({"low": edges[:-1], "high": edges[1:], "count": counts})
        table["share"] = table["count"] / max(1, int(table["count"].sum()))
        for family in families:
            table[family.name] = np.diff(family.cdf(edges))
        return table

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The run in numbers, for JSON."""
        learned = self.state.learned
        out: dict[str, Any] = {
            "assets": len(self.problem.names),
            "investors": len(self.data.portfolios) + len(self.data.set_aside),
            "rounds": self.rounds,
            "refused": int((~self.data.good).sum()) + len(self.data.set_aside),
            "updates": learned.updates,
            "certified": learned.certified_share,
            "loss": self.settings.loss,
            "mean_loss": _mean(learned.losses),
            "explained": self.fit.explained,
            "explained_without_outliers": self.fit.explained_without_outliers,
            "outliers": self.fit.outliers,
            "noise": self.noise_sd,
            "explained_elsewhere": self.explained_elsewhere,
            "way": None if self.estimate is None else self.estimate.found.way,
            "set_aside": int((~self._kept).sum()),
            "dispersion": self.dispersion,
            "tilt": None if self.own_tilts is None else self.own_tilts.sd,
            "covariance_fitted": self.estimate is not None and self.estimate.joint is not None,
            "periods": self.data.market.periods,
            "verdict": self.verdict,
            "median_weight": float(self.frame_investors["weight"].median()),
            "median_risk_aversion": float(self.frame_investors["risk_aversion"].median()),
            "status": {
                str(status): int(count)
                for status, count in self.frame_returns["status"].value_counts().items()
            },
            "seconds": round(self.seconds, 3),
        }
        if self.gaps is not None:
            told = self.gaps.investors["gap"].dropna()
            out["mean_gap"] = _mean(told)
            out["median_gap"] = float(told.median()) if len(told) else None
            out["total_gap"], out["gap_outliers"] = self.gaps.total, self.gaps.outliers
            out["gaps_of_the_rest"] = len(self.gaps.kept)
        if self.groups is not None:
            out["groups_p_value"], out["groups_between"] = (
                self.groups.test.p_value,
                self.groups.between,
            )
        if self.distribution is not None:
            best = self.distribution.best
            out["family"] = {"name": best.name, "p_value": best.p_value, **best.parameters}
        if self.data.truth is not None:
            truth = self.data.truth.to_numpy()
            out["raw_error"] = float(np.linalg.norm(self.theta - truth))
            out["aligned_error"] = aligned_error(self.theta, truth)
        return out


def _with_set_aside(table: pd.DataFrame, aside: pd.DataFrame, own: set[str]) -> pd.DataFrame:
    """The investors, then those whose portfolio reading set aside, each with the reason.

    Args:
        table: One row for each portfolio of the stream.
        aside: Reason, then date and attributes, by investor.
        own: The columns of the table that are no attributes.
    """
    if aside.empty:
        return table
    rows = aside.rename(
        columns=lambda name: f"{name} (attribute)" if name in own - {"reason"} else name
    )
    rows.insert(0, "id", aside.index.astype(str))
    rows["status"], rows["gap_outlier"] = REFUSED, False
    rows = rows.reset_index(drop=True).reindex(columns=list(table.columns))
    return pd.concat([table, rows], ignore_index=True)


def frontier_frame(frontier: Frontier, points: int = FRONTIER_POINTS) -> pd.DataFrame:
    """A frontier as a table: weight, risk_aversion, risk, return, then a column for each asset."""
    weights, portfolios = frontier.sample(points)
    table = pd.DataFrame(portfolios, columns=list(frontier.problem.names))
    table.insert(0, "return", portfolios @ frontier.theta, allow_duplicates=True)
    table.insert(0, "risk", risk_of(frontier.problem, portfolios), allow_duplicates=True)
    table.insert(0, "risk_aversion", risk_aversion(weights), allow_duplicates=True)
    table.insert(0, "weight", weights, allow_duplicates=True)
    return table


def _attempt(compute: Callable[[], T]) -> tuple[T | None, str]:
    """The value, or why there is none; a part that cannot be told does not end the study."""
    try:
        return compute(), ""
    except (ImopError, ImportError) as error:
        text = str(error)
        return None, text[:1].upper() + text[1:]


def _mean(values: Any) -> float | None:
    return float(np.mean(values)) if np.size(values) else None
