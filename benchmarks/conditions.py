"""Conditions under which estimates must hold or say that they do not: the simulator of `trust`.

A condition says how far a study is from what the method assumes: one covariance that everybody
knows, two returns that are known exactly, and small independent errors in holdings. `draw` gives
one simulated study of it, with what the analyst would have and with the truth apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.simulate import draw_weights

from . import departures as d
from . import given_limits
from .drawn_markets import TrueMarket, draw_history, draw_market, yearly_moments
from .right_reasons import RIGHT_REASONS

INVESTORS: Final = (300, 1000)
# What the analyst holds for historical returns where a condition says nothing of a history: means
# of this many months, so that no estimate starts from the truth.
USUAL_MONTHS: Final = 120
MIDDLE: Final = (0.1, 0.9)  # of uniform weights: the ends are single assets and plateaus
# An anchor is on an asset that a quarter of the investors want and are seen to hold more than 2 %
# of, and the two are apart by half of the range of such returns or more.
ANCHOR_HOLDERS: Final = 0.25
ANCHOR_HOLDING: Final = 0.02
ANCHORS_APART: Final = 0.5

MANDATE: Final = "mandate"

Anchors = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Condition:
    """One way in which a study departs from what the method assumes.

    `covariance_months` and `anchor_months` are the months that the analyst's covariance and anchors
    come from; None where they are known exactly.
    """

    key: str
    sentence: str
    departure: d.Departure = d.clean
    covariance_months: int | None = None
    anchor_months: int | None = None
    assets: int = 8

    @property
    def right_reasons(self) -> tuple[str, ...]:
        """Names of checks that are right for a verdict of "caution" or "poor" here."""
        return RIGHT_REASONS.get(self.key, ())

    @property
    def label(self) -> str:
        """Key and number of assets: one row of the table."""
        return f"{self.key}@{self.assets}"


@dataclass(frozen=True, eq=False)
class DrawnStudy:
    """What the analyst has, and behind it the truth.

    `history` is the table of monthly returns behind the moments where the condition has one;
    `anchors` is None where the analyst gives none and history's are taken. `efficient` is what each
    would hold on the true frontier at her weight; `contaminated` who takes no part in the model.
    `mandates` are the limits that the analyst knows, by the label in the column MANDATE of the
    attributes; one without a label is everybody's.
    """

    condition: Condition
    seed: int
    expected_returns: pd.Series[float]
    covariance: pd.DataFrame
    history: pd.DataFrame | None
    portfolios: pd.DataFrame
    attributes: pd.DataFrame | None
    dates: pd.Series[pd.Timestamp] | None
    anchors: Anchors | None
    market: str
    true_returns: Vector
    true_covariance: Matrix
    true_weights: Vector
    efficient: Matrix
    contaminated: NDArray[np.bool_]
    mandates: Mapping[str, dict[str, Any]] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The assets."""
        return tuple(self.expected_returns.index)


def draw(condition: Condition, seed: int, investors: int | None = None) -> DrawnStudy:
    """One simulated study.

    Args:
        condition: How it departs from what the method assumes.
        seed: Which study; equal seeds give equal studies.
        investors: How many; None: a number between those of INVESTORS, drawn.

    Returns:
        What the analyst has, and the truth.
    """
    rng = np.random.default_rng([crc32(condition.label.encode()), seed])
    market = draw_market(condition.assets, seed, rng)
    count = int(rng.integers(INVESTORS[0], INVESTORS[1] + 1)) if investors is None else investors
    sample = condition.departure(d.Scene(market, _weights(count, rng), rng))
    anchors = None if condition.anchor_months else _exact_anchors(sample, rng)
    history, returns, covariance = _moments(condition, sample.market, rng)
    names = list(sample.market.names)
    ids = pd.Index([f"I{i + 1:04d}" for i in sample.investor], name="investor")
    dates = attributes = None
    if sample.date is not None:
        days = pd.date_range("2020-12-31", periods=int(sample.date.max()) + 1, freq="YE")
        dates = pd.Series(days[sample.date], index=ids, name="date")
        attributes = pd.DataFrame({"investor": list(ids)}, index=ids)
    if sample.labels is not None and sample.labels.any():
        attributes = pd.DataFrame({MANDATE: sample.labels}, index=ids)
    return DrawnStudy(
        condition,
        seed,
        pd.Series(returns, index=names, name="expected_return"),
        pd.DataFrame(covariance, index=names, columns=names),
        history,
        pd.DataFrame(sample.holdings, index=ids, columns=names),
        attributes,
        dates,
        anchors,
        sample.market.name,
        sample.market.returns,
        sample.market.covariance,
        sample.weights,
        sample.efficient,
        sample.contaminated,
        sample.mandates,
    )


def _weights(count: int, rng: np.random.Generator) -> Vector:
    """Uniform, normal or beta, in the part of the frontier where several assets are held."""
    family = rng.choice(["uniform", "normal", "beta"])
    if family == "uniform":
        return rng.uniform(*MIDDLE, count)
    mean = rng.uniform(0.4, 0.6)
    return draw_weights(str(family), count, mean, 0.15, rng)


def _exact_anchors(sample: d.Sample, rng: np.random.Generator) -> Anchors:
    """The true returns of two assets that many hold and whose returns differ."""
    market = sample.market
    seen = (sample.holdings > ANCHOR_HOLDING).mean(axis=0)
    holders = np.minimum(seen, (sample.efficient > ANCHOR_HOLDING).mean(axis=0))
    many = np.flatnonzero(holders >= ANCHOR_HOLDERS)
    if len(many) < 2:
        many = np.argsort(-holders)[:2]
    known = market.returns[many]
    apart = np.abs(known[:, None] - known[None, :])
    first, second = np.nonzero(np.triu(apart >= ANCHORS_APART * np.ptp(known), 1))
    pick = int(rng.integers(len(first)))
    return tuple(
        (market.names[i], float(market.returns[i])) for i in (many[first[pick]], many[second[pick]])
    )


def _moments(
    condition: Condition, market: TrueMarket, rng: np.random.Generator
) -> tuple[pd.DataFrame | None, Vector, Matrix]:
    """The history the analyst has, and the moments taken from it."""
    if condition.covariance_months:
        history = draw_history(market, condition.covariance_months, rng)
        return (history, *yearly_moments(history))
    months = condition.anchor_months or USUAL_MONTHS
    history = draw_history(market, months, rng, exact_covariance=True)
    returns, _ = yearly_moments(history)
    return history if condition.anchor_months else None, returns, market.covariance


def _strangers(key: str, who: str, draw_: d.Draw) -> tuple[Condition, ...]:
    return tuple(
        Condition(f"{key}-{share}", f"{share} % of the investors {who}",
                  partial(d.strangers, share=share / 100, draw=draw_))
        for share in (10, 30)
    )  # fmt: skip


DEPARTURES: Final[tuple[Condition, ...]] = (
    Condition("clean", "everybody on one frontier, errors of 0.005 in each holding"),
    *(
        Condition(f"covariance-{m}", f"covariance estimated from {m} months", covariance_months=m)
        for m in (60, 120, 240)
    ),
    *(
        Condition(f"anchors-{m}", f"anchors from a history of {m} months", anchor_months=m)
        for m in (60, 120, 240)
    ),
    *(
        Condition(f"both-{m}", f"covariance and anchors from the same {m} months",
                  covariance_months=m, anchor_months=m)
        for m in (60, 120, 240)
    ),
    *(
        Condition(f"beliefs-{sd:g}", f"beliefs differ between investors, sd {sd:g}",
                  partial(d.own_beliefs, sd=sd))
        for sd in (0.005, 0.01, 0.03)
    ),
    Condition("own-covariance", "each investor has a covariance of her own, from 120 months",
              partial(d.own_covariance, months=120)),
    *_strangers("random", "hold random portfolios", d.random_portfolios),
    *_strangers("even", "hold 1/n", d.even_portfolios),
    *_strangers("index", "hold one and the same index", d.index_portfolios),
    *(
        Condition(f"lognormal-{sd:g}", f"log-normal errors in holdings, sd {sd:g}",
                  partial(d.lognormal_errors, sd=sd))
        for sd in (0.1, 0.3)
    ),
    Condition("dirichlet-0.05", "Dirichlet errors in holdings, sd 0.05 at a holding of one half",
              partial(d.dirichlet_errors, sd=0.05)),
    *(
        Condition(f"rounding-{step}", f"holdings rounded to {step} %",
                  partial(d.rounded, step=step / 100))
        for step in (1, 5)
    ),
    Condition("dropped-2", "holdings below 2 % left out", partial(d.small_dropped, least=0.02)),
    Condition("largest-4", "only the four largest holdings reported",
              partial(d.largest_only, count=4)),
    Condition("caps-differ", "caps of 20 to 60 % that differ between investors, not told",
              partial(d.caps_differ, low=0.2, high=0.6)),
    Condition("half-capped", "half of the investors capped at 20 %, not told",
              partial(d.half_capped, cap=0.2)),
    Condition("limits-given", "a cap of 40 % and a sector limit, the same for all, given",
              given_limits.one_set),
    Condition("mandates-given", "half of the investors under a cap of 40 % and a sector limit, "
              "given as two mandates", given_limits.two_mandates),
    Condition("caps-given", "caps of 20, 30 and 45 % or none, given as mandates",
              given_limits.several_caps),
    Condition("cash-unseen", "investors hold cash that the file does not show", d.cash_unseen),
    Condition("cash-sleeve", "0 to 30 % in cash whatever the preference, shown as an asset",
              partial(d.cash_sleeve, most=0.3)),
    Condition("home-tilt", "everybody shifts 10 % of wealth into one asset",
              partial(d.home_tilt, share=0.1)),
    Condition("tilt-dates", "a tilt of each investor's own, sd 0.05, the same at five dates",
              partial(d.tilt_over_dates, sd=0.05, dates=5)),
)  # fmt: skip

CONDITIONS: Final[dict[str, Condition]] = {
    one.label: one
    for one in (
        *DEPARTURES,
        *(replace(departure, assets=20) for departure in DEPARTURES),
        *(replace(DEPARTURES[0], assets=assets) for assets in (30, 50)),
    )
}
