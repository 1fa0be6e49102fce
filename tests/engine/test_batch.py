"""Joint updates against enumerated and mixed-integer twins; mini-batches; the batch method."""

import pickle

import numpy as np
import pytest
from checks import ABSOLUTE, IN_THETA, RELATIVE, SAME_DECISION, assert_least, native
from draws import WEIGHTS, Instance, Quadratic, covariance, instances, quadratics, tries
from hypothesis import given
from hypothesis import strategies as st

import imop_engine as imop
import reference
import reference_batch

BOXES = {
    "c": (np.repeat([1.0, -6.0], 2), np.repeat([6.0, -1.0], 2)),
    "b": (np.full(2, -10.0), np.full(2, 10.0)),
}
SEEDS = st.integers(0, 2**32 - 1)


def mqp(learn: str):
    return imop.quadratic_problem(
        reference.MQP_Q, reference.MQP_C, reference.MQP_A, reference.MQP_B, learn, BOXES[learn]
    )


def noisy_mqp(seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    clean = np.array([reference.mqp_decision(w) for w in rng.uniform(size=count)])
    return clean + rng.uniform(-0.5, 0.5, clean.shape)


def portfolio(seed: int, n: int = 4, noise: float = 0.01, count: int = 40):
    """A problem with two anchors, and noisy portfolios of its investors."""
    rng = np.random.default_rng(seed)
    Q, truth = covariance(rng, n, "dense"), rng.uniform(0.02, 0.3, n)
    problem = imop.portfolio_problem(
        Q, upper=0.8, anchors={0: float(truth[0]), n - 1: float(truth[n - 1])}
    )
    held = imop.efficient_frontier(problem, truth).at(rng.uniform(0.05, 0.8, count))
    return problem, held + noise * rng.normal(size=held.shape)


def batch_of(drawn: Instance | Quadratic, seed: int, size: int):
    """More decisions like the drawn one, and a weight each; the first is the drawn one itself."""
    rng = np.random.default_rng(seed)
    Y = drawn.y + np.vstack([np.zeros(len(drawn.y)), rng.normal(0, 0.3, (size - 1, len(drawn.y)))])
    if isinstance(drawn, Instance):
        return Y, [drawn.w, *rng.choice(WEIGHTS, size - 1)]
    if np.isscalar(drawn.weight):
        return Y, [drawn.weight, *rng.choice([0.0, 0.2, 0.6, 1.0], size - 1)]
    return Y, [drawn.weight, *rng.dirichlet(np.ones(len(drawn.weight)), size - 1)]


def check_joint(drawn: Instance | Quadratic, seed: int, size: int, twin) -> None:
    """Certificate, feasibility and optimality of one joint update."""
    Y, weights = batch_of(drawn, seed, size)
    joint = imop.batch_update(drawn.problem(), drawn.theta, Y, weights, drawn.eta)
    blocks = [drawn.weighted(w) for w in weights]
    assert joint.bound <= joint.objective
    assert joint.certified is True
    assert joint.objective - joint.bound <= RELATIVE * joint.objective + ABSOLUTE
    assert np.all(joint.theta >= blocks[0].low - IN_THETA)
    assert np.all(joint.theta <= blocks[0].high + IN_THETA)
    assert np.allclose(blocks[0].C @ joint.theta, blocks[0].e, atol=IN_THETA, rtol=0)
    decided = np.array([reference.forward(block, joint.theta) for block in blocks])
    assert np.allclose(joint.x, decided, atol=SAME_DECISION, rtol=0)
    pair = reference.objective(drawn.theta, Y, drawn.eta / size, joint.theta, joint.x)
    assert joint.objective == pytest.approx(pair, rel=1e-9, abs=1e-12)
    assert_least(joint, twin(blocks, drawn.theta, Y, drawn.eta).objective)


@pytest.mark.parametrize("draw", [instances(2, 8), quadratics("c", 4), quadratics("b", 4)])
def test_a_batch_of_one_is_the_implicit_update(draw):
    @tries(40)
    @given(draw)
    def agree(drawn):
        weight = drawn.w if isinstance(drawn, Instance) else drawn.weight
        problem, single = drawn.problem(), native(drawn)
        joint = imop.batch_update(problem, drawn.theta, [drawn.y], [weight], drawn.eta)
        assert joint.x.shape == (1, problem.n)
        assert joint.certified is True
        assert_least(joint, single.objective)

    agree()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "size"),
    [
        (instances(2, 3), 2),
        (instances(2, 2), 3),
        (quadratics("c", 2), 2),
        (quadratics("b", 2), 2),
    ],
)
def test_it_is_the_least_over_all_cases_taken_jointly(draw, size):
    @tries(12)
    @given(draw, SEEDS)
    def agree(drawn, seed):
        check_joint(drawn, seed, size, reference_batch.joint_enumerated)

    agree()


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("draw", [instances(2, 5), quadratics("c", 4), quadratics("b", 4)])
def test_it_is_gurobis_joint_optimum(draw, size):
    @tries(25)
    @given(draw, SEEDS)
    def agree(drawn, seed):
        check_joint(drawn, seed, size, reference_batch.joint_gurobi)

    agree()


def test_a_node_limit_ends_with_an_honest_gap():
    unproven = 0
    for seed in range(8):
        problem, Y = portfolio(seed, n=8, noise=0.3, count=3)
        start, weights = np.full(8, 0.1), [0.3, 0.5, 0.7]
        short = imop.batch_update(problem, start, Y, weights, 5.0, node_limit=3)
        long = imop.batch_update(problem, start, Y, weights, 5.0, node_limit=50_000)
        assert long.certified
        allowed = RELATIVE * long.objective + ABSOLUTE
        assert short.bound <= long.objective + allowed
        assert long.objective <= short.objective + allowed
        unproven += not short.certified
    assert unproven > 0


PROBLEM, SOME = portfolio(0, count=2)
FINE = {
    "problem": PROBLEM,
    "theta": np.full(4, 0.1),
    "decisions": SOME,
    "weights": [0.3, 0.6],
    "rate": 5.0,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [0.3]}, "2 decisions and 1 listed weights"),
        ({"weights": 0.3}, "2 decisions and 0 listed weights"),
        ({"weights": [0.3, 1.5]}, "weights must not be negative and must add up to one"),
        ({"weights": [0.3, 1.0]}, "at weight 1 risk does not count"),
        ({"decisions": SOME[:0], "weights": []}, "0 decisions"),
        ({"decisions": SOME[:, :3]}, "each decision needs 4 numbers"),
        ({"decisions": np.where(np.eye(2, 4), np.nan, SOME)}, "decision 1 has nan"),
        ({"theta": [0.1]}, "theta has 1 numbers, the problem has 4 unknowns"),
        ({"rate": 0.0}, "rate is 0.0; give a number above 0"),
        ({"rate": "fast"}, "rate is 'fast'; give a number above 0"),
    ],
)
def test_what_is_refused(change, message):
    imop.batch_update(**FINE)
    with pytest.raises(imop.errors.InvalidInput, match=message):
        imop.batch_update(**{**FINE, **change})


@pytest.mark.parametrize(
    "change", [{"batch": 0}, {"batch": 2, "algorithm": "full"}, {"batch": 2, "backend": "gurobi"}]
)
def test_the_learner_says_what_a_batch_needs(change):
    with pytest.raises(imop.errors.InvalidInput, match=r"batch=\d needs algorithm='accelerated'"):
        imop.OnlineLearner(PROBLEM, **change)


LEARNERS = {
    "portfolio": (*portfolio(3, count=15), 6),
    "exact": (*portfolio(3, count=15), "exact"),
    "c": (mqp("c"), noisy_mqp(1, 15), 6),
    "b": (mqp("b"), noisy_mqp(2, 15), 6),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_chunks_do_not_matter_and_a_remainder_waits(name):
    problem, Y, weights = LEARNERS[name]
    start = [-4.0, -2.0] if name == "b" else None  # so narrow that the constraints bind
    whole = imop.OnlineLearner(problem, weights=weights, batch=2, theta0=start).partial_fit(Y)
    pieces = imop.OnlineLearner(problem, weights=weights, batch=2, theta0=start)
    for part in np.split(Y, [1, 2, 5, 5, 11]):
        pieces.partial_fit(part)
        pieces = pickle.loads(pickle.dumps(pieces))
    assert whole.rounds_ == pieces.rounds_ == len(whole.losses_) == 14
    assert np.array_equal(whole.theta_, pieces.theta_)
    assert np.array_equal(whole.losses_, pieces.losses_)
    assert (whole.nodes_, whole.certified_) == (pieces.nodes_, 1.0)
    assert whole.updates_ > 3
    waited = whole.assign(Y[[14, 0]]).distances ** 2
    whole.partial_fit(Y[:1])
    assert whole.rounds_ == 16
    assert np.allclose(whole.losses_[14:], waited, rtol=1e-12, atol=0)


def test_every_batch_is_a_joint_update_at_the_assigned_weights():
    problem, Y = mqp("c"), noisy_mqp(4, 10)
    learner = imop.OnlineLearner(problem, weights=6, rate=3.0, batch=2)
    for t, pair in enumerate(np.split(Y, 5), start=1):
        before, found = learner.theta_.copy(), learner.assign(pair)
        learner.partial_fit(pair)
        blocks = [
            reference_batch.affine(reference_batch.mqp_c(BOXES["c"]), [w, 1 - w])
            for w in found.weights
        ]
        best = reference_batch.joint_gurobi(blocks, before, pair, 3.0 / np.sqrt(t))
        assert np.allclose(learner.theta_, best.theta, atol=1e-6, rtol=0)
        assert np.allclose(learner.losses_[-2:], found.distances**2, atol=1e-15)


# -- the batch method ------------------------------------------------------------------------

FITS = {
    "portfolio": (*portfolio(5, n=5, count=60), 41),
    "c": (mqp("c"), noisy_mqp(6, 60), 21),
}


def summed_loss(problem, theta: np.ndarray, Y: np.ndarray, weights: int) -> float:
    """Σ l_K(y_t, θ), by the learner's own assignment."""
    at = imop.OnlineLearner(problem, weights=weights, theta0=theta)
    return float(np.sum(at.assign(Y).distances ** 2))


@pytest.mark.parametrize("name", FITS)
def test_hindsight_is_at_least_as_good_as_the_online_estimate(name):
    problem, Y, weights = FITS[name]
    learner = imop.OnlineLearner(problem, weights=weights).partial_fit(Y)
    online = summed_loss(problem, learner.theta_, Y, weights)
    fit = imop.fit_batch(problem, Y, weights, theta0=learner.theta_)
    assert fit.losses[0] == pytest.approx(online, rel=1e-6)
    assert np.all(np.diff(fit.losses) <= 0)
    assert fit.loss == fit.losses[-1] < 0.999 * online
    assert fit.iterations == len(fit.losses) - 1 > 0
    assert fit.loss == pytest.approx(summed_loss(problem, fit.theta, Y, weights), rel=1e-6)
    again = imop.fit_batch(problem, Y, weights, theta0=learner.theta_)
    assert np.array_equal(fit.theta, again.theta)
    assert np.array_equal(fit.losses, again.losses)


@pytest.mark.parametrize("name", FITS)
def test_where_it_stops_no_small_move_in_theta_helps(name):
    problem, Y, weights = FITS[name]
    learner = imop.OnlineLearner(problem, weights=weights).partial_fit(Y)
    fit = imop.fit_batch(problem, Y, weights, theta0=learner.theta_)
    assert problem.theta.contains(fit.theta)
    rng = np.random.default_rng(0)
    for length in (1e-2, 1e-3, 1e-4):
        for _ in range(60):
            move = rng.normal(size=problem.theta_size)
            near = problem.theta.nearest(fit.theta + length * move / np.linalg.norm(move))
            assert summed_loss(problem, near, Y, weights) >= fit.loss * (1 - 1e-7)


def test_a_perfect_explanation_is_kept():
    problem, truth = mqp("c"), np.concatenate(reference.MQP_C)
    Y = [imop.solve(problem, truth, w) for w in np.linspace(0, 1, 6)]
    fit = imop.fit_batch(problem, Y, 6, theta0=truth)
    assert fit.loss <= 1e-18
    assert np.allclose(fit.theta, truth, atol=1e-9, rtol=0)


def test_the_batch_method_needs_decisions():
    with pytest.raises(imop.errors.InvalidInput, match="no decisions to fit"):
        imop.fit_batch(PROBLEM, np.empty((0, 4)))
