"""What every learner promises, whatever its algorithm and weights."""

import pickle

import cvxpy as cp
import numpy as np
import pytest

import imop_engine as imop
import reference

Q, TRUE = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
SETTINGS = {
    "paper": {},
    "coarse": {"weights": 6, "rate": 1.0},
    "given": {"weights": [0.1, 0.3, 0.5, 0.7], "theta0": TRUE[::-1].copy()},
    "capped": {"weights": 11},
    "exact": {"weights": "exact"},
    "full": {"weights": 6, "algorithm": "full"},
    "newton": {"weights": "exact", "algorithm": "newton"},
    "gaps": {"loss": "efficiency"},
    "second-order gaps": {"weights": "exact", "algorithm": "newton", "loss": "efficiency"},
    "capped gaps": {"loss": "efficiency", "rate": 1.5, "theta0": TRUE[::-1].copy()},
    "forgetful": {"weights": "exact", "algorithm": "newton", "forgetting": 0.9},
    "own program": {"weights": 2, "rate": 0.01, "loss": "suboptimality", "theta0": 0.1 * TRUE},
}


def problem_of(kind: str):
    if kind in ("capped", "newton", "forgetful", "capped gaps"):
        return imop.portfolio_problem(Q, upper=0.4, anchors={0: TRUE[0], 6: TRUE[6]})
    if kind == "own program":
        x, r = cp.Variable(8), cp.Parameter(8)
        root = np.linalg.cholesky(Q).T
        rules = [cp.sum(x) == 1, x >= 0]
        return imop.convex_problem([-r @ x, cp.norm(root @ x)], rules, x, r, (0.0, 1.0))
    return imop.portfolio_problem(Q)


@pytest.fixture(scope="module")
def decisions() -> np.ndarray:
    rng = np.random.default_rng(20)
    weights = rng.uniform(0.05, 0.9, 90)
    held = np.array([reference.forward(reference.portfolio(Q, w), TRUE) for w in weights])
    return held + 0.01 * rng.normal(size=held.shape)


@pytest.fixture(params=SETTINGS)
def fresh(request):
    """A function that makes the same learner again and again."""
    return lambda: imop.OnlineLearner(problem_of(request.param), **SETTINGS[request.param])


def learned(learner, *chunks: np.ndarray):
    for chunk in chunks:
        learner.partial_fit(chunk)
    return learner


def assert_same(one, two) -> None:
    assert np.array_equal(one.theta_, two.theta_)
    assert np.array_equal(one.losses_, two.losses_)
    assert np.array_equal(one.history_.theta, two.history_.theta)
    assert np.array_equal(one.history_.rounds, two.history_.rounds)
    assert one.rounds_ == two.rounds_


@pytest.mark.parametrize("cuts", [[1], [59], [20, 40, 75], [3, 4, 30], list(range(1, 90))])
def test_a_stream_is_a_batch_in_any_chunking(fresh, decisions, cuts):
    whole = learned(fresh(), decisions)
    assert_same(learned(fresh(), *np.split(decisions, cuts)), whole)


def test_no_decisions_change_nothing(fresh, decisions):
    none = decisions[:0]
    assert_same(
        learned(fresh(), none, decisions[:5], none, decisions[5:10]),
        learned(fresh(), decisions[:10]),
    )


def test_it_pickles_in_the_middle_and_goes_on(fresh, decisions):
    learner = learned(fresh(), decisions[:25])
    thawed = pickle.loads(pickle.dumps(learner))
    assert_same(thawed, learner)
    assert_same(learned(thawed, decisions[25:]), learned(fresh(), decisions))


def test_its_state_goes_through_plain_arrays_and_on_to_the_same_digits(fresh, decisions, tmp_path):
    learner = learned(fresh(), decisions[:25])
    np.savez(tmp_path / "state.npz", **learner.state().to_arrays())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as arrays:
        state = imop.LearnerState.from_arrays(dict(arrays))
    restored = fresh().restore(state)
    assert_same(restored, learner)
    assert_same(learned(restored, decisions[25:]), learned(fresh(), decisions))
    assert_same(learned(fresh().restore(state), decisions[25:]), learned(fresh(), decisions))
    whole, again = learned(fresh(), decisions).state(), restored.state()
    for name, array in whole.to_arrays().items():
        if name != "active_set.rows":  # only the first few count
            assert np.array_equal(array, again.to_arrays()[name]), name


def test_a_state_is_apart_from_its_learner(fresh, decisions):
    learner = learned(fresh(), decisions[:25])
    state = learner.state()
    before = {name: array.copy() for name, array in state.to_arrays().items()}
    learned(learner, decisions[25:])
    learned(fresh().restore(state), decisions[25:])
    for name, array in state.to_arrays().items():
        assert np.array_equal(array, before[name]), name
    assert state.certified_share <= 1.0
    assert state.rounds == 25


def test_a_batch_that_waits_is_in_the_state(decisions):
    def fresh():
        return imop.OnlineLearner(problem_of("paper"), weights=6, batch=4)

    state = learned(fresh(), decisions[:10]).state()
    assert len(state.waiting) == 2
    assert_same(learned(fresh().restore(state), decisions[10:20]), learned(fresh(), decisions[:20]))


def test_a_state_of_another_problem_is_refused():
    three = imop.OnlineLearner(imop.portfolio_problem(Q[:3, :3]))
    with pytest.raises(imop.errors.InvalidInput, match="a learner with 3 unknowns, this problem"):
        imop.OnlineLearner(problem_of("paper")).restore(three.state())
    arrays = three.state().to_arrays()
    del arrays["losses"]
    with pytest.raises(imop.errors.InvalidInput, match="has no losses"):
        imop.LearnerState.from_arrays(arrays)


def test_it_is_deterministic(fresh, decisions):
    assert_same(learned(fresh(), decisions), learned(fresh(), decisions))


def test_it_leaves_its_input_alone(fresh, decisions):
    given = decisions.copy()
    learner = learned(fresh(), given)
    learner.assign(given)
    assert np.array_equal(given, decisions)
    held = learner.theta_.copy()
    given[:] = 0.0
    assert np.array_equal(learner.theta_, held)


def test_the_start_that_was_given_is_left_alone(decisions):
    start = TRUE[::-1].copy()
    learned(imop.OnlineLearner(problem_of("paper"), theta0=start), decisions)
    assert np.array_equal(start, TRUE[::-1])


def test_the_layout_of_the_array_does_not_matter(fresh, decisions):
    whole = learned(fresh(), decisions)
    assert_same(learned(fresh(), np.asfortranarray(decisions)), whole)
    assert_same(learned(fresh(), np.repeat(decisions, 2, axis=0)[::2]), whole)
    assert_same(learned(fresh(), decisions.tolist()), whole)


def test_every_round_is_counted(fresh, decisions):
    learner = learned(fresh(), decisions[:7], decisions[7:12])
    assert learner.rounds_ == 12
    assert len(learner.losses_) == 12
    assert np.all(np.isfinite(learner.losses_))
    assert np.all(np.asarray(learner.losses_) >= 0)


def test_the_estimate_stays_in_theta(decisions):
    learner = imop.OnlineLearner(problem_of("capped"), weights=11)
    for row in decisions[:30]:
        learner.partial_fit(row[None])
        assert np.all(learner.theta_ >= -1e-9)
        assert np.all(learner.theta_ <= 1 + 1e-9)
        assert learner.theta_[[0, 6]] == pytest.approx(TRUE[[0, 6]], abs=1e-9)


def test_assigning_gives_the_nearest_weight_and_its_distance(fresh, decisions):
    learner = learned(fresh(), decisions)
    assigned = learner.assign(decisions[:15])
    problem = learner.problem
    if learner.exact:
        projected = imop.efficient_frontier(learner.problem, learner.theta_).project(decisions[:15])
        assert np.array_equal(assigned.distances, projected.distances)
        assert np.array_equal(assigned.weights, projected.weights)
        return
    menu = np.array([imop.solve(problem, learner.theta_, w) for w in learner.weights_])
    distances = np.linalg.norm(decisions[:15, None] - menu, axis=2)
    assert np.allclose(assigned.distances, distances.min(axis=1), atol=1e-9)
    chosen = [int(np.flatnonzero(learner.weights_ == w)[0]) for w in assigned.weights]
    assert np.allclose(distances[range(15), chosen], distances.min(axis=1), atol=1e-9)


def test_assigning_teaches_nothing(fresh, decisions):
    learner = learned(fresh(), decisions[:20])
    learner.assign(decisions)
    assert_same(learner, learned(fresh(), decisions[:20]))


# -- what it refuses


def refused(function, *arguments, **options) -> str:
    with pytest.raises(imop.errors.ImopError) as caught:
        function(*arguments, **options)
    text = str(caught.value)
    assert text.strip()
    assert "\n" not in text.strip()
    assert len(text) < 500
    return text


def test_a_bad_row_gets_a_sentence_with_its_position(fresh, decisions):
    broken = decisions.copy()
    broken[17, 2] = np.nan
    assert "17" in refused(fresh().partial_fit, broken) or "18" in refused(
        fresh().partial_fit, broken
    )
    assert refused(fresh().assign, broken)


def test_rows_of_the_wrong_width_say_both_widths(fresh, decisions):
    text = refused(fresh().partial_fit, decisions[:, :5])
    assert "5" in text
    assert "8" in text
    assert refused(fresh().assign, decisions[:, :5])


def test_a_refused_batch_leaves_the_learner_as_it_was(fresh, decisions):
    broken = decisions[10:20].copy()
    broken[6, 0] = np.inf
    learner = learned(fresh(), decisions[:10])
    refused(learner.partial_fit, broken)
    assert_same(learner, learned(fresh(), decisions[:10]))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"weights": 0}, "weights"),
        ({"weights": []}, "weights"),
        ({"weights": [0.2, 1.4]}, "weight"),
        ({"weights": [0.2, np.nan]}, "weight"),
        ({"weights": "all"}, "weights"),
        ({"algorithm": "magic"}, "algorithm"),
        ({"rate": -1.0}, "rate"),
        ({"rate": "fast"}, "rate"),
        ({"theta0": [0.1, 0.2]}, "theta0"),
        ({"theta0": [np.nan] * 8}, "theta0"),
        ({"backend": "magic"}, "backend"),
    ],
)
def test_settings_that_are_refused_are_named(options, word):
    assert word in refused(imop.OnlineLearner, problem_of("paper"), **options)
