"""Learn what investors believe from the portfolios they hold.

The core path, in reading order: problem, frontier, update, learner, results.

Names load on first use: `import imop_engine` costs milliseconds, and the shell and the app's
server start without waiting for compiled code they may not need.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from imop_engine import errors
    from imop_engine.batch import BatchFit, JointUpdate, batch_update, fit_batch
    from imop_engine.fit import Fit, compare_fit, implied_returns, measure_fit
    from imop_engine.frontier import Frontier, Projection, efficient_frontier, solve
    from imop_engine.learner import Assignment, OnlineLearner
    from imop_engine.preferences import (
        FittedFamily,
        Preferences,
        WeightDistribution,
        investor_preferences,
        preference_segments,
        weight_distribution,
    )
    from imop_engine.problem import Problem, affine_problem, portfolio_problem, quadratic_problem
    from imop_engine.results import Result, aligned_error, risk_aversion, summarize
    from imop_engine.theory import Constants, constants
    from imop_engine.update import Update, implicit_update

_HOME = {
    "errors": ("errors",),
    "problem": ("Problem", "affine_problem", "portfolio_problem", "quadratic_problem"),
    "frontier": ("Frontier", "Projection", "efficient_frontier", "solve"),
    "update": ("Update", "implicit_update"),
    "learner": ("Assignment", "OnlineLearner"),
    "batch": ("BatchFit", "JointUpdate", "batch_update", "fit_batch"),
    "theory": ("Constants", "constants"),
    "results": ("Result", "aligned_error", "risk_aversion", "summarize"),
    "fit": ("Fit", "compare_fit", "implied_returns", "measure_fit"),
    "preferences": (
        "FittedFamily",
        "Preferences",
        "WeightDistribution",
        "investor_preferences",
        "preference_segments",
        "weight_distribution",
    ),
}

__all__ = [
    "Assignment",
    "BatchFit",
    "Constants",
    "Fit",
    "FittedFamily",
    "Frontier",
    "JointUpdate",
    "OnlineLearner",
    "Preferences",
    "Problem",
    "Projection",
    "Result",
    "Update",
    "WeightDistribution",
    "affine_problem",
    "aligned_error",
    "batch_update",
    "compare_fit",
    "constants",
    "efficient_frontier",
    "errors",
    "fit_batch",
    "implicit_update",
    "implied_returns",
    "investor_preferences",
    "measure_fit",
    "portfolio_problem",
    "preference_segments",
    "quadratic_problem",
    "risk_aversion",
    "solve",
    "summarize",
    "weight_distribution",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            home = import_module(f"imop_engine.{module}")
            value = home if name == module else getattr(home, name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'imop_engine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
