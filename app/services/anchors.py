"""Which returns to take as known: what each choice would fix, and what it does to the levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from imop_app.files import FileBox
from imop_app.services import market as markets
from imop_app.services import people as crowd
from imop_app.services.errors import sentences
from imop_app.services.preparing import PREPARATION
from imop_app.settings import InvestorSettings, LearnSettings, MarketSettings
from imop_engine.inference.anchor_choice import (
    AVERAGE,
    LEAST_RISK,
    PORTFOLIOS,
    AnchorChoice,
    anchor_choice,
)
from imop_engine.investors import Investors
from imop_engine.market import Market
from imop_engine.sentences import anchors as say
from imop_engine.study import Study

Choice = AnchorChoice  # what pages are given
BETTER = 0.8  # of the scale's error: what is called a better pair


@dataclass(frozen=True, eq=False)
class AnchorPicture:
    """What the choice of known returns does, for the Learn page."""

    colour: str  # "good", "caution" or "poor"
    said: str
    levels: pd.DataFrame | None  # asset, now, chosen; None where no level fits


@sentences
def choice(
    market: MarketSettings, investors: InvestorSettings, box: FileBox, study: Study | None = None
) -> AnchorChoice:
    """Everything that might anchor a run on these data. Kept with the data.

    Args:
        market: The chosen market.
        investors: The chosen investors.
        box: The files of the workspace.
        study: A run on the same data, whose beliefs are then used; None takes implied returns.
    """
    PREPARATION.require()
    beliefs = None if study is None else tuple(study.theta.tolist())
    return _choice(market, investors, beliefs, box)


@st.cache_resource(show_spinner=False, max_entries=16)
def _choice(
    market: MarketSettings,
    investors: InvestorSettings,
    beliefs: tuple[float, ...] | None,
    _box: FileBox,
) -> AnchorChoice:
    data, people = markets.load(market, _box), crowd.load(market, investors, _box)
    return _on(market, data, people, None if beliefs is None else np.array(beliefs))


def _on(
    settings: MarketSettings, data: Market, people: Investors, beliefs: Any = None
) -> AnchorChoice:
    return anchor_choice(
        markets.problem(data, settings),
        data.expected_returns,
        data.mean_covariance,
        people.decisions,
        beliefs,
    )


def for_the_engine(
    settings: MarketSettings, learn: LearnSettings, data: Market, people: Investors | None
) -> Any:
    """The anchors of a study: None for history's, () for none, else a list of known returns.

    Args:
        settings: The chosen market.
        learn: What is taken as known.
        data: The market itself.
        people: The investors; None where no anchor is a portfolio of theirs.
    """
    if learn.anchoring in ("history", "none"):
        return None if learn.anchoring == "history" else ()
    unsure = dict(learn.known_errors)
    known = [(name, value, unsure.get(name, 0.0)) for name, value in learn.known]
    if learn.anchoring == "total":
        assert people is not None
        known = _from_total(_on(settings, data, people), learn)
    if people is None or not any(name in PORTFOLIOS for name, _, _ in known):
        return known
    found = _on(settings, data, people)
    return [(_target(found, name), value, error) for name, value, error in known]


def _target(found: AnchorChoice, name: str) -> Any:
    one = found.candidate(name)
    if one is None or name not in PORTFOLIOS:
        return name
    shares = zip(found.names, one.portfolio, strict=True)
    return tuple((asset, float(share)) for asset, share in shares if share)


def _from_total(found: AnchorChoice, learn: LearnSettings) -> list[tuple[str, float, float]]:
    """The average portfolio at the analyst's number, and below it what history says is apart."""
    average = found.candidate(AVERAGE)
    assert average is not None
    low = found.candidate(LEAST_RISK) or found.partner(average)[0]
    total = float(learn.total or 0.0)
    if low is None:
        return [(AVERAGE, total, learn.total_error)]
    first, second = sorted((low, average), key=lambda one: one.belief)
    below, above = found.values_of((first, second))
    apart = (above - below) * (1.0 if second is average else -1.0)
    error = 0.0
    if found.mean_covariance is not None:
        rows = average.portfolio - low.portfolio
        error = float(np.sqrt(max(float(rows @ found.mean_covariance @ rows), 0.0)))
    # exact together with the average where that is exact: its own error is the level's
    return [(AVERAGE, total, learn.total_error), (low.name, float(total - apart), error)]


def suggested(found: AnchorChoice) -> tuple[tuple[tuple[str, float], ...], dict[str, float]]:
    """The pair that fixes most with its history, and the standard errors."""
    pair = found.best_pair()
    values = found.values_of(pair)
    known = tuple((one.name, value) for one, value in zip(pair, values, strict=True))
    return known, {one.name: one.error for one in pair if one.error > 0.0}


def better(found: AnchorChoice, learn: LearnSettings) -> LearnSettings | None:
    """The settings with the pair that fixes most; None where what is chosen does as well.

    Args:
        found: What might anchor.
        learn: What is chosen now.
    """
    known, errors = suggested(found)
    if len(known) < 2:
        return None
    pair = found.best_pair()
    mended = replace(
        learn,
        anchoring="assets",
        known=known,
        known_errors=tuple(sorted(errors.items())),
    )
    if mended.used == learn.used:
        return None
    now = _scale_error_now(found, learn)
    return mended if found.scale_error(*pair) < BETTER * now else None


def _scale_error_now(found: AnchorChoice, learn: LearnSettings) -> float:
    """The scale's error by the present choice; infinite where it fixes none."""
    if learn.anchoring == "none":
        return float("inf")
    if learn.anchoring == "assets":
        unsure = dict(learn.known_errors)
        known = tuple((name, value, unsure.get(name, 0.0)) for name, value in learn.known)
        if found.levels(learn.known) is None or found.diagnosis(known)[0] == "poor":
            return float("inf")
        (_, low, first), (_, high, second) = known[:2]
        return float(np.hypot(first, second)) / abs(high - low)
    both = [one for name in (LEAST_RISK, AVERAGE) if (one := found.candidate(name)) is not None]
    return found.scale_error(*both, together=True) if len(both) == 2 else float("inf")


def picture(found: AnchorChoice, learn: LearnSettings, study: Study | None) -> AnchorPicture:
    """What the chosen known returns do to all levels; no run is needed for it.

    Args:
        found: What might anchor.
        learn: What is chosen.
        study: The shown run on the same data; None where there is none.
    """
    known = _known(found, learn)
    colour, said = found.diagnosis(known)
    if learn.anchoring == "total":
        said = say.single(learn.total_error)
    levels = found.levels(tuple((name, value) for name, value, _ in known))
    if levels is None:
        return AnchorPicture(colour, said, None)
    table = pd.DataFrame({"asset": list(found.names), "chosen": levels})
    table["now"] = np.nan if study is None else study.theta
    if study is not None:
        fixed = study.frame_returns["estimate"].notna().to_numpy()
        table = table[fixed].reset_index(drop=True)
    return AnchorPicture(colour, said, table)


def _known(found: AnchorChoice, learn: LearnSettings) -> tuple[tuple[str, float, float], ...]:
    if learn.anchoring == "total":
        return tuple(_from_total(found, learn)) if learn.total is not None else ()
    if learn.anchoring == "assets":
        unsure = dict(learn.known_errors)
        return tuple((name, value, unsure.get(name, 0.0)) for name, value in learn.known)
    low, high = found.candidate(LEAST_RISK), found.candidate(AVERAGE)
    pair = tuple(one for one in (low, high) if one is not None)
    values = found.values_of(pair)
    return tuple((one.name, value, one.error) for one, value in zip(pair, values, strict=True))


def advice(found: AnchorChoice) -> str:
    """Which two fix the most; "" where none do."""
    pair = found.best_pair()
    return say.advice(pair[0].name, pair[1].name, found.scale_error(*pair)) if pair else ""


def historical_total(found: AnchorChoice) -> float:
    """What the average portfolio earned in the history, a year."""
    average = found.candidate(AVERAGE)
    return 0.0 if average is None else average.value
