"""Which returns are worth knowing: assets and portfolios ranked by what they would fix as anchors.

Portfolios tell returns up to a shift and a scale. Two anchors g1'r = v1 and g2'r = v2 fix both; the
scale is (v2 - v1) over what the beliefs say the two are apart, so its error is that of v2 - v1 as a
share of it. The distance is taken from the beliefs and not from the history's own means: whoever
picked the pair that a history happened to set far apart would pick its errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from imop_engine.arguments import Matrix, Vector
from imop_engine.frontier import risk_of
from imop_engine.inference.anchors import held_assets
from imop_engine.inference.fit import implied_returns
from imop_engine.problem import Problem
from imop_engine.sentences import anchors as say

AVERAGE: Final = "Average portfolio"
LEAST_RISK: Final = "Portfolio of least risk"
CAREFUL: Final = "Careful half, on average"
BOLD: Final = "Bold half, on average"
PORTFOLIOS: Final = (AVERAGE, LEAST_RISK, CAREFUL, BOLD)

HOLDS: Final = 0.005  # a smaller holding may be rounding or an error
HARDLY_HELD: Final = 0.05  # share of investors, or of an anchor's money that is in such assets
NEARLY_SAME: Final = 0.05  # of the spread of beliefs
LOOSE: Final = 0.3  # error of the scale from which checks warn


@dataclass(frozen=True, eq=False)
class AnchorCandidate:
    """An asset or a portfolio whose return might be taken as known.

    Args:
        name: Of the asset, or one of PORTFOLIOS.
        portfolio: Shares of the assets.
        value: What it earned in the history, a year.
        error: Standard error of that; 0 where it is not known.
        belief: What the portfolios say it returns, up to shift and scale.
        holders: Share of the investors who hold it; of a portfolio, of its money that is in assets
            which are held.
    """

    name: str
    portfolio: Vector
    value: float
    error: float
    belief: float
    holders: float

    @property
    def useful(self) -> bool:
        """Whether the portfolios tie it to the other returns."""
        return self.holders > HARDLY_HELD


@dataclass(frozen=True, eq=False)
class AnchorChoice:
    """Everything that might anchor a study, and what each pair would fix.

    Args:
        names: The assets.
        candidates: Portfolios first, then the assets.
        beliefs: Yearly returns up to shift and scale, in the order of `names`.
        mean_covariance: Of the history's means as estimates; None: not known.
    """

    names: tuple[str, ...]
    candidates: tuple[AnchorCandidate, ...]
    beliefs: Vector
    mean_covariance: Matrix | None

    def candidate(self, name: str) -> AnchorCandidate | None:
        """The candidate of that name; None where there is none."""
        return next((one for one in self.candidates if one.name == name), None)

    def scale_error(
        self, first: AnchorCandidate, second: AnchorCandidate, *, together: bool = False
    ) -> float:
        """Standard error of the scale that history gives two anchors, as a share of the scale.

        Args:
            first: One anchor.
            second: The other.
            together: Whether it counts that the two err together, as it does where a study takes
                them from the history; returns that are named each have a ± of their own.

        Returns:
            Infinite where beliefs put the two in the same place; 0 where errors are not known.
        """
        apart = abs(second.belief - first.belief)
        if apart <= NEARLY_SAME * self._spread:
            return np.inf
        if self.mean_covariance is None:
            return 0.0
        difference = second.portfolio - first.portfolio
        variance = first.error**2 + second.error**2
        if together:
            variance = float(difference @ self.mean_covariance @ difference)
        return float(np.sqrt(max(variance, 0.0))) / apart

    @property
    def _spread(self) -> float:
        useful = [one.belief for one in self.candidates if one.useful]
        return float(np.ptp(useful)) if useful else 0.0

    def partner(self, one: AnchorCandidate) -> tuple[AnchorCandidate | None, float]:
        """With whom a candidate fixes the scale best, and to what share of it."""
        others = [other for other in self.candidates if other.useful and other.name != one.name]
        if not one.useful or not others:
            return None, np.inf
        errors = [self._badness(one, other) for other in others]
        best = int(np.argmin(errors))
        return others[best], self.scale_error(one, others[best])

    def _badness(self, one: AnchorCandidate, other: AnchorCandidate) -> float:
        """What makes a pair worse: the error of the scale, or nearness where that is not known."""
        error = self.scale_error(one, other)
        return error if error > 0.0 else -abs(one.belief - other.belief)

    def best_pair(self, only: tuple[str, ...] | None = None) -> tuple[AnchorCandidate, ...]:
        """The two that fix the scale best, the lower belief first; none where no pair does.

        Args:
            only: Names to choose from; None: all.
        """
        useful = [
            one for one in self.candidates if one.useful and (only is None or one.name in only)
        ]
        pairs = [(a, b) for i, a in enumerate(useful) for b in useful[i + 1 :]]
        pairs = [pair for pair in pairs if np.isfinite(self.scale_error(*pair))]
        if not pairs:
            return ()
        best = min(pairs, key=lambda pair: self._badness(*pair))
        return tuple(sorted(best, key=lambda one: one.belief))

    def values_of(self, pair: tuple[AnchorCandidate, ...]) -> tuple[float, ...]:
        """What a pair earned, brought into the order of beliefs where history's errors hide it.

        Args:
            pair: As `best_pair` gives it.
        """
        values = tuple(one.value for one in pair)
        if self.mean_covariance is None or len(pair) != 2 or values[1] > values[0]:
            return values
        from imop_engine.inference.anchors import ordered_anchors

        rows = np.array([one.portfolio for one in pair])
        returns, *_ = np.linalg.lstsq(rows, np.array(values), rcond=None)
        low, high = ordered_anchors(rows, returns, self.mean_covariance)[0]
        return float(low), float(high)

    def table(self) -> pd.DataFrame:
        """name, kind, value, error, holders, scale_error, partner: what fixes most comes first."""
        rows = []
        for one in self.candidates:
            other, error = self.partner(one)
            rows.append(
                {
                    "name": one.name,
                    "kind": "portfolio" if one.name in PORTFOLIOS else "asset",
                    "value": one.value,
                    "error": one.error if self.mean_covariance is not None else np.nan,
                    "holders": one.holders,
                    "scale_error": error if np.isfinite(error) and error > 0.0 else np.nan,
                    "partner": "" if other is None else other.name,
                    "_order": np.inf if other is None else self._badness(one, other),
                }
            )
        table = pd.DataFrame(rows).sort_values(
            ["_order", "holders"], ascending=[True, False], kind="stable"
        )
        return table.drop(columns="_order").reset_index(drop=True)

    def levels(self, known: tuple[tuple[str, float], ...]) -> Vector | None:
        """All returns at the level of some known ones: shift and scale, nothing else.

        Args:
            known: Candidates' names with their yearly returns; one moves only the shift.

        Returns:
            None where they fix no positive scale.
        """
        found = [(self.candidate(name), value) for name, value in known]
        rows = [(one.belief, value) for one, value in found if one is not None]
        if not rows:
            return None
        beliefs, values = np.array(rows).T
        if len(rows) == 1:
            return np.asarray(self.beliefs + values[0] - beliefs[0])
        if np.ptp(beliefs) <= NEARLY_SAME * self._spread:
            return None
        scale, shift = np.polyfit(beliefs, values, 1)
        return np.asarray(scale * self.beliefs + shift) if scale > 0.0 else None

    def diagnosis(self, known: tuple[tuple[str, float, float], ...]) -> tuple[str, str]:
        """What is wrong, or right, with two known returns: "good", "caution" or "poor", and why.

        Args:
            known: Name, yearly return and its standard error of each.
        """
        found = [
            (one, value, error) for name, value, error in known if (one := self.candidate(name))
        ]
        for one, _, _ in found:
            if not one.useful:
                return "poor", say.not_held(one.name, one.holders)
        if len(found) < 2:
            return "good", say.single(found[0][2]) if found else ""
        (a, low, first), (b, high, second) = sorted(found, key=lambda item: item[0].belief)[:2]
        if b.belief - a.belief <= NEARLY_SAME * self._spread:
            return "poor", say.same(a.name, b.name)
        if high <= low:
            return "poor", say.inverted(a.name, b.name, low - high)
        scale = float(np.hypot(first, second)) / (high - low)
        if scale > LOOSE:
            return "caution", say.loose(scale)
        return "good", say.fixed(scale, max(first, second))


def anchor_choice(
    problem: Problem,
    history: Vector,
    mean_covariance: Matrix | None,
    decisions: Matrix,
    beliefs: Vector | None = None,
) -> AnchorChoice:
    """Assets and portfolios that might anchor a study, with what each would fix.

    Args:
        problem: What is decided; its own anchors do not matter.
        history: Yearly expected return of each asset by the history.
        mean_covariance: Covariance of those as estimates; None: not known.
        decisions: Portfolios, one row each.
        beliefs: What was learned, yearly; None takes the implied returns of the average portfolio,
            which have the same shape where one frontier explains everybody.
    """
    mean = decisions.mean(axis=0)
    shape = implied_returns(problem, mean) if beliefs is None else beliefs
    holders = (decisions > HOLDS).mean(axis=0)
    held = held_assets(decisions)
    risk = risk_of(problem, decisions)
    bold = risk > np.median(risk)
    portfolios = {AVERAGE: mean, LEAST_RISK: problem.portfolio.least_variance}
    if bold.any() and not bold.all():
        portfolios |= {CAREFUL: decisions[~bold].mean(axis=0), BOLD: decisions[bold].mean(axis=0)}

    def made(name: str, portfolio: Vector, share: float) -> AnchorCandidate:
        error = 0.0
        if mean_covariance is not None:
            error = float(np.sqrt(max(float(portfolio @ mean_covariance @ portfolio), 0.0)))
        return AnchorCandidate(
            name, portfolio, float(portfolio @ history), error, float(portfolio @ shape), share
        )

    found = [made(name, row, float(row[held].sum())) for name, row in portfolios.items()]
    # a portfolio with money in what hardly anybody holds ties the scale to what nobody can see
    found = [one for one in found if one.holders > 1.0 - HARDLY_HELD]
    axes = np.eye(problem.n)
    found += [made(problem.names[i], axes[i], float(holders[i])) for i in range(problem.n)]
    return AnchorChoice(tuple(problem.names), tuple(found), np.asarray(shape), mean_covariance)
