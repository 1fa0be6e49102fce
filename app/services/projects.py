"""A workspace as one file, to hand on or to put away; copies of it; and deleting it.

The file is a ZIP: what was chosen, the files that were given, and every run, as the workspace keeps
them. Opening one is opening what somebody sent: names and sizes are checked before anything is
written, what has a digest is compared with it, and nothing in it is ever run.
"""

from __future__ import annotations

import io
import re
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from imop_app import quota
from imop_app.home import SAFE_ID, new_id, sealed, unsealed
from imop_app.services.errors import AppError, sentences
from imop_app.settings import files_in
from imop_app.store import NAME_IN_RUN, DatabaseStore, RunStore
from imop_app.workspace import (
    Workspace,
    deleted_workspaces,
    open_workspace,
    recent_workspaces,
    remove_workspace,
    restored,
)
from imop_engine.errors import CannotWrite, ImopError

ENDING: Final = ".imop"
CHOSEN: Final = "workspace.json"
FILES: Final = "files/"
RUNS: Final = "runs/"
PART: Final = re.compile(
    rf"{re.escape(CHOSEN)}|{FILES}[0-9a-f]{{64}}|{RUNS}{SAFE_ID.pattern}/{NAME_IN_RUN.pattern}"
)
VERSION: Final = 1
NAME_LENGTH: Final = 60
# What may come out of one file: ten times what may be uploaded, in at most so many parts.
MOST_BYTES: Final = 2_000_000_000
MOST_PARTS: Final = 20_000
KEPT_DAYS: Final = 30  # a deleted workspace can be brought back for so long
DAY: Final = 86_400.0


def file_name(workspace: Workspace) -> str:
    """What the file is called when it is saved, by the workspace's name and the day."""
    plain = "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in workspace.name)
    return f"{plain.strip('_') or 'workspace'}_{time.strftime('%Y-%m-%d')}{ENDING}"


@sentences
def packed(workspace: Workspace, store: RunStore) -> bytes:
    """Everything of a workspace in one file.

    Args:
        workspace: What was chosen.
        store: Its runs.
    """
    records = store.list()
    chosen = (workspace.market, workspace.investors, workspace.before)
    named = files_in((*chosen, *(record.settings for record in records)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(CHOSEN, sealed({"version": VERSION, **workspace.plain()}))
        for file in named:
            out.writestr(f"{FILES}{file.digest}", workspace.box.get(file))
        for record in records:
            for name, content in store.contents(record.id).items():
                out.writestr(f"{RUNS}{record.id}/{name}", content)
    return buffer.getvalue()


@sentences
def unpacked(content: bytes, name: str, owner: str = "") -> str:
    """A new workspace from such a file; returns its id.

    Args:
        content: Of the file.
        name: What the file is called, for what is said of it.
        owner: Whose it becomes; "" on a computer without login.
    """
    with _refusing(name):
        with zipfile.ZipFile(io.BytesIO(content)) as source:
            parts = _parts(source)
        plain = unsealed(parts.pop(CHOSEN).decode(), CHOSEN)
        workspace = restored(new_id("w"), plain, owner)
        return _written(workspace, parts)


def duplicate(workspace: Workspace, store: RunStore) -> str:
    """A copy with all files and runs, under another name; returns its id.

    Args:
        workspace: What is copied.
        store: Its runs.
    """
    owner = workspace.owner
    copied = unpacked(packed(workspace, store), workspace.name, owner)
    other = open_workspace(copied, owner)
    other.name = free_name(workspace.name, owner)
    other.save()
    return copied


def delete(workspace: Workspace) -> None:
    """Take a workspace out of every list; it can be brought back for `KEPT_DAYS` days."""
    for entry in deleted_workspaces(workspace.owner):
        if time.time() - (entry.deleted or 0.0) > KEPT_DAYS * DAY:
            remove_workspace(entry.id, workspace.owner)
    workspace.deleted = time.time()
    workspace.save()


def bring_back(identifier: str, owner: str = "") -> None:
    """Put a deleted workspace of somebody's into the lists again.

    Args:
        identifier: Its id.
        owner: Whose; "" on a computer without login.
    """
    workspace = open_workspace(identifier, owner)
    workspace.deleted = None
    workspace.save()


def remove(identifier: str, owner: str = "") -> None:
    """Remove a deleted workspace of somebody's for good.

    Args:
        identifier: Its id.
        owner: Whose; "" on a computer without login.
    """
    remove_workspace(identifier, owner)


def free_name(name: str, owner: str = "") -> str:
    """The name with a number behind it that no listed workspace has.

    Args:
        name: Of the workspace that is copied.
        owner: Whose; "" on a computer without login.
    """
    taken = {entry.name for entry in recent_workspaces(owner, MOST_PARTS)}
    room = NAME_LENGTH - 5
    return next(
        one for one in (f"{name[:room]} ({k})" for k in range(2, MOST_PARTS)) if one not in taken
    )


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """Let whatever is wrong with the file leave as one sentence."""
    try:
        yield
    except (ValueError, KeyError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        if isinstance(error, ImopError):
            raise
        raise AppError(
            f"{name} cannot be opened as a workspace: {str(error).strip(chr(39) + chr(34))}. Save "
            "it again where it was made (below the rail, the workspace's name), or ask for "
            "another copy."
        ) from error


def _parts(source: zipfile.ZipFile) -> dict[str, bytes]:
    """Every part by its name; ValueError before one is read that has no place in a workspace."""
    listed = source.infolist()
    total = sum(part.file_size for part in listed)
    if len(listed) > MOST_PARTS or total > MOST_BYTES:
        raise ValueError(
            f"it holds {len(listed):,} parts of {total / quota.MEGABYTE:,.0f} MB, and "
            f"{MOST_PARTS:,} of {MOST_BYTES / quota.MEGABYTE:,.0f} MB are allowed"
        )
    if CHOSEN not in source.namelist():
        raise ValueError(f"it has no {CHOSEN}, so it is no workspace of this studio")
    strange = next((part.filename for part in listed if not PART.fullmatch(part.filename)), None)
    if strange is not None:
        raise ValueError(f"a workspace has no part called {strange[:60]!r}")
    if refusal := quota.refusal():
        raise CannotWrite(refusal)
    # Read no more than was announced, whatever the packed bytes turn into.
    return {part.filename: _whole(source, part) for part in listed}


def _whole(source: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    with source.open(part) as stream:
        content = stream.read(part.file_size + 1)
    if len(content) != part.file_size:
        raise ValueError(f"{part.filename} is not as long as it says")
    return content


def _written(workspace: Workspace, parts: dict[str, bytes]) -> str:
    """Write a workspace that was read; nothing is left of it if that fails."""
    store = DatabaseStore(workspace.id, workspace.owner)
    try:
        for name, content in parts.items():
            if name.startswith(FILES):
                _keep(workspace, name.removeprefix(FILES), content)
        ids: dict[str, str] = {}
        for run in sorted({name.split("/")[1] for name in parts if name.startswith(RUNS)}):
            start = f"{RUNS}{run}/"
            contents = {
                name.removeprefix(start): content
                for name, content in parts.items()
                if name.startswith(start)
            }
            ids[run] = store.take_in(contents).id
        workspace.run = ids.get(workspace.run or "")
        if workspace.before is not None:
            workspace.before = replace(workspace.before, run=ids.get(workspace.before.run or ""))
        workspace.deleted = None
        workspace.save()
    except BaseException:
        remove_workspace(workspace.id, workspace.owner)
        raise
    return workspace.id


def _keep(workspace: Workspace, digest: str, content: bytes) -> None:
    if workspace.box.put(digest, content).digest != digest:
        raise ValueError(f"the file {digest[:12]}… in it is not what was given")
