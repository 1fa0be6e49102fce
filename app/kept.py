"""What the shell does with the store: list it, take runs out and in, give workspaces away.

Whoever may read the store's file, or has the password of its database, may do this; who may open
what in the app is decided elsewhere (access.py).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from imop_app.database import database, note, old_folders
from imop_app.database.tables import RUNS, WORKSPACES
from imop_app.home import is_safe, new_id
from imop_app.run_record import RunRecord
from imop_app.store import DatabaseStore, keep_files
from imop_app.workspace import new_workspace, recent_workspaces, remove_workspace
from imop_engine import disk
from imop_engine.errors import InvalidInput

SHELL = "the shell"  # who does it, in the audit log


def place() -> str:
    """Where the store is, without a password."""
    return database().place.said


def listed() -> list[dict[str, Any]]:
    """Every workspace that can be read, with its runs, as plain values."""
    chosen = sa.select(WORKSPACES.c.owner).distinct().order_by(WORKSPACES.c.owner)
    with database().reading() as connection:
        owners = connection.execute(chosen).scalars().all()
        total = connection.execute(sa.select(sa.func.count()).select_from(WORKSPACES)).scalar_one()
    return [
        {
            "workspace": entry.id,
            "name": entry.name,
            "owner": owner,
            "changed": _moment(entry.changed),
            "runs": [_plain(record) for record in DatabaseStore(entry.id, owner).list()],
        }
        for owner in owners
        for entry in recent_workspaces(owner, limit=total)
    ]


def _plain(record: RunRecord) -> dict[str, Any]:
    return {
        "run": record.id,
        "name": record.name,
        "made": _moment(record.created),
        "investors": record.investors,
        "portfolios": record.rounds,
        "explained": record.explained,
        "verdict": record.verdict,
    }


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def export(run: str, folder: Path) -> None:
    """Write the files of a run into a folder, as `imop learn --out` would have.

    Args:
        run: Its id.
        folder: Where to; a study that is there is replaced, other files stay.
    """
    from imop_engine.storage import OURS

    files = _store_of(run).files(run)
    with disk.new_folder(folder, OURS.__contains__) as stage:
        for name, content in files.items():
            disk.own_folder((stage / name).parent)
            (stage / name).write_bytes(content)


def add(folder: Path, workspace: str | None, owner: str) -> tuple[str, str]:
    """Keep a study that was saved in a folder; returns the ids of its workspace and run.

    Args:
        folder: What `imop learn --out` wrote.
        workspace: Whose run it becomes; None makes a new workspace.
        owner: Whose the new workspace is; "" on a computer without login.
    """
    from imop_engine.storage import load_study

    study = load_study(folder)
    if workspace is None:
        made = new_workspace(owner)
        made.name = folder.resolve().name[:60]
        made.save()
        workspace = made.id
    else:
        owner = _owner_of(workspace)
    name, count = folder.resolve().name, f"{study.rounds:,} from files"
    record = RunRecord.of(study, new_id("run"), None, name=name, market=name, investors=count)
    files = old_folders.study_files(folder)
    keep_files(workspace, owner, record, {at: path.read_bytes for at, path in files.items()})
    return workspace, record.id


def take_in(home: Path, owner: str) -> int:
    """Take in the workspaces of a data folder of before the store; returns how many.

    Args:
        home: The data folder.
        owner: Whose they become; "" on a computer without login.
    """
    if not (home / old_folders.FOLDER).is_dir():
        raise InvalidInput(
            f"{home} holds no folder {old_folders.FOLDER}; give the data folder of an app of "
            "before the store."
        )
    return old_folders.take(database(), home, owner)


def give(workspace: str, owner: str) -> None:
    """Make a workspace with all its runs somebody's.

    Args:
        workspace: Its id.
        owner: The address; "" makes it that of a computer without login.
    """
    _owner_of(workspace)
    with database().writing(workspace) as connection:
        for table, key in ((WORKSPACES, WORKSPACES.c.id), (RUNS, RUNS.c.workspace)):
            connection.execute(sa.update(table).where(key == workspace).values(owner=owner))
        note(connection, SHELL, "workspace given", workspace, f"to {owner or 'nobody'}")


def remove(workspace: str) -> None:
    """Delete a workspace with its runs and files.

    Args:
        workspace: Its id.
    """
    remove_workspace(workspace, _owner_of(workspace))


def _owner_of(workspace: str) -> str:
    chosen = sa.select(WORKSPACES.c.owner).where(WORKSPACES.c.id == workspace)
    with database().reading() as connection:
        found = connection.execute(chosen).scalar() if is_safe(workspace) else None
    if found is None:
        raise InvalidInput(
            f"{place()} holds no workspace {workspace[:60]!r}; `imop runs list` shows those there "
            "are."
        )
    return str(found)


def _store_of(run: str) -> DatabaseStore:
    chosen = sa.select(RUNS.c.workspace, RUNS.c.owner).where(RUNS.c.id == run)
    with database().reading() as connection:
        row = connection.execute(chosen).first() if is_safe(run) else None
    if row is None:
        raise InvalidInput(
            f"{place()} holds no run {run[:60]!r}; `imop runs list` shows those there are."
        )
    return DatabaseStore(row.workspace, row.owner)
