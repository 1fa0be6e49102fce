"""What if: measured as the engine measures, caps and benchmarks included."""

from dataclasses import replace

import numpy as np
import pytest

import imop_engine as imop
from imop_engine.clients.book import ClientBook
from imop_engine.clients.what_if import beside, capped, model_portfolios, what_if
from imop_engine.errors import InvalidInput
from imop_engine.study.checks import Check


@pytest.fixture(scope="module")
def book(study):
    return ClientBook.of(study)


def test_a_held_portfolio_measures_as_in_the_study(study, book):
    found = what_if(book, 3.0 * book.held[5])
    assert found.portfolio == pytest.approx(book.held[5])
    assert found.risk == pytest.approx(book.risk[5])
    assert found.gap == pytest.approx(book.gap[5], abs=1e-10)
    assert found.weight == pytest.approx(study.frame_investors["weight"].iloc[5])
    assert found.score == pytest.approx(book.score[5])


def test_caps_lower_the_frontier_and_are_kept_by_the_twin(study, book):
    free, tight = what_if(book, book.held[5]), what_if(book, book.held[5], {"World equity": 0.05})
    assert tight.twin[study.problem.names.index("World equity")] <= 0.05 + 1e-9
    assert tight.twin @ study.theta <= free.twin @ study.theta + 1e-12
    assert tight.above_caps == pytest.approx(
        max(book.held[5][study.problem.names.index("World equity")] - 0.05, 0.0)
    )
    frontier = imop.efficient_frontier(capped(book, {"World equity": 0.05}), study.theta)
    assert (frontier.portfolios[:, 5] <= 0.05 + 1e-9).all()
    with pytest.raises(InvalidInput, match="no asset 'Gold'"):
        what_if(book, book.held[5], {"Gold": 0.1})
    with pytest.raises(InvalidInput, match="zero or more"):
        what_if(book, -book.held[5])


def test_a_benchmark_beside_itself_differs_in_nothing(book):
    assert all(abs(one) < 1e-12 for one in beside(book, book.held[1], book.held[1]).values())
    found = beside(book, book.held[1], book.held[2])
    apart = book.held[1] - book.held[2]
    assert found["active_share"] == pytest.approx(np.abs(apart).sum() / 2)
    assert found["more_return"] == pytest.approx(apart @ book.study.theta)


def test_model_portfolios_are_efficient_and_in_the_order_of_risk(study, book):
    table = model_portfolios(book, "risk profile").set_index("segment")
    held = table[list(study.problem.names)].to_numpy()
    assert imop.efficiency(study.problem, study.theta, held).gaps == pytest.approx(0.0, abs=1e-9)
    assert held.sum(axis=1) == pytest.approx(1.0)
    scores = table["score"]
    assert scores["conservative"] < scores["balanced"] < scores["growth"]


def test_a_poor_study_has_no_models_and_no_returns(study):
    poor = replace(study)
    vars(poor)["_checks"] = (Check("trial", "poor", "Something.", "Mend it."),)
    book = ClientBook.of(poor)
    with pytest.raises(InvalidInput, match="poor"):
        model_portfolios(book, "branch")
    found = what_if(book, book.held[0])
    assert np.isnan([found.expected, found.gap, found.weight, found.risk_aversion]).all()
    assert found.twin is None
    assert found.risk > 0
