"""A study: data in, everything the analyst reads out. The shell and the app run the same steps.

Reading order: settings, data, state, steps, outcome. How a study is kept in a folder is in
`imop_engine.storage`.
"""

from importlib import import_module
from typing import Any

from imop_engine.study.data import StudyData
from imop_engine.study.outcome import Study
from imop_engine.study.settings import StudySettings
from imop_engine.study.state import StudyState, load_state, save_state
from imop_engine.study.steps import Progress, more_steps, run_study, steps_of, study_steps

__all__ = [
    "Progress",
    "Study",
    "StudyData",
    "StudySettings",
    "StudyState",
    "load_state",
    "more_steps",
    "run_study",
    "save_state",
    "steps_of",
    "study_steps",
]

# Scripts that the app of version 0.1.0 wrote for analysts take these names from here.
_MOVED_TO_STORAGE = ("export_study", "load_study", "save_study")


def __getattr__(name: str) -> Any:
    if name in _MOVED_TO_STORAGE:
        return getattr(import_module("imop_engine"), name)
    raise AttributeError(f"module 'imop_engine.study' has no attribute {name!r}")
