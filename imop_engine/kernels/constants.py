"""Tolerances and codes that several kernels share."""

# -- tolerances ---------------------------------------------------------------------------------
FEASIBLE = 1e-11  # a row may miss its bound by this much of its own scale
DEPENDENT = 1e-10  # relative size of a pivot below which a row depends on the working set
SNAPSHOT_ROWS = 160  # up to this many rows a waiting node keeps its factorisation
BROKEN = 1e-8  # a leaf that misses a bound by this share is not believed
DOUBTFUL = 1e-5  # below this share a pivot is computed again, with its rounding taken out
SATISFIED = 1e-10  # a complementarity pair holds when its smaller side is below this, scaled
PRUNE = 1e-8  # a node is closed when its bound is within this share of the incumbent
MULTIPLIER_RIDGE = 1e-7  # curvature given to multipliers, relative to the rows they stand in
RIDGE_SHARE = 1e-7  # of a node's value may be the ridge's, where it is more the centre moves,
RIDGE_COST = 1e-11  # ... or this much
AGED = 1e-9  # a working set whose rows miss their bounds by this share is factored anew
PROXIMAL_STEPS = 60  # at most; a node that needs more keeps its parent's bound
EVENT = 1e-11  # two events of a trace closer than this, in lam or in any holding, are one
REFINEMENTS = 4  # at most, of a direction whose equations are nearly singular
NUDGES = (1e-9, 1e-8, 1e-7, 1e-6)  # towards the old theta, while rounding leaves no decision
FAR = 1e3  # rows that moved by more than this many times their size are computed once more
TIE = 1e-12  # two squared distances closer than this (relative) are equal
ZERO_LOSS = 1e-14  # the paper's "l_K = 0": a distance of 1e-7, below what portfolios are known to

# -- results of `project` -----------------------------------------------------------------------
OPTIMAL, INFEASIBLE, CUT_OFF, PIVOT_LIMIT = 0, 1, 2, 3

# -- what is known of a complementarity pair: x in [l, u] with reduced gradient s ----------------
ANY, LOWER_OR_FREE, FREE_OR_UPPER, LOWER, FREE, UPPER = 0, 1, 2, 3, 4, 5
