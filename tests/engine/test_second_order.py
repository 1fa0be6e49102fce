"""The second-order learner and the polish: against finite differences, scipy, and the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize

import imop_engine as imop
import reference
from imop_engine import kernels
from imop_engine.history import MOST_KEPT
from imop_engine.second_order import flat_start
from imop_engine.simulate import simulate_investors
from imop_engine.weights import lam_of, weight_of

Q, TRUE = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
ANCHORED = (0, 6)
FREE = [i for i in range(8) if i not in ANCHORED]


def eight(**options):
    return imop.portfolio_problem(Q, anchors={i: float(TRUE[i]) for i in ANCHORED}, **options)


def seen(seed: int, count: int, spread: float | None = None, beliefs=TRUE, noise: float = 0.0):
    """Portfolios rounded to 0.001; weights uniform, or N(0.5, spread) truncated."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.0, 1.0, count)
    if spread:
        weights = rng.normal(0.5, spread, count)
        while np.any(outside := (weights < 0) | (weights > 1)):
            weights[outside] = rng.normal(0.5, spread, outside.sum())
    clean = imop.efficient_frontier(eight(), beliefs).at(np.clip(weights, 1e-3, 1 - 1e-3))
    return np.round(clean + noise * rng.normal(size=clean.shape), 3)


def error(theta) -> float:
    return float(np.linalg.norm(theta - TRUE))


def newton(theta0=None, **options):
    return imop.OnlineLearner(eight(), "exact", "newton", theta0=theta0, **options)


# -- what one decision tells ----------------------------------------------------------------------
def naive_information(problem, theta, y):
    """J'PJ and J'Pe by finite differences of the decision in r and in lam."""
    frontier = imop.efficient_frontier(problem, theta)
    found = frontier.project(y)
    lam = float(lam_of(found.weights[0]))
    h = 1e-6

    def x(r, lam):
        return imop.efficient_frontier(problem, r).at(float(weight_of(lam)))

    columns = [(x(theta + h * e, lam) - x(theta - h * e, lam)) / (2 * h) for e in np.eye(8)]
    J = np.array(columns).T
    s = (x(theta, lam + h) - x(theta, lam - h)) / (2 * h)
    across = np.eye(8) - np.outer(s, s) / (s @ s)
    return J.T @ across @ J, J.T @ across @ (y - found.points[0])


def test_information_agrees_with_finite_differences():
    problem = eight()
    theta = TRUE + 0.01 * np.random.default_rng(1).normal(size=8)
    frontier = imop.efficient_frontier(problem, theta)
    Y = seen(2, 12, 0.15)
    low, high = lam_of(np.array([1e-3, 1 - 1e-3]))
    H, g = np.empty((8, 8)), np.empty(8)
    total, _, _ = kernels.information_of_all(
        Q, problem.portfolio.rows, frontier.path, Y, low, high, H, g
    )
    terms = [naive_information(problem, theta, y) for y in Y]
    assert np.allclose(H, sum(a for a, _ in terms), rtol=1e-4, atol=1e-4 * np.abs(H).max())
    assert np.allclose(g, sum(b for _, b in terms), rtol=1e-4, atol=1e-4 * np.abs(g).max())
    assert total == pytest.approx(float(np.sum(frontier.project(Y).distances ** 2)), rel=1e-9)


# -- how near it comes ---------------------------------------------------------------------------
STARTS = {"zero": 0.0, "near": 0.3, "anywhere": 1.0}


@pytest.mark.parametrize("start", STARTS)
def test_a_hundred_uniform_decisions_are_enough(start):
    early, late = [], []
    for seed in range(20):
        learner = newton(np.random.default_rng([seed, 1]).uniform(0.0, 1.0, 8) * STARTS[start])
        Y = seen(seed, 1000)
        early.append(error(learner.partial_fit(Y[:100]).theta_))
        late.append(error(learner.partial_fit(Y[100:]).theta_))
    assert np.median(early) <= 0.0005
    assert np.median(late) <= 0.0002


@pytest.mark.parametrize("start", STARTS)
def test_normal_weights_need_more_decisions(start):
    late, polished = [], []
    for seed in range(20):
        learner = newton(np.random.default_rng([seed, 1]).uniform(0.0, 1.0, 8) * STARTS[start])
        Y = seen(seed, 1000, 0.15)
        late.append(error(learner.partial_fit(Y).theta_))
        polished.append(error(imop.polish(learner.problem, Y, learner.theta_).theta))
    assert np.median(late) <= 0.001
    assert np.median(polished) <= 0.0002


def test_a_start_that_hides_every_asset_is_left_behind():
    far = np.array([0.638, 0.991, 0.097, 0.507, 0.396, 0.206, 0.883, 0.54])
    Y = seen(5, 1000, 0.15)
    accelerated = imop.OnlineLearner(eight(), "exact", theta0=far).partial_fit(Y)
    assert error(accelerated.theta_) > 0.5
    assert error(newton(far).partial_fit(Y).theta_) < 0.01


def test_an_asset_that_appears_late_is_woken():
    early = seen(3, 300)
    early = early[early[:, 7] == 0]
    Y = np.vstack([early, seen(4, 300)])
    learner = newton(flat_start(eight())).partial_fit(Y[: len(early)])
    assert imop.efficient_frontier(eight(), learner.theta_).portfolios[:, 7].max() >= 0.0
    assert not np.isfinite(learner.standard_errors_[7]) or abs(learner.theta_[7] - TRUE[7]) > 1e-3
    learner.partial_fit(Y[len(early) :])
    assert abs(learner.theta_[7] - TRUE[7]) < 1e-3


# -- safeguards ----------------------------------------------------------------------------------
def test_anchors_and_box_hold_in_every_iterate():
    problem = imop.portfolio_problem(
        Q, bounds=(0.03, 0.17), anchors=[(np.full(8, 0.125), 0.12), (np.eye(8)[6], 0.04)]
    )
    for algorithm in ("accelerated", "newton"):
        learner = imop.OnlineLearner(problem, "exact", algorithm).partial_fit(seen(6, 400))
        thetas = learner.history_.theta
        assert len(thetas) == 400
        assert np.abs(thetas @ np.full(8, 0.125) - 0.12).max() < 1e-14
        assert np.all(thetas[:, 6] == 0.04)
        assert thetas.min() >= 0.03
        assert thetas.max() <= 0.17


def test_one_and_the_same_portfolio_tells_little_and_breaks_nothing():
    learner = newton().partial_fit(np.repeat(seen(7, 1), 200, axis=0))
    assert np.all(np.isfinite(learner.theta_))
    assert np.isinf(learner.standard_errors_[FREE]).any()
    assert np.all(learner.standard_errors_[list(ANCHORED)] == 0.0)


def test_without_anchors_nothing_drifts_away():
    learner = imop.OnlineLearner(imop.portfolio_problem(Q), "exact", "newton", theta0=TRUE)
    learner.partial_fit(seen(8, 2000, noise=0.005))
    assert np.all(np.isinf(learner.standard_errors_))  # shift and scale are anyone's guess
    assert imop.aligned_error(learner.theta_, TRUE) < 0.01


def test_standard_errors_are_of_the_size_of_the_errors():
    ratios = []
    for seed in range(20):
        learner = newton().partial_fit(seen(seed, 1000))
        ratios.append((learner.theta_ - TRUE)[FREE] / learner.standard_errors_[FREE])
    assert 0.3 < np.sqrt(np.mean(np.square(ratios))) < 1.5
    assert learner.noise_ == pytest.approx(0.001 / np.sqrt(12), rel=0.5)  # that of rounding


# -- beliefs that change -------------------------------------------------------------------------
CHANGED = TRUE + np.array([0, 0.01, 0.005, 0.01, -0.01, -0.01, 0, 0.005])


def test_a_step_change_is_followed_by_forgetting():
    Y = np.vstack([seen(1, 600), seen(2, 600, beliefs=CHANGED)])
    remembering, forgetting = newton().partial_fit(Y), newton(forgetting=0.97).partial_fit(Y)
    after = np.linalg.norm(forgetting.theta_ - CHANGED)
    assert after < 0.001 < np.linalg.norm(remembering.theta_ - CHANGED)
    halfway = forgetting.history_.at(600)
    assert np.linalg.norm(halfway - TRUE) < 0.001


def test_a_step_change_is_followed_by_a_constant_rate():
    Y = np.vstack([seen(1, 600), seen(2, 600, beliefs=CHANGED)])
    learner = imop.OnlineLearner(eight(), "exact", rate=lambda t: 5.0).partial_fit(Y)
    assert np.linalg.norm(learner.history_.at(600) - TRUE) < 0.003
    assert np.linalg.norm(learner.theta_ - CHANGED) < 0.003


def test_history_is_bounded_and_even():
    problem = imop.portfolio_problem(np.diag([0.04, 0.09]), anchors={0: 0.05, 1: 0.1})
    learner = imop.OnlineLearner(problem, 3)
    Y = np.random.default_rng(0).dirichlet([1, 1], 5000)
    for chunk in np.array_split(Y, 7):
        learner.partial_fit(chunk)
    history = learner.history_
    assert MOST_KEPT / 2 <= len(history.rounds) < MOST_KEPT
    assert set(np.diff(history.rounds)) == {8}
    assert np.array_equal(
        history.rounds, imop.OnlineLearner(problem, 3).partial_fit(Y).history_.rounds
    )


# -- polish --------------------------------------------------------------------------------------
def test_polish_finds_the_least_squares_beliefs():
    problem, Y = eight(), seen(11, 80, noise=0.01)
    start = imop.OnlineLearner(problem, "exact", theta0=TRUE).partial_fit(Y).theta_

    def loss(free):
        theta = TRUE.copy()
        theta[FREE] = free
        return 1e3 * float(
            np.sum(imop.efficient_frontier(problem, theta).project(Y).distances ** 2)
        )

    found = imop.polish(problem, Y, start)
    assert found.settled
    assert found.loss < found.start_loss
    options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 4000, "adaptive": True}
    best = minimize(loss, start[FREE], method="Nelder-Mead", options=options)
    assert 1e3 * found.loss <= best.fun * (1 + 1e-3)


def test_polish_never_ends_above_where_it_began():
    """The squared distances have kinks, and the least of them may lie in one: from there every full
    step goes uphill."""
    drawn = simulate_investors(
        eight(), TRUE, 20, weights="uniform", noise="gaussian", noise_level=0.01,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    found = imop.polish(eight(), drawn.portfolios, TRUE)

    def loss(free):
        theta = TRUE.copy()
        theta[FREE] = free
        frontier = imop.efficient_frontier(eight(), theta)
        return 1e3 * float(np.sum(frontier.project(drawn.portfolios).distances ** 2))

    options = {"maxiter": 600, "xatol": 1e-9, "fatol": 1e-9}
    least = minimize(loss, found.theta[FREE], method="Nelder-Mead", options=options)
    lower = TRUE.copy()
    lower[FREE] = least.x
    again = imop.polish(eight(), drawn.portfolios, lower)
    assert again.loss <= again.start_loss <= found.loss < found.start_loss


def test_polish_refuses_what_it_cannot_do():
    with pytest.raises(imop.errors.InvalidInput, match="there are no decisions"):
        imop.polish(eight(), np.empty((0, 8)), TRUE)
    mqp = imop.quadratic_problem([np.eye(2)] * 2, [[1, 0], [0, 1]], [[1, 1]], [0], learn="c")
    with pytest.raises(imop.errors.InvalidInput, match="use fit_batch"):
        imop.polish(mqp, [[1.0, 1.0]], [1.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": 41, "algorithm": "newton"}, "give it weights='exact'"),
        ({"weights": "exact", "forgetting": 0.9}, "it belongs to algorithm='newton'"),
        ({"weights": "exact", "algorithm": "newton", "forgetting": 1.1}, "between 0.5 and 1"),
    ],
)
def test_settings_that_do_not_fit_are_refused(options, words):
    with pytest.raises(imop.errors.InvalidInput, match=words):
        imop.OnlineLearner(eight(), **options)


def test_only_newton_has_standard_errors():
    with pytest.raises(imop.errors.InvalidInput, match="collects no information"):
        _ = imop.OnlineLearner(eight()).standard_errors_


# -- Algorithm 1: a proof handed on to another weight ----------------------------------------------
@pytest.mark.parametrize("upper", [1.0, 0.4])
def test_a_proof_handed_on_never_claims_too_much(upper):
    problem = eight(upper=upper)
    a, t = problem.portfolio, problem.theta
    rng = np.random.default_rng(5)
    claims = 0
    for _ in range(40):
        theta = t.nearest(TRUE + 0.02 * rng.normal(size=8))
        first, second, third = rng.uniform(0.1, 0.6) + np.array([0.0, 0.1, 0.2])
        y = imop.solve(problem, TRUE, first) + 0.01 * rng.normal(size=8)
        eta, off = 5.0, (y.sum() - 1) / 8
        best = imop.implicit_update(problem, theta, y, first, eta).objective
        root, proof = kernels.empty_root(25), np.empty(6)
        step = kernels.Step(theta, y, float(lam_of(second)), eta, 0.0)
        kernels.portfolio_update(
            a, t.arrays, step, np.empty(0, np.int8), best, 2000, root, np.empty(8), np.empty(8)
        )
        seen = kernels.Observation(theta, y, a.covariance @ (y - off), off, eta)
        kernels.proof_terms(a, t.arrays, seen, best, root.mu, proof)
        bound = kernels.proven_from(proof, float(lam_of(third)))
        optimum = imop.implicit_update(problem, theta, y, third, eta).objective
        assert min(bound, best) <= optimum * (1 + 1e-9) + 1e-12
        claims += bound >= best
    assert claims > 0
