"""The same exactness for multiobjective quadratic programs: learn="c" and learn="b"."""

import numpy as np
import pytest
from checks import check_update, native
from draws import Quadratic, quadratics, tries
from hypothesis import given

import imop_engine as imop
import reference

BOXES = {
    "c": (np.repeat([1.0, -6.0], 2), np.repeat([6.0, -1.0], 2)),
    "b": (np.full(2, -10.0), np.full(2, 10.0)),
}


def paper(learn: str):
    """The paper's MQP."""
    return imop.quadratic_problem(
        Q=reference.MQP_Q,
        c=reference.MQP_C,
        A=reference.MQP_A,
        b=reference.MQP_B,
        learn=learn,
        bounds=BOXES[learn],
    )


def truth(learn: str) -> np.ndarray:
    return np.concatenate(reference.MQP_C) if learn == "c" else reference.MQP_B


@pytest.mark.parametrize("learn", ["c", "b"])
def test_sizes(learn):
    problem = paper(learn)
    assert problem.n == 2
    assert problem.theta_size == (4 if learn == "c" else 2)


@pytest.mark.parametrize("learn", ["c", "b"])
@pytest.mark.parametrize("w", np.linspace(0, 1, 21))
def test_the_forward_solution_in_closed_form(learn, w):
    for weight in (float(w), [w, 1 - w]):
        x = imop.solve(paper(learn), truth(learn), weight)
        assert np.allclose(x, reference.mqp_decision(w), atol=1e-9)


@pytest.mark.parametrize("learn", ["c", "b"])
def test_it_is_the_enumerated_optimum(learn):
    @tries(100)
    @given(quadratics(learn))
    def agree(drawn: Quadratic):
        weighted = drawn.weighted()
        best = reference.update_enumerated(weighted, drawn.theta, drawn.y, drawn.eta)
        check_update(drawn, best.objective)

    agree()


@pytest.mark.slow
@pytest.mark.parametrize("learn", ["c", "b"])
def test_it_is_gurobis_optimum(learn):
    @tries(100)
    @given(quadratics(learn, largest=8))
    def agree(drawn: Quadratic):
        best, _ = reference.update_gurobi(drawn.weighted(), drawn.theta, drawn.y, drawn.eta)
        check_update(drawn, best.objective)

    agree()


@pytest.mark.parametrize("learn", ["c", "b"])
def test_its_decision_is_what_the_engine_itself_would_solve(learn):
    @tries(30)
    @given(quadratics(learn, largest=6))
    def agree(drawn: Quadratic):
        problem = drawn.problem()
        update = native(drawn, problem)
        solved = imop.solve(problem, update.theta, drawn.weight)
        assert np.allclose(update.x, solved, atol=1e-8, rtol=0)

    agree()


def test_a_right_hand_side_without_any_decision_is_infeasible():
    with pytest.raises(imop.errors.Infeasible):
        imop.solve(paper("b"), np.array([5.0, 5.0]), 0.5)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"learn": "a"}, "learn"),
        ({"Q": [np.eye(2), -np.eye(2)]}, "Q"),
        ({"Q": [np.eye(2)]}, "Q"),
        ({"c": [np.zeros(2), np.zeros(3)]}, "c"),
        ({"b": np.zeros(3)}, "b"),
        ({"A": np.zeros((2, 3))}, "A"),
        ({"bounds": (1.0, 0.0)}, "bounds"),
    ],
)
def test_what_is_refused(change, word):
    options = {
        "Q": reference.MQP_Q,
        "c": reference.MQP_C,
        "A": reference.MQP_A,
        "b": reference.MQP_B,
        "learn": "c",
        "bounds": BOXES["c"],
    }
    with pytest.raises(imop.errors.InvalidInput, match=word):
        imop.quadratic_problem(**{**options, **change})


def noisy(seed: int, count: int) -> np.ndarray:
    """Section 4.1: uniform weights, noise U(−0.5, 0.5)²."""
    rng = np.random.default_rng(seed)
    clean = np.array([reference.mqp_decision(w) for w in rng.uniform(size=count)])
    return clean + rng.uniform(-0.5, 0.5, clean.shape)


@pytest.mark.parametrize("learn", ["c", "b"])
def test_every_round_is_a_round_of_algorithm_2(learn):
    """From the learner's own θ_t, so that a tie in k* may fall either way."""
    learner = imop.OnlineLearner(paper(learn), weights=6, rate=5.0)
    learner.partial_fit(np.empty((0, 2)))
    before = learner.theta_.copy()

    def at_weight(w: float) -> reference.Weighted:
        return reference.quadratic(
            reference.MQP_Q,
            reference.MQP_C,
            reference.MQP_A,
            reference.MQP_B,
            [w, 1 - w],
            learn,
            *BOXES[learn],
        )

    assert np.allclose(before, np.clip(0.0, *BOXES[learn]), atol=1e-12)
    assert np.allclose(learner.weights_, np.linspace(0, 1, 6), atol=1e-15)
    for t, y in enumerate(noisy(0, 20), start=1):
        learner.partial_fit(y[None])
        loss, squares = reference.surrogate_loss(at_weight, learner.weights_, before, y)
        assert learner.losses_[-1] == pytest.approx(loss, rel=1e-6, abs=1e-12)
        candidates = [
            reference.update_enumerated(at_weight(w), before, y, 5.0 / np.sqrt(t))
            for w in learner.weights_[squares <= loss + 1e-10]
        ]
        away = min(np.linalg.norm(learner.theta_ - one.theta) for one in candidates)
        assert away <= 1e-6
        before = learner.theta_.copy()


@pytest.mark.parametrize("learn", ["c", "b"])
def test_it_learns_the_papers_program(learn):
    """Section 4.1: η_t = 5/√t, K = 41, T = 1000; errors of 0.2 to 0.4 are what one run leaves."""
    errors = []
    for seed in range(3):
        learner = imop.OnlineLearner(paper(learn), weights=41, rate=5.0)
        learner.partial_fit(noisy(seed, 1000))
        errors.append(np.linalg.norm(learner.theta_ - truth(learn)))
    assert np.median(errors) < 0.4
