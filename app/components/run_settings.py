"""What a run was learned from and how, in the words of the fields in which it was chosen."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from imop_app.components import show
from imop_app.components.anchor_settings import ANCHORINGS
from imop_app.components.learn_settings import ALGORITHMS, ERRORS, LOSSES, RISKS, STARTS
from imop_app.components.market_source import COVARIANCES, GAPS
from imop_app.run_record import RunRecord
from imop_app.settings import LearnSettings, MarketSettings

YES: Final = {True: "yes", False: "no"}


def compared(left: RunRecord, right: RunRecord) -> None:
    """The settings of two runs side by side, those that differ first.

    Args:
        left: The first run.
        right: The second.
    """
    first, second = _of(left), _of(right)
    names = list(dict.fromkeys((*first, *second)))
    rows = [(name, first.get(name, "–"), second.get(name, "–")) for name in names]
    table = pd.DataFrame(
        [(name, a, b, "" if a == b else "differs") for name, a, b in rows],
        columns=["setting", "A", "B", "differs"],
    ).sort_values("differs", ascending=False, kind="stable")
    changed = int((table["differs"] != "").sum())
    counted = "1 setting differs" if changed == 1 else f"{changed} settings differ"
    st.markdown(f"**Settings** ({counted if changed else 'all the same'})")
    show.table(
        table,
        "compare_settings",
        {
            "setting": show.text("Setting"),
            "A": show.text("A"),
            "B": show.text("B"),
            "differs": show.text("Differs"),
        },
        alternative="The settings of the two runs, those that differ first",
        height="content",
    )


def _of(record: RunRecord) -> dict[str, str]:
    """The settings of a run, each in words."""
    named = {"Market": record.market, "Investors": record.investors}
    settings = record.settings
    if settings is None:
        return named
    picked = settings.investors.selection
    if picked is not None:
        how = "only" if picked.mode == "only" else "all but"
        named["Of these"] = f"{how} {len(picked.ids):,}: {picked.said}"
    return {**named, **_market(settings.market), **_learning(settings.learn)}


def _market(market: MarketSettings) -> dict[str, str]:
    found = {"Caps": "none", "Bounds of returns": "none"}
    if market.source in ("upload", "tickers"):
        found["Covariance"] = COVARIANCES.get(market.covariance, market.covariance)
        found["Missing returns"] = GAPS.get(market.gaps, market.gaps)
    caps = [f"{one.asset} {one.cap:.0%}" for one in market.limits if one.cap < 1.0]
    if caps:
        found["Caps"] = ", ".join(caps[:6]) + (f" and {len(caps) - 6} more" if caps[6:] else "")
    if market.bounds is not None:
        low, high = market.bounds
        found["Bounds of returns"] = f"{low:.1%} to {high:.1%}"
    return found


def _learning(learn: LearnSettings) -> dict[str, str]:
    used: Any = learn.used
    known = ANCHORINGS[used.anchoring]
    if used.known:
        known += ": " + ", ".join(f"{name} {value:.2%}" for name, value in used.known)
    if used.total is not None:
        known += f": {used.total:.2%} ± {used.total_error:.2%}"
    found = {
        "Returns known": known,
        "How misfit is measured": LOSSES[used.loss],
        "Algorithm": ALGORITHMS[used.algorithm],
        "Weights tried": "every weight" if used.grid == "exact" else f"a grid of {used.grid}",
        "First guess": STARTS[used.start],
        "Learning rate": f"{used.rate:g}",
        "Confidence of the intervals": f"{used.level:.0%}",
        "All portfolios fitted together": YES[used.refine],
        "Outliers set aside": YES[used.trim],
        "What keeps investors from the frontier": ERRORS[used.errors],
        "Risks": RISKS[used.risks],
    }
    if used.loss == "efficiency":  # it has one exact update, and no weights to try
        del found["Algorithm"], found["Weights tried"]
    return found
