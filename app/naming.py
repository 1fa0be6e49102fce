"""What a workspace is called while nobody has named it: its portfolios and its market."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from imop_app.settings import InvestorSettings, MarketSettings, StoredFile
from imop_app.workspace import UNNAMED

LENGTH: Final = 60
TICKERS: Final = 3  # named one by one


def automatic(market: MarketSettings | None, investors: InvestorSettings | None) -> str:
    """The name by what was chosen, "clients on history" say.

    Args:
        market: What was chosen; None where nothing was.
        investors: The same.
    """
    if market is None:
        return UNNAMED
    assets = _market(market)
    if investors is None:
        return assets[:LENGTH]
    batch = investors.first
    who = {
        "simulate": f"{batch.simulation.count:,} simulated",
        "sample": "The sample",
        "upload": _stem(batch.file) or "Portfolios",
    }[batch.source]
    return f"{who} on {assets}"[:LENGTH]


def _market(market: MarketSettings) -> str:
    if market.source == "bundled":
        # loaded here: the first page names nothing, and need not wait for the engine's tables
        from imop_engine import bundled

        return bundled.market(market.bundled).title
    if market.source == "tickers":
        more = len(market.tickers) - TICKERS
        return ", ".join(market.tickers[:TICKERS]) + (f" and {more} more" if more > 0 else "")
    return _stem(market.file) or "an upload"


def _stem(file: StoredFile | None) -> str:
    return "" if file is None else Path(file.name).stem
