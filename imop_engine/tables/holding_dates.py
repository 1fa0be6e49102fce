"""Dates of single holdings, of a purchase or a price say, which part no portfolio from another."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from imop_engine.tables.cells import CellTable
from imop_engine.tables.dates import Dates
from imop_engine.tables.extra_holdings import ADDS_UP
from imop_engine.tables.numbers import Numbers
from imop_engine.tables.portfolio_roles import ASSET, DATE, INVESTOR, WEIGHT, Roles
from imop_engine.tables.reading_report import KEPT, Cure, Notes
from imop_engine.tables.row_groups import MOST_ROWS

# Of the portfolios that dates would make so many add up to one where they are portfolios.
ADDING: Final = 0.5


def are_of_holdings(
    table: CellTable, found: Roles, numbers: dict[str, Numbers], dates: Dates | None
) -> bool:
    """Whether the dates of a long table belong to single holdings.

    Investors come at several dates then, but never with the same asset twice; and weights, where
    there are any, do not add up date by date.

    Args:
        table: The file's cells by column.
        found: What single columns are.
        numbers: Each column read as numbers, by name.
        dates: The day of each row; None where the file has none.
    """
    asset, investor, weight = (found.first(role) for role in (ASSET, INVESTOR, WEIGHT))
    if dates is None or asset is None or len(table) > MOST_ROWS:
        return False
    if (dates.values == dates.values[0]).all():
        return False
    frame = pd.DataFrame(
        {
            "investor": "" if investor is None else table[investor].strings.to_pandas(),
            "asset": table[asset].strings.to_pandas(),
            "day": dates.values,
        }
    )
    frame["held"] = 1.0 if weight is None else np.nan_to_num(numbers[weight].values)
    frame = frame[(frame["asset"] != "") & frame["day"].notna()]
    if frame.empty or frame.duplicated(["investor", "asset"]).any():
        return False
    if not (frame.groupby("investor")["day"].nunique() > 1).any():
        return False
    if weight is None:
        return True
    sums = frame.groupby(["investor", "day"])["held"].sum().to_numpy()
    adding = max(float((np.abs(sums / whole - 1) <= ADDS_UP).mean()) for whole in (1.0, 100.0))
    return adding < ADDING


def note_dates_of_holdings(name: str, notes: Notes) -> None:
    """Say that a portfolio is taken together though its holdings have dates of their own.

    Args:
        name: The column of dates.
        notes: Collects what was noticed, changed or refused.
    """
    notes.add(
        "no investor has an asset at two dates, so the dates are those of single holdings (of "
        "purchases or prices, say) and not of portfolios; what an investor holds is taken together",
        KEPT,
        "say so if they are dates of portfolios",
        columns=name,
        needs=True,
        cures=[Cure("roles", f"{name}={DATE}", "They are dates of portfolios")],
    )
