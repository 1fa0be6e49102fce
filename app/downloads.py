"""A file that was asked for stays until it has been fetched.

Streamlit removes a file that is made on a click as soon as two pages, of anybody, have been drawn
after it. Beside eight people at work that was before the browser came for it: 4 of 15 downloads
ended in "not found".
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any, Final

from imop_app import access

KEPT_SECONDS: Final = 120.0


def keep() -> None:
    """Let Streamlit keep files for two minutes after it would have removed them."""
    files: Any = import_module("streamlit.runtime.media_file_manager")
    usual: Any = files.MediaFileMetadata

    class Patient(usual):  # type: ignore[misc]  # its base is known only here
        """What Streamlit knows of a file, and when it was first of no use to any page."""

        def mark_for_delete(self) -> None:
            """Note the moment; a file that is marked again keeps its first."""
            super().mark_for_delete()
            self._since = getattr(self, "_since", time.monotonic())

        @property
        def is_marked_for_delete(self) -> bool:
            """Whether it may go."""
            marked = bool(super().is_marked_for_delete)
            return marked and time.monotonic() - self._since >= KEPT_SECONDS

    if not hasattr(usual, "_patient"):
        Patient._patient = True
        files.MediaFileMetadata = Patient


def guard() -> None:
    """Let files be fetched only by those for whom they were made.

    Files that a page offers, and those that are made on a click, which happens outside of any page.
    """
    files: Any = import_module("streamlit.runtime.media_file_manager")
    manager = files.MediaFileManager
    if hasattr(manager, "_guarded"):
        return
    add, execute = manager.add, manager.execute_deferred

    def added(self: Any, *arguments: Any, **options: Any) -> str:
        url: str = add(self, *arguments, **options)
        access.hand_out(file_of(url), files._get_session_id())
        return url

    def executed(self: Any, placeholder: str) -> str:
        entry = self._deferred_callables.get(placeholder, {})
        tab = str(entry.get("session_id", ""))
        access.hand_out(placeholder, tab)  # nothing is made for a session that has ended
        url: str = execute(self, placeholder)
        access.hand_out(file_of(url), tab)
        return url

    manager.add, manager.execute_deferred, manager._guarded = added, executed, True


def file_of(path: str) -> str:
    """The id of a file, from the address it is fetched by.

    >>> file_of("/media/ab12.csv")
    'ab12'
    """
    return path.rpartition("/")[2].partition(".")[0]
