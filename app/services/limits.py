"""Limits on groups: what the editor shows, what was edited, and what the limits cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pandas as pd
import streamlit as st

from imop_app.files import FileBox
from imop_app.services import market as markets
from imop_app.services.errors import AppError, sentences
from imop_app.services.preparing import compiled
from imop_app.settings import MarketSettings, Relation, SumLimit
from imop_engine.limits import LinearLimit
from imop_engine.market import Market
from imop_engine.sentences.limits import RELATIONS, binds_cell, terms

if TYPE_CHECKING:
    from imop_engine.limit_prices import LimitPrices
    from imop_engine.study import Study

PERCENT: Final = 100.0
POINTS: Final = 1e4  # basis points in a return of 1
SIGNS: Final[dict[str, Relation]] = {"at most": "<=", "at least": ">=", "exactly": "="}


@dataclass(frozen=True, eq=False)
class LimitPicture:
    """The tables behind the charts of limits.

    Args:
        curves: The frontier with and without limits.
        lines: What each limit costs along it.
        stretches: Where each binds.
        table: One row for each limit.
    """

    curves: pd.DataFrame
    lines: pd.DataFrame
    stretches: pd.DataFrame
    table: pd.DataFrame


def choices(data: Market, settings: MarketSettings) -> list[str]:
    """What a limit of the table can be on: groups, assets, and sums that were written."""
    written = [one.what for one in settings.sums]
    return list(dict.fromkeys([*data.groups.written, *data.names, *written]))


def table(settings: MarketSettings) -> pd.DataFrame:
    """what, relation (in words) and share (in percent), for editing."""
    return pd.DataFrame(
        {
            "what": pd.Series([one.what for one in settings.sums], dtype=object),
            "relation": pd.Series([RELATIONS[one.relation] for one in settings.sums], dtype=object),
            "share": pd.Series([PERCENT * one.share for one in settings.sums], dtype=float),
        }
    )


@sentences
def with_table(settings: MarketSettings, data: Market, edited: pd.DataFrame) -> MarketSettings:
    """The settings with the limits of an edited table, or why they cannot be.

    Args:
        settings: The market's settings before.
        data: The market itself.
        edited: what, relation and share in percent; rows that are not complete do not count yet.
    """
    whole = edited.dropna(subset=["what", "relation", "share"])
    sums = tuple(
        SumLimit(str(what), SIGNS[str(relation)], round(float(share) / PERCENT, 8))
        for what, relation, share in whole[["what", "relation", "share"]].itertuples(index=False)
    )
    chosen = replace(settings, sums=sums)
    _, wrong = markets.linear_of(chosen, data)
    if wrong and wrong != markets.linear_of(settings, data)[1]:
        raise AppError(wrong[0])
    markets.problem(data, chosen)  # raises where no portfolio is left
    return chosen


@sentences
def with_text(settings: MarketSettings, data: Market, text: str) -> MarketSettings:
    """The settings with one more limit, as people write it, or why it cannot be read.

    Args:
        settings: The market's settings before.
        data: The market itself.
        text: "Technology + Cash <= 30%" say; it may make several limits.
    """
    from imop_engine.limit_text import parse_limit

    more = tuple(
        SumLimit(_written(one), one.relation, one.value)  # type: ignore[arg-type]
        for one in parse_limit(text, data.names, data.groups)
    )
    chosen = replace(settings, sums=(*settings.sums, *more))
    markets.problem(data, chosen)
    return chosen


def _written(limit: LinearLimit) -> str:
    """The left side of a limit so that it can be read again."""
    if limit.name:
        return limit.name
    return terms([(str(name), factor) for name, factor in limit.holdings], None)


@compiled
def picture(settings: MarketSettings, box: FileBox) -> LimitPicture | None:
    """What the limits of a market cost under its history's returns; None where there are none."""
    return _picture(settings, box)


@st.cache_resource(show_spinner=False, max_entries=16)
def _picture(settings: MarketSettings, _box: FileBox) -> LimitPicture | None:
    from imop_engine.limit_prices import limit_prices

    data = markets.load(settings, _box)
    limits = markets.limits_of(settings, data)
    found = limit_prices(data.covariance, data.expected_returns, limits, data.names)
    return _drawn(found) if found.limits else None


def of_study(study: Study) -> LimitPicture | None:
    """What the limits of a run cost under what it learned; None where it had caps at most."""
    return None if study.limit_prices is None else _drawn(study.limit_prices)


def _drawn(found: LimitPrices) -> LimitPicture:
    from imop_engine.report.frames_limits import binding_stretches, limit_curves, price_lines

    shown = found.table()
    shown["binding"] = [
        binds_cell(low, high)
        for low, high in zip(shown["risk_from"], shown["risk_to"], strict=True)
    ]
    shown["mean_points"] = POINTS * shown["mean_price"]
    shown["greatest_points"] = POINTS * shown["greatest_price"]
    return LimitPicture(limit_curves(found), price_lines(found), binding_stretches(found), shown)
