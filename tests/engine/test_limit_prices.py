"""What limits cost: where they bind and the return lost, beside portfolios found one by one."""

import cvxpy as cp
import numpy as np
import pytest

from imop_engine.bundled import market
from imop_engine.limit_prices import limit_prices
from imop_engine.limit_text import parse_limits
from imop_engine.limits import Limits, limit_rows
from imop_engine.report.frames_limits import binding_stretches, limit_curves, price_lines
from imop_engine.sentences.limits import ALL_LIMITS


@pytest.fixture(scope="module")
def us20():
    return market("us20")


@pytest.fixture(scope="module")
def limits(us20):
    texts = ["sector:Technology <= 30%", "cycle:defensive >= 40%", "sector:Energy <= 99%"]
    return Limits(
        upper=0.2, floors=(("JNJ", 0.02),), linear=parse_limits(texts, us20.names, us20.groups)
    )


@pytest.fixture(scope="module")
def prices(us20, limits):
    return limit_prices(us20.covariance, us20.expected_returns, limits, us20.names, 20)


def most_return(us20, risk, rows, upper, lower):
    """The most return at a risk, by a conic solver."""
    x = cp.Variable(us20.size)
    factor = np.linalg.cholesky(us20.covariance)
    within = [cp.sum(x) == 1, x >= lower, x <= upper, cp.norm(factor.T @ x) <= risk]
    within += [
        row @ x <= h if sense == "<=" else row @ x >= h
        for row, h, sense in zip(rows.G, rows.h, rows.senses, strict=True)
    ]
    return cp.Problem(cp.Maximize(us20.expected_returns @ x), within).solve(solver="CLARABEL")


def test_a_price_is_the_return_to_be_had_at_the_same_risk(us20, limits, prices):
    place = len(prices.weights) - 3
    risk, earned = prices.risks[place], prices.returns[place]
    floor = limits.lower_of(us20.names)
    every = limit_rows(limits.linear, us20.names)
    assert most_return(us20, risk, every, 0.2, floor) == pytest.approx(earned, abs=1e-6)
    by_name = {one.sentence: one.prices[place] for one in prices.limits}
    others = limit_rows(limits.linear[1:], us20.names)
    without_first = most_return(us20, risk, others, 0.2, floor) - earned
    assert by_name["sector:Technology at most 30%"] == pytest.approx(without_first, abs=1e-6)
    assert without_first > 1e-3
    uncapped = most_return(us20, risk, every, 1.0, floor) - earned
    assert by_name["every holding at most 20%"] == pytest.approx(uncapped, abs=1e-6)
    free = most_return(us20, risk, limit_rows((), us20.names), 1.0, 0.0) - earned
    assert prices.total[place] == pytest.approx(free, abs=1e-6)


def test_where_a_limit_binds_the_portfolio_is_at_it_and_elsewhere_it_costs_nothing(prices, us20):
    technology = prices.limits[0]
    held = prices.portfolios[:, [us20.names.index(one) for one in ("AAPL", "AMD", "MSFT")]]
    np.testing.assert_allclose(held.sum(axis=1)[technology.binds], 0.3, atol=1e-9)
    assert technology.binds.any()
    assert not technology.binds.all()
    for one in prices.limits:
        assert one.prices[~one.binds].max(initial=0.0) < 1e-7
        assert (one.prices <= prices.total + 1e-9).all()


def test_tables_tell_which_limit_is_dear_and_which_does_nothing(prices):
    table = prices.table().set_index("limit")
    assert table.index[0] == ALL_LIMITS
    assert table["greatest_price"].iloc[1:].is_monotonic_decreasing
    assert not table.loc["sector:Energy at most 99%", "binds"]
    assert np.isnan(table.loc["sector:Energy at most 99%", "risk_from"])
    assert table.loc["JNJ at least 2%", "risk_from"] <= table.loc["JNJ at least 2%", "risk_to"]
    stretches = binding_stretches(prices)
    assert "sector:Energy at most 99%" not in set(stretches["limit"])
    assert (stretches["risk_from"] <= stretches["risk_to"]).all()
    lines = price_lines(prices, 2)
    assert list(dict.fromkeys(lines["limit"])) == [*table.index[:3]]
    np.testing.assert_allclose(lines["points"], 1e4 * lines["price"])
    curves = limit_curves(prices).groupby("series")["return"].max()
    assert curves["without limits"] > curves["with limits"]


def test_a_single_limit_is_told_once(us20):
    one = limit_prices(us20.covariance, us20.expected_returns, Limits(upper=0.3), us20.names, 5)
    assert list(dict.fromkeys(price_lines(one)["limit"])) == ["every holding at most 30%"]
    none = limit_prices(us20.covariance, us20.expected_returns, Limits(), us20.names, 5)
    assert none.limits == ()
    assert none.total.max() < 1e-9
