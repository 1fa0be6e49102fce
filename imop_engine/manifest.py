"""The list of a study's files with their digests: whether a folder is what was saved.

SHA-256 of every file and the format's version. Files that a study is opened from are read once,
compared, and used from memory, so that nothing can change between the two.
"""

from __future__ import annotations

import hashlib
import json
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from imop_engine.errors import InvalidInput
from imop_engine.versions import versions

FILE: Final = "manifest.json"
# A list of two dozen files takes three kilobytes; what is larger is something else.
LARGEST: Final = 1_000_000
TRIES: Final = 3  # a study that is replaced while it is read is read again


@dataclass(frozen=True)
class Found:
    """What a folder holds: the files that were asked for, in memory, and what was noticed."""

    folder: Path
    listed: bool  # whether there was a list to compare with
    remarks: tuple[str, ...] = ()
    contents: dict[str, bytes] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return name in self.contents if self.listed else (self.folder / name).is_file()

    def bytes(self, name: str) -> bytes:
        """What a file holds."""
        if name in self.contents:
            return self.contents[name]
        if self.listed:
            raise InvalidInput(
                f"{self.folder} cannot be opened as a study: {FILE} does not list {name}. Put the "
                "folder back as it was saved, or run the study again."
            )
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise InvalidInput(
                f"{self.folder} cannot be opened as a study: {name} cannot be read "
                f"({(error.strerror or str(error)).lower()}). Put it back, or run the study again."
            ) from None


def write(folder: Path, version: int) -> None:
    """List every file of a folder with its digest.

    Args:
        folder: What was written; nothing else lies in it.
        version: Of the format.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {
        path.relative_to(folder).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": digest(path.read_bytes()),
        }
        for path in paths
    }
    document = {"format": version, "written_by": versions(), "files": files}
    text = json.dumps({**document, "sha256": _own_digest(document)}, indent=1)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def digest(content: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _own_digest(document: dict[str, Any]) -> str:
    return digest(json.dumps(document, sort_keys=True).encode())


def read(folder: Path, needed: tuple[str, ...], version: int) -> Found:
    """Compare a folder with its list, and read what it is opened from.

    Args:
        folder: A saved study.
        needed: Files, or folders with a slash at the end, that the study is opened from. One that
            was changed is refused; of another file a remark is made.
        version: The format that is read.

    Returns:
        What was found. A folder without a list is one of version 0.1.0, with a remark.
    """
    for _ in range(TRIES):
        before = _list_bytes(folder)
        if before is None:
            remark = (
                f"{folder} was saved by version 0.1.0, without digests: nobody can say whether its "
                "files are what was saved. Saving it again adds them."
            )
            return Found(folder, False, (remark,))
        try:
            return _compare(folder, _document(folder, before, version), needed)
        except InvalidInput:
            if _list_bytes(folder) == before:
                raise
    raise InvalidInput(f"{folder} is being replaced again and again; open it when that has ended.")


def _list_bytes(folder: Path) -> bytes | None:
    path = folder / FILE
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
            raise _damaged(folder, "is no file")
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(
            folder, f"cannot be read ({(error.strerror or str(error)).lower()})"
        ) from None


def unknown_format(folder: Path, version: Any, reads: tuple[int, ...]) -> str:
    """What is said of a study that another version wrote.

    Args:
        folder: The study.
        version: Of its format.
        reads: The formats that are read.
    """
    known = " and ".join(str(one) for one in reads)
    return (
        f"{folder} is a study of format {str(version)[:20]}, and this version reads {known}. Open "
        "it with the version of imop that wrote it, or install the newest one."
    )


def _document(folder: Path, content: bytes, version: int) -> dict[str, Any]:
    if len(content) > LARGEST:
        raise _damaged(folder, "is far too long")
    try:
        document = json.loads(content)
        known = {name: value for name, value in document.items() if name != "sha256"}
        whole = document["sha256"] == _own_digest(known)
        found = document["format"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _damaged(folder, "cannot be read") from None
    if whole and found != version:
        raise InvalidInput(unknown_format(folder, found, (version,)))
    if not whole:
        raise _damaged(folder, "was changed")
    return known


def _damaged(folder: Path, what: str) -> InvalidInput:
    return InvalidInput(
        f"{folder} cannot be opened as a study: {FILE} {what}. Put the folder back as it was "
        "saved, or run the study again."
    )


def _compare(folder: Path, document: dict[str, Any], needed: tuple[str, ...]) -> Found:
    contents, changed = {}, []
    for name, about in document["files"].items():
        used = any(name == one or (one.endswith("/") and name.startswith(one)) for one in needed)
        content, problem = _same(folder / name, about)
        if problem is None and used:
            contents[name] = content
        elif problem is not None and used:
            raise InvalidInput(
                f"{folder} cannot be opened as a study: {name} {problem} since it was saved. Put "
                "the folder back as it was saved, or run the study again."
            )
        elif problem is not None:
            changed.append(f"{name} {problem}")
    said = (
        f"In {folder}, since it was saved, {', '.join(changed)}; what is shown is computed again "
        "from the inputs, which are as they were."
    )
    return Found(folder, True, (said,) if changed else (), contents)


def _same(path: Path, about: dict[str, Any]) -> tuple[bytes, str | None]:
    """What a file holds, and in what it differs from what was saved; None where in nothing."""
    try:
        if path.stat().st_size != about["bytes"]:
            return b"", "was changed"
        content = path.read_bytes()
    except FileNotFoundError:
        return b"", "is gone"
    except OSError as error:
        return b"", f"cannot be read any more ({(error.strerror or str(error)).lower()})"
    return content, None if digest(content) == about["sha256"] else "was changed"
