"""Where a study stopped, as plain arrays: enough to go on with the same digits.

The file is numpy's npz without pickle, so opening one that somebody sent runs none of their code.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput
from imop_engine.learner import OnlineLearner
from imop_engine.study.settings import StudySettings

FORMAT: Final = 1
# What the settings and the data make anew; everything else in a learner is what it has learned.
GIVEN: Final = frozenset(
    {
        "problem",
        "algorithm",
        "rate",
        "backend",
        "node_limit",
        "batch",
        "forgetting",
        "exact",
        "weights_",
    }
)


@dataclass(frozen=True, eq=False)
class StudyState:
    """A learner in the middle of a stream, and what it was learning from."""

    settings: StudySettings
    rounds: int
    equalities: Matrix  # the anchors as they were when learning began
    values: Vector
    seen: str  # hash of the portfolios seen so far
    market: str  # hash of the moments
    learned: dict[str, NDArray[Any]]


def digest(*arrays: Any) -> str:
    """A hash of numbers, to the last bit."""
    found = hashlib.sha256()
    for array in arrays:
        plain = np.ascontiguousarray(array, dtype=float)
        found.update(str(plain.shape).encode())
        found.update(plain.tobytes())
    return found.hexdigest()


class Seen:
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


def freeze(learner: OnlineLearner) -> dict[str, NDArray[Any]]:
    """What a learner has learned, as copies."""
    learner.losses_  # noqa: B018  joins the losses of many calls, so that calls leave no trace
    left_out = GIVEN | _computed(learner)
    parts = {name: value for name, value in learner.__getstate__().items() if name not in left_out}
    return dict(_flat(parts, ""))


def _flat(parts: dict[str, Any], before: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """Arrays by name; what an object inside holds is named after it, `object.part`."""
    for name, value in parts.items():
        if value is None:
            continue
        if isinstance(value, (np.ndarray, np.generic, int, float, list)):
            yield before + name, np.array(value)
        elif type(value).__module__.startswith("imop_engine."):
            yield from _flat(vars(value), f"{before}{name}.")
        else:
            raise InvalidInput(
                f"the learner's {name} is a {type(value).__name__}, which cannot be kept as "
                "numbers; finish this run without a checkpoint."
            )


def thaw(learner: OnlineLearner, learned: dict[str, NDArray[Any]]) -> OnlineLearner:
    """A new learner of the same settings, brought to where the other one stopped."""
    for name, array in learned.items():
        *path, last = name.split(".")
        owner: Any = learner
        for part in path:
            owner = getattr(owner, part)
        if isinstance(getattr(owner, last, None), list):
            # a list of numbers, or of arrays of one length
            setattr(owner, last, array.tolist() if array.ndim == 1 else [*array.copy()])
        else:
            setattr(owner, last, array.item() if array.ndim == 0 else array.copy())
    return learner


def _computed(learner: OnlineLearner) -> set[str]:
    """Names that the learner computes from what was given and keeps."""
    return {
        name
        for kind in type(learner).__mro__
        for name, thing in vars(kind).items()
        if type(thing).__name__ == "cached_property"
    }


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
    arrays: dict[str, Any] = {f"learned.{name}": array for name, array in state.learned.items()}
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
        settings = StudySettings.from_dict(about["settings"])
        learned = {
            name.removeprefix("learned."): array
            for name, array in arrays.items()
            if name.startswith("learned.")
        }
        version = int(about["format"])
        state = StudyState(
            settings,
            int(about["rounds"]),
            arrays["equalities"],
            arrays["values"],
            str(about["seen"]),
            str(about["market"]),
            learned,
        )
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidInput(
            f"{source} is not a checkpoint of a study, or it is damaged ({error}); start without "
            "resuming."
        ) from None
    if version != FORMAT:
        raise InvalidInput(
            f"{source} is a checkpoint of format {version}, this version reads {FORMAT}; start "
            "without resuming."
        )
    return state
