"""The implicit update of the efficiency gap, and streams of them."""

from __future__ import annotations

import numpy as np
import pytest

import imop_engine as imop
import reference
import reference_efficiency as naive
from imop_engine.efficiency_gap.curvature import MOST_KEPT, GapCurvature, pieces
from imop_engine.efficiency_gap.cuts import plane_basis
from imop_engine.efficiency_gap.inside import put_inside
from imop_engine.efficiency_gap.measure import furthest
from imop_engine.efficiency_gap.regret import EPOCHS, best_first_rate, diameter, regret_bound
from imop_engine.efficiency_gap.sample import Sample
from imop_engine.efficiency_gap.seen import SeenInvestors, epochs
from imop_engine.efficiency_gap.stream import GapMemory, rate_unit
from imop_engine.efficiency_gap.value import Value
from imop_engine.errors import InvalidInput
from imop_engine.kernels.at_risk import place_at
from imop_engine.kernels.efficiency import GapStep, Metric, efficiency_round

Q, TRUE = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
ANCHORS = {0: TRUE[0], 6: TRUE[6]}


def draw(seed: int):
    """A problem, beliefs, a portfolio and a rate; caps, box sides and holders of one asset."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    factors = rng.normal(size=(n + 2, n))
    covariance = 0.04 * factors.T @ factors / len(factors) + np.diag(rng.uniform(0.002, 0.02, n))
    caps = np.ones(n) if seed % 2 else np.maximum(rng.uniform(0.2, 1.0, n), 1.05 / n)
    returns = rng.uniform(0.0, 0.2, n)
    anchored = rng.permutation(n)[: int(rng.integers(0, 3))]
    problem = imop.portfolio_problem(
        covariance,
        upper=caps,
        bounds=((-1.0, 1.0), (0.0, 0.2))[seed % 3 == 0],
        anchors={int(i): float(returns[i]) for i in anchored},
    )
    theta = problem.theta.nearest(rng.uniform(0.0, 0.2, n))
    y = rng.dirichlet(np.full(n, 0.5))
    if seed % 4 == 1:
        y = np.eye(n)[rng.integers(0, n)]
    y = imop.efficient_frontier(problem, returns).at(0.6) if seed % 4 == 2 else y
    if np.any(y > caps):
        y = imop.efficient_frontier(problem, returns).at(0.9)
    return problem, theta, y, float(rng.choice([0.01, 0.3, 3.0, 30.0]))


@pytest.mark.parametrize("seed", range(60))
def test_an_update_is_what_a_cone_solver_finds_and_proves_it(seed):
    problem, theta, y, rate = draw(seed)
    update = imop.efficiency_update(problem, theta, y, rate)
    best, _ = naive.update(problem, theta, y, rate)
    gap = naive.gap(problem.covariance, problem.upper, update.theta, y)
    reached = 0.5 * np.sum((update.theta - theta) ** 2) + rate * gap
    assert update.certified
    assert problem.theta.contains(update.theta)
    assert reached <= best + 1e-6 * best + 1e-7 * max(1.0, rate)
    assert update.bound <= best + 1e-6 * best + 1e-7 * max(1.0, rate)
    if np.any(update.theta != theta):
        assert update.objective == pytest.approx(reached, rel=1e-5, abs=1e-7 * max(1.0, rate))


def test_an_efficient_portfolio_changes_nothing():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    y = imop.efficient_frontier(problem, TRUE).at(0.4)
    update = imop.efficiency_update(problem, TRUE, y, 5.0)
    assert update.theta == pytest.approx(TRUE, abs=1e-9)
    assert update.certified


def test_beliefs_that_are_all_alike_are_left_as_they_are():
    problem = imop.portfolio_problem(Q)
    update = imop.efficiency_update(problem, np.full(8, 0.1), np.eye(8)[0], 5.0)
    assert update.theta.tolist() == [0.1] * 8


def test_a_bad_rate_and_several_portfolios_are_refused():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    with pytest.raises(InvalidInput, match=r"rate is 0\.0; give a number above 0"):
        imop.efficiency_update(problem, TRUE, np.full(8, 0.125), 0.0)
    with pytest.raises(InvalidInput, match="one portfolio; got 2"):
        imop.efficiency_update(problem, TRUE, np.full((2, 8), 0.125), 1.0)


@pytest.mark.parametrize("seed", range(30))
def test_an_update_in_a_metric_is_what_a_cone_solver_finds(seed):
    problem, theta, y, rate = draw(seed)
    basis = plane_basis(problem.theta.projector)
    factors = np.random.default_rng([1, seed]).normal(size=(problem.n, problem.n))
    matrix = np.eye(problem.n) + 3.0 * factors @ factors.T
    inverse = basis @ np.linalg.solve(basis.T @ matrix @ basis, basis.T)
    memory, r = GapMemory.begin(problem, theta), np.empty(problem.n)
    place = place_at(problem.portfolio, memory.price, memory.state)
    step = GapStep(theta, y, float(y @ problem.covariance @ y), rate, Metric(matrix, inverse))
    _, objective, bound = efficiency_round(problem.portfolio, problem.theta.arrays, step, place, r)
    best, _ = naive.update(problem, theta, y, rate, matrix)
    gap = naive.gap(problem.covariance, problem.upper, r, y)
    reached = 0.5 * (r - theta) @ matrix @ (r - theta) + rate * gap
    assert problem.theta.contains(r)
    assert reached <= best + 1e-6 * best + 1e-7 * max(1.0, rate)
    assert bound <= best + 1e-6 * best + 1e-7 * max(1.0, rate)
    assert objective - bound <= 1e-6 * objective + 1e-9


# -- streams -------------------------------------------------------------------------------------
def seen(count: int, seed: int, weights: str = "uniform") -> np.ndarray:
    """The paper's investors, their weights even or N(0.5, 0.15), portfolios as they are
    written with three decimals: a third of them do not add up to one."""
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(0.0, 1.0, count)
    if weights == "normal":
        drawn = np.clip(rng.normal(0.5, 0.15, count), 0.0, 1.0)
    return np.round(imop.efficient_frontier(problem, TRUE).at(drawn), 3)


def a_start(start: str, seed: int) -> np.ndarray:
    anywhere = np.random.default_rng(50 + seed).uniform(0.0, 1.0, 8)
    return {"zero": np.zeros(8), "constant": np.full(8, 0.1), "anywhere": anywhere}[start]


@pytest.mark.parametrize("start", ["zero", "constant", "anywhere"])
@pytest.mark.parametrize("weights", ["uniform", "normal"])
def test_one_pass_finds_the_returns_from_any_start(start, weights):
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    for seed in range(8):
        learner = imop.OnlineLearner(problem, loss="efficiency", theta0=a_start(start, seed))
        learner.partial_fit(seen(1000, seed, weights))
        assert np.linalg.norm(learner.theta_ - TRUE) < 5e-4
        assert np.linalg.norm(learner.averaged_ - TRUE) < 5e-4
        assert learner.certified_ == 1.0


def test_at_rounds_that_double_a_stream_goes_to_the_fit_of_everybody_so_far():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    held = np.random.default_rng(5).dirichlet(np.full(8, 0.5), 640)
    learner = imop.OnlineLearner(problem, loss="efficiency").partial_fit(held[:639])
    before = imop.efficiency(problem, learner.theta_, held).gaps.sum()
    learner.partial_fit(held[639])
    after = imop.efficiency(problem, learner.theta_, held).gaps.sum()
    best = imop.fit_efficiency(problem, held)
    assert best.value <= after < best.value + 1e-4 * (before - best.value)
    assert learner.averaged_ == pytest.approx(learner.theta_, abs=0.0)
    assert learner.history_.theta[-1] == pytest.approx(learner.theta_, abs=0.0)


def test_a_rate_that_is_a_function_and_an_open_scale_have_plain_updates_only():
    held = seen(60, 2)
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    unit = rate_unit(problem)
    follows = imop.OnlineLearner(problem, loss="efficiency", rate=lambda t: 5.0 / np.sqrt(t))
    follows.partial_fit(held)
    theta = problem.theta.nearest(np.zeros(8))
    for t, y in enumerate(held):
        theta = imop.efficiency_update(problem, theta, y, unit * 5.0 / np.sqrt(t + 1.0)).theta
    assert follows.theta_ == pytest.approx(theta, abs=1e-9)
    alike = imop.portfolio_problem(Q, anchors={0: TRUE[0]})  # nobody need leave anything
    learner = imop.OnlineLearner(alike, loss="efficiency", theta0=TRUE).partial_fit(held)
    assert np.ptp(learner.theta_) > 0.5 * np.ptp(TRUE)


def test_everybody_seen_is_a_sample_of_the_same_value_in_any_chunking():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    held = np.vstack([seen(3000, 6), np.tile(seen(1, 7), (2000, 1))])
    held, _ = put_inside(problem, held)
    variances = np.einsum("ti,ij,tj->t", held, Q, held)
    whole, parts = SeenInvestors.nobody(8), SeenInvestors.nobody(8)
    whole.add(problem, held, variances)
    for first, last in ((0, 1), (1, 700), (700, 5000)):
        parts.add(problem, held[first:last], variances[first:last])
    for name in ("counts", "variances", "held"):
        assert getattr(whole, name).tolist() == getattr(parts, name).tolist()
    sample = whole.sample()
    assert sample.count == 5000
    assert sample.weights.sum() == 5000.0
    assert np.all(np.diff(sample.variances) > 0.0)
    for theta in (TRUE, problem.theta.nearest(np.full(8, 0.1))):
        most = furthest(problem, theta, 1e3)
        summed = Value.at(problem, sample, theta, most)
        each = Value.at(problem, Sample.of(problem, held, ()), theta, most)
        assert summed.gradient == pytest.approx(each.gradient, abs=1e-6 * 5000)
        assert summed.gaps == pytest.approx(each.gaps, abs=1e-7 * 5000)


def test_a_fit_of_a_stream_may_try_only_so_many_steps_and_never_ends_higher():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    held = seen(400, 8, "normal")
    seen_so_far = SeenInvestors.nobody(8)
    start = problem.theta.nearest(a_start("anywhere", 3))
    assert seen_so_far.fit(problem, start) is start  # nobody yet
    values = [imop.efficiency(problem, start, held).gaps.sum()]
    for count in (8, 80, 400):  # one step, ten, as many as it takes
        few = SeenInvestors.nobody(8)
        few.add(problem, held[:count], np.einsum("ti,ij,tj->t", held[:count], Q, held[:count]))
        theta = few.fit(problem, start)
        assert problem.theta.contains(theta)
        values.append(imop.efficiency(problem, theta, held).gaps.sum())
    assert values[-1] < 1e-4 * values[0]
    alike = imop.portfolio_problem(Q)
    assert few.fit(alike, np.full(8, 0.1)).tolist() == [0.1] * 8


def test_epochs_cover_every_round_once_and_fits_are_at_rounds_that_double():
    for chunks in ((1000,), (19, 1, 1, 500, 479), (20, 20, 40, 920), tuple([1] * 100)):
        done, covered, fitted = 0, [], []
        for count in chunks:
            for first, last, fit in epochs(done, count):
                covered += range(done + first, done + last)
                fitted += [done + last] if fit else []
            done += count
        assert covered == list(range(sum(chunks)))
        assert fitted == [m for m in (20, 40, 80, 160, 320, 640) if m <= sum(chunks)]


def test_losses_are_gaps_before_each_update():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    held = seen(30, 1)
    learner = imop.OnlineLearner(problem, loss="efficiency", theta0=np.full(8, 0.1))
    for t, y in enumerate(held):
        before = learner.theta_.copy()
        learner.partial_fit(y)
        assert learner.losses_[t] == pytest.approx(
            imop.efficiency(problem, before, y).gaps[0], abs=1e-10
        )


def test_a_round_is_the_update_with_the_rate_in_units_of_the_spread():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    y = np.full(8, 0.125)
    learner = imop.OnlineLearner(problem, loss="efficiency", theta0=np.full(8, 0.1), rate=2.0)
    start = learner.theta_.copy()
    learner.partial_fit(y)
    rate = 2.0 * 6.0 * abs(TRUE[0] - TRUE[6])
    assert learner.theta_ == pytest.approx(
        imop.efficiency_update(problem, start, y, rate).theta, abs=1e-10
    )


def test_regret_stays_below_its_bound_on_streams_that_change_their_mind():
    rng = np.random.default_rng(8)
    problem = imop.portfolio_problem(Q, bounds=(0.0, 0.3), anchors=ANCHORS)
    held = np.vstack([seen(150, 3), rng.dirichlet(np.full(8, 0.3), 150)])
    distance = 0.3 * np.sqrt(6)  # the diameter of Theta: six returns are open
    assert diameter(problem.theta) == pytest.approx(distance)
    ends = [20.0 * 2.0**k for k in range(8)]  # 300 rounds lie between 160 and 320
    assert abs(EPOCHS - 3.0 - np.sqrt(2.0)) < 1e-12
    assert all(
        sum(np.sqrt([*[e for e in ends if e < rounds], rounds])) <= EPOCHS * np.sqrt(rounds)
        for rounds in range(1, 2000)
    )
    assert best_first_rate(problem) == pytest.approx(0.5 * np.sqrt(EPOCHS) * distance)
    learner = imop.OnlineLearner(
        problem, loss="efficiency", rate=best_first_rate(problem) / rate_unit(problem)
    ).partial_fit(held)
    best = imop.fit_efficiency(problem, held)
    assert best.certified
    assert 0.0 <= learner.losses_.sum() - best.bound <= regret_bound(problem, len(held))
    assert regret_bound(problem, len(held)) == pytest.approx(
        2.0 * np.sqrt(EPOCHS) * distance * np.sqrt(300)
    )
    assert regret_bound(problem, 300, 1.0) > regret_bound(problem, 300)


@pytest.mark.parametrize("start", ["zero", "constant", "anywhere"])
@pytest.mark.parametrize("weights", ["uniform", "normal"])
def test_the_second_order_learner_ends_where_the_batch_does(start, weights):
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    for seed in range(3):
        held = seen(1000, seed, weights)
        learner = imop.OnlineLearner(
            problem, "exact", "newton", loss="efficiency", theta0=a_start(start, seed)
        ).partial_fit(held)
        assert np.linalg.norm(learner.theta_ - TRUE) < 5e-4
        assert np.linalg.norm(learner.theta_ - imop.fit_efficiency(problem, held).theta) < 5e-4
        assert learner.certified_ >= 0.998


def test_the_second_order_learner_follows_beliefs_that_change_if_it_may_forget():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    now = TRUE.copy()
    now[[1, 4]] = TRUE[[4, 1]]
    rng = np.random.default_rng(4)
    before, after = (
        imop.efficient_frontier(problem, r).at(rng.uniform(0.0, 1.0, 700)) for r in (TRUE, now)
    )
    lost = []
    for forgetting in (1.0, 0.98):
        learner = imop.OnlineLearner(
            problem, "exact", "newton", forgetting=forgetting, loss="efficiency"
        )
        learner.partial_fit(np.vstack([before, after]))
        lost.append(learner.losses_[-300:].mean())
    assert lost[1] < 0.1 * lost[0]


def test_the_curvature_is_that_of_all_investors_at_the_beliefs_of_today():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    held = seen(200, 2)
    variances = np.einsum("ti,ij,tj->t", held, Q, held)
    known = GapCurvature.begin(problem).with_investors(variances, 0)
    # half of the second differences of the summed gaps, and one for the plain metric
    found = known.at(problem, TRUE, 1.0, 200.0).matrix - np.eye(8)
    step, direction = 1e-4, np.array([0, 1, -1, 0, 1, 0, 0, 0.0])

    def gaps(by):
        return imop.efficiency(problem, TRUE + by * direction, held).gaps.sum()

    second = (gaps(step) - 2.0 * gaps(0.0) + gaps(-step)) / step**2
    assert 2.0 * direction @ found @ direction == pytest.approx(second, rel=0.05)


def test_the_curvature_keeps_evenly_spaced_investors_in_any_chunking():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    variances = np.arange(3.0 * MOST_KEPT)
    whole = GapCurvature.begin(problem).with_investors(variances, 0)
    parts, done = GapCurvature.begin(problem), 0
    for count in (1, 700, 6000, 5587):
        parts = parts.with_investors(variances[done : done + count], done)
        done += count
    assert done == variances.size
    assert whole.stride.tolist() == parts.stride.tolist() == [4]
    assert whole.variances.tolist() == parts.variances.tolist() == variances[::4].tolist()


def test_pieces_cover_every_round_once_in_any_chunking():
    anew = {first for first, _, new in pieces(0, 3000) if new}
    for done, count in ((0, 3000), (5, 10), (20, 1), (23, 400), (1234, 1)):
        found = list(pieces(done, count))
        rounds = [t for first, last, _ in found for t in range(first, last)]
        assert rounds == list(range(done, done + count))
        assert {first for first, _, new in found if new} == anew & set(rounds)


def test_a_state_of_the_other_algorithm_is_refused_and_there_are_no_standard_errors():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    plain = imop.OnlineLearner(problem, loss="efficiency").partial_fit(seen(3, 0))
    newton = imop.OnlineLearner(problem, "exact", "newton", loss="efficiency")
    with pytest.raises(InvalidInput, match="another algorithm"):
        newton.restore(plain.state())
    with pytest.raises(InvalidInput, match="collects no information"):
        newton.standard_errors_  # noqa: B018


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"loss": "regret"}, "distance, efficiency"),
        ({"loss": "efficiency", "algorithm": "full"}, "one exact update"),
        ({"loss": "efficiency", "batch": 4}, "one exact update"),
        ({"loss": "efficiency", "backend": "gurobi"}, "one exact update"),
    ],
)
def test_impossible_options_are_refused(options, word):
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    with pytest.raises(InvalidInput, match=word):
        imop.OnlineLearner(problem, **options)


def test_other_losses_have_no_average_and_other_problems_no_gap():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    with pytest.raises(InvalidInput, match="keeps no average"):
        imop.OnlineLearner(problem).averaged_  # noqa: B018
    plain = imop.OnlineLearner(problem).partial_fit(seen(3, 0)).state()
    with pytest.raises(InvalidInput, match="another loss"):
        imop.OnlineLearner(problem, loss="efficiency").restore(plain)
    quadratic = imop.quadratic_problem([np.eye(2), np.eye(2)], [[-1, 0], [0, -1]])
    with pytest.raises(InvalidInput, match="left on the table by portfolios"):
        imop.OnlineLearner(quadratic, loss="efficiency")
