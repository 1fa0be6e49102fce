"""The learner over another backend: the same rounds, word for word, and it still pickles."""

import pickle

import numpy as np
import pytest
from draws import covariance

import imop_engine as imop
import reference

pytest.importorskip("gurobipy")

pytestmark = pytest.mark.slow


def portfolio(seed: int = 0):
    rng = np.random.default_rng(seed)
    Q, truth = covariance(rng, 4, "dense"), rng.uniform(0.02, 0.3, 4)
    problem = imop.portfolio_problem(Q, anchors={0: float(truth[0]), 3: float(truth[3])})
    held = imop.efficient_frontier(problem, truth).at(rng.uniform(0.1, 0.7, 8))
    return problem, held + 0.01 * rng.normal(size=held.shape), np.full(4, 0.1)


def mqp(seed: int = 0):
    rng = np.random.default_rng(seed)
    problem = imop.quadratic_problem(
        reference.MQP_Q,
        reference.MQP_C,
        reference.MQP_A,
        reference.MQP_B,
        learn="c",
        bounds=(np.repeat([1.0, -6.0], 2), np.repeat([6.0, -1.0], 2)),
    )
    clean = np.array([reference.mqp_decision(w) for w in rng.uniform(size=8)])
    return problem, clean + rng.uniform(-0.5, 0.5, clean.shape), None


CASES = {"portfolio": portfolio, "mqp": mqp}


@pytest.mark.parametrize("algorithm", ["accelerated", "full"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_gurobi_follows_native(name, seed, algorithm):
    problem, Y, start = CASES[name](seed)
    options = {"weights": 6, "rate": 2.0, "theta0": start, "algorithm": algorithm}
    native = imop.OnlineLearner(problem, **options).partial_fit(Y[:5])
    gurobi = imop.OnlineLearner(problem, backend="gurobi", **options).partial_fit(Y[:5])
    assert gurobi.rounds_ == native.rounds_ == 5
    assert gurobi.updates_ == native.updates_ == 5
    assert np.linalg.norm(gurobi.theta_ - gurobi.problem.theta.nearest(np.zeros(4))) > 1e-3
    assert np.allclose(gurobi.losses_, native.losses_, atol=1e-5, rtol=1e-4)
    assert np.allclose(gurobi.theta_, native.theta_, atol=1e-5, rtol=0)
    assert problem.theta.contains(gurobi.theta_)


@pytest.mark.parametrize("name", CASES)
def test_it_pickles_after_a_round_and_goes_on(name):
    problem, Y, start = CASES[name]()
    learner = imop.OnlineLearner(problem, weights=4, theta0=start, backend="gurobi")
    learner.partial_fit(Y[:1])
    copy = pickle.loads(pickle.dumps(learner))
    assert (copy.backend, copy.rounds_) == ("gurobi", 1)
    assert np.array_equal(copy.theta_, learner.theta_)
    learner.partial_fit(Y[1:3])
    copy.partial_fit(Y[1:3])
    assert copy.rounds_ == learner.rounds_ == 3
    assert np.allclose(copy.theta_, learner.theta_, atol=1e-5, rtol=0)
    assert np.array_equal(copy.assign(Y).weights, learner.assign(Y).weights)


def test_chunks_do_not_matter_for_gurobi_either():
    problem, Y, start = portfolio()
    options = {"weights": 4, "theta0": start, "backend": "gurobi"}
    whole = imop.OnlineLearner(problem, **options).partial_fit(Y[:4])
    pieces = imop.OnlineLearner(problem, **options)
    for y in Y[:4]:
        pieces.partial_fit(y[None])
    assert np.allclose(whole.theta_, pieces.theta_, atol=1e-9, rtol=0)
    assert np.allclose(whole.losses_, pieces.losses_, atol=1e-9, rtol=0)


@pytest.mark.parametrize("algorithm", ["accelerated", "full"])
def test_cvxpy_says_what_it_cannot_do_and_what_can(algorithm):
    problem, Y, start = portfolio()
    learner = imop.OnlineLearner(
        problem, weights=4, theta0=start, backend="cvxpy", algorithm=algorithm
    )
    before = learner.theta_.copy()
    with pytest.raises(imop.errors.ImopError) as caught:
        learner.partial_fit(Y[:1])
    text = str(caught.value)
    assert "cvxpy" in text
    assert "backend='native'" in text
    assert text.endswith(".")
    assert "\n" not in text
    assert learner.rounds_ == 0
    assert np.array_equal(learner.theta_, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"backend": "cplex"}, "no backend 'cplex'; use one of native, gurobi, cvxpy"),
        ({"backend": "gurobi", "weights": "exact"}, "native backend does; give a grid"),
    ],
)
def test_what_is_refused(change, message):
    with pytest.raises(imop.errors.InvalidInput, match=message):
        imop.OnlineLearner(portfolio()[0], **change)
