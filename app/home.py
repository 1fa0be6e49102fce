"""Where the studio keeps what it keeps: one folder of the user's, with the store in it.

Names that reach the file system are made here or checked here: an address bar is an open door.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
from pathlib import Path
from typing import Any, Final

SAFE_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?")
DIGEST_NAME: Final = "sha256"


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


def sealed(content: dict[str, Any]) -> str:
    """Named values as JSON, with a digest of them."""
    return json.dumps({**content, DIGEST_NAME: _digest_of(content)}, indent=1) + "\n"


def unsealed(text: str, called: str, undigested: int = 0) -> dict[str, Any]:
    """What `sealed` was given; ValueError where it is anything else.

    Args:
        text: What `sealed` made of it.
        called: What it is called in errors.
        undigested: The last version that had no digest.
    """
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError(f"{called} nests too deep") from None
    if not isinstance(content, dict):
        raise ValueError(f"{called} holds no named values")
    known = content.pop(DIGEST_NAME, None)
    if known is None and content.get("version", 1) in range(1, undigested + 1):
        return content
    if known != _digest_of(content):
        raise ValueError(f"{called} is not what was written")
    return content


def _digest_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
