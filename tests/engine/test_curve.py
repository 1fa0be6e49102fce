"""The curve of two quadratic objectives: corners, formulas, nearest points, flat directions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import imop_engine as imop
from imop_engine.curve import decisions
from imop_engine.weights import simplex_rows, weight_grid

DENSE = 4001


def drawn(seed, flat=False):
    """A problem with several corners; `flat` leaves out curvature that all objectives need."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 6)), int(rng.integers(1, 5))

    def quadratic():
        part = rng.normal(size=(n, int(rng.integers(1, n + 1))))
        return part @ part.T + (0.0 if flat else 0.1) * np.eye(n)

    Q = [quadratic(), quadratic()]
    c = rng.normal(size=(2, n)) * 3
    inside = rng.uniform(0.2, 1.0, n)
    A = np.vstack([rng.normal(size=(m, n)), -np.ones(n)])
    b = A @ inside - rng.uniform(0.0, 1.0, m + 1)
    problem = imop.quadratic_problem(Q=Q, c=list(c), A=A, b=b, learn="b", bounds=(-50.0, 50.0))
    return problem, b, inside + 1.5 * rng.normal(size=(12, n))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_point_of_a_dense_sample_is_nearer(seed):
    problem, b, Y = drawn(seed)
    found = imop.efficient_frontier(problem, b).project(Y)
    X = decisions(problem, b, simplex_rows(problem, weight_grid(problem, DENSE)))
    dense = np.linalg.norm(Y[:, None] - X, axis=2).min(axis=1)
    assert np.all(found.distances <= dense + 1e-9)
    assert np.allclose(np.linalg.norm(Y - found.points, axis=1), found.distances, atol=1e-12)
    again = decisions(problem, b, simplex_rows(problem, found.weights))
    assert np.allclose(again, found.points, atol=1e-9)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_between_corners_the_formula_is_the_decision(seed):
    problem, b, _ = drawn(seed)
    for piece in imop.efficient_frontier(problem, b).curve.pieces:
        w = np.linspace(piece.weights[0], piece.weights[-1], 9)[1:-1]
        X, slope = piece.at(w)
        assert np.allclose(X, decisions(problem, b, simplex_rows(problem, w)), atol=1e-7)
        h = 1e-6 * (piece.weights[-1] - piece.weights[0])
        central = (piece.at(w + h)[0] - piece.at(w - h)[0]) / (2 * h)
        assert np.allclose(slope, central, rtol=1e-4, atol=1e-4 * np.abs(slope).max())


def paper(learn="b"):
    return imop.quadratic_problem(
        Q=[np.diag([1.0, 2.0]), np.diag([2.0, 1.0])],
        c=[[3.0, 1.0], [-6.0, -5.0]],
        A=[[-3.0, 1.0], [0.0, -1.0]],
        b=[-6.0, -3.0],
        learn=learn,
        bounds=(-10.0, 10.0),
    )


def test_the_corners_of_the_papers_program_are_found():
    """x1 = max(0, (6-9w)/(2-w)) and x2 = clip((5-6w)/(1+w), 0, 3) turn at 2/9, 2/3 and 5/6."""
    pieces = imop.efficient_frontier(paper(), [-6.0, -3.0]).curve.pieces
    corners = [0.0, *(piece.weights[-1] for piece in pieces)]
    assert np.allclose(corners, [0.0, 2 / 9, 2 / 3, 5 / 6], atol=1e-9)


def test_a_decision_beside_a_plateau_finds_the_corner():
    """At every w >= 5/6 the decision is (0, 0): the nearest point beside it is no sample."""
    frontier = imop.efficient_frontier(paper(), [-6.0, -3.0])
    corner = 5 / 6 - 1e-4
    on = frontier.at(corner)
    found = frontier.project(on[None])
    assert found.distances[0] < 1e-12
    assert found.weights[0] == pytest.approx(corner, abs=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_flat_directions_give_one_decision_wherever_the_solver_comes_from(seed):
    """Where all objectives are flat in a direction, a warm start must not choose the decision."""
    problem, b, _ = drawn(seed, flat=True)
    weights = np.linspace(0.05, 0.95, 31)
    chained = decisions(problem, b, simplex_rows(problem, weights))
    alone = np.array([imop.solve(problem, b, w) for w in weights])
    assert np.allclose(chained, alone, atol=1e-6)
    assert np.all(chained @ problem.rows.T >= b - 1e-7)


def test_weights_keep_inside_where_an_objective_is_flat_somewhere():
    flat = imop.quadratic_problem(
        Q=[np.diag([1.0, 0.0]), np.eye(2)], c=[[-1.0, 0.0], [0.0, -1.0]], A=[[-1.0, -1.0]],
        b=[-1.0], learn="b",
    )  # fmt: skip
    assert weight_grid(flat, 3).tolist() == [0.001, 0.5, 0.999]
    assert weight_grid(paper(), 3).tolist() == [0.0, 0.5, 1.0]
