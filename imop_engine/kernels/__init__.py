"""All compiled code, one room for each part of the method.

    nouns             the arrays that kernels hand to one another
    projection        a point of a polyhedron nearest to another, in the space of its rows
    branch_and_bound  the same with complementarity pairs, to the global optimum
    node, open_nodes  one node of its tree, and the nodes that wait
    critical_line     the exact frontier of a portfolio problem, nearest points on it
    limited_line      the frontier where limits bind sums of holdings
    tight_rows        what rows that hold take out of the response of holdings to returns
    portfolio         the implicit update of a portfolio problem, Algorithms 1 and 2
    second_order      the second-order learner
    general           any other problem of the class
    scores            sums of investors' scores along a traced frontier
    twins             the efficient portfolio at the risk of another, on a traced frontier
    at_risk           the same for one portfolio, without a trace
    limited_choice    the same under limits
    efficiency        the update of the return left on the table, and streams of them

Nothing here validates: the frozen objects that call it already did.
"""

from imop_engine import compiling
from imop_engine.kernels.branch_and_bound import solve_tree
from imop_engine.kernels.constants import (
    ANY,
    FREE,
    FREE_OR_UPPER,
    LOWER,
    LOWER_OR_FREE,
    MULTIPLIER_RIDGE,
    NUDGES,
    OPTIMAL,
    TIE,
    UPPER,
    ZERO_LOSS,
)
from imop_engine.kernels.critical_line import (
    assign_many,
    multiplier_at,
    segment_of,
    trace,
)
from imop_engine.kernels.general import (
    forward_all,
    general_run,
    general_update,
    nearest_row,
    nearest_rows,
    regions,
)
from imop_engine.kernels.limited_line import trace_frontier
from imop_engine.kernels.nearest import project_many
from imop_engine.kernels.nouns import (
    Bounds,
    Forward,
    ForwardOut,
    GeneralOut,
    GeneralSettings,
    GeneralStep,
    Observation,
    Pairs,
    PortfolioArrays,
    PortfolioSettings,
    Root,
    RoundsOut,
    Rows,
    SecondOrderSettings,
    SecondOrderState,
    SharedRows,
    Start,
    Step,
    ThetaSet,
    Trace,
    UpdateRows,
    empty_root,
    empty_trace,
    empty_working_set,
)
from imop_engine.kernels.portfolio import portfolio_run, portfolio_update, proof_terms, proven_from
from imop_engine.kernels.projection import project
from imop_engine.kernels.scores import (
    NO_DERIVATIVE,
    PlaceArrays,
    PlaceOfFrontier,
    ScoredRows,
    ScoreSums,
    slope_at,
    sum_scores,
)
from imop_engine.kernels.second_order import (
    FREEDOM,
    LATELY,
    LEFT,
    SEARCHING,
    SETTLING,
    information_of_all,
    metric_step,
    move,
    newton_run,
)

__all__ = [
    "ANY",
    "FREE",
    "FREEDOM",
    "FREE_OR_UPPER",
    "LATELY",
    "LEFT",
    "LOWER",
    "LOWER_OR_FREE",
    "MULTIPLIER_RIDGE",
    "NO_DERIVATIVE",
    "NUDGES",
    "OPTIMAL",
    "SEARCHING",
    "SETTLING",
    "TIE",
    "UPPER",
    "ZERO_LOSS",
    "Bounds",
    "Forward",
    "ForwardOut",
    "GeneralOut",
    "GeneralSettings",
    "GeneralStep",
    "Observation",
    "Pairs",
    "PlaceArrays",
    "PlaceOfFrontier",
    "PortfolioArrays",
    "PortfolioSettings",
    "Root",
    "RoundsOut",
    "Rows",
    "ScoreSums",
    "ScoredRows",
    "SecondOrderSettings",
    "SecondOrderState",
    "SharedRows",
    "Start",
    "Step",
    "ThetaSet",
    "Trace",
    "UpdateRows",
    "assign_many",
    "empty_root",
    "empty_trace",
    "empty_working_set",
    "forward_all",
    "general_run",
    "general_update",
    "information_of_all",
    "metric_step",
    "move",
    "multiplier_at",
    "nearest_row",
    "nearest_rows",
    "needs_compiling",
    "newton_run",
    "portfolio_run",
    "portfolio_update",
    "project",
    "project_many",
    "proof_terms",
    "proven_from",
    "regions",
    "segment_of",
    "slope_at",
    "solve_tree",
    "sum_scores",
    "trace",
    "trace_frontier",
]


def needs_compiling() -> bool:
    """Whether the next stream of portfolios compiles first; only asks the disk."""
    return not compiling.is_ready() and not compiling.is_stored("portfolio.portfolio_run")
