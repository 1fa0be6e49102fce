"""Small parts of inference by themselves: bounds and their errors, places, statuses."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.inference import bounds, identify, prices
from imop_engine.inference.attribute_groups import attribute_groups
from imop_engine.inference.bias_simulation import UNSURE_OF_BIAS
from imop_engine.inference.estimating_equations import _perhaps_held
from imop_engine.inference.first_order import Likelihood
from imop_engine.inference.group_labels import group_labels
from imop_engine.inference.identify import _far_from_known
from imop_engine.inference.information import _places, _where, information
from imop_engine.inference.sources import Sources
from imop_engine.sentences import returns

# Everybody is on a stretch with a and b; nobody holds c.
PROBLEM = imop.portfolio_problem(
    np.diag([0.04, 0.05, 0.5]), names=["a", "b", "c"], anchors={"a": 0.02, "b": 0.1},
    bounds=(-1.0, 1.0),
)  # fmt: skip
RETURNS = np.array([0.02, 0.1, -0.5])
FRONTIER = imop.efficient_frontier(PROBLEM, RETURNS)


def test_the_error_of_a_bound_grows_with_its_slope_in_the_investors_weight():
    """Where the returns are known, all that is unsure is lam: error = |d rho / d lam| sd(lam)."""
    info = information(FRONTIER, FRONTIER.at([0.3, 0.4, 0.5]))
    (place,) = info.places
    _, c, constant = prices.price(info, place, 2, info.lams)
    errors = prices.Prices.of(info, place).errors(np.zeros((3, 3)), 0.001)
    error = errors.at(info.lams, c, constant)
    step = 1e-6
    slope = (
        prices.price(info, place, 2, info.lams + step)[0]
        - prices.price(info, place, 2, info.lams - step)[0]
    ) / (2 * step)
    sd_of_lam = error / np.abs(slope)
    assert sd_of_lam[0] > 0
    np.testing.assert_allclose(sd_of_lam, sd_of_lam[0], rtol=1e-6)


def sources(covariance=None, bias=None, periods=None):
    """Of returns that are exact, unless said."""
    exact = np.zeros((3, 3)) if covariance is None else covariance
    return Sources(exact, None, None, None, np.zeros(3) if bias is None else bias, periods)


def greatest(count=1, held=0.0, noise=0.001, known=None, rows_of_one=1.0):
    """The bound on the third asset by equal investors, the price behind it, and what they would
    hold for each unit of return above that."""
    info = information(FRONTIER, np.repeat(FRONTIER.at([0.5]), count, axis=0))
    (place,) = info.places
    rho, c, _ = prices.price(info, place, 2, info.lams[:1])
    Y = info.projection.points.copy()
    Y[:, 2] += held
    found = bounds.return_bounds(info, (Y,), known or sources(), noise, 0.95, rows_of_one)
    assert found.investors[2] == count
    left = np.append(-c, 1.0)  # the asset less what it replaces
    gain = float(info.lams[0]) / float(left @ PROBLEM.covariance @ left)
    return float(found.high[2]), float(rho[0]), gain


@pytest.mark.parametrize("count", [1, 2, 1000])
def test_a_bound_is_where_the_errors_of_all_investors_together_do_not_reach(count):
    """Errors in holdings average out, and lam moves what would be held, too."""
    high, rho, gain = greatest(count)
    alone, _, _ = greatest(1)
    assert high - rho == pytest.approx((alone - rho) / np.sqrt(count), rel=1e-9)
    assert alone - rho > ndtri(0.95) * 0.001 / gain
    assert greatest(1, noise=0.002)[0] - rho == pytest.approx(2.0 * (alone - rho), rel=1e-9)


def test_rows_of_one_investor_do_not_average_out():
    once, rho, _ = greatest(5)
    assert greatest(25, rows_of_one=5.0)[0] - rho == pytest.approx(once - rho, rel=1e-9)


def test_what_is_held_all_the_same_is_worth_holding():
    """A holding too small to call the asset held says by how much its return may be above."""
    high, rho, gain = greatest(1000, held=0.0005, noise=0.0)
    assert high >= rho + 0.0005 / gain
    assert greatest(1000, held=0.0, noise=0.0)[0] == pytest.approx(rho, rel=1e-12)


def test_a_bound_counts_the_errors_of_the_returns_and_of_the_covariance():
    """Neither shrinks with the number of investors."""
    certain = greatest(1000)[0]
    shift = np.array([1.0, 1.0, 1.0])  # a common rise of all returns moves the price alike
    high, _, _ = greatest(1000, known=sources(1e-6 * np.outer(shift, shift)))
    assert high - certain == pytest.approx(ndtri(0.95) * 1e-3, rel=1e-6)
    moved, _, _ = greatest(1000, known=sources(bias=0.001 * shift))
    assert moved == pytest.approx(certain - 0.001 + ndtri(0.95) * UNSURE_OF_BIAS * 0.001, rel=1e-6)
    short, long = (greatest(1000, known=sources(periods=of))[0] for of in (61.0, 241.0))
    assert short - certain == pytest.approx(2.0 * (long - certain), rel=1e-9)
    assert long > certain


def test_a_bound_far_from_all_that_is_known_says_nothing():
    status = np.array(["anchored", "identified", *["bounded above"] * 3, "bounded below"])
    r = np.array([0.02, 0.10, 0.0, 0.0, 0.0, 0.0])
    low = np.array([0.02, 0.09, -1.0, -1.0, -1.0, -0.07])
    high = np.array([0.02, 0.11, 0.17, 0.19, -0.29, 1.0])
    far = _far_from_known(status, r, low, high)
    assert far.tolist() == [False, False, False, True, True, True]
    assert not _far_from_known(status[1:], r[1:], low[1:], high[1:]).any()  # nothing to compare


@pytest.mark.parametrize(
    ("low", "high", "holders", "why"),
    [
        (-np.inf, 0.5, 0, "300 of 300 investors do not hold it, which rules"),
        (0.5, np.inf, 300, "holdings at its cap rule"),
    ],
)
def test_a_bound_that_is_not_stated_says_why(low, high, holders, why):
    known = returns.KnownReturn(
        "Gold", "not seen", 0.03, low, high, 300, holders, False, (), far=True
    )
    assert returns.asset_sentence(known, 300, 0.95, "") == (
        f"The portfolios say nothing of use about Gold: {why} out only returns far from all that "
        "are known."
    )


def test_rounding_decides_nothing_at_a_turning_point():
    """A weight a rounding error below or above a turning point is at it."""
    nobody, counted = np.zeros(8, bool), np.ones(1, bool)
    eight = market("paper8")
    frontier = imop.efficient_frontier(
        imop.portfolio_problem(eight.covariance), eight.expected_returns
    )
    seen = 0
    for lam in frontier.lams[1:-1]:
        exact, below, above = (
            list(
                _places(frontier, _where(frontier, np.array([lam * near]), nobody, counted), nobody)
            )
            for near in (1.0, 1.0 - 1e-13, 1.0 + 1e-13)
        )
        for one in (below, above):
            assert [(p.segment, p.turning) for p in one] == [(p.segment, p.turning) for p in exact]
        seen += sum(place.turning for place in exact)
    assert seen > 2


@pytest.mark.parametrize(
    ("dead", "low", "high", "status"),
    [
        (False, -np.inf, 1.2, "not seen"),  # beyond the box, which is no bound of theirs
        (False, -0.2, 1.2, "not seen"),
        (False, -0.2, 0.1, "bounded above"),
        (False, -np.inf, np.inf, "not seen"),
        (False, -np.inf, 0.1, "bounded above"),
        (False, 0.1, np.inf, "bounded below"),
        (False, 0.1, 0.2, "bounded"),
        (True, -np.inf, np.inf, "not seen"),
        (True, -np.inf, 0.1, "not seen"),
        (True, 0.1, np.inf, "not seen"),
    ],
)
def test_the_status_of_an_asset_without_information(dead, low, high, status):
    """Bounds count where the asset is not held; of a dead asset they say nothing."""
    problem = SimpleNamespace(n=1, theta=SimpleNamespace(lower=np.zeros(1), upper=np.ones(1)))
    subspace = SimpleNamespace(open_assets=np.zeros(1, bool))
    found = identify._statuses(
        problem, np.array([max(low, 0.0)]), np.array([min(high, 1.0)]), np.zeros(1, bool),
        np.zeros(1, bool), np.array([dead]), np.zeros(1, bool), subspace,
        bounds.Bounds(np.array([low]), np.array([high]), np.ones(1)),
    )  # fmt: skip
    assert found == (status,)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.7), (0.3, 1.0)])
def test_a_bound_that_errors_push_to_the_edge_of_the_box_is_none(low, high):
    """The portfolios' own bound is inside the box; with what is not known of covariance and anchors
    it reaches to the edge."""
    problem = SimpleNamespace(n=1, theta=SimpleNamespace(lower=np.zeros(1), upper=np.ones(1)))
    subspace = SimpleNamespace(open_assets=np.zeros(1, bool))
    found = identify._statuses(
        problem, np.array([low]), np.array([high]), np.zeros(1, bool), np.zeros(1, bool),
        np.zeros(1, bool), np.zeros(1, bool), subspace,
        bounds.Bounds(np.array([0.4]), np.array([0.6]), np.ones(1)),
    )  # fmt: skip
    expected = {(0.0, 1.0): "not seen", (0.0, 0.7): "bounded above", (0.3, 1.0): "bounded below"}
    assert found == (expected[low, high],)


def naive_sums(info, held, counts):
    """The sums of `information` from their places, one investor at a time."""
    frontier, points = info.frontier, info.projection.points
    n = frontier.problem.n
    hessian, score, outer = np.zeros((n, n)), np.zeros(n), np.zeros((n, n))
    for place in info.places:
        for t in place.rows:
            y, x = held[t, place.free], points[t, place.free]
            scale = x.sum() / y.sum() if y.sum() > x.sum() / n else 1.0
            one = np.zeros(n)
            one[place.free] = info.lams[t] * (place.slope @ (scale * y - x))
            block = np.zeros((n, n))
            block[np.ix_(place.free, place.free)] = place.slope @ place.slope.T
            hessian += counts[t] * info.lams[t] ** 2 * block
            score += counts[t] * one
            outer += counts[t] * np.outer(one, one)
    return hessian, score, outer


@pytest.mark.parametrize("ignored", [(), (2,), (1, 6)])
def test_the_compiled_sums_are_those_of_the_places(ignored):
    eight = market("paper8")
    problem = imop.portfolio_problem(eight.covariance, upper=0.5)
    frontier = imop.efficient_frontier(problem, eight.expected_returns)
    rng = np.random.default_rng(0)
    held = np.maximum(frontier.at(rng.uniform(0, 1, 80)) + rng.normal(0, 0.01, (80, 8)), 0.0)
    held /= held.sum(axis=1, keepdims=True)
    counts = rng.integers(0, 3, 80).astype(float)
    leave = np.isin(np.arange(8), ignored)
    info = information(frontier, held, counts, ignored=leave, noise_sd=0.01)
    assert any(place.turning for place in info.places) or ignored
    for found, naive in zip(
        (info.hessian, info.score, info.outer), naive_sums(info, held, counts), strict=True
    ):
        np.testing.assert_allclose(found, naive, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(counts @ info.scores, info.score, rtol=1e-9, atol=1e-12)


def test_an_attribute_that_lacks_one_investor_does_not_match():
    investors = pd.Index(["Ann", "Ben", "Cid"])
    with pytest.raises(InvalidInput, match="does not match the 3 investors"):
        attribute_groups(investors, pd.Series({"Ann": "old", "Ben": "young"}))
    found = attribute_groups(investors, pd.Series({"Cid": "old", "Ann": "old", "Ben": "young"}))
    assert found.tolist() == ["old", "young", "old"]


@pytest.mark.parametrize(("different", "groups"), [(10, 10), (11, 4)])
def test_more_than_ten_numbers_are_cut_at_their_quartiles(different, groups):
    found = attribute_groups(pd.RangeIndex(different), list(range(different)))
    assert found.nunique() == groups


@pytest.mark.parametrize(("form", "groups"), [("0.{:02}", 4), ("0{:02}", 12), ("x{}", 12)])
def test_numbers_that_a_file_gave_as_text_are_numbers_and_codes_are_not(form, groups):
    given = pd.Series([form.format(number) for number in range(12)], dtype="str")
    assert attribute_groups(given.index, given).nunique() == groups
    named = group_labels(pd.DataFrame({"given": given.repeat(12).tolist()}), "given")
    assert len(named.names) == groups


def test_one_date_that_cannot_be_read_does_not_forbid_groups_by_year():
    dates = pd.DataFrame({"date": ["2020-01-31", "someday", "2021-06-30"] * 10})
    assert group_labels(dates, "year").names == ("2020", "2021", "not given")
    with pytest.raises(InvalidInput, match="year"):
        group_labels(pd.DataFrame({"date": ["someday"] * 30}), "year")


def test_the_error_of_lam_is_that_of_a_holding_over_the_length_of_the_step():
    """lam is read off along ds: error / length; the level of the stretch adds its own share."""
    info = information(FRONTIER, FRONTIER.at([0.3, 0.4, 0.5]))
    (place,) = info.places
    free, s = place.free, place.direction
    assert free.tolist() == [0, 1]
    length = s[0] ** 2 + s[1] ** 2
    start = FRONTIER.portfolios[place.segment][free]
    along = (s[0] * start[0] + s[1] * start[1]) / np.sqrt(length)
    covariance = np.array([[4e-6, 1e-6, 0.0], [1e-6, 9e-6, 0.0], [0.0, 0.0, 0.0]])
    errors = prices.Prices.of(info, place).errors(covariance, 0.003)
    assert errors.own == pytest.approx(0.003**2 * (1.0 + 2.0 * along**2) / length, rel=1e-12)
    # a step of the returns moves lam by -lam q'dr, q = M s / length; M from its definition
    Q = PROBLEM.covariance[np.ix_(free, free)]
    across = np.array([1.0, -1.0])
    M = np.outer(across, across) / (across @ Q @ across)
    q = M @ s / length
    C = covariance[np.ix_(free, free)]
    assert errors.Cq == pytest.approx(C @ q, rel=1e-9)
    assert errors.qCq == pytest.approx(q @ C @ q, rel=1e-9)


def test_newton_on_beliefs_is_that_of_the_joint_problem():
    """Profiling an investor's two numbers out is a Schur complement of all second derivatives."""
    rng = np.random.default_rng(3)
    held = np.array([[True, True, True], [True, False, True]])
    capped = np.array([[False, False, True], [False, False, False]])
    likelihood = Likelihood(rng.uniform(0.02, 0.2, (2, 3)), held, capped, np.array([1.0, 2.0]))
    a, b, r = np.array([0.7, 1.3]), np.array([0.1, -0.2]), np.array([0.3, 0.9, 0.5])
    S, gradient, (va, vb, xa, xb) = likelihood.newton(a, b, likelihood.terms(a, b, r))

    def value(v):
        return likelihood.value(v[:2].copy(), v[2:4].copy(), v[4:].copy())

    at, step = np.concatenate([a, b, r]), 1e-4
    unit = step * np.eye(7)
    slope = np.array([(value(at + e) - value(at - e)) / (2 * step) for e in unit])
    bend = -np.array(
        [
            [
                value(at + e + f) - value(at + e - f) - value(at - e + f) + value(at - e - f)
                for f in unit
            ]
            for e in unit
        ]
    ) / (4 * step**2)
    own, cross, rest = bend[:4, :4], bend[:4, 4:], bend[4:, 4:]
    alone = np.linalg.solve(own, slope[:4])
    assert np.concatenate([va, vb]) == pytest.approx(alone, rel=1e-4)
    assert np.vstack([xa, xb]) == pytest.approx(np.linalg.solve(own, cross), rel=1e-4, abs=1e-6)
    assert pytest.approx(rest - cross.T @ np.linalg.solve(own, cross), rel=1e-4, abs=1e-5) == S
    assert gradient == pytest.approx(slope[4:] - cross.T @ alone, rel=1e-4, abs=1e-6)


def test_a_group_that_holds_an_asset_holds_it_where_more_than_noise_is_there():
    """Nobody clearly, all together beyond what errors cut at zero leave: those above one error."""
    noise = 0.01
    Y = np.repeat(FRONTIER.at([0.5]), 100, axis=0)
    extra = np.where(np.arange(100) % 2 == 0, 1.5 * noise, 0.5 * noise)  # 1.0 on average
    Y[:, 2] = extra
    Y[:, 0] -= extra
    info = information(FRONTIER, Y)
    found = _perhaps_held(info, Y, noise)
    assert found[:, 2].tolist() == [True, False] * 50
    few = np.repeat(FRONTIER.at([0.5]), 100, axis=0)
    few[:, 2] = 0.4 * noise  # what errors alone leave
    few[:, 0] -= 0.4 * noise
    assert not _perhaps_held(information(FRONTIER, few), few, noise).any()
