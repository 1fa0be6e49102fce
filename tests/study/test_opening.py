"""Where a stream begins: near the truth from any history, and never worse than where it would."""

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.inference.estimate import estimate_returns
from imop_engine.inference.estimators import total_loss
from imop_engine.inference.gaps import measure_gaps
from imop_engine.population import WeightLaw, simulate_population
from imop_engine.study.opening import efficiency_opening
from imop_engine.study.steps import SEARCHED

EIGHT = market("paper8")
FREE = imop.portfolio_problem(EIGHT.covariance, names=EIGHT.names, bounds=(-1.0, 1.0))


def drawn(noise, seed, count=300, law="normal"):
    rng = np.random.default_rng([seed, round(1e5 * noise)])
    truth = EIGHT.expected_returns + rng.normal(0.0, 0.02, 8)
    people = simulate_population(
        FREE, truth, count, segments=WeightLaw(law, 0.5, 0.15), noise="gaussian",
        noise_level=noise, rng=rng,
    )  # fmt: skip
    return truth, people.portfolios


def exhaust(steps):
    *_, last = steps
    return last.study


@pytest.mark.parametrize("noise", [0.001, 0.005, 0.02])
@pytest.mark.parametrize("law", ["normal", "uniform"])
def test_the_opening_explains_portfolios_about_as_well_as_the_truth(noise, law):
    """Studies that nothing was tuned to; the search of before was 2 to 300 times as far in some."""
    for seed in range(70, 74):
        truth, held = drawn(noise, seed, law=law)
        problem = imop.anchor_by_history(FREE, EIGHT.expected_returns, held)
        start = efficiency_opening(problem, held[:SEARCHED], EIGHT.expected_returns)
        assert problem.theta.contains(start)
        assert total_loss(problem, held, start) < 1.5 * total_loss(problem, held, truth)


def test_giving_stray_money_back_pays():
    _truth, held = drawn(0.005, 80)
    problem = imop.anchor_by_history(FREE, EIGHT.expected_returns, held)
    plain = imop.fit_efficiency(problem, held[:SEARCHED], EIGHT.expected_returns).theta
    start = efficiency_opening(problem, held[:SEARCHED], EIGHT.expected_returns)
    first = held[:SEARCHED]
    assert total_loss(problem, first, start) < 0.8 * total_loss(problem, first, plain)


def test_the_opening_does_not_depend_on_the_history_where_portfolios_speak():
    """The history decides only what nobody holds: the frontier they stand on is the same."""
    _truth, held = drawn(0.005, 81, law="uniform")
    problem = imop.anchor_by_history(FREE, EIGHT.expected_returns, held)
    rng = np.random.default_rng(5)
    starts = [
        efficiency_opening(problem, held, EIGHT.expected_returns + rng.normal(0.0, size, 8))
        for size in (0.0, 0.05, 0.2)
    ]
    losses = [total_loss(problem, held, start) for start in starts]
    np.testing.assert_allclose(losses, losses[0], rtol=0.02)


@pytest.mark.parametrize("anchors", [None, {"Security 1": 0.18}])
def test_without_a_scale_the_history_lends_one(anchors):
    truth, held = drawn(0.002, 82)
    problem = imop.with_anchors(FREE, anchors)
    start = efficiency_opening(problem, held[:SEARCHED], EIGHT.expected_returns)
    assert problem.theta.contains(start)
    assert total_loss(problem, held, start) < 1.5 * total_loss(problem, held, truth)
    assert np.ptp(start) > 0.01


def test_a_history_that_contradicts_investors_still_gives_a_scale():
    truth, held = drawn(0.002, 83)
    start = efficiency_opening(FREE, held[:SEARCHED], -EIGHT.expected_returns)
    assert total_loss(FREE, held, start) < 1.5 * total_loss(FREE, held, truth)


def test_investors_who_all_hold_the_same_leave_the_scale_open():
    held = np.tile([0.5, 0.5, 0, 0, 0, 0, 0, 0], (20, 1))
    with pytest.raises(ImopError, match="same risk"):
        efficiency_opening(FREE, held, EIGHT.expected_returns)


def test_a_study_goes_on_where_no_fit_is_possible():
    """Then the search of before opens the stream."""
    held = np.tile([0.5, 0.5, 0, 0, 0, 0, 0, 0], (20, 1))
    found = [
        imop.run_study(
            EIGHT.expected_returns, EIGHT.covariance, held,
            imop.StudySettings(anchors=(), start=start, refine=False),
        ).theta
        for start in ("efficiency", "search")
    ]  # fmt: skip
    np.testing.assert_array_equal(*found)


def test_a_stream_that_ended_far_off_does_not_move_the_estimate():
    """Searches begin from the nearest of several starts, so a bad one costs nothing."""
    _truth, held = drawn(0.005, 84)
    problem = imop.anchor_by_history(FREE, EIGHT.expected_returns, held)
    good = efficiency_opening(problem, held, EIGHT.expected_returns)
    bad = problem.theta.nearest(good[::-1].copy())
    alone, *others = (
        estimate_returns(problem, held, starts).theta
        for starts in ((), (good,), (bad,), (bad, good))
    )
    for other in others:
        np.testing.assert_allclose(other, alone, atol=1e-9)


# -- the loss as a setting -------------------------------------------------------------------------
@pytest.fixture(scope="module")
def given():
    _truth, held = drawn(0.003, 85, count=80)
    table = pd.DataFrame(held, columns=list(EIGHT.names))
    return EIGHT.expected_returns, EIGHT.covariance, table


def test_a_study_learns_by_the_loss_it_is_told(given):
    chosen = imop.StudySettings(loss="efficiency", refine=False)
    study = exhaust(imop.study_steps(*given, chosen))
    start = efficiency_opening(study.problem, study.data.decisions, EIGHT.expected_returns)
    learner = imop.OnlineLearner(study.problem, "exact", theta0=start, loss="efficiency")
    learner.partial_fit(given[2])
    np.testing.assert_array_equal(study.theta, learner.theta_)
    np.testing.assert_array_equal(study.state.learned.losses, learner.losses_)
    assert study.figures["loss"] == "efficiency"
    assert study.figures["mean_loss"] == pytest.approx(learner.losses_.mean())


@pytest.mark.parametrize("start", ["efficiency", "search", "history", "zero"])
@pytest.mark.parametrize("loss", ["distance", "efficiency"])
def test_every_start_and_loss_resumes_to_the_same_digits(given, start, loss):
    chosen = imop.StudySettings(loss=loss, start=start, refine=False)
    whole = exhaust(imop.study_steps(*given, chosen)).theta
    steps = imop.study_steps(*given, chosen)
    stopped = next(step for step in steps if step.done >= 20)
    again = exhaust(imop.study_steps(*given, chosen, state=stopped.state)).theta
    np.testing.assert_array_equal(again, whole)


def test_a_refined_study_resumes_to_the_same_digits(given):
    whole = exhaust(imop.study_steps(*given))
    stopped = next(step for step in imop.study_steps(*given) if step.done >= 20)
    again = exhaust(imop.study_steps(*given, state=stopped.state))
    np.testing.assert_array_equal(again.theta, whole.theta)


def test_resuming_refuses_another_loss(given):
    stopped = next(iter(imop.study_steps(*given)))
    other = imop.StudySettings(loss="efficiency")
    with pytest.raises(InvalidInput, match="had loss 'distance' and this one has 'efficiency'"):
        imop.study_steps(*given, other, state=stopped.state)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"loss": "gap"}, "there is no loss 'gap'; use one of distance, efficiency"),
        ({"start": "best"}, "there is no start 'best'; choose one of efficiency, search"),
    ],
)
def test_settings_that_no_learner_can_follow_are_refused(wrong, said):
    with pytest.raises(InvalidInput, match=said):
        imop.StudySettings(**wrong)


def test_studies_saved_before_there_was_a_loss_are_read():
    plain = imop.StudySettings(start="search").to_dict()
    del plain["loss"]
    assert imop.StudySettings.from_dict(plain) == imop.StudySettings(start="search")


def test_gaps_are_in_every_table_and_survive_saving(given, tmp_path):
    table = given[2].copy()
    table.iloc[5] = np.eye(8)[2]  # an asset whose return is known
    study = exhaust(imop.study_steps(*given[:2], table, imop.StudySettings(loss="efficiency")))
    frame = study.frame_investors
    known = study.known_assets
    expected = (
        measure_gaps(study.frontier, study.complete_decisions, known).investors["gap"].to_numpy()
    )
    whole = imop.efficiency(study.problem, study.theta, study.complete_decisions)
    held = study.complete_decisions.to_numpy()
    sure = (np.maximum(held, whole.portfolios)[:, ~known] < 0.005).all(axis=1)
    assert 10 < sure.sum() < len(sure), "some hold what is not known"
    np.testing.assert_array_equal(expected[sure], whole.gaps[sure])
    assert (expected[~sure] <= whole.gaps[~sure]).all(), "what the rest gains is the least"
    np.testing.assert_array_equal(frame["gap"], expected)
    assert frame["gap_outlier"].iloc[5]
    assert study.figures["mean_gap"] == pytest.approx(expected.mean())
    assert study.figures["total_gap"] == pytest.approx(expected.sum())
    assert study.figures["gap_outliers"] == int(frame["gap_outlier"].sum())
    imop.save_study(study, tmp_path / "kept")
    again = imop.load_study(tmp_path / "kept")
    assert again.settings == study.settings
    assert again.figures == study.figures
    written = pd.read_csv(tmp_path / "kept" / "investors.csv")
    np.testing.assert_allclose(written["gap"], expected, rtol=1e-12)
    page = (tmp_path / "kept" / "report.html").read_text(encoding="utf-8")
    assert "Money left on the table" in page
    assert "leaves less return on the table at its own risk" in page
    imop.export_study(study, tmp_path / "kept.xlsx")
    sheet = pd.read_excel(tmp_path / "kept.xlsx", sheet_name="investors")
    np.testing.assert_allclose(sheet["gap"], expected, rtol=1e-12)


def test_a_refused_portfolio_leaves_nothing_on_the_table(given):
    table = given[2].copy()
    table.iloc[3] = 0.3
    study = exhaust(imop.study_steps(*given[:2], table, imop.StudySettings(refine=False)))
    row = study.frame_investors.iloc[3]
    assert np.isnan(row["gap"])
    assert not row["gap_outlier"]
    assert len(study.gaps.investors) == len(table) - 1
