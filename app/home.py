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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from imop_app.settings import StoredFile
from imop_engine import disk

SAFE_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?")
DIGEST_NAME: Final = "sha256"
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


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON with a digest of it, so that a reader sees the old file or the new one."""
    disk.write_whole(path, sealed(content))


def sealed(content: dict[str, Any]) -> bytes:
    """Named values as JSON, with a digest of them."""
    whole = {**content, DIGEST_NAME: _digest_of(content)}
    return (json.dumps(whole, indent=1) + "\n").encode()


def read_json(path: Path, undigested: int) -> dict[str, Any]:
    """What `write_json` wrote; ValueError where it is anything else.

    Args:
        path: The file.
        undigested: The last version whose files had no digest.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{path.name} nests too deep") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} holds no named values")
    known = content.pop(DIGEST_NAME, None)
    if known is None and content.get("version", 1) in range(1, undigested + 1):
        return content
    if known != _digest_of(content):
        raise ValueError(f"{path.name} is not what was written")
    return content


def _digest_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class FileBox:
    """Files by the digest of their content: the same file is kept once and never changes."""

    folder: Path

    def put(self, name: str, content: bytes) -> StoredFile:
        """Keep a file and return what names it from now on."""
        stored = StoredFile(Path(name).name or "file", hashlib.sha256(content).hexdigest())
        path = self._path(stored)
        if not self._is_whole(path, content):
            disk.write_whole(path, content)
        return stored

    def get(self, stored: StoredFile) -> bytes:
        """The content of a kept file; FileNotFoundError where it is gone or was changed."""
        content = self._path(stored).read_bytes() if self._path(stored).is_file() else b""
        if hashlib.sha256(content).hexdigest() != stored.digest:
            raise FileNotFoundError(stored.name)
        return content

    def path(self, stored: StoredFile) -> Path:
        """Where a kept file is; FileNotFoundError where it is gone or was changed."""
        self.get(stored)
        return self._path(stored)

    @staticmethod
    def _is_whole(path: Path, content: bytes) -> bool:
        return path.is_file() and path.read_bytes() == content

    def _path(self, stored: StoredFile) -> Path:
        if DIGEST.fullmatch(stored.digest) is None:
            raise FileNotFoundError(stored.name)
        return self.folder / stored.digest
