"""Saved studies damaged in many ways: each is refused with our sentence or opens unchanged.

Bits are flipped, files truncated, emptied, exchanged within a study and between two, removed,
replaced by folders and by JSON without end. What opens is compared with what was saved, number by
number.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from imop_engine import load_study, manifest
from imop_engine.errors import ImopError

from .verdicts import Trial

DEEP: Final = 200_000  # brackets: more than any parser follows
Damage = Callable[[Path, Path, np.random.Generator], str]


def files_of(folder: Path) -> list[Path]:
    """The files of a folder, in a fixed order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _one(folder: Path, rng: np.random.Generator) -> Path:
    """A file: those that a study is opened from three times of four."""
    files = files_of(folder)
    inner = [path for path in files if path.parent != folder or path.suffix == ".json"]
    chosen = inner if inner and rng.random() < 0.75 else files
    return chosen[int(rng.integers(len(chosen)))]


def flip_bit(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """One bit of one file."""
    path = _one(folder, rng)
    content = bytearray(path.read_bytes())
    if not content:
        return truncate(folder, other, rng)
    at, bit = int(rng.integers(len(content))), int(rng.integers(8))
    content[at] ^= 1 << bit
    path.write_bytes(content)
    return f"bit {bit} of byte {at} of {path.relative_to(folder)}"


def truncate(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """The end of a file is missing."""
    path = _one(folder, rng)
    content = path.read_bytes()
    kept = int(rng.integers(max(1, len(content))))
    path.write_bytes(content[:kept])
    return f"{path.relative_to(folder)} cut to {kept} of {len(content)} bytes"


def zero_block(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """A block of zeros, as a disk leaves it that lost power."""
    path = _one(folder, rng)
    content = bytearray(path.read_bytes())
    at = int(rng.integers(max(1, len(content))))
    end = min(len(content), at + 512)
    content[at:end] = bytes(end - at)
    path.write_bytes(content)
    return f"zeros from byte {at} of {path.relative_to(folder)}"


def append(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """Something after the end of a file."""
    path = _one(folder, rng)
    with path.open("ab") as file:
        file.write(rng.bytes(int(rng.integers(1, 200))))
    return f"more at the end of {path.relative_to(folder)}"


def remove(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """A file is gone."""
    path = _one(folder, rng)
    path.unlink()
    return f"{path.relative_to(folder)} removed"


def exchange(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """Two files of the study have changed places."""
    one, two = _one(folder, rng), _one(folder, rng)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    return f"{one.relative_to(folder)} and {two.relative_to(folder)} exchanged"


def foreign_file(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """The file of another study in this one's place."""
    path = _one(folder, rng)
    name = path.relative_to(folder)
    if (other / name).is_file():
        shutil.copyfile(other / name, path)
    return f"{name} of another study"


def foreign_run(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """run.json of another study, with its list of digests or without."""
    names = ["run.json", manifest.FILE][: int(rng.integers(1, 3))]
    for name in names:
        shutil.copyfile(other / name, folder / name)
    return f"{' and '.join(names)} of another study"


def folder_instead(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """A folder where a file was."""
    path = _one(folder, rng)
    path.unlink()
    path.mkdir()
    return f"{path.relative_to(folder)} is a folder"


def deep_json(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """JSON that nests without end, with a list of digests or without one."""
    name = ("run.json", manifest.FILE)[int(rng.integers(2))]
    (folder / name).write_text("[" * DEEP)
    if name == "run.json" and rng.random() < 0.5:
        (folder / manifest.FILE).unlink()
    return f"{name} nests {DEEP} deep"


def no_list(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """The list of digests is gone, and another file is changed."""
    (folder / manifest.FILE).unlink()
    return f"no list of digests, and {flip_bit(folder, other, rng)}"


def later_format(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """A study of a format that does not exist yet, whole in itself."""
    path = folder / manifest.FILE
    document = json.loads(path.read_text())
    document.pop("sha256")
    document["format"] = [3, 0, -1, "2", None, 1e300, [2], {}][int(rng.integers(8))]
    text = json.dumps(document, sort_keys=True)
    document["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(document))
    return f"format {document['format']!r}"


def link_away(folder: Path, other: Path, rng: np.random.Generator) -> str:
    """A link to a place outside."""
    path = _one(folder, rng)
    path.unlink()
    path.symlink_to(other / "run.json" if rng.random() < 0.5 else folder / "nowhere")
    return f"{path.relative_to(folder)} is a link"


DAMAGES: Final[tuple[Damage, ...]] = (
    flip_bit, flip_bit, flip_bit, truncate, zero_block, append, remove, exchange, foreign_file,
    foreign_run, folder_instead, deep_json, no_list, later_format, link_away,
)  # fmt: skip


def fingerprint(folder: Path) -> str:
    """What an opened study says: data, settings, estimate, to the last bit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = load_study(folder)
    found = hashlib.sha256()
    found.update(json.dumps(study.settings.to_dict(), sort_keys=True, default=str).encode())
    arrays: tuple[Any, ...] = (
        study.theta,
        study.data.portfolios.to_numpy(),
        study.data.covariance.to_numpy(),
        study.data.expected_returns.to_numpy(),
        study.state.learned.theta,
    )
    for array in arrays:
        found.update(np.ascontiguousarray(array, dtype=float).tobytes())
    found.update(repr(list(study.data.portfolios.index)).encode())
    found.update(study.data.attributes.to_csv().encode())
    return found.hexdigest()


def damaged_studies(one: Path, two: Path, work: Path, count: int, seed: int) -> list[Trial]:
    """Damage copies of a study and open them.

    Args:
        one: A saved study, which is copied and stays as it is.
        two: Another one, whose files are put into the first.
        work: A folder for the copies.
        count: How many.
        seed: Of the damages.
    """
    before = fingerprint(one)
    trials = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        copy = work / f"damaged-{number}"
        shutil.copytree(one, copy)
        what = DAMAGES[number % len(DAMAGES)](copy, two, rng)
        trials.append(_judge(copy, before, what))
        shutil.rmtree(copy)
    return trials


def _judge(folder: Path, before: str, what: str) -> Trial:
    try:
        same = fingerprint(folder) == before
    except ImopError as error:
        return Trial(what, "refused", str(error))
    except BaseException as error:  # whatever else it is must not have come
        return Trial(what, "foreign", f"{type(error).__name__}: {error}")
    return Trial(what, "unchanged" if same else "silent")
