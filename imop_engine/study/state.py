"""Where a study stopped, as plain arrays: enough to go on with the same digits.

The file is numpy's npz without pickle, so opening one that somebody sent runs none of their code.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from imop_engine import disk
from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput
from imop_engine.learner_state import LearnerState
from imop_engine.study.settings import StudySettings

# 1 had private names of the learner in it, 2 no digest of its content; both are still read
FORMAT: Final = 3
READS: Final = (1, 2, FORMAT)


@dataclass(frozen=True, eq=False)
class StudyState:
    """A learner in the middle of a stream, and what it was learning from."""

    settings: StudySettings
    rounds: int
    equalities: Matrix  # the anchors as they were when learning began
    values: Vector
    seen: str  # hash of the portfolios seen so far
    market: str  # hash of the moments
    learned: LearnerState


def digest(*arrays: Any) -> str:
    """A hash of numbers, to the last bit."""
    found = hashlib.sha256()
    for array in arrays:
        plain = np.ascontiguousarray(array, dtype=float)
        found.update(str(plain.shape).encode())
        found.update(plain.tobytes())
    return found.hexdigest()


class PortfolioDigest:
    """A hash of the first rows of a table that grows with them, so that asking often is cheap."""

    def __init__(self, decisions: Matrix) -> None:
        self._rows = np.ascontiguousarray(decisions, dtype=float)
        self._done = 0
        self._hash = hashlib.sha256()

    def upto(self, rows: int) -> str:
        """The hash of that many rows; the number may only grow."""
        self._hash.update(self._rows[self._done : rows].tobytes())
        self._done = rows
        return self._hash.hexdigest()


def save_state(state: StudyState, path: Path | str) -> None:
    """Write a checkpoint. It replaces an older one only when it is whole and on the disk."""
    disk.write_whole(Path(path), packed_state(state))


def packed_state(state: StudyState) -> bytes:
    """A checkpoint as bytes, with a digest of what it holds; `load_state` reads it."""
    about = {
        "format": FORMAT,
        "settings": state.settings.to_dict(),
        "rounds": state.rounds,
        "seen": state.seen,
        "market": state.market,
    }
    arrays: dict[str, Any] = {
        f"learned.{name}": array for name, array in state.learned.to_arrays().items()
    }
    arrays |= {"equalities": state.equalities, "values": state.values}
    arrays["about"] = np.array(json.dumps(about))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays, digest=np.array(_content_digest(arrays)))
    return buffer.getvalue()


def _content_digest(arrays: dict[str, Any]) -> str:
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def load_state(path: Path | str | IO[bytes], called: str = "") -> StudyState:
    """Read a checkpoint that `save_state` wrote.

    Args:
        path: The file, or its content.
        called: What a content is called in errors.
    """
    if isinstance(path, (str, Path)):
        called = str(path)
        if not Path(path).is_file():
            raise InvalidInput(f"{called}: there is no such checkpoint; start without resuming.")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        known = arrays.pop("digest", None)
        whole = known is None or str(known) == _content_digest(arrays)
        about = json.loads(str(arrays.pop("about")))
        version = int(about["format"])
        if version == FORMAT and (known is None or not whole):
            raise ValueError("its content is not what was saved")
        state = _state_of(about, arrays) if version in READS else None
    # a damaged file can make its reader raise anything, the memory it asks for included
    except (Exception, MemoryError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInput(
            f"{called} is not a checkpoint of a study, or it is damaged ({reason}); start without "
            "resuming."
        ) from None
    if state is None:
        raise InvalidInput(
            f"{called} is a checkpoint of format {version}, this version reads {FORMAT}; start "
            "without resuming."
        )
    return state


def _state_of(about: dict[str, Any], arrays: dict[str, Any]) -> StudyState:
    learned = {
        name.removeprefix("learned."): array
        for name, array in arrays.items()
        if name.startswith("learned.")
    }
    return StudyState(
        StudySettings.from_dict(about["settings"]),
        int(about["rounds"]),
        arrays["equalities"],
        arrays["values"],
        str(about["seen"]),
        str(about["market"]),
        LearnerState.from_arrays(learned),
    )
