"""A study: data in, everything the analyst reads out. The shell and the app run the same steps.

Reading order: settings, data, state, steps, outcome, files.
"""

from imop_engine.study.data import StudyData
from imop_engine.study.files import export_study, load_study, save_study
from imop_engine.study.outcome import Study
from imop_engine.study.settings import StudySettings
from imop_engine.study.state import StudyState, load_state, save_state
from imop_engine.study.steps import Progress, more_steps, run_study, study_steps

__all__ = [
    "Progress",
    "Study",
    "StudyData",
    "StudySettings",
    "StudyState",
    "export_study",
    "load_state",
    "load_study",
    "more_steps",
    "run_study",
    "save_state",
    "save_study",
    "study_steps",
]
