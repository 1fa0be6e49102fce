"""What a problem can do. Algorithms ask for a capability, never for a name of a kind of problem.

A new kind of problem says in its constructor what it can do (`Problem.capabilities`); whatever
needs no more than that works with it at once, and the rest refuses it with a sentence.
"""

from enum import Enum


class Capability(Enum):
    """One thing that a problem may be able to do."""

    # theta are the expected returns in r'x, weighed against the risk x'Qx: decisions tell them up
    # to a shift and a scale, anchors fix both, and at weight one no risk decides between portfolios
    EXPECTED_RETURNS = "its unknowns are expected returns"
    # the efficient decisions are a polyline in lam = w / (2 (1 - w))
    PIECEWISE_LINEAR_FRONTIER = "its frontier is piecewise linear"
    # there are two objectives: the efficient decisions are a curve with nearest points on it;
    # without this a problem only has single solves at given weights
    FRONTIER_CURVE = "its efficient decisions are a curve"
    # x >= 0, 1'x = 1 and caps are all the constraints: what the compiled portfolio code solves,
    # and a cap of one is enforced by the budget already
    BUDGET_AND_CAPS = "its constraints are a budget and caps on holdings"
    # objectives affine in theta, constraints free of it: what a decision leaves to be had at a
    # given weight is convex in theta
    SUBOPTIMALITY = "what its decisions leave is convex in its unknowns"


PORTFOLIO = frozenset(Capability)
# a portfolio problem with limits on sums of holdings, or with holdings from elsewhere than zero on
LIMITED = PORTFOLIO - {Capability.BUDGET_AND_CAPS}
# what standard errors, intervals and the bootstrap need
INFERENCE = frozenset({Capability.EXPECTED_RETURNS, Capability.PIECEWISE_LINEAR_FRONTIER})


def of_objectives(count: int, moved: bool = False) -> frozenset[Capability]:
    """What any quadratic program with so many objectives can do.

    Args:
        count: of objectives.
        moved: whether theta moves the constraints.
    """
    found = set() if moved else {Capability.SUBOPTIMALITY}
    if count == 2:
        found.add(Capability.FRONTIER_CURVE)
    return frozenset(found)
