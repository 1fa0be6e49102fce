"""Files that are whole or absent, and their owner's alone.

What is written lies beside its place until it is whole and on the disk (file and folder flushed),
and takes its place in one step. So whoever looks, also after a crash, finds the old or the new.
What the operating system says against it leaves as one sentence (`CannotWrite`).
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from imop_engine.errors import CannotWrite
from imop_engine.locking import alone, alone_or_not

OWNER_FOLDER: Final = 0o700
OWNER_FILE: Final = 0o600
NEW: Final = ".new-"  # being written; worth nothing
TAKE: Final = ".take-"  # whole, and on its way into the folder it lies in
OLD: Final = "old-"  # what was in the place before, where two cannot change places in one step
NAMES: Final = ".names.json"
FULL: Final = (errno.ENOSPC, errno.EDQUOT)
REFUSED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2


# -- what goes wrong -----------------------------------------------------------------------------
@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Let what the operating system refuses leave as a sentence about that place."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(why_not(error, place)) from error


def why_not(error: OSError, place: Path) -> str:
    """What was not written, why, and what to do."""
    if error.errno in FULL:
        return (
            f"{place} was not written: the disk is full{_room(place)}. Nothing that was there is "
            "lost; make room and try again."
        )
    if error.errno in REFUSED:
        return (
            f"{place} was not written: the folder is read-only or belongs to somebody else. "
            "Nothing that was there is lost; choose another folder, or ask for the right to write."
        )
    if error.errno == errno.ENOTDIR:
        return (
            f"{place} was not written: what should be its folder is a file. Choose another place."
        )
    if error.errno in (errno.ENOENT, errno.ESTALE):
        return (
            f"{place} was not written: its folder is gone. Put the folder or the disk back, or "
            "choose another, and try again."
        )
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return f"{place} was not written ({reason}); try again, or choose another folder."


def _room(place: Path) -> str:
    there = next((one for one in (place, *place.parents) if one.is_dir()), None)
    try:
        return "" if there is None else f" ({shutil.disk_usage(there).free / 1e6:,.1f} MB free)"
    except OSError:
        return ""


# -- files and folders ---------------------------------------------------------------------------
def own_folder(folder: Path) -> Path:
    """The folder, made with all above it that are missing, for its owner alone."""
    missing = []
    above = folder
    while not above.exists():
        missing.append(above)
        above = above.parent
    for one in reversed(missing):
        one.mkdir(mode=OWNER_FOLDER, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(folder))
    return folder


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is the old one or the new one, also after a crash."""
    with writing(path):
        own_folder(path.parent)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=NEW)  # for its owner alone
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file into a folder that is there, whole or not at all; what is no file (a device, a
    pipe) is written into."""
    with writing(path):
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(content)
            return
        if target.parent.exists() and not target.parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(target.parent))
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    write_whole(target, content)
    if mode is not None:  # who could read what was there before can read what is there now
        target.chmod(mode)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    if sys.platform == "win32":  # folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that know no such thing
            raise
    finally:
        os.close(handle)


def _sync_all(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            path.chmod(OWNER_FOLDER)
            sync_folder(path)
            continue
        path.chmod(OWNER_FILE)
        with path.open("rb") as file:
            os.fsync(file.fileno())
    sync_folder(folder)


# -- a folder in place of another ----------------------------------------------------------------
@contextmanager
def new_folder(target: Path, ours: Callable[[str], bool]) -> Iterator[Path]:
    """A folder to fill; when the block ends it is the target, and before that it is not seen.

    Files of the target that are not `ours` stay. Two who write the same target take turns.

    Args:
        target: The folder to make or to replace.
        ours: Says of a file, by its path in the target, whether it belongs to what is replaced.
    """
    place = target.resolve()
    with writing(target):
        inside = _must_stay(place, ours)
        home = own_folder(place) if inside else own_folder(place.parent)
    with writing(target), _turn(place, home):
        settle(place)
        _sweep(place)
        stage = home / f"{NEW if inside else _beside(place, NEW)}{secrets.token_hex(6)}"
        stage.mkdir(mode=OWNER_FOLDER)
        try:
            yield stage
            _sync_all(stage)
            if inside:
                _take_in(place, stage, ours)
            else:
                _change_places(place, stage)
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def settle(target: Path) -> None:
    """Finish what a crash interrupted: the folder is the old or the new one afterwards."""
    place = target.resolve()
    if place.is_dir():
        for take in _entries(place, TAKE):
            _move_in(place, take)
    elif not place.exists() and place.parent.is_dir():
        for old in _entries(place.parent, _beside(place, OLD))[-1:]:
            old.rename(place)
            sync_folder(place.parent)


def unsettled(target: Path) -> bool:
    """Whether a crash left something to finish there."""
    place = target.resolve()
    if place.is_dir():
        return bool(_entries(place, TAKE))
    return place.parent.is_dir() and bool(_entries(place.parent, _beside(place, OLD)))


def finish(target: Path) -> None:
    """Settle a folder, in turn with whoever is writing it."""
    place = target.resolve()
    with writing(target), _turn(place, place if place.is_dir() else place.parent):
        settle(place)


def sweep(folder: Path) -> None:
    """Remove what writers left in a folder who are no more; what somebody writes now stays."""
    for stage in _entries(folder, ".") if folder.is_dir() else []:
        name, kind, _ = stage.name[1:].rpartition(NEW)
        if kind and name:
            with alone_or_not(folder / f".{name}.lock") as free:
                if free:
                    shutil.rmtree(stage, ignore_errors=True)
                    (folder / f".{name}.lock").unlink(missing_ok=True)


def _must_stay(place: Path, ours: Callable[[str], bool]) -> bool:
    """Whether the folder itself may not be exchanged: somebody stands in it, or has files in it."""
    if not place.is_dir():
        return False
    here = Path.cwd().resolve()
    if place == here or place in here.parents or place.is_mount():
        return True
    if not os.access(place.parent, os.W_OK):
        return True
    files = (path for path in place.rglob("*") if path.is_symlink() or not path.is_dir())
    names = (path.relative_to(place).as_posix() for path in files)
    return not all(ours(name) or name.startswith((NEW, TAKE)) for name in names)


def _beside(place: Path, kind: str) -> str:
    return f".{place.name}.{kind.lstrip('.')}"


def _entries(folder: Path, start: str) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.startswith(start))


def _sweep(place: Path) -> None:
    """Remove what writers left who are no more; whoever sweeps has the turn."""
    left = _entries(place, NEW) if place.is_dir() else []
    if os.access(place.parent, os.R_OK | os.W_OK):
        left += [one for kind in (NEW, OLD) for one in _entries(place.parent, _beside(place, kind))]
    for one in left:
        if one.is_dir():
            shutil.rmtree(one, ignore_errors=True)


@contextmanager
def _turn(place: Path, home: Path) -> Iterator[None]:
    lock = home / (f"{NEW}lock" if home == place else _beside(place, "lock"))
    with alone(lock):
        try:
            yield
        finally:
            with suppress(OSError):
                lock.unlink(missing_ok=True)


def _change_places(place: Path, stage: Path) -> None:
    if place.is_dir():
        stage.chmod(place.stat().st_mode & 0o777)
        if not _exchange(stage, place):
            old = stage.with_name(f"{_beside(place, OLD)}{secrets.token_hex(6)}")
            place.rename(old)
            stage.rename(place)
            shutil.rmtree(old, ignore_errors=True)
    else:
        stage.rename(place)
    sync_folder(place.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    done = rename(
        _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), ctypes.c_uint(_RENAME_EXCHANGE)
    )
    return bool(done == 0)


def _take_in(place: Path, stage: Path, ours: Callable[[str], bool]) -> None:
    """Let the files of a whole folder take the places of the old ones, to be finished later if
    a crash comes between: what decides is that the folder is called so."""
    new = [path.relative_to(stage).as_posix() for path in stage.rglob("*") if path.is_file()]
    there = [path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()]
    inner = f"{stage.name}/"
    stale = [name for name in there if not name.startswith(inner) and ours(name)]
    names = {"stale": sorted(set(stale) - set(new))}
    write_whole(stage / NAMES, json.dumps(names).encode())
    take = stage.with_name(TAKE + stage.name.removeprefix(NEW))
    stage.rename(take)
    sync_folder(place)
    _move_in(place, take)


def _move_in(place: Path, take: Path) -> None:
    listed = take / NAMES
    if listed.is_file():
        for name in json.loads(listed.read_text(encoding="utf-8"))["stale"]:
            (place / name).unlink(missing_ok=True)
        for path in sorted(one for one in take.rglob("*") if one.is_file() and one != listed):
            goal = place / path.relative_to(take)
            own_folder(goal.parent)
            path.replace(goal)
            sync_folder(goal.parent)
        listed.unlink()
    shutil.rmtree(take, ignore_errors=True)
    sync_folder(place)
