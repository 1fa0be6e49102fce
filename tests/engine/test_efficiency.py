"""Return left on the table: the gap, the fit of many investors, and what both promise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
import reference
import reference_efficiency as naive
from imop_benchmarks.cones import TIGHT, by_clarabel, by_gurobi
from imop_benchmarks.gaps import random_problem
from imop_engine.efficiency_gap.inside import put_inside
from imop_engine.errors import InvalidInput

Q, TRUE = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
ANCHORS = {0: TRUE[0], 6: TRUE[6]}


def draw(seed: int):
    """A problem and portfolios: caps or none, full or deficient rank, holders of single assets."""
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(2, 9)), int(rng.integers(1, 20))
    factors = rng.normal(size=(int(rng.integers(1, n + 3)), n))
    covariance = 0.04 * factors.T @ factors / len(factors)
    if seed % 5:
        covariance += np.diag(rng.uniform(0.002, 0.02, n))
    caps = np.ones(n) if seed % 2 else np.maximum(rng.uniform(0.15, 1.0, n), 1.05 / n)
    returns = rng.uniform(0.0, 0.2, n)
    first, second = rng.permutation(n)[:2]
    problem = imop.portfolio_problem(
        covariance,
        upper=caps,
        bounds=((-1.0, 1.0), (0.0, 0.25))[seed % 3 == 0],
        anchors={int(i): float(returns[i]) for i in (first, second)},
    )
    held = rng.dirichlet(np.full(n, 0.5), count)
    if seed % 4 == 1:
        held = np.eye(n)[rng.integers(0, n, count)]
    elif seed % 4 == 2:
        held = imop.efficient_frontier(problem, returns).at(rng.uniform(0.01, 0.99, count))
    return problem, returns, held


def within(problem, held):
    """The portfolios as the engine compares them: the nearest ones within the caps."""
    import cvxpy as cp

    moved = []
    for y in held:
        x = cp.Variable(problem.n)
        conditions = [cp.sum(x) == 1, x >= 0, x <= problem.upper]
        cp.Problem(cp.Minimize(cp.sum_squares(x - y)), conditions).solve(
            solver="CLARABEL", **naive.TIGHT
        )
        moved.append(x.value)
    return np.array(moved)


# -- the gap -------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(30))
def test_the_gap_is_what_a_cone_solver_finds(seed):
    problem, returns, held = draw(seed)
    found = imop.efficiency(problem, returns, held)
    inside = within(problem, held) if np.any(found.moved > 0) else held
    for y, gap, twin in zip(inside[:5], found.gaps, found.portfolios, strict=False):
        assert gap == pytest.approx(
            naive.gap(problem.covariance, problem.upper, returns, y), abs=1e-7
        )
        assert twin.sum() == pytest.approx(1.0, abs=1e-9)
        assert np.all(twin >= -1e-9)
        assert np.all(twin <= problem.upper + 1e-9)
        assert twin @ problem.covariance @ twin <= y @ problem.covariance @ y * (1 + 1e-7) + 1e-12
    distance = np.linalg.norm(inside - held, axis=1)
    assert found.moved == pytest.approx(distance, abs=1e-6)


def test_efficient_portfolios_leave_nothing_on_the_table():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    weights = np.array([0.05, 0.3, 0.6, 0.9])
    found = imop.efficiency(problem, TRUE, imop.efficient_frontier(problem, TRUE).at(weights))
    assert found.gaps == pytest.approx(np.zeros(4), abs=1e-12)
    assert found.weights == pytest.approx(weights, abs=1e-6)


def test_it_is_convex_homogeneous_and_unmoved_by_shifts():
    problem = imop.portfolio_problem(Q, bounds=(-10.0, 10.0))
    rng = np.random.default_rng(3)
    held = rng.dirichlet(np.ones(8), 40)

    def gaps(r):
        return imop.efficiency(problem, r, held).gaps

    for _ in range(20):
        one, two, share = rng.normal(size=8), rng.normal(size=8), rng.uniform()
        mixed = gaps(share * one + (1 - share) * two)
        assert np.all(mixed <= share * gaps(one) + (1 - share) * gaps(two) + 1e-9)
        assert gaps(3.0 * one) == pytest.approx(3.0 * gaps(one), rel=1e-8, abs=1e-10)
        assert gaps(one + 0.7) == pytest.approx(gaps(one), rel=1e-8, abs=1e-10)


def test_the_ends_of_the_frontier_have_their_rules():
    problem = imop.portfolio_problem(np.diag([0.01, 0.04, 0.16]), anchors={0: 0.02, 1: 0.06})
    returns = [0.02, 0.06, 0.04]
    least = problem.portfolio.least_variance
    found = imop.efficiency(problem, returns, [least, [0.0, 0.0, 1.0]])
    assert found.weights.tolist() == [0.0, 1.0]
    # all of the riskiest asset, which returns less: the best of any risk is asset 1
    assert found.portfolios[1] == pytest.approx([0.0, 1.0, 0.0])
    assert found.gaps == pytest.approx([0.0, 0.02])


def test_returns_that_are_all_alike_leave_nothing_on_the_table():
    problem = imop.portfolio_problem(Q)
    found = imop.efficiency(problem, np.full(8, 0.07), np.eye(8))
    assert found.gaps.tolist() == [0.0] * 8


def test_tied_returns_are_one():
    problem = imop.portfolio_problem(np.diag([0.01, 0.04, 0.09]))
    tied = imop.efficiency(problem, [0.02, 0.05, 0.05], [[0.5, 0.5, 0.0]]).gaps
    near = imop.efficiency(problem, [0.02, 0.05, 0.05 + 1e-13], [[0.5, 0.5, 0.0]]).gaps
    assert near == pytest.approx(tied, abs=1e-11)


def test_portfolios_outside_are_compared_as_the_nearest_inside():
    problem = imop.portfolio_problem(np.diag([0.01, 0.04, 0.09]), upper=0.6)
    found = imop.efficiency(
        problem, [0.02, 0.05, 0.08], [[0.8, 0.2, 0.0], [0.5, 0.4, 0.0], [0.4, 0.4, 0.2]]
    )
    inside = [[0.6, 0.3, 0.1], [0.5 + 1 / 30, 0.4 + 1 / 30, 1 / 30]]
    assert found.moved[:2] == pytest.approx(
        [np.linalg.norm([0.2, 0.1, 0.1]), np.sqrt(3) / 30], abs=1e-12
    )
    assert found.moved[2] == 0.0
    assert found.gaps[:2] == pytest.approx(
        imop.efficiency(problem, [0.02, 0.05, 0.08], inside).gaps, abs=1e-12
    )


def test_a_problem_without_portfolios_is_refused():
    problem = imop.quadratic_problem([np.eye(2), np.eye(2)], [[-1, 0], [0, -1]])
    with pytest.raises(InvalidInput, match="return is left on the table by portfolios"):
        imop.efficiency(problem, np.zeros(4), [[0.5, 0.5]])


# -- the fit -------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(40))
def test_the_fit_is_at_least_as_good_as_a_cone_solvers(seed):
    problem, _, held = draw(seed)
    found = imop.fit_efficiency(problem, held)
    moved = imop.efficiency(problem, found.theta, held).moved
    best, _ = naive.fit(problem, within(problem, held) if np.any(moved > 0) else held)
    assert found.certified
    assert found.value <= best + 1e-7 * best + 1e-8
    assert found.bound <= best + 1e-7 * best + 1e-8
    assert problem.theta.contains(found.theta)
    assert found.value == pytest.approx(
        imop.efficiency(problem, found.theta, held).gaps.sum(), abs=1e-8
    )


@pytest.mark.parametrize("seed", range(30))
def test_random_problems_have_the_cone_solvers_value_and_never_more(seed):
    # `make bench` does the same on 200 problems
    problem, held = random_problem(seed, small=False)
    found, best = imop.fit_efficiency(problem, held), by_clarabel(problem, held, **TIGHT)
    assert found.certified
    # where nothing is left on the table there is nothing to be relative to
    assert found.value <= best + 1e-7 * max(best, 1e-3 * len(held))


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_random_problems_have_one_answer_from_any_start(seed):
    # seed 0: returns that tie and mixtures with next to no risk, where one of these starts alone
    # led to no proof
    problem, held = random_problem(seed, small=False)
    fit = imop.fit_efficiency(problem, held)
    assert not len(fit.flat_directions)
    for theta0 in np.random.default_rng(seed).uniform(-1.0, 1.0, (20, problem.n)):
        found = imop.fit_efficiency(problem, held, theta0)
        assert found.certified
        assert found.theta == pytest.approx(fit.theta, abs=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_the_fit_of_few_is_what_gurobi_finds(seed):
    pytest.importorskip("gurobipy")
    problem, held = random_problem(seed, small=True)
    found, best = imop.fit_efficiency(problem, held), by_gurobi(problem, held)
    assert found.certified
    # its own tolerance is 1e-9 in every constraint, of which there are some for each investor
    assert found.value == pytest.approx(best, rel=1e-7, abs=2e-8 * len(held))


def seen(count: int, seed: int = 0, noise: float = 0.0) -> np.ndarray:
    """The paper's investors, their portfolios as written with three decimals, noisy if asked."""
    rng = np.random.default_rng(seed)
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    held = imop.efficient_frontier(problem, TRUE).at(rng.uniform(0.02, 0.98, count))
    held = np.maximum(held + noise * rng.normal(size=held.shape), 0.0)
    return np.round(held / held.sum(axis=1, keepdims=True), 3)


def starts():
    rng = np.random.default_rng(5)
    return [None, np.zeros(8), np.full(8, 0.1), *rng.uniform(0.0, 1.0, (20, 8))]


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_one_answer_from_any_start_with_a_proof(noise):
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    held = seen(400, noise=noise)
    fits = [imop.fit_efficiency(problem, held, theta0) for theta0 in starts()]
    for fit in fits:
        assert fit.certified
        assert fit.bound <= fit.value <= fit.bound + 1e-7 * fit.value + 1e-9
        assert fit.theta == pytest.approx(fits[0].theta, abs=1e-7)
    if noise == 0.0:
        assert np.linalg.norm(fits[0].theta - TRUE) < 2e-4


def test_at_the_answer_efficient_portfolios_add_up_to_what_is_held():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS, bounds=(-1.0, 1.0))
    held, _ = put_inside(problem, seen(300, noise=0.01))
    fit = imop.fit_efficiency(problem, held)
    twins = imop.efficiency(problem, fit.theta, held).portfolios
    assert fit.gradient == pytest.approx((twins - held).sum(axis=0), abs=1e-8)
    free = np.delete(fit.gradient, [0, 6])  # the anchored ones may differ
    assert free == pytest.approx(np.zeros(6), abs=1e-7)


def test_chunks_frames_and_arrays_give_the_same_digits_up_to_rounding():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS, names=[f"S{i}" for i in range(8)])
    held = seen(500, noise=0.01)
    whole = imop.fit_efficiency(problem, held)
    frame = pd.DataFrame(held, columns=list(problem.names))[list(problem.names)[::-1]]
    others = {
        "frame": frame,
        "chunks": iter(np.split(held, [1, 77, 300])),
        "frames": (frame.iloc[i : i + 90] for i in range(0, 500, 90)),
        "rows": held.tolist(),
    }
    for name, table in others.items():
        found = imop.fit_efficiency(problem, table)
        assert found.investors == 500, name
        assert found.theta == pytest.approx(whole.theta, abs=1e-10), name
        assert found.value == pytest.approx(whole.value, rel=1e-10), name


def test_returns_that_tie_at_the_answer_are_found_and_proven():
    # the boldest share their wealth evenly between two assets: these earn the same
    problem = imop.portfolio_problem(
        np.diag([0.01, 0.04, 0.04]), bounds=(-1.0, 1.0), anchors={0: 0.02, 1: 0.06}
    )
    share = np.linspace(0.2, 1.0, 30)
    held = np.column_stack([1.0 - share, share / 2, share / 2])
    held[-5:] = [[0, 1, 0], [0, 0, 1], [0, 0.7, 0.3], [0, 0.2, 0.8], [0, 0.5, 0.5]]
    fit = imop.fit_efficiency(problem, held, theta0=[0.02, 0.06, 0.5])
    assert fit.certified
    assert fit.theta[2] == pytest.approx(0.06, abs=1e-9)


def test_an_asset_that_nobody_holds_is_reported_as_open():
    problem = imop.portfolio_problem(
        np.diag([0.01, 0.04, 0.09]), bounds=(-1.0, 1.0), anchors={0: 0.02, 1: 0.06}
    )
    cautious = np.linspace(0.2, 0.5, 20)
    held = np.column_stack([cautious, 1.0 - cautious, np.zeros(20)])
    for start in (-1.0, -0.5):  # on the side of its box, and inside it
        fit = imop.fit_efficiency(problem, held, theta0=[0.02, 0.06, start])
        assert fit.flat.tolist() == [False, False, True]
        assert fit.theta[2] == pytest.approx(start)
        assert np.abs(fit.flat_directions[0]) == pytest.approx([0.0, 0.0, 1.0])
        assert fit.certified


def test_no_portfolios_and_no_scale_are_refused():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    with pytest.raises(InvalidInput, match="no portfolios"):
        imop.fit_efficiency(problem, np.empty((0, 8)))
    with pytest.raises(InvalidInput, match="two anchors with different returns"):
        imop.fit_efficiency(imop.portfolio_problem(Q), seen(5))
    with pytest.raises(InvalidInput, match="two anchors with different returns"):
        imop.fit_efficiency(imop.portfolio_problem(Q, anchors={0: 0.1}), seen(5))


def test_portfolios_that_had_to_be_moved_are_counted():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS, upper=0.5)
    held = np.full((3, 8), 0.125)
    held[1] = np.eye(8)[2]
    assert imop.fit_efficiency(problem, held).moved == 1
