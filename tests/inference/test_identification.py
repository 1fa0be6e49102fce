"""Identification: derivatives that are derivatives, statuses that are true, one gauge for all."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.inference.bias_simulation import UNSURE_OF_BIAS
from imop_engine.inference.identify import STATUSES
from imop_engine.inference.information import information
from imop_engine.simulate import simulate_investors
from imop_engine.weights import lam_of

MARKETS = {name: market(name) for name in ("paper8", "us20")}
EIGHT = MARKETS["paper8"]
TRUE = np.array(EIGHT.expected_returns)
FREE = imop.portfolio_problem(EIGHT.covariance, names=EIGHT.names)
PROBLEM = imop.with_anchors(FREE, {0: TRUE[0], 6: TRUE[6]})


def draw(count=1000, seed=1, weights="uniform", sd=0.15, noise="gaussian", level=0.005):
    return simulate_investors(
        FREE, TRUE, count, weights=weights, sd=sd, noise=noise, noise_level=level,
        rng=np.random.default_rng(seed),
    )  # fmt: skip


# -- the sums ------------------------------------------------------------------------------------
def on_the_faces(problem, theta, count, seed, sd):
    """Efficient portfolios with errors in the held assets only, summing to zero."""
    rng = np.random.default_rng(seed)
    frontier = imop.efficient_frontier(problem, theta)
    turns = rng.choice(frontier.weights[1:-1], count // 2) * (
        1.0 + 1e-3 * rng.normal(size=count // 2)
    )
    X = frontier.at(np.concatenate([rng.uniform(0.02, 0.95, count - count // 2), turns]))
    errors = np.where(X > 1e-9, rng.normal(0.0, sd, X.shape), 0.0)
    free = X > 1e-9
    errors -= np.where(free, errors.sum(axis=1, keepdims=True) / free.sum(axis=1)[:, None], 0.0)
    return X + errors


@pytest.mark.parametrize("name", MARKETS)
@pytest.mark.parametrize("sd", [1e-5, 2e-3])
def test_the_score_is_the_derivative_of_the_squared_distance(name, sd):
    """With errors on the faces only, nothing is redistributed, and d/dr 1/2 ||y - x||^2 = -score;
    at turning points too, of which the larger error reaches some."""
    m = MARKETS[name]
    problem = imop.portfolio_problem(m.covariance)
    r = np.array(m.expected_returns)
    Y = on_the_faces(problem, r, 80, 3, sd)
    checked = turned = 0
    step = 1e-7
    for y in Y:
        info = information(imop.efficient_frontier(problem, r), y[None])
        if not info.places or not np.any(info.places[0].slope):
            continue
        missing = np.setdiff1d(np.flatnonzero(y != 0), info.places[0].free)
        if missing.size:  # nearest to a face where something is redistributed
            continue
        numeric = np.empty(problem.n)
        for i in range(problem.n):
            ends = []
            for sign in (1.0, -1.0):
                moved = r.copy()
                moved[i] += sign * step
                found = imop.efficient_frontier(problem, moved).project(y[None])
                ends.append(0.5 * found.distances[0] ** 2)
            numeric[i] = (ends[0] - ends[1]) / (2 * step)
        size = float(np.linalg.norm(info.score))
        np.testing.assert_allclose(numeric, -info.score, atol=2e-3 * size + 1e-9)
        checked += 1
        turned += info.places[0].turning
    assert checked > 15
    assert turned > 2 or sd < 1e-3


@pytest.mark.parametrize("upper", [1.0, 0.3])
def test_the_information_does_not_see_shift_and_scale(upper):
    problem = imop.portfolio_problem(EIGHT.covariance, upper=upper)
    Y = simulate_investors(
        problem, TRUE, 500, weights="uniform", noise="gaussian", noise_level=0.005,
        rng=np.random.default_rng(2),
    ).portfolios  # fmt: skip
    info = information(imop.efficient_frontier(problem, TRUE), Y)
    size = np.linalg.norm(info.hessian)
    assert np.linalg.norm(info.hessian @ np.ones(8)) < 1e-9 * size
    assert np.linalg.norm(info.hessian @ TRUE) < 1e-9 * size
    assert abs(info.score @ np.ones(8)) < 1e-9 * np.linalg.norm(info.score)
    assert abs(info.score @ TRUE) < 1e-9 * np.linalg.norm(info.score)


def test_counts_are_repeated_rows():
    Y = draw(100).portfolios
    times = np.random.default_rng(1).integers(0, 4, 100)
    frontier = imop.efficient_frontier(PROBLEM, TRUE)
    counted = information(frontier, Y, times.astype(float))
    repeated = information(frontier, np.repeat(Y, times, axis=0))
    for name in ("hessian", "score", "outer", "degrees"):
        np.testing.assert_allclose(getattr(counted, name), getattr(repeated, name), rtol=1e-9)


# -- the gauge -----------------------------------------------------------------------------------
@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    scale=st.floats(0.5, 2.0),
    shift=st.floats(-0.1, 0.1),
    kind=st.sampled_from(["assets", "portfolios"]),
)
@example(seed=558, scale=1.75, shift=0.0625, kind="portfolios")  # five are at turning points
@settings(max_examples=12)
def test_shifted_and_scaled_beliefs_give_the_same_people_and_transformed_intervals(
    seed, scale, shift, kind
):
    """Through the real learner: beliefs a r + c, start and anchors likewise, and the rate times
    a^2, because the update measures beliefs and holdings in one sum."""
    rng = np.random.default_rng(seed)
    # away from the ends of the weights, which the paper cuts at 0.001 in w, not in lam
    Y = draw(300, seed, rng.uniform(0.15, 0.9, 300)).portfolios
    start = TRUE * (1.0 + 0.1 * rng.normal(size=8))
    box = np.array([-0.5, 1.0])
    if kind == "assets":
        rows = np.eye(8)[[0, 4]]
    else:
        rows = np.stack([Y.mean(axis=0), FREE.portfolio.least_variance])
    results = []
    for a, c in ((1.0, 0.0), (scale, shift)):
        r = a * TRUE + c
        problem = imop.portfolio_problem(
            EIGHT.covariance,
            bounds=tuple(a * box + c),
            anchors=[(row, float(row @ r)) for row in rows],
        )
        learner = imop.OnlineLearner(
            problem, weights="exact", theta0=a * start + c, rate=5.0 * a**2
        ).partial_fit(Y)
        if results:
            np.testing.assert_allclose((learner.theta_ - c) / a, results[0][0], atol=1e-6)
        # what is read from the beliefs is compared at the same beliefs, to the last digits
        theta = a * results[0][0] + c if results else learner.theta_
        known = imop.identification(problem, theta, Y)
        frontier = imop.efficient_frontier(problem, theta)
        found = frontier.project(Y)
        people = imop.investor_preferences(frontier, Y, beliefs=known).investors
        results.append((theta, known, found, people))
    (_, one, found, people), (_, two, found2, people2) = results
    back = lambda values: (values - shift) / scale  # noqa: E731
    assert one.status == two.status
    for ends in ("low", "high"):
        np.testing.assert_allclose(back(getattr(two, ends)), getattr(one, ends), atol=1e-7)
    np.testing.assert_allclose(two.standard_errors / scale, one.standard_errors, rtol=1e-6)
    np.testing.assert_allclose(found2.points, found.points, atol=1e-9)
    lam, lam2 = lam_of(found.weights), lam_of(found2.weights)
    inside = lam < 10.0  # beyond, one step of rounding in w is a large one in lam
    np.testing.assert_allclose(scale * lam2[inside], lam[inside], rtol=1e-6, atol=1e-9)
    for end in ("weight_low", "weight_high"):
        first, second = lam_of(people[end]), lam_of(people2[end])
        inside = first < 10.0
        np.testing.assert_allclose(scale * second[inside], first[inside], rtol=1e-5, atol=1e-7)


# -- statuses ------------------------------------------------------------------------------------
@pytest.mark.parametrize("noise", [("round", 0.001), ("gaussian", 0.005)])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("start", ["zero", "off"])
def test_securities_7_and_8_are_bounded_under_narrow_weights(noise, seed, start):
    """Weights N(0.5, 0.1): a handful of 1,000 investors hold them at most."""
    Y = draw(1000, seed, "normal", 0.1, *noise).portfolios
    problem = imop.with_anchors(FREE, {0: TRUE[0], 3: TRUE[3]})
    rng = np.random.default_rng(seed)
    theta0 = np.zeros(8) if start == "zero" else TRUE * (1.0 + 0.2 * rng.normal(size=8))
    theta = imop.OnlineLearner(problem, weights="exact", theta0=theta0).partial_fit(Y).theta_
    identified = imop.identification(problem, theta, Y)
    for i in (6, 7):
        assert identified.status[i] == "bounded above"
        assert identified.low[i] <= TRUE[i] <= identified.high[i] < 0.09
        assert "at most" in identified.sentences[i]
        assert identified.investors[i] > 900
    assert identified.status.count("identified") == 4


def test_an_asset_at_its_cap_is_bounded_below():
    """Security 6 has the best return; with a cap of 0.2 everybody in this part holds 0.2 of it."""
    upper = np.ones(8)
    upper[5] = 0.2
    problem = imop.portfolio_problem(
        EIGHT.covariance, upper=upper, names=EIGHT.names, anchors={0: TRUE[0], 3: TRUE[3]}
    )
    Y = simulate_investors(
        problem, TRUE, 800, weights=np.random.default_rng(4).uniform(0.3, 0.45, 800),
        noise="gaussian", noise_level=0.003, rng=np.random.default_rng(4),
    ).portfolios  # fmt: skip
    identified = imop.identification(problem, TRUE, Y)
    assert identified.status[5] == "bounded below"
    assert 0.1 < identified.low[5] <= TRUE[5] <= identified.high[5] == 1.0
    assert "at least" in identified.sentences[5]
    low = imop.identification(problem, np.where(np.arange(8) == 5, identified.low[5], TRUE), Y)
    assert low.status[5] in ("bounded below", "identified")


def test_an_anchor_on_what_nobody_holds_fixes_nothing():
    Y = draw(1000, 2, "normal", 0.1).portfolios
    identified = imop.identification(PROBLEM, TRUE, Y)
    assert identified.status[0] == identified.status[6] == "anchored"
    assert set(identified.status[1:6]) == {"relative"}
    assert any("Security 7 fixes nothing" in note for note in identified.notes())
    assert any("shift or a scale" in note for note in identified.unseen)


def test_two_held_assets_leave_the_third_a_bound():
    """Three assets, everybody on a stretch with two of them: no residual is left to learn from."""
    problem = imop.portfolio_problem(
        np.diag([0.04, 0.05, 0.5]),
        names=["a", "b", "c"],
        anchors={"a": 0.02, "b": 0.1},
        bounds=(-1.0, 1.0),
    )
    r = np.array([0.02, 0.1, -0.5])
    Y = imop.efficient_frontier(problem, r).at(np.linspace(0.4, 0.6, 50))
    identified = imop.identification(problem, r, Y, noise_sd=0.001)
    assert identified.status == ("anchored", "anchored", "bounded above")
    assert identified.low[2] <= r[2] <= identified.high[2] < 0.1


def test_an_asset_that_the_learner_left_dead_is_found():
    Y = draw(800, 3).portfolios
    sleeping = TRUE.copy()
    sleeping[2] = 0.0
    assert imop.efficient_frontier(PROBLEM, sleeping).portfolios[:, 2].max() == 0.0
    identified = imop.identification(PROBLEM, sleeping, Y)
    assert not identified.settled
    assert identified.step_in_errors > 10
    assert np.all((identified.low <= TRUE) & (identified.high >= TRUE))
    assert any("not settled" in note for note in identified.notes())
    refined = imop.refine(PROBLEM, Y, sleeping)
    assert refined.converged
    np.testing.assert_allclose(refined.theta, imop.refine(PROBLEM, Y, TRUE).theta, atol=2e-5)
    assert imop.identification(PROBLEM, refined.theta, Y).settled


def test_a_scale_that_ran_away_is_brought_back():
    """Every return but the anchored ones three times too large: nobody holds Security 1 then."""
    Y = draw(800, 5).portfolios
    wild = np.where(np.isin(np.arange(8), [0, 6]), TRUE, 3.0 * TRUE)
    np.testing.assert_allclose(
        imop.refine(PROBLEM, Y, wild).theta, imop.refine(PROBLEM, Y, TRUE).theta, atol=5e-5
    )


# Market, error, weights, investors, seed of studies in which a search that must not let squared
# distances grow by more than 1 % stopped up to 10 standard errors short, or took turns between two
# sides of a jump.
STOPPED_SHORT = [
    ("paper8", 0.005, "uniform", 1000, 8),
    ("paper8", 0.005, "normal", 1000, 17),
    ("paper8", 0.01, "uniform", 600, 16),
    ("us20", 0.002, "uniform", 1000, 2),
    ("us20", 0.005, "uniform", 300, 3),
    ("us20", 0.01, "normal", 300, 0),
    ("us20", 0.01, "uniform", 1000, 11),
    ("us20", 0.01, "normal", 1000, 17),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "level", "weights", "count", "seed"), STOPPED_SHORT)
def test_the_search_ends_at_the_solution_or_at_a_jump_across_zero(
    name, level, weights, count, seed
):
    m = MARKETS[name]
    r = np.array(m.expected_returns)
    free = imop.portfolio_problem(m.covariance, names=m.names)
    rng = np.random.default_rng([seed, int(level * 1e4), count, r.size])
    Y = simulate_investors(
        free, r, count, weights=weights, noise="gaussian", noise_level=level, rng=rng
    ).portfolios
    problem = imop.anchor_by_history(free, r, Y)
    start = np.clip(r * (1.0 + 0.3 * rng.normal(size=r.size)), 0.0, 1.0)
    learned = imop.OnlineLearner(problem, weights="exact", theta0=start).partial_fit(Y).theta_
    for theta in (learned, r):
        found = imop.refine(problem, Y, theta)
        assert found.converged
        assert found.left <= 0.1
        again = imop.refine(problem, Y, found.theta)
        assert again.converged
        identified = imop.identification(problem, found.theta, Y)
        assert identified.step_in_errors <= 0.2


def test_without_noise_everything_held_is_known_to_the_digits():
    Y = draw(500, 2, noise="none").portfolios
    identified = imop.identification(PROBLEM, TRUE * 1.02, Y)
    known = np.array([s == "identified" for s in identified.status])
    assert known.sum() == 6
    refined = imop.refine(PROBLEM, Y, TRUE * 1.02).theta
    np.testing.assert_allclose(refined, TRUE, atol=1e-7)


# -- the report ----------------------------------------------------------------------------------
def test_the_table_an_analyst_reads():
    identified = imop.identification(PROBLEM, TRUE, draw().portfolios)
    frame = identified.to_frame()
    assert frame.columns.tolist() == [
        "asset", "estimate", "low", "high", "status", "investors", "sentence",
    ]  # fmt: skip
    assert set(frame["status"]) <= set(STATUSES)
    assert (frame["low"] <= frame["estimate"]).all()
    assert (frame["estimate"] <= frame["high"]).all()
    for row in frame.itertuples():
        assert row.asset in row.sentence
        assert row.sentence.endswith(".")
    anchored = frame["status"] == "anchored"
    assert (frame.loc[anchored, "low"] == frame.loc[anchored, "high"]).all()
    assert np.isnan(identified.standard_errors[anchored]).all()
    assert frame["investors"].between(1, 1000).all()


def test_both_ends_of_an_interval_lie_around_the_estimate_less_its_bias():
    Y = draw(level=0.01).portfolios
    theta = imop.refine(PROBLEM, Y, TRUE).theta
    identified = imop.identification(PROBLEM, theta, Y)
    known = np.array(identified.status) == "identified"
    assert known.sum() == 6
    errors, bias = identified.standard_errors[known], identified.noise_bias[known]
    assert np.abs(bias / errors).max() > 1.0, "or the test would not notice the sign"
    centre, half = (theta[known] - bias), ndtri(0.975) * np.hypot(errors, UNSURE_OF_BIAS * bias)
    np.testing.assert_allclose(identified.low[known], centre - half, rtol=0, atol=1e-12)
    np.testing.assert_allclose(identified.high[known], centre + half, rtol=0, atol=1e-12)


def test_errors_are_those_of_the_scores_where_the_noise_alone_would_say_less():
    """Someone who believes in no noise is told by the spread of the scores; in much, by that."""
    Y = draw(level=0.01).portfolios
    theta = imop.refine(PROBLEM, Y, TRUE).theta
    none, right, much = (
        imop.identification(PROBLEM, theta, Y, noise_sd=sd) for sd in (1e-6, 0.01, 0.05)
    )
    known = np.array(right.status) == "identified"
    ratio = none.standard_errors[known] / right.standard_errors[known]
    assert np.all((ratio > 0.7) & (ratio < 1.3))
    both = known & (np.array(much.status) == "identified")
    assert both.sum() >= 4
    assert np.all(much.standard_errors[both] > 3.0 * right.standard_errors[both])


def test_errors_pay_for_every_return_that_was_fitted():
    """The same investors three times over: what the ratio of the errors says of the degrees of
    freedom is that eight returns less shift and scale were fitted."""
    Y = draw(40).portfolios
    theta = imop.refine(PROBLEM, Y, TRUE).theta
    once, thrice = (
        imop.identification(PROBLEM, theta, np.tile(Y, (times, 1)), noise_sd=1e-9)
        for times in (1, 3)
    )
    known = np.array(once.status) == "identified"
    ratio = (once.standard_errors[known] / thrice.standard_errors[known]) ** 2
    degrees = information(imop.efficient_frontier(PROBLEM, theta), Y).degrees
    np.testing.assert_allclose(degrees * (ratio - 3.0) / (ratio - 1.0), 8 - 2, rtol=1e-6)


def test_where_all_is_anchored_the_data_ask_for_nothing():
    known = imop.portfolio_problem(np.diag([0.04, 0.09]), anchors={0: 0.05, 1: 0.1})
    identified = imop.identification(known, [0.05, 0.1], [[0.5, 0.5], [0.3, 0.7]], noise_sd=0.01)
    assert identified.status == ("anchored", "anchored")
    assert identified.step_in_errors == 0.0


def test_a_higher_level_is_wider():
    Y = draw().portfolios
    narrow, wide = (imop.identification(PROBLEM, TRUE, Y, level=q) for q in (0.5, 0.99))
    assert np.all(wide.low <= narrow.low)
    assert np.all(wide.high >= narrow.high)


def test_the_same_seed_gives_the_same_digits():
    Y = draw(300).portfolios
    one, two = (imop.identification(PROBLEM, TRUE, Y) for _ in range(2))
    assert np.array_equal(one.low, two.low)
    assert np.array_equal(one.high, two.high)


def test_mistakes_are_sentences():
    Y = draw(50).portfolios
    with pytest.raises(InvalidInput, match=r"level is 1\.5"):
        imop.identification(PROBLEM, TRUE, Y, level=1.5)
    with pytest.raises(InvalidInput, match="no investors"):
        imop.identification(PROBLEM, TRUE, Y[:0])
    with pytest.raises(InvalidInput, match="noise cannot be estimated"):
        imop.identification(PROBLEM, TRUE, Y[:1])
    with pytest.raises(InvalidInput, match="quadratic"):
        imop.identification(
            imop.quadratic_problem([[[1.0]], [[1.0]]], [[-1.0], [-3.0]]), [0.0, 0.0], [[1.0]]
        )
