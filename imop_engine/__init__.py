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
    from imop_engine.frontier import Frontier, Projection, efficient_frontier, solve
    from imop_engine.learner import Assignment, OnlineLearner
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
}

__all__ = [
    "Assignment",
    "BatchFit",
    "Constants",
    "Frontier",
    "JointUpdate",
    "OnlineLearner",
    "Problem",
    "Projection",
    "Result",
    "Update",
    "affine_problem",
    "aligned_error",
    "batch_update",
    "constants",
    "efficient_frontier",
    "errors",
    "fit_batch",
    "implicit_update",
    "portfolio_problem",
    "quadratic_problem",
    "risk_aversion",
    "solve",
    "summarize",
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
