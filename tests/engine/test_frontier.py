"""The exact frontier: against enumeration, cvxcla and forward solves, and where it degenerates."""

import numpy as np
import pytest
from cvxcla import CLA
from draws import caps, covariance, instances, returns, tries
from hypothesis import given
from hypothesis import strategies as st

import imop_engine as imop
import reference

GRID = (0.0, 0.001, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 0.999)
SAME = 1e-8  # portfolios are of size 1; what w near 1 magnifies stays well below this


def lam(w: float) -> float:
    return w / (2 * (1 - w))


@tries(60)
@given(instances(smallest=1, largest=6))
def test_it_is_the_enumerated_frontier(drawn):
    pieces = reference.frontier_enumerated(drawn.Q, drawn.theta, drawn.upper)
    frontier = imop.efficient_frontier(drawn.problem(), drawn.theta)
    for w in (*GRID, 1.0):
        assert np.allclose(frontier.at(w), reference.frontier_at(pieces, w), atol=SAME)
    for w, portfolio in zip(frontier.weights, frontier.portfolios, strict=True):
        assert np.allclose(portfolio, reference.frontier_at(pieces, w), atol=SAME)


@tries(60)
@given(instances(smallest=2, largest=12))
def test_it_is_the_forward_solution_on_a_grid(drawn):
    problem = drawn.problem()
    frontier = imop.efficient_frontier(problem, drawn.theta)
    for w in GRID:
        x = reference.forward(drawn.weighted(w), drawn.theta)
        assert np.allclose(frontier.at(w), x, atol=SAME)
        assert np.allclose(imop.solve(problem, drawn.theta, w), x, atol=SAME)


@tries(60)
@given(instances(smallest=2, largest=10))
def test_optimality_at_every_turning_point_and_between_them(drawn):
    frontier = imop.efficient_frontier(drawn.problem(), drawn.theta)
    weights = np.asarray(frontier.weights)
    assert weights[0] == 0
    assert weights[-1] <= 1
    assert np.all(np.diff(weights) >= 0)
    between = (weights[:-1] + weights[1:]) / 2
    for w in (*weights[weights < 1], *between, *(between + weights[1:]) / 2):
        if w < 1:
            x = frontier.at(w)
            assert reference.kkt_residual(drawn.weighted(w), drawn.theta, x) <= SAME
            assert np.all(x >= 0)
            assert np.all(x <= drawn.upper)
            assert x.sum() == pytest.approx(1, abs=1e-12)


@tries(40)
@given(instances(smallest=2, largest=8))
def test_it_is_straight_between_turning_points_and_constant_after_the_last(drawn):
    frontier = imop.efficient_frontier(drawn.problem(), drawn.theta)
    weights, corners = np.asarray(frontier.weights), np.asarray(frontier.portfolios)
    for i in range(len(weights) - 1):
        if weights[i + 1] < 1:
            middle = (lam(weights[i]) + lam(weights[i + 1])) / 2
            halfway = frontier.at(2 * middle / (1 + 2 * middle))
            assert np.allclose(halfway, (corners[i] + corners[i + 1]) / 2, atol=SAME)
    assert np.allclose(frontier.at((1 + weights[-1]) / 2), corners[-1], atol=SAME)
    best = np.max([drawn.theta @ portfolio for portfolio in corners])
    assert drawn.theta @ corners[-1] == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_frontier_of_cvxcla(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    Q, r = covariance(rng, n, "dense"), rng.uniform(0, 0.3, n)
    upper = caps(rng, n, ["none", "mixed", "tight"][seed % 3])
    theirs = CLA(
        mean=r,
        covariance=Q,
        lower_bounds=np.zeros(n),
        upper_bounds=upper,
        a=np.ones((1, n)),
        b=np.ones(1),
    )
    frontier = imop.efficient_frontier(imop.portfolio_problem(Q, upper=upper), r)
    for point in theirs.turning_points:
        w = 2 * point.lamb / (1 + 2 * point.lamb) if np.isfinite(point.lamb) else 1.0
        assert np.allclose(frontier.at(w), point.weights, atol=1e-7)
    assert len(frontier.weights) <= len(theirs.turning_points) + 2


# -- degenerate cases


def test_equal_returns_give_one_portfolio():
    problem = imop.portfolio_problem(reference.SECURITIES_COVARIANCE)
    flat = imop.efficient_frontier(problem, np.full(8, 0.1))
    safest = reference.forward(
        reference.portfolio(reference.SECURITIES_COVARIANCE, 0.0), np.ones(8)
    )
    for w in (*GRID, 1.0):
        assert np.allclose(flat.at(w), safest, atol=SAME)
    assert np.allclose(flat.portfolios, safest, atol=SAME)


def test_zero_returns_like_any_other_constant():
    problem = imop.portfolio_problem(reference.SECURITIES_COVARIANCE, upper=0.3)
    zero = imop.efficient_frontier(problem, np.zeros(8))
    one = imop.efficient_frontier(problem, np.ones(8))
    assert np.allclose(zero.at(0.7), one.at(0.7), atol=1e-12)


def test_a_tie_for_the_highest_return_ends_in_the_safest_mixture():
    Q = np.diag([0.01, 0.04, 0.04])
    frontier = imop.efficient_frontier(imop.portfolio_problem(Q), [0.1, 0.3, 0.3])
    assert np.allclose(frontier.at(1.0), [0, 0.5, 0.5], atol=SAME)
    solved = imop.solve(imop.portfolio_problem(Q), [0.1, 0.3, 0.3], 1.0)
    assert np.allclose(solved, [0, 0.5, 0.5], atol=SAME)


@pytest.mark.parametrize(("n", "cap"), [(2, 0.5), (4, 0.25), (3, 1 / 3), (7, 1 / 7)])
def test_caps_that_leave_one_portfolio(n, cap):
    rng = np.random.default_rng(n)
    problem = imop.portfolio_problem(covariance(rng, n, "dense"), upper=cap)
    frontier = imop.efficient_frontier(problem, rng.uniform(0, 1, n))
    assert np.allclose(frontier.portfolios, cap, atol=1e-12)
    assert np.allclose(frontier.project(np.eye(n)).points, cap, atol=1e-12)


@pytest.mark.parametrize(("n", "cap"), [(4, 0.5), (6, 0.25), (6, 0.2), (5, 0.5)])
def test_caps_that_a_few_assets_fill_exactly(n, cap):
    rng = np.random.default_rng(7 * n)
    Q, r = covariance(rng, n, "dense"), rng.uniform(0, 0.3, n)
    pieces = reference.frontier_enumerated(Q, r, cap)
    frontier = imop.efficient_frontier(imop.portfolio_problem(Q, upper=cap), r)
    for w in (*GRID, 1.0):
        assert np.allclose(frontier.at(w), reference.frontier_at(pieces, w), atol=SAME)
    richest = np.zeros(n)
    richest[np.argsort(r)[-round(1 / cap) :]] = cap
    assert np.allclose(frontier.at(1.0), richest, atol=SAME)


def test_a_cap_of_zero_is_an_asset_that_is_not_there():
    Q, r = reference.SECURITIES_COVARIANCE[:3, :3], np.array([0.1, 0.2, 0.3])
    without = imop.efficient_frontier(imop.portfolio_problem(Q[:2, :2]), r[:2])
    barred = imop.efficient_frontier(imop.portfolio_problem(Q, upper=[1.0, 1.0, 0.0]), r)
    for w in (*GRID, 1.0):
        assert np.allclose(barred.at(w), [*without.at(w), 0.0], atol=SAME)


@tries(40)
@given(st.integers(0, 10**6), st.integers(2, 8), st.sampled_from(["twins", "factors", "cash"]))
def test_a_singular_covariance_gives_the_best_value(seed, n, kind):
    rng = np.random.default_rng(seed)
    if kind == "factors":
        root = rng.normal(size=(n, max(1, n // 2))) * 0.2
        Q = root @ root.T
    else:
        Q = covariance(rng, n, "dense")
        if kind == "twins":  # the last asset is the first once more
            Q[-1], Q[:, -1] = Q[0], Q[:, 0]
            Q[-1, -1] = Q[0, 0]
        else:
            Q[-1], Q[:, -1] = 0.0, 0.0
    r = returns(rng, n, "ties" if seed % 2 else "plain")
    if kind == "twins":
        r[-1] = r[0]
    problem = imop.portfolio_problem(Q)
    frontier = imop.efficient_frontier(problem, r)
    for w in GRID[1:]:
        ridge = reference.forward(reference.portfolio(Q + 1e-9 * np.eye(n), w), r)
        best = (1 - w) * ridge @ Q @ ridge - w * r @ ridge
        for x in (frontier.at(w), imop.solve(problem, r, w)):
            assert np.all(x >= -1e-12)
            assert x.sum() == pytest.approx(1, abs=1e-9)
            assert (1 - w) * x @ Q @ x - w * r @ x <= best + 1e-9


def test_among_equal_twins_the_wealth_is_split():
    Q = np.full((2, 2), 0.04)
    problem = imop.portfolio_problem(Q)
    for w in (0.0, 0.3, 0.9):
        assert np.allclose(imop.solve(problem, [0.1, 0.1], w), 0.5, atol=1e-7)


# -- projection


@tries(40)
@given(instances(smallest=1, largest=6), st.integers(0, 10**6))
def test_projection_finds_the_nearest_point_of_the_whole_frontier(drawn, seed):
    rng = np.random.default_rng(seed)
    n = len(drawn.theta)
    Y = np.vstack([rng.dirichlet(np.ones(n), size=4), np.eye(n)[0], drawn.y, drawn.y + 5.0])
    problem = drawn.problem()
    frontier = imop.efficient_frontier(problem, drawn.theta)
    projection = frontier.project(Y)
    pieces = reference.frontier_enumerated(drawn.Q, drawn.theta, drawn.upper)
    for y, w, point, distance in zip(
        Y, projection.weights, projection.points, projection.distances, strict=True
    ):
        assert distance == pytest.approx(reference.frontier_distance(pieces, y), abs=1e-8)
        assert distance == pytest.approx(np.linalg.norm(y - point), abs=1e-12)
        assert 0 <= w <= 1
        assert np.allclose(imop.solve(problem, drawn.theta, w), point, atol=1e-7)


def test_projection_is_that_of_a_dense_sample():
    problem = imop.portfolio_problem(reference.SECURITIES_COVARIANCE, upper=0.5)
    frontier = imop.efficient_frontier(problem, reference.SECURITIES_RETURN)
    Y = np.random.default_rng(0).dirichlet(np.ones(8), size=20)
    sample = np.array([frontier.at(w) for w in np.linspace(0, 1, 5001)])
    dense = np.min(np.linalg.norm(Y[:, None] - sample, axis=2), axis=1)
    exact = frontier.project(Y).distances
    assert np.all(exact <= dense + 1e-12)
    assert np.all(dense <= exact + 1e-3)


def test_a_point_of_the_frontier_gets_its_own_weight_back():
    problem = imop.portfolio_problem(reference.SECURITIES_COVARIANCE)
    frontier = imop.efficient_frontier(problem, reference.SECURITIES_RETURN)
    weights = np.linspace(0.02, 0.8, 40)
    Y = np.array([frontier.at(w) for w in weights])
    moving = np.linalg.norm(np.gradient(Y, axis=0), axis=1) > 1e-6
    projection = frontier.project(Y)
    assert moving.sum() >= 10
    assert np.allclose(projection.distances, 0, atol=1e-9)
    assert np.allclose(projection.weights[moving], weights[moving], atol=1e-7)


def test_anchors_and_bounds_do_not_touch_the_frontier():
    Q, r = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
    plain = imop.efficient_frontier(imop.portfolio_problem(Q), r)
    anchored = imop.efficient_frontier(imop.portfolio_problem(Q, anchors={0: 0.1791, 6: 0.0352}), r)
    assert np.array_equal(plain.portfolios, anchored.portfolios)
