"""A score as third objective on a study: what is fitted, what is left out, what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.curve import decisions
from imop_engine.errors import InvalidInput
from imop_engine.study import scoring

SCORES = [0.1, 0.9, 0.4, 0.7, 0.2, 0.8, 0.5, 0.3]
PAPER = market("paper8")
TRUE = PAPER.expected_returns


def study_of(portfolios: np.ndarray):
    held = pd.DataFrame(portfolios, columns=list(PAPER.names))
    return imop.run_study(PAPER.returns_by_asset, PAPER.covariance_by_asset, held)


@pytest.fixture(scope="module")
def price() -> np.ndarray:
    return np.random.default_rng(3).uniform(0.0, 0.05, 120)


@pytest.fixture(scope="module")
def study(price):
    """120 investors who give up to 5 % a year for a unit of the score."""
    bold = np.exp(np.random.default_rng(2).normal(np.log(0.12), 0.7, len(price)))
    weights = np.column_stack([2 * bold, np.ones(len(price)), 2 * bold * price])
    weights /= weights.sum(axis=1, keepdims=True)
    problem = imop.score_problem(PAPER.covariance, SCORES)
    return study_of(decisions(problem, TRUE, weights).round(3))


def test_returns_prices_and_the_surface_come_back(study, price):
    known = {PAPER.names[i]: TRUE[i] for i in (0, 4, 5)}
    found = scoring.score_study(study, SCORES, known)
    assert found.fit.open == 0
    np.testing.assert_allclose(found.fit.returns["estimate"], TRUE, atol=2e-3)
    assert np.median(np.abs(found.fit.investors["price"] - price)) < 1e-3
    assert found.surface is not None
    assert found.left_out == ()
    assert found.investors == len(found.portfolios) == 120
    assert found.fit.explained > found.explained_without


def test_three_known_returns_are_proposed_that_tell_things_apart(study):
    known = scoring.suggested_anchors(study, SCORES)
    assert len(known) == 3
    candidates = scoring.score_candidates(study)
    for name, value in known.items():
        assert value == candidates.candidate(name).value
    assert scoring.score_study(study, SCORES, known).fit.open == 0
    assert scoring.suggested_anchors(study, [1.0] * 8) == {}, "a score that is all the same"
    assert scoring.suggested_anchors(study, [np.nan, *SCORES[1:]]) == {}


def test_what_hardly_anybody_holds_is_left_out_with_those_who_do(study):
    held = study.decisions.to_numpy(dtype=float)
    rows = held[held[:, 6] <= 0.001].copy()
    rows[0] = np.eye(8)[6]  # one investor holds nothing else
    found = scoring.score_study(study_of(rows), SCORES, {})
    assert PAPER.names[6] in found.left_out
    assert [*found.portfolios.columns, *found.left_out] == list(PAPER.names)
    others = rows[:, -len(found.left_out) :].sum(axis=1)
    assert 0 < len(found.portfolios) == (others < 0.0105).sum() < len(rows)
    np.testing.assert_allclose(found.portfolios.sum(axis=1), 1.0)


def test_of_very_many_an_even_sample_is_fitted(study, monkeypatch):
    monkeypatch.setattr(scoring, "MOST_INVESTORS", 50)
    found = scoring.score_study(study, SCORES)
    assert len(found.portfolios) == 50
    assert found.investors == 120
    assert found.portfolios.index[0] == study.decisions.index[0]
    assert found.portfolios.index[-1] == study.decisions.index[-1]


def test_what_cannot_be_is_refused_in_a_sentence(study):
    with pytest.raises(InvalidInput, match="Gold is neither an asset nor a portfolio"):
        scoring.score_study(study, SCORES, {"Gold": 0.05})
    limited = replace(study, settings=replace(study.settings, lower={PAPER.names[0]: 0.01}))
    with pytest.raises(InvalidInput, match="least holdings"):
        scoring.score_study(limited, SCORES)


def test_the_example_is_computed_from_the_market(study):
    found, what = scoring.example_scores(study)
    assert what == scoring.CALM, "this market has no history"
    np.testing.assert_allclose(found, -np.sqrt(np.diag(PAPER.covariance)))
