"""Updates where arithmetic is hard: flat objectives, tiny coefficients, parameters on the edge.

A coefficient near zero asks for a multiplier in the thousands, and the ridge that multipliers carry
made such nodes look worse than they are; an inverse updated over many nodes loses digits.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import imop_engine as imop
from imop_engine.backends import make_backend

pytest.importorskip("gurobipy", reason="gurobipy is the oracle")

pytestmark = pytest.mark.slow


def drawn(seed):
    """Problem, start, decision, weight and rate; objectives may be flat, of rank one and up."""
    rng = np.random.default_rng(seed)
    n, m, p = int(rng.integers(2, 6)), int(rng.integers(1, 4)), int(rng.choice([2, 2, 3]))

    def quadratic():
        part = rng.normal(size=(n, int(rng.integers(1, n + 1))))
        return part @ part.T + (0.2 * np.eye(n) if rng.random() < 0.6 else 0.0)

    Q = [quadratic() for _ in range(p)]
    c = [rng.normal(size=n) * 2 for _ in range(p)]
    inside = rng.uniform(0.2, 1.0, n)
    A = rng.normal(size=(m, n))
    b = np.append(A @ inside - rng.uniform(0.0, 1.0, m), -inside.sum() - rng.uniform(0.5, 3.0))
    A = np.vstack([A, -np.ones(n)])
    learn = str(rng.choice(["c", "b"]))
    problem = imop.quadratic_problem(Q=Q, c=c, A=A, b=b, learn=learn, bounds=(-8.0, 8.0))
    truth = np.concatenate(c) if learn == "c" else b
    weight = np.clip(rng.dirichlet(np.ones(p)), 0.02, 1.0)
    weight /= weight.sum()
    start = np.clip(truth + rng.normal(size=truth.size) * 0.5, -8.0, 8.0)
    decision = imop.solve(problem, truth, weight) + rng.normal(size=n) * 0.3
    return problem, start, decision, weight, float(rng.choice([0.5, 5.0, 50.0]))


def agrees_with_gurobi(seed):
    problem, start, decision, weight, rate = drawn(seed)
    ours = imop.implicit_update(problem, start, decision, weight, rate)
    theirs = make_backend("gurobi", problem, weight[None], tolerance="tight").update(
        start, decision, 0, rate
    )
    room = 1e-6 * abs(theirs.objective) + 1e-9
    assert ours.objective <= theirs.objective + room
    assert ours.bound <= theirs.objective + room
    assert ours.certified
    x = imop.solve(problem, ours.theta, weight)
    assert np.allclose(x, ours.x, atol=1e-7)


# 8: a multiplier of 12,501 for a coefficient of 2e-4. 719: the last leaf of a long dive.
# 3032, 4220: the update ends where the constraints leave a single decision.
@pytest.mark.parametrize("seed", [8, 719, 3032, 4220])
def test_instances_that_went_wrong_once(seed):
    agrees_with_gurobi(seed)


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32 - 1))
def test_flat_objectives_and_any_number_of_them_agree_with_gurobi(seed):
    agrees_with_gurobi(seed)
