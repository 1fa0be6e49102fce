"""Some clients beside the rest: what they hold, want and leave, whether they believe the same."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
import pandas as pd

from imop_engine.clients.book import ClientBook
from imop_engine.clients.stated import MISMATCHED
from imop_engine.errors import InvalidInput
from imop_engine.study import Study

CHOSEN: Final = "chosen"  # the attribute that tells the two apart
THESE, REST = "these", "the rest"


def with_choice(study: Study, clients: Collection[str]) -> Study:
    """The study with an attribute that says who was chosen.

    Args:
        study: finished or stopped.
        clients: what the chosen are called.
    """
    wanted = set(clients)
    ids = study.data.portfolios.index.astype(str)
    flags = np.array([one in wanted for one in ids], dtype=bool)
    if not flags.any() or flags.all():
        raise InvalidInput("there is no rest to compare with; choose some clients, and not all.")
    return study.labelled(CHOSEN, np.where(flags, THESE, REST))


def compared_figures(book: ClientBook, clients: Collection[str]) -> pd.DataFrame:
    """who, clients, wealth, score, risk, risk_aversion, gap_points, outliers and mismatched.

    Args:
        book: the clients of a study.
        clients: what the chosen are called.

    Returns:
        Two rows: means of scores, risks and gaps, the median risk aversion, totals of wealth.
    """
    wanted = set(clients)
    flags = np.array([one in wanted for one in book.ids], dtype=bool)
    table, rows = book.table, []
    for who, part in ((THESE, flags), (REST, ~flags)):
        some = table[part]
        rows.append(
            {
                "who": who,
                "clients": int(part.sum()),
                "wealth": float(some["wealth"].sum(min_count=1)),
                "score": float(some["score"].mean()),
                "risk": float(some["risk"].mean()),
                "risk_aversion": float(some["risk_aversion"].median()),
                "gap_points": float(some["gap_points"].mean()),
                "outliers": int(book.outlier[part].sum()),
                "mismatched": int(np.isin(book.mismatch[part], MISMATCHED).sum()),
            }
        )
    return pd.DataFrame(rows)
