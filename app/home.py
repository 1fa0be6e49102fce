"""Where the studio keeps its files: one folder of the user's, one folder in it per workspace.

Names that reach the file system are made here or checked here: an address bar is an open door.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from imop_app.settings import StoredFile

SAFE_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?")
DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def data_folder() -> Path:
    """The studio's folder: IMOP_HOME, or the place where this system keeps a user's data."""
    chosen = os.environ.get("IMOP_HOME")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "imop-studio"


def is_safe(identifier: str) -> bool:
    """Whether an id may name a folder: lower case letters, digits and inner dashes only.

    >>> is_safe("w-3f9a"), is_safe("../w"), is_safe("W")
    (True, False, False)
    """
    return SAFE_ID.fullmatch(identifier) is not None


def new_id(prefix: str) -> str:
    """An id that nobody guesses and no folder has yet."""
    return f"{prefix}-{secrets.token_hex(6)}"


def write_json(path: Path, content: Any) -> None:
    """Write JSON so that a reader sees the old file or the new one, never half of one."""
    write_bytes(path, (json.dumps(content, indent=1) + "\n").encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(name).replace(path)


@dataclass(frozen=True)
class FileBox:
    """Files by the digest of their content: the same file is kept once and never changes."""

    folder: Path

    def put(self, name: str, content: bytes) -> StoredFile:
        """Keep a file and return what names it from now on."""
        stored = StoredFile(Path(name).name or "file", hashlib.sha256(content).hexdigest())
        path = self._path(stored)
        if not path.exists():
            write_bytes(path, content)
        return stored

    def get(self, stored: StoredFile) -> bytes:
        """The content of a kept file; FileNotFoundError where it is gone."""
        return self.path(stored).read_bytes()

    def path(self, stored: StoredFile) -> Path:
        """Where a kept file is; FileNotFoundError where it is gone."""
        path = self._path(stored)
        if not path.exists():
            raise FileNotFoundError(stored.name)
        return path

    def _path(self, stored: StoredFile) -> Path:
        if DIGEST.fullmatch(stored.digest) is None:
            raise FileNotFoundError(stored.name)
        return self.folder / stored.digest
