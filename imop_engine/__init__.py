"""Learn what investors believe from the portfolios they hold.

The core path, in reading order: problem, frontier, update, learner, results.
"""

from imop_engine import errors
from imop_engine.frontier import Frontier, Projection, efficient_frontier, solve
from imop_engine.learner import Assignment, OnlineLearner
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.results import Result, aligned_error, risk_aversion, summarize
from imop_engine.update import Update, implicit_update

__version__ = "0.1.0"

__all__ = [
    "Assignment",
    "Frontier",
    "OnlineLearner",
    "Problem",
    "Projection",
    "Result",
    "Update",
    "aligned_error",
    "efficient_frontier",
    "errors",
    "implicit_update",
    "portfolio_problem",
    "risk_aversion",
    "solve",
    "summarize",
]
