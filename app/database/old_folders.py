"""Workspaces that were folders, before there was a store: they are taken into it once.

Each in one transaction with its runs and files; its folder then goes aside, whole, and nothing in
it is touched. What cannot be read stays in that folder and is counted in the audit log.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from imop_app.database import objects
from imop_app.database.place import Place
from imop_app.database.tables import (
    AUDIT,
    CHECKPOINTS,
    DAMAGED,
    INPUTS,
    RUN_FILES,
    RUNS,
    UNDER_WAY,
    WORKSPACES,
)
from imop_app.home import is_safe, unsealed
from imop_engine import disk

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from imop_app.database.connection import Database

FOLDER: Final = "workspaces"
ASIDE: Final = "workspaces-before-the-store"
CHOSEN: Final = "workspace.json"
RECORD: Final = "studio.json"
WHOLE: Final = "run.json"  # a study of version 0.1.0 that was interrupted has none
BEGUN: Final = "under_way.json"
CHECKPOINT: Final = "stopped.npz"
SHELL: Final = "shell"  # files for a command line, which are made when somebody asks
UNDIGESTED: Final = 1  # the last version whose files had no digest


def there(place: Place) -> bool:
    """Whether there are folders to take in: beside the store that is in the data folder.

    Args:
        place: Of the store. A store elsewhere takes in what it is told to (`imop runs import`).
    """
    return place.file is not None and place.file.parent == place.home and _any(place.home)


def _any(home: Path) -> bool:
    return (home / FOLDER).is_dir()


def bring_in(store: Database) -> None:
    """Take in the folders beside a store.

    Args:
        store: The store.
    """
    if there(store.place):
        take(store, store.place.home)


def take(store: Database, home: Path, owner: str = "") -> int:
    """Take the workspaces of a data folder into the store; returns how many.

    Args:
        store: The store.
        home: The data folder.
        owner: Whose they become; "" on a computer without login.
    """
    folders = [path for path in sorted((home / FOLDER).glob("*")) if path.is_dir()]
    taken = 0
    for folder in folders:
        if not is_safe(folder.name):
            continue
        with store.writing(objects.TURN) as connection:
            if not _is_in(connection, folder.name):
                _take_one(connection, folder, owner)
                taken += 1
        with disk.writing(folder):
            disk.own_folder(home / ASIDE)
            folder.rename(_free(home / ASIDE / folder.name))
    with disk.writing(home / FOLDER):
        if not any((home / FOLDER).iterdir()):
            (home / FOLDER).rmdir()
        else:  # somebody else's files: they go aside, too
            (home / FOLDER).rename(_free(home / ASIDE / "others"))
    return taken


def _free(target: Path) -> Path:
    """That place, or one beside it that nobody has."""
    tried, number = target, 1
    while tried.exists():
        number += 1
        tried = target.with_name(f"{target.name}-{number}")
    return tried


def _is_in(connection: Connection, workspace: str) -> bool:
    """Whether a workspace was taken in before, and only its folder was still there."""
    chosen = sa.select(AUDIT.c.number).where(AUDIT.c.what == "taken in")
    return connection.execute(chosen.where(AUDIT.c.about == workspace)).first() is not None


def _take_one(connection: Connection, folder: Path, owner: str) -> None:
    left: list[str] = []
    name = folder.name
    chosen = _text(folder / CHOSEN)
    if chosen is not None and _read(chosen) is not None:
        changed = (folder / CHOSEN).stat().st_mtime
        row = {"id": name, "owner": owner, "changed": changed, "content": chosen}
        connection.execute(sa.insert(WORKSPACES).values(row))
    for path in sorted(folder.glob(f"{Path(CHOSEN).stem}*")):
        content = _text(path)
        if content is not None and (path.name != CHOSEN or _read(content) is None):
            row = {"at": path.stat().st_mtime, "about": name, "content": content}
            connection.execute(sa.insert(DAMAGED).values(row))
            left.append(path.name)
    left += _take_files(connection, folder)
    for path in sorted((folder / "runs").glob(f"*/{RECORD}")):
        if not _take_run(connection, path.parent, name, owner):
            left.append(f"runs/{path.parent.name}")
    _take_under_way(connection, folder)
    detail = f"left in its folder: {', '.join(left)}" if left else ""
    row = {"at": time.time(), "who": owner, "what": "taken in", "about": name, "detail": detail}
    connection.execute(sa.insert(AUDIT).values(row))


def _take_files(connection: Connection, folder: Path) -> list[str]:
    left = []
    for path in sorted((folder / "files").glob("*")):
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != path.name:
            left.append(f"files/{path.name}")
            continue
        digest = objects.put(connection, content)
        row = {"workspace": folder.name, "digest": digest, "given": path.stat().st_mtime}
        connection.execute(sa.insert(INPUTS).values(row))
    return left


def _take_run(connection: Connection, folder: Path, workspace: str, owner: str) -> bool:
    """Take a run with its files as they are; whether they are whole is seen when it is opened."""
    record = _text(folder / RECORD)
    whole = (folder / WHOLE).is_file() and is_safe(folder.name)
    if record is None or _read(record) is None or not whole:
        return False
    known = connection.execute(sa.select(RUNS.c.id).where(RUNS.c.id == folder.name)).first()
    if known is not None:
        return False
    files = study_files(folder)
    digests = {name: objects.put(connection, path.read_bytes()) for name, path in files.items()}
    size = sum(path.stat().st_size for path in files.values())
    row = {"workspace": workspace, "owner": owner, "bytes": size, "content": record}
    connection.execute(sa.insert(RUNS).values(id=folder.name, **row))
    for name, digest in digests.items():
        row = {"run": folder.name, "path": name, "digest": digest}
        connection.execute(sa.insert(RUN_FILES).values(row))
    return True


def study_files(folder: Path) -> dict[str, Path]:
    """The files of a study by their path in its folder; what else lies there is left out.

    Args:
        folder: Of the study.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        apart = parts[0] in (RECORD, SHELL) or any(part.startswith(".") for part in parts)
        if path.is_file() and not path.is_symlink() and not apart:
            found["/".join(parts)] = path
    return found


def _take_under_way(connection: Connection, folder: Path) -> None:
    begun = _text(folder / BEGUN)
    plain = None if begun is None else _read(begun)
    if begun is None or plain is None or not isinstance(plain.get("run"), str):
        return
    row = {"workspace": folder.name, "run": plain["run"]}
    insert = sa.insert(UNDER_WAY).values(**row, server="before/0/", seen=0.0, content=begun)
    connection.execute(insert)
    path = folder / CHECKPOINT
    if path.is_file():
        saved = {"saved": path.stat().st_mtime, "content": path.read_bytes()}
        connection.execute(sa.insert(CHECKPOINTS).values(**row, **saved))


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _read(text: str) -> dict[str, Any] | None:
    try:
        return unsealed(text, "what was kept", undigested=UNDIGESTED)
    except ValueError:
        return None
