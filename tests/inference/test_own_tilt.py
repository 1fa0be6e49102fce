"""Tilts of each investor's own, the same at all her dates: recognised, measured and taken off."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import imop_engine as imop
from imop_engine import efficient_frontier
from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.estimate import estimate_returns
from imop_engine.inference.own_tilt import OwnTilts, own_tilts
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.report.trust import way_sentences
from imop_engine.study import Study

TRUE = np.array([0.04, 0.06, 0.07, 0.085, 0.1, 0.12, 0.02])
VOLATILITY = np.array([0.06, 0.1, 0.13, 0.16, 0.2, 0.26, 0.3])  # nobody wants the last
NAMES = [f"A{i}" for i in range(len(TRUE))]
PEOPLE, DATES, TILT, ERROR = 250, 5, 0.04, 0.004


def covariance() -> Matrix:
    correlation = 0.25 + 0.75 * np.eye(len(TRUE))
    result: Matrix = correlation * np.outer(VOLATILITY, VOLATILITY)
    return result


@pytest.fixture(scope="module")
def problem() -> Problem:
    rows = np.eye(len(TRUE))
    return portfolio_problem(
        covariance(), anchors=[(rows[0], TRUE[0]), (rows[4], TRUE[4])], bounds=(-1.0, 1.0)
    )


@pytest.fixture(scope="module")
def owners() -> NDArray[np.int64]:
    return np.repeat(np.arange(PEOPLE), DATES)


def portfolios(problem: Problem, owners: NDArray[np.int64], tilt: float) -> Matrix:
    rng = np.random.default_rng(3)
    weights = np.repeat(rng.uniform(0.2, 0.75, PEOPLE), DATES)
    weights = np.clip(weights + rng.normal(0.0, 0.05, len(weights)), 0.05, 0.95)
    tilts = rng.normal(0.0, tilt, (PEOPLE, problem.n))[owners]
    held = np.maximum(efficient_frontier(problem, TRUE).at(weights) + tilts, 0.0)
    held = np.maximum(held + rng.normal(0.0, ERROR, held.shape), 0.0)
    result: Matrix = held / held.sum(axis=1, keepdims=True)
    return result


@pytest.fixture(scope="module")
def tilted(problem: Problem, owners: NDArray[np.int64]) -> Matrix:
    return portfolios(problem, owners, TILT)


def found_in(
    problem: Problem, Y: Matrix, owners: NDArray[np.int64]
) -> tuple[Vector, OwnTilts | None]:
    plain = estimate_returns(problem, Y, clusters=owners)
    return plain.theta, own_tilts(problem, Y, owners, plain.theta, plain.kept)


def error(theta: Vector) -> float:
    return float(np.sqrt(np.mean((theta - TRUE)[:6] ** 2)))


def test_tilts_are_measured_and_returns_come_nearer(
    problem: Problem, tilted: Matrix, owners: NDArray[np.int64]
) -> None:
    before, found = found_in(problem, tilted, owners)
    assert found is not None
    assert found.investors == PEOPLE
    assert found.sd == pytest.approx(TILT, rel=0.25)  # those cut at zero are smaller
    assert found.changing_sd < 2.0 * ERROR
    assert found.lasting > 0.9
    assert not found.held[6]
    assert found.held[:5].all()
    assert error(found.theta) < 0.7 * error(before)
    # each is counted once: what is known is what so many tilts tell, not five times as much
    errors = np.sqrt(np.diag(found.covariance))[[1, 2, 3, 5]]
    assert np.all(np.abs(found.theta - TRUE)[[1, 2, 3, 5]] < 3.0 * errors)
    # what is left is nearer to the frontier than what was given
    frontier = efficient_frontier(problem, found.theta)
    rest = frontier.project(found.portfolios).distances
    assert np.median(rest) < 0.3 * np.median(frontier.project(tilted).distances)
    assert found.portfolios.sum(axis=1) == pytest.approx(1.0)
    assert found.tilts.shape == (PEOPLE, problem.n)


def test_errors_that_do_not_last_are_no_tilts(problem: Problem, owners: NDArray[np.int64]) -> None:
    Y = portfolios(problem, owners, 0.0)
    assert found_in(problem, Y, owners)[1] is None


def test_what_changes_too_much_from_date_to_date_is_not_one_frontier_with_errors(
    problem: Problem, tilted: Matrix, owners: NDArray[np.int64]
) -> None:
    rng = np.random.default_rng(4)
    moved = np.maximum(tilted + rng.normal(0.0, 0.04, tilted.shape), 0.0)
    moved /= moved.sum(axis=1, keepdims=True)
    assert found_in(problem, moved, owners)[1] is None


def test_without_several_dates_there_is_nothing_to_tell_a_tilt_from(
    problem: Problem, tilted: Matrix
) -> None:
    once = tilted[::DATES]
    assert found_in(problem, once, np.arange(len(once)))[1] is None
    twice = tilted[np.arange(len(tilted)) % DATES < 2]
    assert found_in(problem, twice, np.repeat(np.arange(PEOPLE), 2))[1] is None


@pytest.fixture(scope="module")
def study(tilted: Matrix, owners: NDArray[np.int64]) -> Study:
    ids = pd.Index([f"I{i}" for i in owners], name="investor")
    days = pd.date_range("2020-12-31", periods=DATES, freq="YE")
    return imop.run_study(
        pd.Series(TRUE + 0.01, index=NAMES),
        pd.DataFrame(covariance(), index=NAMES, columns=NAMES),
        pd.DataFrame(tilted, index=ids, columns=NAMES),
        imop.StudySettings(anchors=((NAMES[0], float(TRUE[0])), (NAMES[4], float(TRUE[4])))),
        dates=pd.Series(np.tile(days, PEOPLE), index=ids),
    )


def test_a_study_names_the_model_and_its_size(study: Study) -> None:
    tilts = study.own_tilts
    assert tilts is not None
    assert study.figures["tilt"] == tilts.sd
    warned = {check.name: check.sentence for check in study.checks}
    assert "a tilt of their own" in warned["tilt"]
    assert study.verdict == "caution"
    said = " ".join(way_sentences(study))
    assert "Each of 250 investors with several dates has a tilt of their own" in said
    assert study.estimate is not None
    assert study.explained_elsewhere == tilts.explained
    assert study.explained_elsewhere > study.estimate.found.explained["implied returns"]


def test_tables_speak_of_portfolios_as_they_are(study: Study) -> None:
    assert study.adjusted_decisions is study.decisions
    found = study.frontier.project(study.decisions)
    assert np.array_equal(study.frame_investors["distance"].to_numpy(), found.distances)
    # most of it is no error, so weights are known no better than the tilts allow
    assert study.preferences is not None
    assert study.preferences.noise.sd > 0.5 * TILT
    table = study.frame_returns.set_index("asset")
    known = table["status"] == "identified"
    true = pd.Series(TRUE, index=NAMES)[known]
    assert ((table["low"][known] <= true) & (true <= table["high"][known])).all()
    assert table.loc["A6", "status"] != "identified"
