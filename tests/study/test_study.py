"""A study: the same digits in any number of steps, stopped, resumed, continued, saved, opened."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import imop_engine as imop
import reference
from imop_engine.bundled import market
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.inference.estimate import estimate_returns
from imop_engine.inference.estimating_equations import Refined
from imop_engine.inference.estimators import HOLDINGS, errors_in_holdings, total_loss
from imop_engine.population import simulate_population
from imop_engine.simulate import simulate_investors
from imop_engine.study import load_state, more_steps, save_state
from imop_engine.study.data import Reading, StudyData
from imop_engine.study.opening import efficiency_opening
from imop_engine.study.steps import DONE, SEARCHED

FRAMES = ("frame_returns", "frame_investors", "frame_frontier", "frame_distribution")


def exhaust(steps):
    *_, last = steps
    return last


def stop_after(steps, least):
    for step in steps:
        if step.done >= least:
            return step
    raise AssertionError("the study ended before it could be stopped")


# -- steps ---------------------------------------------------------------------------------------
def test_steps_count_up_and_end_with_the_study(moments, portfolios, truth):
    steps = list(imop.study_steps(*moments, portfolios, truth=truth))
    done = [step.done for step in steps]
    assert done[0] == 0
    assert done == sorted(done)
    assert done[-1] == len(portfolios)
    assert [step.study is not None for step in steps] == [False] * (len(steps) - 1) + [True]
    assert steps[-1].stage == DONE
    assert len({step.done for step in steps}) >= 40, "enough steps for a curve"
    assert steps[0].share == 0.0
    assert steps[-1].share == 1.0
    assert np.isfinite(steps[1].loss)


def test_a_study_is_what_its_parts_say(study, moments, portfolios):
    problem = imop.anchor_by_history(
        imop.portfolio_problem(moments[1], bounds=(-1.0, 1.0)), moments[0], portfolios
    )
    held = portfolios.to_numpy()
    start = efficiency_opening(problem, held[:SEARCHED], moments[0].to_numpy())
    learner = imop.OnlineLearner(problem, weights="exact", theta0=start)
    learner.partial_fit(portfolios)
    np.testing.assert_array_equal(study.state.learned.theta, learner.theta_)
    history = moments[0].to_numpy()
    found = estimate_returns(
        problem, held, (learner.theta_,), study.estimate.clusters, history=history
    )
    np.testing.assert_array_equal(study.theta, found.theta)
    assert (found.way, found.notes) == (HOLDINGS, ())
    np.testing.assert_array_equal(found.kept, study.estimate.kept)
    assert total_loss(problem, held, found.theta) <= total_loss(problem, held, learner.theta_)
    assert study.problem.theta.contains(study.theta)


@pytest.mark.slow
def test_fitting_together_gets_over_what_stops_each_search_alone(us20):
    """A stream that ended far off: one return 0.68 too high, and two local searches stuck."""
    rng = np.random.default_rng(5)
    truth = us20.expected_returns + rng.normal(0.0, 0.02, 20)
    free = imop.portfolio_problem(us20.covariance, names=us20.names, bounds=(-1.0, 1.0))
    held = simulate_population(free, truth, 1000, rng=rng).portfolios
    problem = imop.anchor_by_history(free, truth, held)
    learner = imop.OnlineLearner(problem, weights="exact", theta0=us20.expected_returns)
    start = learner.partial_fit(held).theta_
    found = errors_in_holdings(problem, held, 0.0, start).theta
    alone = [search(problem, held, start).theta for search in (imop.polish, imop.refine)]
    least = min(total_loss(problem, held, theta) for theta in (start, *alone))
    assert total_loss(problem, held, found) <= least * (1 + 1e-9)
    often = (held > 0.003).mean(axis=0) > 0.03
    assert np.abs(found - truth)[often].max() < 0.001


@pytest.mark.parametrize(("times", "taken"), [(1.4, True), (1.6, False)])
def test_equations_are_believed_up_to_half_more_than_the_least_loss(
    times, taken, study, portfolios, monkeypatch
):
    """A solution of the estimating equations that explains the portfolios too badly is none."""
    held, problem = portfolios.to_numpy(), study.problem
    refine = "imop_engine.inference.estimators.refine_counts"

    def settled_at(theta):
        return lambda *given, **chosen: Refined(theta, 0, True, 0.0)

    every = np.ones(problem.n, bool)  # which assets are held is another question
    monkeypatch.setattr("imop_engine.inference.estimators._held", lambda *given: every)
    monkeypatch.setattr(refine, settled_at(study.theta))
    best = errors_in_holdings(problem, held, 0.0, study.theta).theta
    least = total_loss(problem, held, best)
    away = problem.theta.projector @ np.random.default_rng(0).normal(size=problem.n)

    def above(length):
        return total_loss(problem, held, best + length * away) / least - times

    far = best + brentq(above, 0.0, 1.0) * away
    monkeypatch.setattr(refine, settled_at(far))
    found = errors_in_holdings(problem, held, 0.0, best)
    assert np.array_equal(found.theta, far) == taken
    assert taken or total_loss(problem, held, found.theta) <= least
    assert (found.solution is not None) == taken


def test_default_anchors_keep_what_history_says(study, moments):
    rows = study.problem.theta.equalities
    assert len(rows) == 2
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(rows @ study.theta, rows @ moments[0].to_numpy(), atol=1e-12)


def test_learning_brings_the_estimate_nearer_to_the_truth(study, moments, truth):
    before = imop.aligned_error(moments[0], truth)
    assert study.figures["aligned_error"] < before
    held = study.frame_returns["investors"] > 30
    seen = study.frame_returns[held & (study.frame_returns["status"] == "identified")]
    assert len(seen) > 5
    assert (seen["error"].abs().mean()) < (seen["history"] - seen["true"]).abs().mean()


def test_tables_have_the_columns_that_were_promised(study):
    assert list(study.frame_returns.columns[:5]) == ["asset", "estimate", "low", "high", "status"]
    assert list(study.frame_investors.columns[:4]) == ["id", "weight", "risk_aversion", "distance"]
    assert list(study.frame_frontier.columns[:4]) == ["weight", "risk_aversion", "risk", "return"]
    assert {"low", "high", "count", "share"} <= set(study.frame_distribution.columns)
    assert set(study.frame_investors["segment"]) == {"careful", "bold"}
    assert study.frame_distribution["count"].sum() + study.fit.outliers == len(study.decisions)


def test_weights_come_back(study, people):
    off = (study.frame_investors["weight"] - people.weights).abs()
    assert off.median() < 0.02


# -- stop, resume, continue ----------------------------------------------------------------------
@pytest.mark.parametrize("least", [0, 1, 100, 299])
def test_a_stopped_run_goes_on_to_the_same_digits(
    least, study, moments, portfolios, truth, tmp_path
):
    stopped = stop_after(imop.study_steps(*moments, portfolios, truth=truth), least)
    save_state(stopped.state, tmp_path / "checkpoint.npz")
    state = load_state(tmp_path / "checkpoint.npz")
    last = exhaust(imop.study_steps(*moments, portfolios, truth=truth, state=state))
    np.testing.assert_array_equal(last.study.theta, study.theta)
    np.testing.assert_array_equal(last.study.state.learned.losses, study.state.learned.losses)
    assert last.study.figures["certified"] == study.figures["certified"]


def test_a_checkpoint_of_version_0_1_0_goes_on_to_the_same_digits():
    """The file was written by that version, under names that were private to its learner."""
    Q, r = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
    problem = imop.portfolio_problem(Q)
    held = np.array([imop.solve(problem, r, w) for w in np.linspace(0.1, 0.9, 24)]).round(3)
    state = load_state(Path(__file__).with_name("checkpoint_format_1.npz"))
    assert state.rounds == state.learned.rounds == len(state.learned.losses) == 12
    resumed = exhaust(imop.study_steps(r, Q, held, state=state)).study
    whole = exhaust(imop.study_steps(r, Q, held, state.settings)).study
    np.testing.assert_allclose(resumed.theta, whole.theta, rtol=1e-9)
    np.testing.assert_allclose(
        resumed.state.learned.losses, whole.state.learned.losses, rtol=1e-6, atol=1e-15
    )


def test_a_checkpoint_of_a_later_format_is_refused(study, tmp_path):
    path = tmp_path / "checkpoint.npz"
    save_state(study.state, path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["about"] = np.array(str(arrays["about"]).replace('"format": 3', '"format": 4'))
    np.savez(path, **arrays)
    with pytest.raises(InvalidInput, match="is a checkpoint of format 4, this version reads 3"):
        load_state(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"weights": 21},
        {"weights": 11, "algorithm": "full"},
        {"algorithm": "newton"},
        {"algorithm": "newton", "forgetting": 0.98},
    ],
)
def test_every_algorithm_resumes(options, moments, portfolios):
    chosen = imop.StudySettings(refine=False, **options)
    few = portfolios.iloc[:60]
    whole = exhaust(imop.study_steps(*moments, few, chosen)).theta
    stopped = stop_after(imop.study_steps(*moments, few, chosen), 20)
    again = exhaust(imop.study_steps(*moments, few, chosen, state=stopped.state)).theta
    np.testing.assert_array_equal(again, whole)


def test_new_portfolios_go_on_under_the_old_anchors(moments, portfolios):
    chosen = imop.StudySettings(refine=False, start="history")
    first = exhaust(imop.study_steps(*moments, portfolios.iloc[:200], chosen)).study
    more = exhaust(more_steps(first, portfolios.iloc[200:])).study
    assert more.rounds == 300
    np.testing.assert_array_equal(more.problem.theta.values, first.problem.theta.values)
    learner = imop.OnlineLearner(first.problem, weights="exact", theta0=moments[0])
    learner.partial_fit(portfolios.iloc[:200]).partial_fit(portfolios.iloc[200:])
    np.testing.assert_array_equal(more.theta, learner.theta_)


def test_resuming_asks_for_the_same_data_and_settings(moments, portfolios):
    stopped = stop_after(imop.study_steps(*moments, portfolios), 50)
    with pytest.raises(InvalidInput, match="not those that the run to resume has seen"):
        imop.study_steps(*moments, portfolios.iloc[::-1], state=stopped.state)
    with pytest.raises(InvalidInput, match="not those"):
        imop.study_steps(*moments, portfolios.iloc[:5], state=stopped.state)
    with pytest.raises(InvalidInput, match=r"had rate 5.0 and this one has 3.0"):
        imop.study_steps(*moments, portfolios, imop.StudySettings(rate=3.0), state=stopped.state)
    with pytest.raises(InvalidInput, match="other returns or covariances"):
        imop.study_steps(moments[0] * 1.1, moments[1], portfolios, state=stopped.state)


def test_a_damaged_checkpoint_is_named(tmp_path):
    path = tmp_path / "checkpoint.npz"
    with pytest.raises(InvalidInput, match="there is no such checkpoint"):
        load_state(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(InvalidInput, match="not a checkpoint of a study, or it is damaged"):
        load_state(path)
    np.savez(path, about=np.array({"x": 1}, dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInput, match="damaged"):
        load_state(path)


# -- bad portfolios ------------------------------------------------------------------------------
def test_bad_portfolios_get_a_reason_and_do_not_end_the_run(moments, portfolios):
    bad = portfolios.iloc[:60].copy()
    bad.iloc[3, 2] = np.nan
    bad.iloc[7] *= 0.5
    study = imop.run_study(*moments, bad)
    table = study.frame_investors.set_index("id")
    assert table.loc[bad.index[3], "reason"] == "has no number for BAC"
    assert table.loc[bad.index[7], "reason"] == "adds up to 0.5 instead of 1"
    assert list(table["status"]).count("refused") == 2
    assert table["weight"].isna().sum() == 2
    assert (study.figures["rounds"], study.figures["refused"]) == (58, 2)
    clean = imop.run_study(*moments, bad.drop(bad.index[[3, 7]]))
    np.testing.assert_array_equal(clean.theta, study.theta)


def test_strict_mode_refuses_the_first_bad_portfolio(moments, portfolios):
    bad = portfolios.iloc[:20].copy()
    bad.iloc[3, 2] = np.nan
    with pytest.raises(InvalidInput, match=r"portfolio 4 \(I004\) has no number for BAC"):
        imop.study_steps(*moments, bad, imop.StudySettings(strict=True))


def test_a_column_of_texts_names_the_investors(moments, portfolios):
    names = [f"K-{number}" for number in range(30)]
    table = portfolios.iloc[:30].reset_index(drop=True)
    told = imop.run_study(*moments, table.assign(client=names))
    assert list(told.decisions.index) == names
    assert np.array_equal(told.theta, imop.run_study(*moments, table).theta)
    with pytest.raises(ImopError, match="client"):  # texts, but holdings beside a name
        imop.run_study(*moments, table.assign(client=names, A="0.2"))


def test_nothing_to_learn_from_is_said(moments, portfolios):
    with pytest.raises(InvalidInput, match="none of the 5 portfolios can be learned from: the fir"):
        imop.study_steps(*moments, portfolios.iloc[:5] * 0.1)


def test_one_investor_is_enough_for_an_answer(moments, portfolios):
    study = imop.run_study(*moments, portfolios.iloc[:1])
    assert study.rounds == 1
    assert len(study.frame_returns) == 20
    assert study.distribution is None
    assert study.frame_distribution["share"].sum() == 1.0
    assert any("at least 20 investors" in note for note in study.notes)


def test_assets_without_a_column_are_not_held_and_that_is_said(moments, portfolios):
    unheld = portfolios.columns[(portfolios == 0).all()]
    assert len(unheld)
    study = imop.run_study(*moments, portfolios.drop(columns=unheld))
    whole = imop.run_study(*moments, portfolios)
    np.testing.assert_array_equal(study.theta, whole.theta)
    assert any(f"no column for {unheld[0]}" in note for note in study.notes)


def test_portfolios_may_be_any_table_of_columns(moments, portfolios):
    """What pandas can make a frame of is as good as a frame."""
    frame = portfolios.head(5)
    plain = StudyData.of(*moments, {name: frame[name].tolist() for name in frame})
    same = StudyData.of(*moments, frame)
    np.testing.assert_array_equal(plain.investors.portfolios, same.investors.portfolios)
    assert plain.market.names == same.market.names


def test_a_reading_is_taken_as_it_is():
    reading = Reading("p.csv", 3, 2, 1, 1, ("row 4: gone.",), pd.DataFrame())
    assert Reading.of(reading) is reading


# -- settings ------------------------------------------------------------------------------------
def test_the_settings_of_who_chooses_nothing():
    assert imop.StudySettings() == imop.StudySettings(
        weights="exact", algorithm="accelerated", rate=5.0, forgetting=1.0, anchors=None,
        upper=1.0, bounds=None, loss="distance", start="efficiency", refine=True, level=0.95,
        seed=0, strict=False, title="", notes="",
    )  # fmt: skip


def test_settings_survive_json():
    settings = imop.StudySettings(
        weights=41,
        anchors=[("A", 0.03), ({"A": 0.5, "B": 0.5}, 0.05)],
        upper={"A": 0.3},
        bounds=(-0.1, 0.5),
        title="x",
    )
    assert imop.StudySettings.from_dict(settings.to_dict()) == settings
    assert hash(settings) == hash(imop.StudySettings.from_dict(settings.to_dict()))


def test_anchors_of_the_analyst_hold_exactly(moments, portfolios):
    anchors = [("UNH", 0.2), ({"AAPL": 0.5, "PG": 0.5}, 0.17)]
    study = imop.run_study(*moments, portfolios, imop.StudySettings(anchors=anchors))
    values = dict(zip(study.problem.names, study.theta, strict=True))
    assert values["UNH"] == 0.2
    assert (values["AAPL"] + values["PG"]) / 2 == pytest.approx(0.17, abs=1e-12)


@pytest.mark.slow
def test_caps_hold_in_every_portfolio_of_the_frontier(moments, portfolios):
    study = imop.run_study(*moments, portfolios, imop.StudySettings(upper={"UNH": 0.2}))
    assert study.frame_frontier["UNH"].max() <= 0.2 + 1e-12
    assert study.frame_frontier["AAPL"].max() > 0.2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"start": "guess"}, "no start 'guess'"),
        ({"level": 95}, "level of the intervals is 95"),
        ({"weights": 1}, "weights is 1"),
        ({"weights": "all"}, "weights is 'all'"),
        ({"rate": -1.0}, "the rate is -1"),
        ({"anchors": {"A": "high"}}, "cannot be read"),
        ({"anchors": {"A": float("nan")}}, "is nan; give a finite return"),
        ({"anchors": 0.3}, "anchors is 0.3"),
        ({"bounds": (0.5, 0.1)}, "bounds is"),
    ],
)
def test_wrong_settings_are_named(options, words):
    with pytest.raises(InvalidInput, match=words):
        imop.StudySettings(**options)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r, q, y: (r.drop("AAPL"), q, y), "no entry for AAPL"),
        (lambda r, q, y: (r.where(r.index != "AMD"), q, y), "nan for AMD"),
        (lambda r, q, y: (r, q.iloc[:3, :3], y.iloc[:, :4]), "hold BBY, which the returns"),
        (lambda r, q, y: (r, q, y.rename(columns=lambda c: f"{c}.US")), "hold AAPL.US"),
    ],
)
def test_data_that_do_not_fit_together_are_named(change, words, moments, portfolios):
    with pytest.raises(InvalidInput, match=words):
        imop.study_steps(*change(*moments, portfolios))


CELLS = st.one_of(
    st.floats(-1, 2), st.sampled_from([0.0, 1.0, np.nan, np.inf, None, "x", "0.5", True])
)


@settings(max_examples=60)
@given(
    names=st.lists(st.sampled_from(["A", "B", "C", 1]), min_size=2, max_size=4, unique=True),
    columns=st.lists(st.sampled_from(["A", "B", "C", 1]), min_size=1, max_size=4),
    data=st.data(),
)
def test_no_table_brings_anything_but_our_own_errors(names, columns, data):
    row = st.lists(CELLS, min_size=len(columns), max_size=len(columns))
    table = pd.DataFrame(data.draw(st.lists(row, max_size=6)), columns=columns)
    returns = pd.Series(data.draw(st.lists(CELLS, min_size=len(names), max_size=len(names))))
    square = np.diag(np.linspace(0.04, 0.09, len(names)))
    returns.index, said = names, "It ran."
    try:
        imop.run_study(returns, pd.DataFrame(square, index=names, columns=names), table)
    except ImopError as error:
        said = str(error)
    assert said.endswith(".")


# -- folder --------------------------------------------------------------------------------------
def test_a_saved_study_opens_and_says_the_same(study, tmp_path):
    imop.save_study(study, tmp_path / "run")
    opened = imop.load_study(tmp_path / "run")
    for name in FRAMES:
        pd.testing.assert_frame_equal(getattr(opened, name), getattr(study, name), check_exact=True)
    assert opened.figures == study.figures
    assert opened.settings == study.settings
    np.testing.assert_array_equal(opened.theta, study.theta)


@pytest.mark.slow
def test_an_opened_study_goes_on(study, portfolios, tmp_path):
    opened = imop.load_study(imop.save_study(study, tmp_path))
    one = exhaust(more_steps(opened, portfolios.iloc[:40])).theta
    other = exhaust(more_steps(study, portfolios.iloc[:40])).theta
    np.testing.assert_array_equal(one, other)


def test_the_folder_holds_nothing_that_runs(study, tmp_path):
    imop.save_study(study, tmp_path)
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert names == {
        "returns.csv", "investors.csv", "frontier.csv", "distribution.csv", "run.json",
        "checks.csv", "differences.csv", "sources.csv",
        "report.html", "inputs/moments.csv", "inputs/portfolios.parquet",
        "inputs/attributes.parquet", "inputs/reading.csv", "inputs/checkpoint.npz",
        "manifest.json",
    }  # fmt: skip
    with np.load(tmp_path / "inputs" / "checkpoint.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def test_a_folder_that_is_none_or_broken_is_named(study, tmp_path):
    with pytest.raises(InvalidInput, match="holds no study"):
        imop.load_study(tmp_path)
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(InvalidInput, match="is a file"):
        imop.save_study(study, file)
    folder = imop.save_study(study, tmp_path / "run")
    (folder / "inputs" / "moments.csv").unlink()
    with pytest.raises(InvalidInput, match="cannot be opened as a study"):
        imop.load_study(folder)


@pytest.mark.slow
def test_a_history_far_from_beliefs_does_not_lead_astray():
    paper = market("paper8")
    truth, rng = paper.expected_returns, np.random.default_rng(0)
    problem = imop.portfolio_problem(paper.covariance)
    seen = np.round(imop.efficient_frontier(problem, truth).at(rng.uniform(1e-3, 0.999, 400)), 3)
    for _ in range(5):
        study = imop.run_study(
            pd.Series(truth + 0.1 * rng.normal(size=8), paper.names),
            pd.DataFrame(paper.covariance, paper.names, paper.names),
            pd.DataFrame(seen, columns=paper.names),
            imop.StudySettings(anchors={paper.names[i]: truth[i] for i in (0, 6)}, refine=False),
        )
        assert np.abs(study.theta - truth).max() < 0.001


def test_without_anchors_assets_that_nobody_holds_are_no_obstacle():
    """Nothing taken as known, and assets without any information: bounded, the rest relative."""
    twenty = market("us20")
    problem = imop.portfolio_problem(twenty.covariance, names=twenty.names)
    people = simulate_investors(
        problem, twenty.expected_returns, 300, rng=np.random.default_rng(1)
    ).portfolios
    study = imop.run_study(
        twenty.expected_returns,
        twenty.covariance,
        pd.DataFrame(people, columns=twenty.names),
        imop.StudySettings(start="zero", anchors=()),
    )
    assert set(study.frame_returns["status"]) == {"relative", "bounded above"}
