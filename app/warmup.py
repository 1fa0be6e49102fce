"""Once the first page is drawn, the rest of the app loads behind it, so that clicks do not wait."""

from __future__ import annotations

import gc
import logging
import threading
from importlib import import_module
from typing import Final

from imop_app.services.preparing import PREPARATION

LOG = logging.getLogger("imop")
VIEWS: Final = ("investors", "learn", "frontier", "preferences", "score", "report", "runs", "lab")
_ONCE = threading.Lock()
_SERVED = threading.Event()  # whether this process only serves pages, and is no test or notebook


def prepare() -> None:
    """Start compiling the numerical code, where that has not been done; returns at once.

    The shell calls this before the server starts, so that the two start side by side.
    """
    _SERVED.set()
    threading.Thread(target=PREPARATION.begin, name="prepare", daemon=True).start()


def begin() -> None:
    """Start loading in the background; does nothing from the second call on."""
    if _ONCE.acquire(blocking=False):
        threading.Thread(target=_load, name="warm up", daemon=True).start()


def settle() -> None:
    """Let what is loaded now never be looked through for garbage again.

    Streamlit looks through all objects after every page and every look at a progress bar. Those
    of libraries and compiled code stay for good, and took more of that than the page itself.
    """
    gc.collect()
    gc.freeze()


def _load() -> None:
    try:
        PREPARATION.begin()
        import_module("imop_engine.tables.apart").start()
        import_module("imop_app.copies").sweep()
        if PREPARATION.ready:
            import_module("imop_app.workers").start()
        for name in VIEWS:
            import_module(f"imop_app.views.{name}")
        if PREPARATION.wait():
            import_module("imop_app.workers").start()
            import_module("imop_app.services.warm").compiled_code()
        if _SERVED.is_set():
            settle()
    except Exception:  # a page that needs it will say what is wrong; this thread only helps
        LOG.debug("loading ahead failed", exc_info=True)
