"""What a problem accepts, and the sentence it answers with when it does not."""

import numpy as np
import pytest

import imop_engine as imop
import reference

Q = reference.SECURITIES_COVARIANCE[:3, :3]
NAMES = ["Alpha", "Beta", "Gamma"]


def message(function, *arguments, **options) -> str:
    """The text of the error that a call must raise."""
    with pytest.raises(imop.errors.ImopError) as caught:
        function(*arguments, **options)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def assert_sentence(text: str, *parts: str) -> None:
    """One readable sentence (or two) that carries the given words or numbers."""
    assert text.strip()
    assert len(text) < 500
    assert "\n" not in text.strip()
    for part in parts:
        assert part.lower() in text.lower(), f"{part!r} is missing from: {text}"


def test_one_family_of_errors_that_are_also_value_errors():
    assert issubclass(imop.errors.ImopError, ValueError)
    assert issubclass(imop.errors.InvalidInput, imop.errors.ImopError)
    assert issubclass(imop.errors.Infeasible, imop.errors.ImopError)


def test_a_problem_says_its_size_and_names():
    problem = imop.portfolio_problem(Q, names=NAMES)
    assert problem.n == 3
    assert problem.theta_size == 3
    assert list(problem.names) == NAMES
    assert len(imop.portfolio_problem(Q).names) == 3


def test_one_asset_is_a_problem():
    problem = imop.portfolio_problem([[0.04]])
    assert np.allclose(imop.solve(problem, [0.1], 0.5), [1.0])


def test_the_input_is_not_changed_and_not_kept():
    covariance, upper = Q.copy(), np.full(3, 0.8)
    problem = imop.portfolio_problem(covariance, upper=upper)
    before = imop.solve(problem, [0.1, 0.2, 0.3], 0.5)
    assert np.array_equal(covariance, Q)
    assert np.array_equal(upper, np.full(3, 0.8))
    covariance[:] = np.eye(3)
    upper[:] = 0.4
    assert np.array_equal(imop.solve(problem, [0.1, 0.2, 0.3], 0.5), before)


def test_a_problem_is_frozen():
    problem = imop.portfolio_problem(Q, names=NAMES)
    with pytest.raises((AttributeError, TypeError)):
        problem.names = ["x", "y", "z"]


def test_plain_lists_are_as_good_as_arrays():
    theta = [0.1, 0.2, 0.3]
    one = imop.solve(imop.portfolio_problem(Q.tolist(), upper=[0.5, 0.6, 0.7]), theta, 0.5)
    two = imop.solve(
        imop.portfolio_problem(Q, upper=np.array([0.5, 0.6, 0.7])), np.array(theta), 0.5
    )
    assert np.array_equal(one, two)


# -- the covariance


def test_a_covariance_that_is_not_square():
    assert_sentence(message(imop.portfolio_problem, np.ones((3, 2))), "3", "2", "square")


def test_a_covariance_that_is_not_a_matrix():
    assert_sentence(message(imop.portfolio_problem, np.ones(3)))


def test_an_empty_covariance():
    assert_sentence(message(imop.portfolio_problem, np.zeros((0, 0))))


def test_an_asymmetric_covariance():
    lopsided = Q.copy()
    lopsided[0, 2] += 0.01
    assert_sentence(message(imop.portfolio_problem, lopsided), "symmetric")


def test_rounding_does_not_make_a_covariance_asymmetric():
    nearly = Q.copy()
    nearly[0, 2] *= 1 + 1e-14
    assert imop.portfolio_problem(nearly).n == 3


def test_an_indefinite_covariance():
    text = message(imop.portfolio_problem, np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert_sentence(text, "eigenvalue", "-1")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_covariance_with_a_hole(bad):
    broken = Q.copy()
    broken[1, 1] = bad
    assert_sentence(message(imop.portfolio_problem, broken), "covariance")


def test_a_covariance_of_words():
    assert_sentence(message(imop.portfolio_problem, [["a", "b"], ["b", "c"]]))


# -- caps


def test_caps_that_cannot_hold_the_whole_wealth_name_the_sum_and_the_remedy():
    text = message(imop.portfolio_problem, Q, upper=0.3)
    assert_sentence(text, "0.9", "1")
    assert any(word in text.lower() for word in ("raise", "increase", "widen", "at least"))
    with pytest.raises(imop.errors.Infeasible):
        imop.portfolio_problem(Q, upper=0.3)


def test_caps_that_fill_exactly_are_accepted():
    problem = imop.portfolio_problem(np.eye(4), upper=0.25)
    assert np.allclose(imop.solve(problem, [0.1, 0.2, 0.3, 0.4], 0.7), 0.25)
    thirds = imop.portfolio_problem(Q, upper=1 / 3)
    assert np.allclose(imop.solve(thirds, [0.1, 0.2, 0.3], 0.5), 1 / 3)


@pytest.mark.parametrize("upper", [-0.1, [0.5, 0.5, -0.5], [0.5, 0.5, np.nan]])
def test_caps_that_are_no_caps(upper):
    assert_sentence(message(imop.portfolio_problem, Q, upper=upper))


def test_caps_of_the_wrong_length():
    assert_sentence(message(imop.portfolio_problem, Q, upper=[0.5, 0.6]), "2", "3")


def test_a_cap_above_one_binds_nothing():
    loose = imop.solve(imop.portfolio_problem(Q, upper=5.0), [0.1, 0.2, 0.3], 0.9)
    plain = imop.solve(imop.portfolio_problem(Q), [0.1, 0.2, 0.3], 0.9)
    assert np.allclose(loose, plain, atol=1e-12)


# -- the box of Θ


@pytest.mark.parametrize("bounds", [(1.0, 0.0), (0.0, np.nan), (0.0,), ([0, 0], 1.0)])
def test_bounds_that_are_no_box(bounds):
    assert_sentence(message(imop.portfolio_problem, Q, bounds=bounds))


def test_crossed_bounds_name_both_numbers():
    text = message(imop.portfolio_problem, Q, bounds=([0.0, 0.5, 0.0], [1.0, 0.25, 1.0]))
    assert_sentence(text, "0.5", "0.25")


# -- names and anchors


def test_names_of_the_wrong_length_or_repeated():
    assert_sentence(message(imop.portfolio_problem, Q, names=["A", "B"]), "2", "3")
    assert_sentence(message(imop.portfolio_problem, Q, names=["A", "B", "A"]), "A")


def test_an_anchor_on_an_unknown_asset_names_it_and_those_that_exist():
    text = message(imop.portfolio_problem, Q, names=NAMES, anchors={"Delta": 0.1})
    assert_sentence(text, "Delta", "Alpha")


@pytest.mark.parametrize("position", [3, -7])
def test_an_anchor_on_a_position_that_does_not_exist(position):
    assert_sentence(message(imop.portfolio_problem, Q, anchors={position: 0.1}), str(position))


def test_an_anchor_vector_of_the_wrong_length():
    text = message(imop.portfolio_problem, Q, anchors=[(np.ones(2), 0.1)])
    assert_sentence(text, "2", "3")


def test_an_anchor_without_a_number():
    assert_sentence(message(imop.portfolio_problem, Q, anchors={0: np.nan}))
    assert_sentence(message(imop.portfolio_problem, Q, anchors=[([1, 0, np.nan], 0.1)]))


def test_an_anchor_outside_the_bounds_is_infeasible_and_says_the_number():
    text = message(imop.portfolio_problem, Q, names=NAMES, anchors={"Alpha": 1.5})
    assert_sentence(text, "1.5")
    with pytest.raises(imop.errors.Infeasible):
        imop.portfolio_problem(Q, anchors={0: 1.5})


def test_anchors_that_contradict_each_other_are_infeasible():
    twice = [(np.array([1.0, 0, 0]), 0.1), (np.array([2.0, 0, 0]), 0.5)]
    with pytest.raises(imop.errors.Infeasible):
        imop.portfolio_problem(Q, anchors=twice)


def test_anchors_that_only_together_leave_the_box_are_infeasible():
    # Each alone is possible; together they want r_1 = r_2 + 2 in [0, 1].
    pair = [(np.array([1.0, -1.0, 0]), 0.9), (np.array([1.0, 1.0, 0]), 0.1)]
    with pytest.raises(imop.errors.Infeasible):
        imop.portfolio_problem(Q, anchors=pair)


def test_the_same_anchor_twice_is_once():
    once = imop.portfolio_problem(Q, anchors={0: 0.1})
    anchors = [([1, 0, 0], 0.1), ([2, 0, 0], 0.2)]
    twice = imop.portfolio_problem(Q, anchors=anchors, undetermined=True)
    arguments = ([0.1, 0.2, 0.3], [0.2, 0.3, 0.5], 0.5, 1.0)
    one, two = (imop.implicit_update(problem, *arguments) for problem in (once, twice))
    assert two.objective == pytest.approx(one.objective, rel=1e-9)


# -- what goes into the functions


@pytest.mark.parametrize("theta", [[0.1, 0.2], [0.1, 0.2, np.nan], [[0.1, 0.2, 0.3]], "abc"])
def test_a_theta_that_is_none(theta):
    problem = imop.portfolio_problem(Q)
    assert_sentence(message(imop.solve, problem, theta, 0.5))
    assert_sentence(message(imop.efficient_frontier, problem, theta))
    assert_sentence(message(imop.implicit_update, problem, theta, [0.2, 0.3, 0.5], 0.5, 1.0))


@pytest.mark.parametrize("weight", [-0.1, 1.1, np.nan, [0.2, 0.3], [0.2, 0.3, 0.5], [-1.0, 2.0]])
def test_a_weight_outside_the_simplex(weight):
    problem = imop.portfolio_problem(Q)
    assert_sentence(message(imop.solve, problem, [0.1, 0.2, 0.3], weight), "weight")


def test_a_weight_may_be_a_vector_on_the_simplex():
    problem = imop.portfolio_problem(Q)
    theta = [0.1, 0.2, 0.3]
    assert np.allclose(
        imop.solve(problem, theta, [0.3, 0.7]), imop.solve(problem, theta, 0.3), atol=1e-12
    )


@pytest.mark.parametrize("decision", [[0.5, 0.5], [0.5, 0.5, np.nan], [[0.5, 0.25, 0.25]]])
def test_a_decision_of_the_wrong_shape(decision):
    problem = imop.portfolio_problem(Q)
    text = message(imop.implicit_update, problem, [0.1, 0.2, 0.3], decision, 0.5, 1.0)
    assert_sentence(text, "decision")


@pytest.mark.parametrize("rate", [-1.0, np.nan, np.inf])
def test_a_rate_that_is_no_rate(rate):
    problem = imop.portfolio_problem(Q)
    text = message(imop.implicit_update, problem, [0.1, 0.2, 0.3], [0.2, 0.3, 0.5], 0.5, rate)
    assert_sentence(text, "rate")


def test_an_unknown_backend_is_named_with_the_ones_that_exist():
    problem = imop.portfolio_problem(Q)
    arguments = (problem, [0.1, 0.2, 0.3], [0.2, 0.3, 0.5], 0.5, 1.0)
    assert_sentence(message(imop.implicit_update, *arguments, backend="magic"), "magic", "native")
