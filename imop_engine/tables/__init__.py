"""Tables in and out: histories and portfolios as people have them, results as they want them."""

from typing import Any

from imop_engine.tables.asset_map import AssetMap, read_asset_map
from imop_engine.tables.chunks import portfolio_chunks
from imop_engine.tables.group_table import read_asset_groups
from imop_engine.tables.mandate_table import read_mandates
from imop_engine.tables.moment_tables import read_moments
from imop_engine.tables.portfolios import Portfolios, read_portfolios
from imop_engine.tables.reading_limits import ReadingLimits
from imop_engine.tables.reading_report import Cure, Finding, Guess, ReadingReport
from imop_engine.tables.returns import ReturnHistory, read_returns
from imop_engine.tables.yahoo import read_yahoo

__all__ = [
    "AssetMap",
    "Cure",
    "Finding",
    "Guess",
    "Portfolios",
    "ReadingLimits",
    "ReadingReport",
    "ReturnHistory",
    "portfolio_chunks",
    "read_asset_groups",
    "read_asset_map",
    "read_mandates",
    "read_moments",
    "read_portfolios",
    "read_returns",
    "read_yahoo",
]

# What version 0.1.0 called them; its documentation named both.
_RENAMED = {"History": ReturnHistory, "Limits": ReadingLimits}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        return _RENAMED[name]
    raise AttributeError(f"module 'imop_engine.tables' has no attribute {name!r}")
