"""Prices already fetched, one small file per request, so that a study opens without a network.

Files are JSON: they can be read by a person and by any program, and opening one runs no code.
An empty reply is never stored; a file that cannot be read counts as absent.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

CACHE_VARIABLE: Final = "IMOP_CACHE"
FOLDER: Final = "yahoo"


def cache_folder() -> Path:
    """Return where prices are kept: $IMOP_CACHE, or the user's own cache folder."""
    folder = os.environ.get(CACHE_VARIABLE)
    if folder:
        return Path(folder) / FOLDER
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "imop" / FOLDER


@dataclass(frozen=True)
class Request:
    """What was asked of Yahoo for one ticker."""

    ticker: str
    start: str
    end: str
    frequency: str

    def file(self, folder: Path) -> Path:
        """Return the file of this request; its name starts with the ticker, for people."""
        words = f"{self.ticker}|{self.start}|{self.end}|{self.frequency}"
        mark = hashlib.sha256(words.encode()).hexdigest()[:16]
        shown = "".join(one if one.isalnum() else "_" for one in self.ticker)
        return folder / f"{shown}-{self.frequency}-{mark}.json"


@dataclass(frozen=True, eq=False)
class Stored:
    """Prices of one ticker and when they were fetched."""

    prices: pd.Series[Any]
    fetched: dt.datetime


def load(request: Request, folder: Path) -> Stored | None:
    """Return stored prices, or None where there are none that can be read."""
    try:
        document = json.loads(request.file(folder).read_text("utf-8"))
        asked = (request.ticker, request.start, request.end, request.frequency)
        if tuple(document[key] for key in ("ticker", "start", "end", "frequency")) != asked:
            return None
        prices = pd.Series(
            [float(price) for price in document["prices"]],
            index=pd.DatetimeIndex(document["dates"], name="date"),
            name=request.ticker,
            dtype=float,
        )
        fetched = dt.datetime.fromisoformat(document["fetched"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Stored(prices, fetched) if len(prices) else None


def store(request: Request, prices: pd.Series[Any], folder: Path, now: dt.datetime) -> bool:
    """Keep prices; return whether that worked, since a full disk must not end a study.

    Args:
        request: What was asked for.
        prices: By date.
        folder: Of the cache.
        now: When they were fetched.
    """
    if not len(prices):
        return False
    document = {
        "ticker": request.ticker,
        "start": request.start,
        "end": request.end,
        "frequency": request.frequency,
        "fetched": now.isoformat(),
        "dates": [moment.strftime("%Y-%m-%d") for moment in prices.index],
        "prices": [float(price) for price in prices],
    }
    target = request.file(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Written aside and moved into place: a reader never sees half a file.
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=folder, prefix=".", suffix=".json", delete=False
        ) as aside:
            json.dump(document, aside)
        Path(aside.name).replace(target)
    except OSError:
        return False
    return True
