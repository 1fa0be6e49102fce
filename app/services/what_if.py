"""What a changed portfolio, other caps or a benchmark would be under the estimate of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_app.services.errors import sentences
from imop_engine.clients.book import ClientBook
from imop_engine.clients.what_if import beside, capped, model_portfolios, what_if
from imop_engine.report import frames, style
from imop_engine.report.frames_client import BENCHMARK, EDITED, EFFICIENT, HELD
from imop_engine.sentences.clients import beside_sentence

PERCENT: Final = 100.0


@dataclass(frozen=True, eq=False)
class WhatIfPicture:
    """The figures of each portfolio, the frontier under the caps, and where they lie."""

    figures: pd.DataFrame
    curves: pd.DataFrame
    places: pd.DataFrame
    said: str
    above_caps: float


def start(found: ClientBook, client: str) -> pd.DataFrame:
    """What the editor begins with: asset, share, cap and benchmark, in per cent.

    Args:
        found: The clients of a run.
        client: Whose holdings are edited.
    """
    problem, held = found.study.problem, found.held[found.place(client)]
    return pd.DataFrame(
        {
            "asset": list(problem.names),
            "share": (PERCENT * held).round(2),
            "cap": (PERCENT * problem.upper).round(2),
            "benchmark": (PERCENT * found.held.mean(axis=0)).round(2),
        }
    )


@sentences
def picture(found: ClientBook, client: str, edited: pd.DataFrame) -> WhatIfPicture:
    """What the edited table comes to.

    Args:
        found: The clients of a run.
        client: Whose holdings were edited.
        edited: Asset, share, cap and benchmark, in per cent; an empty share is none.
    """
    numbers = edited[["share", "benchmark"]].fillna(0.0).to_numpy(dtype=float)
    limits = {
        str(name): float(cap) / PERCENT
        for name, cap in zip(edited["asset"], edited["cap"], strict=True)
        if pd.notna(cap)
    }
    mine = what_if(found, numbers[:, 0], limits)
    cases = [
        (HELD, what_if(found, found.held[found.place(client)], limits)),
        (EDITED, mine),
        (BENCHMARK, what_if(found, numbers[:, 1], limits)),
    ]
    if mine.twin is not None:
        cases.append((EFFICIENT, what_if(found, mine.twin, limits)))
    rows = [
        {
            "kind": kind,
            "risk": one.risk,
            "score": one.score,
            "return": one.expected,
            "gap_points": 1e4 * one.gap,
            "weight": one.weight,
            "risk_aversion": one.risk_aversion,
        }
        for kind, one in cases
    ]
    figures = pd.DataFrame(rows)
    places = figures[np.isfinite(figures["return"])]
    problem = capped(found, limits)
    return WhatIfPicture(
        figures,
        frames.curve(problem, found.study.theta, style.ESTIMATED),
        places[["kind", "risk", "return"]].reset_index(drop=True),
        beside_sentence(**beside(found, numbers[:, 0], numbers[:, 1])),
        mine.above_caps,
    )


@sentences
def models(found: ClientBook, attribute: str) -> pd.DataFrame:
    """The model portfolio of each segment.

    Args:
        found: The clients of a run.
        attribute: What segments are made by.
    """
    return model_portfolios(found, attribute)


def models_csv(table: pd.DataFrame) -> bytes:
    """The model portfolios as CSV."""
    from imop_engine.tables.export import csv_text

    return csv_text(table).encode()


def shown_models(table: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Any, ...]]:
    """The table with assets that any segment holds, and their names."""
    fixed = ["segment", "clients", "weight", "risk", "score", "expected_return"]
    assets = [name for name in table.columns if name not in fixed]
    held = [name for name in assets if (table[name] >= frames.HELD_FROM).any()]
    return table[[*fixed, *held]], tuple(held)
