"""Learn what investors believe from the portfolios they hold.

The core path, in reading order: problem, frontier, update, learner, results.

Names load on first use: `import imop_engine` costs milliseconds, and the shell and the app's
server start without waiting for compiled code they may not need.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from imop_engine import errors
    from imop_engine.backends import implicit_update
    from imop_engine.batch import BatchFit, JointUpdate, batch_update, fit_batch
    from imop_engine.convex.problem import convex_problem
    from imop_engine.convex.risks import risk_problem
    from imop_engine.convex.suboptimality import suboptimality, suboptimality_update
    from imop_engine.efficiency_gap.fit import EfficiencyFit, fit_efficiency
    from imop_engine.efficiency_gap.measure import Efficiency, efficiency
    from imop_engine.efficiency_gap.stream import efficiency_update
    from imop_engine.frontier import Frontier, Projection, efficient_frontier, solve
    from imop_engine.history import History
    from imop_engine.inference.anchors import anchor_by_history, history_anchors, with_anchors
    from imop_engine.inference.estimating_equations import Refined, refine
    from imop_engine.inference.fit import Fit, compare_fit, implied_returns, measure_fit
    from imop_engine.inference.gaps import Gaps, gap_segments, measure_gaps
    from imop_engine.inference.groups import Groups
    from imop_engine.inference.identify import Identification, identification
    from imop_engine.inference.preferences import (
        FittedFamily,
        Preferences,
        WeightDistribution,
        investor_preferences,
        preference_segments,
        weight_distribution,
    )
    from imop_engine.inference.resample import Bootstrap, bootstrap
    from imop_engine.inference.risk_comparison import RiskComparison, compare_risks
    from imop_engine.inference.score import ScoreFit, fit_score, score_problem
    from imop_engine.inference.uncertainty import frontier_band
    from imop_engine.learner import Assignment, OnlineLearner
    from imop_engine.learner_state import LearnerState
    from imop_engine.least_squares import Polished, polish
    from imop_engine.limits import LinearLimit
    from imop_engine.open_directions import LocalIdentification, local_identification
    from imop_engine.problem import Problem, affine_problem, portfolio_problem, quadratic_problem
    from imop_engine.results import Result, aligned_error, risk_aversion, summarize
    from imop_engine.storage import export_study, load_study, save_study
    from imop_engine.study import (
        Progress,
        Study,
        StudySettings,
        more_steps,
        run_study,
        study_steps,
    )
    from imop_engine.study.resampling import Resampled, resample
    from imop_engine.study.sensitivity import Sensitivity, sensitivity
    from imop_engine.surface import Surface, efficient_surface
    from imop_engine.theory import Constants, constants
    from imop_engine.update import Update

_HOME = {
    "errors": ("errors",),
    "problem": ("Problem", "affine_problem", "portfolio_problem", "quadratic_problem"),
    "limits": ("LinearLimit",),
    "convex.problem": ("convex_problem",),
    "convex.risks": ("risk_problem",),
    "inference.score": ("ScoreFit", "fit_score", "score_problem"),
    "inference.risk_comparison": ("RiskComparison", "compare_risks"),
    "convex.suboptimality": ("suboptimality", "suboptimality_update"),
    "open_directions": ("LocalIdentification", "local_identification"),
    "efficiency_gap.measure": ("Efficiency", "efficiency"),
    "efficiency_gap.fit": ("EfficiencyFit", "fit_efficiency"),
    "efficiency_gap.stream": ("efficiency_update",),
    "frontier": ("Frontier", "Projection", "efficient_frontier", "solve"),
    "surface": ("Surface", "efficient_surface"),
    "update": ("Update",),
    "backends": ("implicit_update",),
    "learner": ("Assignment", "OnlineLearner"),
    "learner_state": ("LearnerState",),
    "history": ("History",),
    "least_squares": ("Polished", "polish"),
    "batch": ("BatchFit", "JointUpdate", "batch_update", "fit_batch"),
    "theory": ("Constants", "constants"),
    "results": ("Result", "aligned_error", "risk_aversion", "summarize"),
    "inference.fit": ("Fit", "compare_fit", "implied_returns", "measure_fit"),
    "inference.gaps": ("Gaps", "gap_segments", "measure_gaps"),
    "inference.groups": ("Groups",),
    "inference.anchors": ("anchor_by_history", "history_anchors", "with_anchors"),
    "inference.resample": ("Bootstrap", "bootstrap"),
    "inference.identify": ("Identification", "identification"),
    "inference.estimating_equations": ("Refined", "refine"),
    "inference.uncertainty": ("frontier_band",),
    "inference.preferences": (
        "FittedFamily",
        "Preferences",
        "WeightDistribution",
        "investor_preferences",
        "preference_segments",
        "weight_distribution",
    ),
    "study": (
        "Progress",
        "Study",
        "StudySettings",
        "more_steps",
        "run_study",
        "study_steps",
    ),
    "study.resampling": ("Resampled", "resample"),
    "study.sensitivity": ("Sensitivity", "sensitivity"),
    "storage": ("export_study", "load_study", "save_study"),
}

__all__ = [
    "Assignment",
    "BatchFit",
    "Bootstrap",
    "Constants",
    "Efficiency",
    "EfficiencyFit",
    "Fit",
    "FittedFamily",
    "Frontier",
    "Gaps",
    "Groups",
    "History",
    "Identification",
    "JointUpdate",
    "LearnerState",
    "LinearLimit",
    "LocalIdentification",
    "OnlineLearner",
    "Polished",
    "Preferences",
    "Problem",
    "Progress",
    "Projection",
    "Refined",
    "Resampled",
    "Result",
    "RiskComparison",
    "ScoreFit",
    "Sensitivity",
    "Study",
    "StudySettings",
    "Surface",
    "Update",
    "WeightDistribution",
    "affine_problem",
    "aligned_error",
    "anchor_by_history",
    "batch_update",
    "bootstrap",
    "compare_fit",
    "compare_risks",
    "constants",
    "convex_problem",
    "efficiency",
    "efficiency_update",
    "efficient_frontier",
    "efficient_surface",
    "errors",
    "export_study",
    "fit_batch",
    "fit_efficiency",
    "fit_score",
    "frontier_band",
    "gap_segments",
    "history_anchors",
    "identification",
    "implicit_update",
    "implied_returns",
    "investor_preferences",
    "load_study",
    "local_identification",
    "measure_fit",
    "measure_gaps",
    "more_steps",
    "polish",
    "portfolio_problem",
    "preference_segments",
    "quadratic_problem",
    "refine",
    "resample",
    "risk_aversion",
    "risk_problem",
    "run_study",
    "save_study",
    "score_problem",
    "sensitivity",
    "solve",
    "study_steps",
    "suboptimality",
    "suboptimality_update",
    "summarize",
    "weight_distribution",
    "with_anchors",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            home = import_module(f"imop_engine.{module}")
            value = home if name == module else _behind_gate(name, getattr(home, name))
            globals()[name] = value
            return value
    raise AttributeError(f"module 'imop_engine' has no attribute {name!r}")


def _behind_gate(name: str, value: Any) -> Any:
    """A public function checks what it is given; inside, modules call each other without."""
    from types import FunctionType

    if not isinstance(value, FunctionType):
        return value
    from imop_engine.gate import gated

    public = gated(value)
    # so that it can be sent to another process by its name, like any function
    public.__module__, public.__qualname__ = __name__, name
    return public


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
