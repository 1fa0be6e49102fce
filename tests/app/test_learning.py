"""Runs: in the background, stopped, resumed, continued, kept, found again, made again."""

import json
import shlex
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
import sqlalchemy as sa

from app_harness import PATIENCE, SMALL, page, workspace
from imop_app import recovery
from imop_app import state as app_state
from imop_app.components import status
from imop_app.database import database
from imop_app.database.tables import RUNS
from imop_app.jobs import JOBS, TRAIL_POINTS, Job, JobBook, time_left
from imop_app.run_record import RunRecord
from imop_app.services import learning, lights, reports, results, summary
from imop_app.services.errors import AppError, describe_error
from imop_app.services.opened import OpenedStudies
from imop_app.settings import (
    InvestorBatch,
    InvestorSettings,
    LearnSettings,
    Limit,
    MarketSettings,
    Settings,
    Simulation,
)
from imop_app.state import AppState
from imop_engine import cli
from imop_engine.bundled import market
from imop_engine.errors import ImopError

pytestmark = pytest.mark.slow

MANY = InvestorSettings((InvestorBatch("simulate", Simulation(count=3000)),))
PLAIN = LearnSettings(start="zero", refine=False)


def state(investors=SMALL, learn=PLAIN, market=None, name="w-test") -> AppState:
    made = workspace(name, investors=investors)
    made.learn = learn
    made.market = market or made.market
    made.save()
    return AppState(made)


def run(of: AppState, how=learning.start) -> Job:
    job = how(of.workspace, of.store)
    job.wait(PATIENCE)
    assert job.status == "finished", job.error
    of.adopt()
    return job


def shown(of: AppState):
    return results.open_run(of.store, of.workspace.run)


def test_a_run_is_kept_and_shown():
    of = state()
    job = run(of)
    (record,) = of.store.list()
    assert record.id == job.run == of.workspace.run
    assert record.rounds == 60
    assert record.settings == of.settings
    assert shown(of).theta.shape == (8,)
    assert not of.adopt(), "a run is adopted once"


def stopped_at_a_known_step(of: AppState, monkeypatch) -> Job:
    """A run that is asked to stop while it does its fourth step, however fast it is."""
    every = learning._steps

    def steps(*arguments):
        for number, step in enumerate(every(*arguments)):
            if number == 3:
                JOBS.get(of.workspace.id).stop()
            yield step

    monkeypatch.setattr(learning, "_steps", steps)
    job = learning.start(of.workspace, of.store)
    job.wait(PATIENCE)
    monkeypatch.setattr(learning, "_steps", every)
    return job


def test_a_stopped_run_resumes_with_the_same_digits(monkeypatch):
    whole, parts = state(MANY, name="w-whole"), state(MANY, name="w-parts")
    run(whole)
    job = stopped_at_a_known_step(parts, monkeypatch)
    assert job.status == "stopped"
    assert 0 < job.done < 3000
    assert learning.can_resume(parts.workspace)
    run(parts, learning.resume)
    np.testing.assert_array_equal(shown(parts).theta, shown(whole).theta)


def test_a_stopped_run_resumes_after_a_restart_of_the_server(monkeypatch):
    whole, parts = state(MANY, name="w-whole"), state(MANY, name="w-parts")
    run(whole)
    stopped_at_a_known_step(parts, monkeypatch)
    fresh = JobBook()  # what a new process starts with
    monkeypatch.setattr(learning, "JOBS", fresh)
    monkeypatch.setattr(app_state, "JOBS", fresh)
    assert learning.can_resume(parts.workspace)
    resumed = learning.resume(parts.workspace, parts.store)
    resumed.wait(PATIENCE)
    assert resumed.status == "finished", resumed.error
    assert parts.adopt()
    assert not recovery.can_go_on(parts.workspace.id), "the checkpoint is used up"
    np.testing.assert_array_equal(parts.store.open(resumed.run).theta, shown(whole).theta)


def test_the_strip_offers_to_resume_after_a_restart_of_the_server():
    of = state()
    recovery.begin("w-test", recovery.UnderWay("run-1", of.settings, 1.0), anew=True)
    recovery.keep_checkpoint("w-test", "run-1", b"")
    links = [link.proto.label for link in page("market").get("page_link")]
    assert "Stopped: resume" in links


def test_a_run_continues_with_portfolios_that_came_later():
    of = state()
    run(of)
    assert not learning.can_continue(of.workspace, of.store.list()[0]), "there is nothing new"
    later = InvestorBatch("simulate", Simulation(count=40, seed=9))
    of.choose_investors(of.workspace.investors.plus(later))
    record = results.record_of(of.store, of.workspace.run)
    assert learning.can_continue(of.workspace, record)
    run(of, learning.continue_run)
    assert shown(of).rounds == 100
    assert len(of.store.list()) == 2


def test_other_settings_do_not_continue_an_old_run():
    of = state()
    run(of)
    record = of.store.list()[0]
    of.choose_investors(of.workspace.investors.plus(InvestorBatch("sample")))
    of.choose_learning(LearnSettings(start="zero", grid=41))
    assert not learning.can_continue(of.workspace, record)


def test_what_goes_wrong_in_the_background_is_a_sentence():
    of = state(learn=LearnSettings("assets", (("Security 1", 5.0), ("Security 7", 0.0352))))
    with pytest.raises(AppError, match="outside its bounds"):
        learning.start(of.workspace, of.store)


def test_what_nobody_foresaw_is_told_as_our_fault_and_goes_with_the_settings():
    of = state()

    def steps():
        raise ValueError("zero-size array")
        yield

    job = Job(
        of.settings,
        steps,
        lambda study: "run-1",
        "odd",
        describe_error=describe_error,
    )
    job.start()
    job.wait(PATIENCE)
    assert job.status == "failed"
    assert "not in your data" in job.error
    assert "ValueError: zero-size array" in job.error
    assert describe_error(ImopError("caps leave nothing.")) == "Caps leave nothing."
    JOBS.put(of.workspace.id, job)
    of.workspace.save()
    with pytest.raises(AssertionError, match="zero-size"):
        page("market", of.workspace.id)
    of.workspace.investors = InvestorSettings((InvestorBatch("simulate", Simulation(count=61)),))
    of.workspace.save()
    page("market", of.workspace.id)


def test_two_known_returns_must_differ():
    of = state(learn=LearnSettings("assets", (("Security 1", 0.1), ("Security 7", 0.1))))
    with pytest.raises(AppError, match=r"Both known returns are 10\.00%"):
        learning.start(of.workspace, of.store)


def test_known_returns_that_anchor_nothing_change_nothing():
    of = state()
    run(of)
    of.choose_learning(replace(PLAIN, known=(("Security 1", 0.1), ("Security 7", 0.2))))
    assert summary.changes(of.workspace, of.store) == ()
    of.choose_learning(replace(PLAIN, anchoring="none"))
    assert summary.changes(of.workspace, of.store) == ("learning",)


def test_a_share_below_zero_is_nothing():
    assert results.explained_said(0.5) == "50.0%"
    assert results.explained_said(-1.05) == "nothing"


def test_the_full_algorithm_asks_for_a_grid():
    of = state(learn=LearnSettings(algorithm="full"))
    with pytest.raises(AppError, match="choose a number of weights"):
        learning.start(of.workspace, of.store)


def test_two_known_returns_are_needed_where_assets_are_to_anchor():
    of = state(learn=LearnSettings("assets", (("Security 1", 0.1791),)))
    with pytest.raises(AppError, match="Name two assets"):
        learning.start(of.workspace, of.store)


def test_investors_on_the_markets_own_returns_are_not_learned_from_those_returns():
    simulated = InvestorBatch("simulate")
    views = InvestorBatch("simulate", Simulation(views=0.02))
    upload = InvestorBatch("upload")
    market = MarketSettings()
    assert learning.defaults(market, simulated).start == "zero"
    assert learning.defaults(market, InvestorBatch("sample")).start == "zero"
    assert learning.defaults(market, views).start == "efficiency"
    assert learning.defaults(market, upload).start == "efficiency"


def test_the_defaults_are_exact_weights_and_the_accelerated_algorithm():
    chosen = LearnSettings()
    assert (chosen.grid, chosen.algorithm, chosen.anchoring) == ("exact", "accelerated", "history")


@pytest.mark.parametrize(
    "learn",
    [
        LearnSettings(start="zero"),
        LearnSettings(
            "assets", (("Security 1", 0.1791), ("Security 7", 0.0352)), grid=41, start="zero"
        ),
        LearnSettings(algorithm="full", grid=11, start="zero", refine=False, rate=2.0),
        LearnSettings(start="efficiency", refine=False, loss="efficiency"),
    ],
    ids=["default", "assets, K = 41", "full", "left on the table"],
)
def test_the_command_line_makes_the_run_again(learn, tmp_path, monkeypatch, capsys):
    limits = (Limit("Security 6", 0.4),)
    of = state(learn=learn, market=MarketSettings(limits=limits, bounds=(-0.2, 0.9)))
    run(of)
    (record,) = of.store.list()
    reports.write_shell_inputs(shown(of), of.store.location(record.id))
    words = shlex.split(reports.command_line(record, of.store.location(record.id), shown(of)))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main([*words[1:], "--json"])
    assert ended.value.code == 0, capsys.readouterr().err
    again = json.loads((tmp_path / "again" / "run.json").read_text())
    expected = shown(of).frame_returns["estimate"]  # none where a return is not known
    np.testing.assert_allclose(np.array(again["estimate"], float), expected, rtol=0, atol=1e-12)


def test_the_python_makes_the_run_again(tmp_path, monkeypatch):
    of = state()
    run(of)
    (record,) = of.store.list()
    monkeypatch.chdir(tmp_path)
    exec(compile(reports.python_code(of.store.location(record.id)), "again", "exec"), {})
    assert (tmp_path / "again" / "run.json").exists()


def test_runs_are_there_after_a_restart_renamed_and_deleted():
    of = state()
    run(of)
    again = AppState(of.workspace)
    (record,) = again.store.list()
    again.store.rename(record.id, "  The first  ")
    assert again.store.list()[0].name == "The first"
    again.store.delete(record.id)
    assert again.store.list() == []
    assert results.open_run(again.store, record.id) is None


@pytest.mark.parametrize("name", ["../run", "..", "run-x", ""])
def test_no_run_outside_the_folder_is_touched(name):
    of = state()
    for action in (of.store.open, of.store.delete, of.store.location):
        with pytest.raises(FileNotFoundError):
            action(name)


def test_a_run_is_not_listed_before_it_is_whole():
    of = state()
    about = RunRecord("", "new", time.time(), "market", "people", 1, 0.5, 0.1, None)
    with pytest.raises(AttributeError):
        of.store.keep(None, about)  # no study to write
    assert of.store.list() == []
    assert list((database().place.copies / "runs").iterdir()) == []


def test_a_damaged_record_hides_its_run_and_no_other():
    of = state()
    run(of)
    run(of)
    first, second = of.store.list()
    with database().writing() as connection:
        connection.execute(sa.update(RUNS).where(RUNS.c.id == first.id).values(content="{"))
    assert of.store.list() == [second]


def test_a_kept_run_says_the_same_when_it_is_opened():
    of = state()
    job = run(of)
    kept = of.store.open(job.run)
    np.testing.assert_array_equal(kept.theta, job.trail()[-1].theta)
    assert kept.figures["explained"] == pytest.approx(of.store.list()[0].explained, abs=1e-12)


@dataclass(frozen=True)
class FakeStep:
    done: int
    theta: float = 0.0
    loss: float = 1.0
    total: int = 10_000
    stage: str = "learning"
    study: object = None
    state: object = None


def test_the_trail_of_a_long_run_stays_short_and_has_its_newest_step():
    settings = Settings(MarketSettings(), SMALL, PLAIN)
    steps = [FakeStep(done) for done in range(10_000)] + [FakeStep(10_000, study="done")]
    job = Job(settings, lambda: iter(steps), lambda study: "run-1", "long")
    job.start()
    job.wait(PATIENCE)
    trail = job.trail()
    assert len(trail) <= TRAIL_POINTS + 2
    assert trail[0].done == 0
    assert trail[-1].done == 10_000
    assert (job.status, job.run, job.share) == ("finished", "run-1", 1.0)


def test_live_tables_hold_what_the_charts_draw():
    of = state(MANY)
    job = run(of)
    seen = learning.live(of.workspace, job)
    assert seen.curves["step"].min() == 1
    assert set(seen.estimates["asset"]) <= set(shown(of).problem.names)
    assert (seen.losses["loss"] >= 0).all()
    assert seen.losses["last"].iloc[-1] == 3000


# -- whether to trust it -------------------------------------------------------------------------
def test_trimming_error_model_and_errors_of_anchors_reach_the_engine():
    learn = LearnSettings(
        "assets", (("Security 1", 0.1791), ("Security 7", 0.0352)), trim=False, errors="beliefs",
        risks="history",
        known_errors=(("Security 7", 0.01),),
    )  # fmt: skip
    of = state(learn=learn)
    settings = learning.study_settings(of.settings, market("paper8"), None)
    assert (settings.trim, settings.errors) == (False, "beliefs")
    assert settings.risks == "history"
    assert settings.anchors == (("Security 1", 0.1791, 0.0), ("Security 7", 0.0352, 0.01))
    assert learn.used == learn
    assert LearnSettings(known_errors=(("Security 7", 0.01),)).used == LearnSettings()


def test_the_record_of_a_run_keeps_its_verdict():
    of = state(learn=PLAIN)
    run(of)
    (record,) = of.store.list()
    assert record.verdict == shown(of).verdict != "good", "the stream's end alone is never good"
    result = lights.all_three(of.workspace, of.store, of.job)[2]
    assert result.said.endswith(f", {record.verdict}")
    assert result.colour == record.verdict
    assert f'"mark {record.verdict}"' in status._mark(result)


# -- progress ------------------------------------------------------------------------------------
def test_every_stage_tells_how_far_it_is(monkeypatch):
    of = state(learn=LearnSettings(start="zero"), market=MarketSettings(bundled="us20"))
    told: dict[str, list[float]] = {}
    real = Job._note_part

    def noted(self, share):
        told.setdefault(self.stage, []).append(share)
        real(self, share)

    monkeypatch.setattr(Job, "_note_part", noted)
    run(of)
    assert set(told) == {"refining", "describing"}
    for shares in told.values():
        assert shares == sorted(shares)
        assert 0.0 <= shares[0] <= 0.2
        assert shares[-1] >= 0.9
    assert len(told["refining"]) > 10, "the joint fit too"


def test_a_run_stopped_in_the_joint_fit_goes_on_to_the_same_digits(monkeypatch):
    fitted = LearnSettings(start="zero")
    whole, parts = state(learn=fitted, name="w-whole"), state(learn=fitted, name="w-parts")
    run(whole)
    real = Job._note_part

    def stops(self, share):
        self.stop()
        real(self, share)

    with monkeypatch.context() as stopping:
        stopping.setattr(Job, "_note_part", stops)
        job = learning.start(parts.workspace, parts.store)
        job.wait(PATIENCE)
    assert (job.status, job.stage, job.done) == ("stopped", "refining", 60)
    assert recovery.can_go_on(parts.workspace.id)
    assert learning.can_resume(parts.workspace)
    run(parts, learning.resume)
    np.testing.assert_array_equal(shown(parts).theta, shown(whole).theta)


def test_the_bar_says_how_far_a_fit_is_and_how_long_it_takes():
    job = Job(Settings(MarketSettings(), SMALL, PLAIN), lambda: iter(()), str, "odd")
    job.stage, job.part = "refining", 0.25
    job._stage_began = time.monotonic() - 3600.0
    assert status.progress_text(job) == ("Fitting all portfolios together: 25%, about 180 min left")
    assert time_left(0.5, 12.0) == 12.0
    assert time_left(0.01, 100.0) is None, "too early to say"
    assert time_left(0.5, 0.2) is None, "too short to say"


def test_large_studies_are_let_go_before_many_small_ones():
    @dataclass
    class Sized:
        rounds: int

    opened = OpenedStudies(3, rows=100)
    for name, rounds in (("a", 60), ("b", 30), ("c", 20)):
        opened.put(name, Sized(rounds))
    assert [opened.get(name) is not None for name in "abc"] == [False, True, True]
    opened.put("d", Sized(1000))
    assert [opened.get(name) is not None for name in "abcd"] == [False, False, False, True]
