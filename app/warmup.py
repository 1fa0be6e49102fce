"""Once the first page is drawn, the rest of the app loads behind it, so that clicks do not wait."""

from __future__ import annotations

import logging
import threading
from importlib import import_module
from typing import Final

from imop_app.services.preparing import PREPARATION

LOG = logging.getLogger("imop")
VIEWS: Final = ("investors", "learn", "frontier", "preferences", "report", "runs", "lab")
_ONCE = threading.Lock()


def prepare() -> None:
    """Start compiling the numerical code, where that has not been done; returns at once.

    The shell calls this before the server starts, so that the two start side by side.
    """
    threading.Thread(target=PREPARATION.begin, name="prepare", daemon=True).start()


def begin() -> None:
    """Start loading in the background; does nothing from the second call on."""
    if _ONCE.acquire(blocking=False):
        threading.Thread(target=_load, name="warm up", daemon=True).start()


def _load() -> None:
    try:
        PREPARATION.begin()
        import_module("imop_engine.tables.apart").start()
        for name in VIEWS:
            import_module(f"imop_app.views.{name}")
        if PREPARATION.wait():
            import_module("imop_app.services.warm").compiled_code()
    except Exception:  # a page that needs it will say what is wrong; this thread only helps
        LOG.debug("loading ahead failed", exc_info=True)
