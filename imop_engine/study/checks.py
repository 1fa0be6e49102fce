"""Whether a result is to be trusted: each check one sentence and one remedy, together a verdict.

A check looks at figures of the study and nothing else, so that shell, report, app and run.json say
the same. Limits were set on simulated studies; docs/trust.md has what comes out on others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.inference.broken_limits import broken_limits
from imop_engine.inference.estimators import BELIEFS, HOLDINGS, IMPLIED
from imop_engine.inference.first_order import anchored
from imop_engine.inference.reporting import DROPPED, LARGEST
from imop_engine.inference.specification import Specification
from imop_engine.sentences import checks as say
from imop_engine.sentences import departures
from imop_engine.sentences.limits import limits_broken
from imop_engine.sentences.numbers import some
from imop_engine.study.data import MONTHS

if TYPE_CHECKING:  # it asks for its checks here
    from imop_engine.study.outcome import Study

Add = Callable[[str, str, say.CheckText], None]  # name, severity, what was found

NOTE, CAUTION, POOR = "note", "caution", "poor"
VERDICTS: Final = {NOTE: "good", CAUTION: "caution", POOR: "poor"}

NOISE: Final = 0.02  # error in a holding up to which intervals were seen to hold
# The same where it is only in what investors hold: such errors grow with the holding or are
# choices, and intervals take them for independent ones of one size.
NOISE_IN_HELD: Final = 0.005
# Variance of squared distances over the usual one, and in standard errors above it: 0.89 to 1.22
# and at most 3.1 in clean studies of 8 to 50 assets; 1.26 and 3.8 or more with unseen cash.
UNEVEN: Final = 1.2
UNEVEN_ERRORS: Final = 3.3  # by chance one clean study in two thousand
LITTLE_EXPLAINED: Final = 0.5
HARDLY_EXPLAINED: Final = 0.25
ASIDE: Final = 0.03  # of the investors set aside
MANY_ASIDE: Final = 0.35
SERIAL: Final = 0.15  # correlation of neighbours' residuals, and its standard errors
SERIAL_ERRORS: Final = 5.0
# Errors in what is held take half of those whom a limit binds over it, by two thirds of their size
# in the middle; limits that are broken by more than this many times their size were not kept.
BEYOND_ERRORS: Final = 2.0
# Wealth in one asset beside which the rest may be rounding, and the share of such portfolios: of
# 222 studies drawn from the 74 conditions of docs/trust.md none has more than 0.18.
ALONE: Final = 0.995
MOSTLY_ALONE: Final = 0.5
FEW: Final = 50
TOO_FEW: Final = 15
SHORT: Final = 120  # periods
FOR_EACH_ASSET: Final = 15  # periods for each asset
RULED_OUT: Final = 1e-3  # chance that a history departs as far from the fitted covariance
LOOSE: Final = 0.3  # error of the scale as a share of it
PILED: Final = 0.5  # holdings an investor at one value beyond the frontier's
TIED: Final = 0.10
COARSE: Final = 0.02  # step of reported holdings
OWN: Final = 0.5
REPEATED: Final = 0.05
COVERED: Final = 0.95  # of the value of a file has a return history
HARDLY_COVERED: Final = 0.80
NEAR_BOX: Final = 0.02  # of its width


@dataclass(frozen=True)
class Check:
    """What one check found.

    Args:
        name: of the check, stable.
        severity: "note", "caution" or "poor".
        sentence: what is the matter, true of this file.
        remedy: what helps.
    """

    name: str
    severity: str
    sentence: str
    remedy: str

    def to_dict(self) -> dict[str, str]:
        """As plain values, for JSON."""
        return {
            "name": self.name,
            "severity": self.severity,
            "sentence": self.sentence,
            "remedy": self.remedy,
        }


def verdict_of(checks: tuple[Check, ...]) -> str:
    """ "good", "caution" or "poor": the worst of the checks."""
    found = {check.severity for check in checks}
    worst = next((severity for severity in (POOR, CAUTION) if severity in found), NOTE)
    return VERDICTS[worst]


def study_checks(study: Study) -> tuple[Check, ...]:
    """All that is to be said of whether a study can be trusted, worst first.

    Args:
        study: finished.
    """
    found: list[Check] = []

    def add(name: str, severity: str, what: say.CheckText) -> None:
        found.append(Check(name, severity, *what))

    _fit(study, add)
    _people(study, add)
    _limits(study, add)
    _given(study, add)
    _refitted(study, add)
    _coverage(study, add)
    if study.estimate is not None:
        _shape(study, study.specification, add)
    _result(study, add)
    order = (POOR, CAUTION, NOTE)
    return tuple(sorted(found, key=lambda check: order.index(check.severity)))


def _fit(study: Study, add: Add) -> None:
    estimate = study.estimate
    noise_sd = study.noise_sd
    if noise_sd is not None and noise_sd > NOISE:
        add("noise", CAUTION, departures.noise(_away(study), noise_sd, NOISE, _order_open(study)))
    elif (
        noise_sd is not None
        and noise_sd > NOISE_IN_HELD
        and _nothing_strays(study)
        and study.own_tilts is None
        and not study.specification.only_rounded
    ):
        add("noise", CAUTION, departures.noise_in_held(_away(study), noise_sd, _order_open(study)))
    if estimate is None:
        add("together", CAUTION, say.not_together())
    explained = study.explained_elsewhere
    if explained is None or estimate is None:
        if study.fit.explained < HARDLY_EXPLAINED:
            add("explained", POOR, say.unexplained_here(study.fit.explained))
        return
    if estimate.found.way == IMPLIED:
        shares = estimate.found.explained
        best = max((shares[name] for name in (BELIEFS, HOLDINGS) if name in shares), default=0.0)
        add("baseline", POOR, say.below_baseline(best, shares[IMPLIED]))
    elif explained < LITTLE_EXPLAINED:
        severe = POOR if explained < HARDLY_EXPLAINED else CAUTION
        add("explained", severe, say.unexplained(explained))
    if estimate.found.way == BELIEFS and study.dispersion is not None:
        add("beliefs", CAUTION, say.beliefs(study.dispersion))


def _nothing_strays(study: Study) -> bool:
    """Whether nobody holds traces of what the frontier leaves out, as independent errors would."""
    return study.estimate is not None and study.estimate.found.tiny <= 0.0


def _people(study: Study, add: Add) -> None:
    estimate = study.estimate
    total = len(study.decisions)
    if estimate is not None:
        aside = int((~estimate.kept).sum())
        if aside:
            share = aside / total
            severe = POOR if share > MANY_ASIDE else CAUTION if share > ASIDE else NOTE
            far = say.outliers(aside, total, estimate.found.limit, study.own_tilts is not None)
            add("outliers", severe, far)
        elif not study.settings.trim and study.fit.outliers > ASIDE * total:
            far = say.outliers_kept(study.fit.outliers, total, study.fit.threshold)
            add("outliers", CAUTION, far)
        elif study.settings.trim and study.fit.outliers:
            many = study.fit.outliers > ASIDE * total
            own = study.dispersion is not None
            far = say.outliers_believed(study.fit.outliers, total, study.fit.threshold, own)
            add("strays", CAUTION if many else NOTE, far)
        names = study.decisions.index.nunique()
        sharing, shared = _sharing(study.decisions.index, estimate.clusters)
        if sharing - shared > REPEATED * names:
            add("duplicates", NOTE, say.duplicates(sharing, shared))
        total = len(np.unique(estimate.clusters[estimate.kept]))
    alone = int((study.decisions.max(axis=1) >= ALONE).sum())
    if alone > MOSTLY_ALONE * len(study.decisions):
        add("single", CAUTION, say.single_asset(alone, len(study.decisions)))
    if total < FEW:
        add("investors", POOR if total < TOO_FEW else CAUTION, say.few_investors(total))


def _sharing(names: pd.Index, clusters: NDArray[np.int64]) -> tuple[int, int]:
    """How many investors hold a portfolio of somebody else, and how many such portfolios."""
    investors = pd.Series(np.asarray(names)).groupby(clusters).nunique()
    shared = investors[investors > 1]
    return int(shared.sum()), len(shared)


def _limits(study: Study, add: Add) -> None:
    """Whether the portfolios keep the limits that were given."""
    Y = study.decisions.to_numpy(float)
    step = None if study.estimate is None else study.specification.step
    broken = broken_limits(study.settings.all_limits, study.problem.names, Y, step)
    if not broken:
        return
    sd = study.noise_sd or 0.0
    beyond = np.zeros(len(Y), dtype=bool)
    for one in broken:
        if np.median(one.excess - BEYOND_ERRORS * sd * one.spread) > 0.0:
            beyond |= one.who
    share = beyond.sum() / len(Y)
    severe = POOR if share > MANY_ASIDE else CAUTION if share > ASIDE else NOTE
    count = int(np.logical_or.reduce([one.who for one in broken]).sum())
    told = [
        (one.sentence, int(one.who.sum()), float(np.median(one.excess)), float(one.excess.max()))
        for one in broken
    ]
    add("limits", severe, limits_broken(count, len(Y), told, sd if not share else None))


def _given(study: Study, add: Add) -> None:
    estimate, market = study.estimate, study.data.market
    periods = market.periods
    if periods is not None and periods < max(SHORT, FOR_EACH_ASSET * study.problem.n):
        per_year = market.periods_per_year if market.months is None else MONTHS
        add("history", CAUTION, say.few_periods(periods, study.problem.n, per_year))
    if estimate is None:
        return
    if _reversed(study):
        add("anchors", POOR, say.anchors_reversed())
    elif _loose(study) > LOOSE:
        add("anchors", CAUTION, say.anchors_loose(_loose(study)))


def _reversed(study: Study) -> bool:
    """Whether the anchors have the returns the wrong way round."""
    fit = None if study.estimate is None else study.estimate.found.solution.beliefs
    return fit is not None and anchored(study.problem, fit.beliefs).dispersion <= 0.0


def _loose(study: Study) -> float:
    """Error of the difference between two anchors as a share of it; 0 where they are exact."""
    covariance = None if study.estimate is None else study.estimate.anchor_covariance
    values = study.problem.theta.values
    if covariance is None or len(values) != 2:
        return 0.0
    apart = float(values[1] - values[0])
    error = float(np.sqrt(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]))
    return error / abs(apart) if apart else np.inf


def _order_open(study: Study) -> bool:
    """Whether it is open which way round the returns are, so that not even ranks can be read."""
    return _reversed(study) or _loose(study) > say.SIGN_OPEN


def _away(study: Study) -> float:
    """How far a holding is from the nearest efficient portfolio's, root mean square over assets and
    over those who take part: what the distances in the table of investors show."""
    distances = study.fit.investors["distance"].to_numpy()
    part = distances if study.estimate is None else distances[study.estimate.kept]
    return float(np.sqrt(np.mean(part**2) / study.problem.n))


def _refitted(study: Study, add: Add) -> None:
    """Whether the history allows the covariance that was fitted to the portfolios, too."""
    if study.estimate is None or study.estimate.joint is None:
        return
    joint, periods = study.estimate.joint, study.estimate.periods
    if periods is None or joint.against_history(periods) >= RULED_OUT:
        return
    before = np.sqrt(np.diag(study.estimate.found.problem.covariance))
    after = np.sqrt(np.diag(joint.problem.covariance))
    most = int(np.argmax(np.abs(np.log(after / before))))
    changed = float(before[most]), float(after[most])
    name = study.problem.names[most]
    add(
        "refit",
        CAUTION,
        departures.covariance_contradicted(name, *changed, periods, _order_open(study)),
    )


def _coverage(study: Study, add: Add) -> None:
    files = [(one.covered, one.name) for one in study.data.reading if one.covered is not None]
    covered, name = min(files, default=(1.0, ""))
    if covered < COVERED:
        severe = POOR if covered < HARDLY_COVERED else CAUTION
        add("coverage", severe, say.uncovered(name, covered))


def _shape(study: Study, shape: Specification, add: Add) -> None:
    estimate = study.estimate
    if shape.serial > SERIAL and shape.serial_z > SERIAL_ERRORS and not shape.only_rounded:
        fitted = estimate is not None and estimate.joint is not None
        known = estimate is not None and estimate.periods is not None
        add("specification", CAUTION, say.serial(shape.serial, fitted, known))
    small = study.noise_sd is not None and study.noise_sd <= NOISE
    uneven = shape.uneven > UNEVEN and shape.uneven_z > UNEVEN_ERRORS
    if uneven and small and estimate is not None and not _nothing_strays(study):
        add("noise", CAUTION, departures.noise_uneven(shape.uneven))
    if shape.piled > PILED and (shape.step is None or shape.step < COARSE):
        add("caps", CAUTION, say.capped(shape.piled, shape.piled_at))
    elif shape.tied > TIED:
        add("caps", CAUTION, say.capped(shape.tied, 0.0))
    adjusted = None if estimate is None else estimate.adjusted
    whole = adjusted is not None and adjusted.rule is not None
    if shape.most_held < study.problem.n and shape.at_most > LARGEST and shape.most_held > 1:
        add("largest", CAUTION, say.largest_only(shape.most_held, shape.at_most, whole))
    if shape.step is not None and shape.step >= COARSE:
        add("rounding", CAUTION, say.rounded(shape.step))
    elif shape.step is not None and shape.step >= COARSE / 2:
        add("rounding", NOTE, say.rounded(shape.step))
    elif shape.least_holding > DROPPED:
        add("dropped", CAUTION, say.small_dropped(shape.least_holding, whole))
    if adjusted is not None and adjusted.tilt is not None:
        name = study.problem.names[adjusted.tilt.asset]
        add("tilt", CAUTION, say.shared_tilt(name, adjusted.tilt.share, adjusted.tilt.left))
    if study.own_tilts is not None:
        tilts = study.own_tilts
        add("tilt", CAUTION, say.tilts_taken_off(tilts.lasting, tilts.sd))
    elif np.isfinite(shape.own) and shape.own > OWN:
        add("tilt", CAUTION, say.own_tilt(shape.own))


def _result(study: Study, add: Add) -> None:
    known = study.identification
    if known is None:
        add("settled", POOR, say.not_settled())
        return
    if not known.settled:
        add("settled", CAUTION, say.not_settled())
    box = study.problem.theta
    room = NEAR_BOX * (box.upper - box.lower)
    edge = (study.theta <= box.lower + room) | (study.theta >= box.upper - room)
    edge &= np.array([status == "identified" for status in known.status])
    if edge.any():
        names = some([study.problem.names[i] for i in np.flatnonzero(edge)], 4)
        add("box", CAUTION, say.at_box(names))
    count = sum(status in ("identified", "anchored", "relative") for status in known.status)
    if count < min(3, study.problem.n):
        add("identified", POOR, say.few_identified(count, study.problem.n))
