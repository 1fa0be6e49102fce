"""The constants of Theorem 1 by hand and by brute force; its promise on the paper's example."""

import numpy as np
import pytest

import imop_engine as imop
import reference

BOX = (np.repeat([1.0, -6.0], 2), np.repeat([6.0, -1.0], 2))


def appendix(n: int, bounds=(0.0, 10.0)):
    """The paper's example: min {x'x − 2θ_1'x, x'x − 2θ_2'x}, 0 <= x <= 10, θ in [0, 10]^2n."""
    eye = np.eye(2 * n).reshape(2, n, 2 * n)
    return imop.affine_problem(
        Q=[2 * np.eye(n)] * 2,
        linear0=np.zeros((2, n)),
        linear=-2 * eye,
        A=np.zeros((0, n)),
        rhs0=[],
        rhs=np.zeros((0, 2 * n)),
        bounds=bounds,
        upper=10.0,
    )


def mqp(learn: str = "c", **change):
    options = {
        "Q": reference.MQP_Q,
        "c": reference.MQP_C,
        "A": reference.MQP_A,
        "b": reference.MQP_B,
        "learn": learn,
        "bounds": BOX if learn == "c" else (-10.0, 0.0),
    }
    return imop.quadratic_problem(**{**options, **change})


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_papers_example_by_hand(n):
    """‖θ‖ <= 10√2n, ‖x‖ <= 10√n, ∇²f = 2I, and h changes by 2(θ_1 − θ_2)'(x − y) at most."""
    found = imop.constants(appendix(n), radius=12.0)
    assert pytest.approx(10 * np.sqrt(2 * n)) == found.D
    assert pytest.approx(10 * np.sqrt(n)) == found.B
    assert found.R == 12.0
    assert found.lam == pytest.approx(2.0)
    assert found.kappa == pytest.approx(2.0)
    size = found.B + found.R
    assert found.rate == pytest.approx(found.D / (2 * np.sqrt(2) * size))
    for rounds in (1, 50, 10_000):
        expected = 4 * np.sqrt(2) * size * found.D * np.sqrt(rounds)
        assert found.regret_bound(rounds) == pytest.approx(expected)


def test_the_constants_of_the_mqp_hold_on_samples_and_are_reached():
    problem, rng = mqp(), np.random.default_rng(0)
    found = imop.constants(problem, radius=5.0)
    thetas = rng.uniform(*BOX, size=(400, 4))
    weights = np.concatenate([[0.0, 1.0], rng.uniform(size=398)])
    assert pytest.approx(np.linalg.norm(np.maximum(np.abs(BOX[0]), np.abs(BOX[1])))) == found.D
    assert np.all(np.linalg.norm(thetas, axis=1) <= found.D)

    X = rng.uniform(0, 3.5, size=(20_000, 2))
    X = X[np.all(X @ reference.MQP_A.T >= reference.MQP_B, axis=1)]
    lengths = np.linalg.norm(X, axis=1)
    assert lengths.max() <= found.B
    assert lengths.max() >= 0.97 * found.B  # the corner (3, 3)

    def gradient(w: float, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        c = problem.costs(theta)
        return sum(
            v * (Q @ x + cl) for v, Q, cl in zip((w, 1 - w), reference.MQP_Q, c, strict=True)
        )

    convex, steep = [], []
    for w, one, two in zip(weights, thetas, thetas[::-1], strict=True):
        x, y = X[rng.integers(len(X), size=2)]
        for way in (x - y, [1.0, 0.0], [0.0, 1.0]):
            away = gradient(w, y + way, one) - gradient(w, y, one)
            convex.append(away @ way / np.dot(way, way))
        # h is linear in x here: its slope is the difference of the gradients
        for other in (two, one + w * np.repeat([1.0, 0.0], 2)):
            slope = gradient(w, x, one) - gradient(w, x, other)
            steep.append(np.linalg.norm(slope) / max(np.linalg.norm(one - other), 1e-12))
    assert min(convex) >= found.lam - 1e-12
    assert min(convex) <= 1.01 * found.lam
    assert max(steep) <= found.kappa + 1e-12
    assert max(steep) >= 0.99 * found.kappa


def test_a_shared_parameter_counts_for_every_objective():
    """θ moves both costs of f_1 at once: the change of c_1 is √2·3 times as long."""
    problem = imop.affine_problem(
        Q=[np.eye(2), 4 * np.eye(2)],
        linear0=np.zeros((2, 2)),
        linear=np.array([[[3.0], [3.0]], [[1.0], [0.0]]]),
        A=np.zeros((0, 2)),
        rhs0=[],
        rhs=np.zeros((0, 1)),
        bounds=(-2.0, 1.0),
        lower=-1.0,
        upper=(1.0, 2.0),
    )
    found = imop.constants(problem, radius=1.0)
    assert (found.D, found.lam) == (2.0, 1.0)
    assert found.kappa == pytest.approx(3 * np.sqrt(2))
    assert pytest.approx(np.sqrt(5)) == found.B


def test_its_rate_is_one_a_learner_takes():
    problem, rng = mqp(), np.random.default_rng(1)
    Y = np.array([reference.mqp_decision(w) for w in rng.uniform(size=30)])
    rate = imop.constants(problem, radius=float(np.linalg.norm(Y, axis=1).max())).rate
    one = imop.OnlineLearner(problem, weights=11, rate=rate).partial_fit(Y)
    two = imop.OnlineLearner(problem, weights=11, rate=lambda t: rate / np.sqrt(t)).partial_fit(Y)
    assert one.losses_[-10:].mean() < 0.5 * one.losses_[:10].mean()
    assert np.allclose(one.theta_, two.theta_, atol=1e-9, rtol=0)


SINGULAR = np.outer([0.1, 0.3, 0.7], [0.1, 0.3, 0.7])


@pytest.mark.parametrize(
    ("problem", "radius", "why"),
    [
        (imop.portfolio_problem(np.eye(2)), 1.0, "return is only linear.*rate as a number"),
        (mqp("b"), 5.0, "right-hand side is unknown.*rate as a number"),
        (mqp(A=None, b=None), 5.0, "bounded decisions; x1 has no bound.*upper"),
        (mqp(bounds=(-np.inf, 6.0)), 5.0, "bounded Theta.*bounds"),
        (mqp(), 0.0, "radius is 0.0; give a number above 0"),
        (mqp(), np.nan, "radius is nan; give a number above 0"),
        (
            imop.quadratic_problem([np.eye(3), SINGULAR], np.zeros((2, 3)), upper=1.0),
            1.0,
            "every objective strongly convex",
        ),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused_with_the_reason(problem, radius, why):
    with pytest.raises(imop.errors.InvalidInput, match=why):
        imop.constants(problem, radius)


def test_constraints_that_move_are_refused_too():
    """kappa = 0.001 would promise that S hardly moves, but x <= θ moves it one to one."""
    problem = imop.affine_problem(
        Q=[np.eye(1)] * 2,
        linear0=-np.ones((2, 1)),
        linear=np.full((2, 1, 1), 1e-3),
        A=[[-1.0]],
        rhs0=[0.0],
        rhs=[[-1.0]],
        bounds=(0.0, 1.0),
    )
    moved = imop.solve(problem, [0.8], 0.5) - imop.solve(problem, [0.3], 0.5)
    assert moved[0] == pytest.approx(0.5)
    with pytest.raises(imop.errors.InvalidInput, match="right-hand side is unknown"):
        imop.constants(problem, 1.0)


def ideal_loss(theta: np.ndarray, y: np.ndarray) -> float:
    """l(y, θ) of the paper's example: X_E(θ) is the straight line from θ_1 to θ_2."""
    one, two = np.split(theta, 2)
    along = two - one
    length = float(along @ along)
    step = np.clip((y - one) @ along / length, 0.0, 1.0) if length > 0 else 0.0
    return float(np.sum((y - one - step * along) ** 2))


@pytest.mark.parametrize("algorithm", ["accelerated", "full"])
@pytest.mark.parametrize(
    ("n", "bounds"),
    [(1, ([0.0, 5.0], [5.0, 10.0])), (1, (0.0, 10.0)), (2, (0.0, 10.0))],
    ids=["ordered", "line", "plane"],
)
def test_regret_stays_below_the_theorems_bound(n, bounds, algorithm):
    """Exact decisions, so hindsight loses nothing and the regret is all that was lost.

    Assumption 3.3(a) holds where θ_1 <= θ_2 on a line ("ordered"); the mixture of two efficient
    points need not be efficient where they may cross ("line") or lie in a plane ("plane").
    """
    problem, rng = appendix(n, bounds), np.random.default_rng(n)
    truth = rng.uniform(problem.theta.lower, problem.theta.upper)
    mix = rng.uniform(size=(120, 1))
    Y = mix * truth[:n] + (1 - mix) * truth[n:]
    assert sum(ideal_loss(truth, y) for y in Y) <= 1e-20
    found = imop.constants(problem, radius=10 * np.sqrt(n))
    learner = imop.OnlineLearner(problem, weights=21, rate=found.rate, algorithm=algorithm)
    lost = []
    for y in Y:
        lost.append(ideal_loss(learner.theta_, y))
        learner.partial_fit(y[None])
        assert learner.losses_[-1] >= lost[-1] - 1e-9
    regret = np.cumsum(lost)
    assert regret[-1] > 0.1
    assert np.all(regret <= [found.regret_bound(t + 1) for t in range(len(Y))])
    assert sum(lost[-30:]) < 0.5 * sum(lost[:30])
    if algorithm == "full":  # the rule of the theorem: on average it loses at most like 1/√T
        assert regret[-1] / 120 <= 0.5 * regret[29] / 30
