"""What has been computed already: a JSON file for each part, found by its settings and its code.

A file is used only if the same settings were run by the same code: the key covers the text of the
experiment and of every engine module that can change a number. So a result can be resumed after
an interruption and can never be stale.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import imop_engine as imop
from imop_experiments.experiment import Experiment, Part, Result

SHARED = ("paper.py", "appendix.py")  # what several experiments compute with
# Modules that only draw, tell or read files; a change there cannot change a result.
ASIDE = ("cli", "bench", "warm", "report", "tables", "commands", "__init__")


@cache
def engine_digest() -> str:
    """A digest of the engine's modules that compute."""
    found = hashlib.sha256()
    root = Path(str(files("imop_engine")))
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0].removesuffix(".py") not in ASIDE:
            found.update(name.as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:16]


def key(experiment: Experiment, part: Part) -> str:
    """The name of a part's file: settings, version and code."""
    code = sys.modules[experiment.run.__module__].__file__
    shared = b"".join(Path(__file__).with_name(name).read_bytes() for name in SHARED)
    text = Path(code).read_bytes() if code else b""
    settings = json.dumps(
        [experiment.name, imop.__version__, engine_digest(), part], sort_keys=True
    )
    return hashlib.sha256(settings.encode() + shared + text).hexdigest()[:20]


class Store:
    """The folder of raw results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, experiment: Experiment, part: Part) -> Path:
        """Where a part's result belongs."""
        return self.folder / experiment.name / f"{key(experiment, part)}.json"

    def load(self, experiment: Experiment, part: Part) -> dict[str, Any] | None:
        """What a part found earlier; None if it was not run, or its file was cut short."""
        try:
            kept = json.loads(self.path(experiment, part).read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return kept if isinstance(kept, dict) and {"result", "seconds"} <= kept.keys() else None

    def save(self, experiment: Experiment, part: Part, result: Result, seconds: float) -> None:
        """Keep what a part found; a file is there whole or not at all.

        Args:
            experiment: Which one.
            part: Which part of it.
            result: What it found.
            seconds: How long it took.
        """
        path = self.path(experiment, part)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {
            "experiment": experiment.name,
            "version": imop.__version__,
            "engine": engine_digest(),
            "settings": part,
            "seconds": seconds,
            "result": result,
        }
        draft = path.with_suffix(".part")
        draft.write_text(json.dumps(kept))
        draft.replace(path)

    def forget(self, experiment: Experiment, parts: list[Part]) -> None:
        """Drop what is kept of these parts, so that they run again."""
        for part in parts:
            self.path(experiment, part).unlink(missing_ok=True)
