"""Where a study stopped, as plain arrays: enough to go on with the same digits.

The file is numpy's npz without pickle, so opening one that somebody sent runs none of their code.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput
from imop_engine.learner_state import LearnerState
from imop_engine.study.settings import StudySettings

FORMAT: Final = 2  # 1 had private names of the learner in it; it is still read
READS: Final = (1, FORMAT)


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
    """Write a checkpoint. It replaces an older one only when it is whole."""
    target = Path(path)
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
    half = target.with_name(target.name + ".part")
    with half.open("wb") as file:
        np.savez_compressed(file, **arrays)
    half.replace(target)


def load_state(path: Path | str) -> StudyState:
    """Read a checkpoint that `save_state` wrote."""
    source = Path(path)
    if not source.is_file():
        raise InvalidInput(f"{source}: there is no such checkpoint; start without resuming.")
    try:
        with np.load(source, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(str(arrays.pop("about")))
        version = int(about["format"])
        state = _state_of(about, arrays) if version in READS else None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidInput(
            f"{source} is not a checkpoint of a study, or it is damaged ({error}); start without "
            "resuming."
        ) from None
    if state is None:
        raise InvalidInput(
            f"{source} is a checkpoint of format {version}, this version reads {FORMAT}; start "
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
