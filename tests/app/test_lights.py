"""The traffic lights: each colour by its reason, and each button really does what it says."""

from dataclasses import replace

import pandas as pd
import pytest

from app_harness import (
    PATIENCE,
    SMALL,
    history_file,
    history_names,
    page,
    portfolios,
    quiet,
    said,
    state_of,
)
from imop_app import run_record
from imop_app.jobs import JOBS
from imop_app.run_record import RunRecord
from imop_app.services import lights
from imop_app.services.light import Press
from imop_app.settings import (
    InvestorBatch,
    InvestorSettings,
    LearnSettings,
    Limit,
    MarketSettings,
    Simulation,
)
from imop_app.state import AppState
from imop_app.store import keep_files
from imop_app.workspace import Workspace
from imop_engine.sentences.lights import HEADLINES
from imop_engine.study import checks

GOOD = InvestorSettings((InvestorBatch("simulate", Simulation(count=300)),))


def made(**chosen) -> AppState:
    parts = {"market": MarketSettings(), "investors": GOOD, **chosen}
    workspace = Workspace("w-test", **parts)
    workspace.save()
    return AppState(workspace)


def three(of: AppState):
    return lights.all_three(of.workspace, of.store, of.job)


def uploaded(history: bytes, holdings: bytes, **market) -> AppState:
    of = made(market=None, investors=None)
    box = of.workspace.box
    of.workspace.market = MarketSettings("upload", file=box.put("h.csv", history), **market)
    batch = InvestorBatch("upload", file=box.put("p.csv", holdings))
    of.workspace.investors = InvestorSettings((batch,))
    of.save()
    return of


def record(of: AppState, severity: str, name: str, **about) -> None:
    """Pretend that a run with these checks is shown."""
    verdict = {"note": "good"}.get(severity, severity)
    check = {"name": name, "severity": severity, "sentence": "It is so.", "remedy": "Do that."}
    settings = replace(of.settings, learn=of.workspace.learn or LearnSettings(start="zero"))
    kept = RunRecord(
        "run-1", "One", 1.0, "m", "i", 60, 0.9, 0.1, settings, verdict, (check,), **about
    )
    keep_files(of.workspace.id, "", kept, {"run.json": b"{}"})
    of.workspace.run = "run-1"
    of.save()


def test_every_check_of_the_engine_has_a_headline():
    import inspect
    import re

    from imop_engine.study import data_checks

    source = inspect.getsource(checks) + inspect.getsource(data_checks)
    names = set(re.findall(r'(?:add|Check)\("([a-z]+)"', source))
    assert names <= set(HEADLINES)
    assert len(names) > 15


def test_nothing_chosen_has_no_colour():
    of = made(market=None, investors=None)
    assert [light.colour for light in three(of)] == ["none", "none", "none"]


def test_a_clean_example_is_green_before_and_after_a_run():
    of = made()
    assert [light.colour for light in three(of)] == ["good", "good", "none"]
    record(of, "note", "duplicates")
    assert [light.colour for light in three(of)] == ["good", "good", "good"]


@pytest.mark.parametrize("severity", ["caution", "poor"])
def test_a_bad_verdict_is_never_green_whatever_it_is_about(severity):
    for number, name in enumerate(HEADLINES):
        of = made()
        of.workspace = replace(of.workspace, id=f"w-{number}")
        record(of, severity, name)
        result = three(of)[2]
        assert result.colour == severity, name
        assert result.reason, name


def test_a_failed_run_is_red(monkeypatch):
    of = made()

    class Failed:
        status, error, settings = "failed", "The run ended.", of.settings

    assert lights.all_three(of.workspace, of.store, Failed())[2].colour == "poor"


def test_a_short_history_is_amber_before_anything_is_learned():
    table = pd.read_csv(pd.io.common.BytesIO(history_file())).tail(40)
    of = uploaded(table.to_csv(index=False).encode(), portfolios().to_csv(index=False).encode())
    market, investors, _ = three(of)
    assert (market.colour, investors.colour) == ("caution", "good")
    assert "Short history" in market.reason
    assert "40" in market.about


def test_use_all_months_brings_the_months_back():
    table = pd.read_csv(pd.io.common.BytesIO(history_file()))
    table.iloc[:50, 1] = None
    content = portfolios().to_csv(index=False).encode()
    of = uploaded(table.to_csv(index=False).encode(), content, gaps="complete")
    test = page("market")
    assert three(state_of(test))[0].press.label == "Use all months"
    test.button(key="cure_market").click().run()
    assert state_of(quiet(test)).workspace.market.gaps == "likelihood"
    assert "Months are left out" not in said(test)
    assert of.workspace.id == "w-test"


def test_the_latest_date_can_be_kept():
    first = portfolios(60).assign(date="2023-12-31")
    second = portfolios(60, seed=4).assign(date="2024-12-31")
    both = pd.concat([first, second]).to_csv(index=False).encode()
    uploaded(history_file(), both)
    test = page("investors")
    assert three(state_of(test))[1].press.label == "Keep the latest date"
    test.button(key="cure_investors").click().run()
    quiet(test)
    left = three(state_of(test))[1]
    assert "several dates" not in left.reason
    assert page("investors").session_state["imop"].workspace.accepted, "a reload remembers it"


def test_a_file_that_cannot_be_read_is_red_with_its_sentence():
    of = uploaded(b"roses,are\nred,blue\n", b"x\n")
    market = three(of)[0]
    assert market.colour == "poor"
    assert "h.csv" in market.about


def learned_by_a_light(test, light: str):
    test.button(key=f"cure_{light}").click().run()
    job = JOBS.get("w-test")
    assert job is not None, [one.value for one in test.error]
    job.wait(PATIENCE)
    quiet(test.run())
    return job


def test_outliers_are_set_aside_by_the_button():
    of = made(investors=SMALL, learn=LearnSettings(start="zero", trim=False))
    record(of, "caution", "outliers", outliers=21)
    test = page("market")
    assert test.button(key="cure_investors").label == "Set 21 outliers aside"
    job = learned_by_a_light(test, "investors")
    assert job.settings.learn.trim
    assert state_of(test).workspace.run == job.run


def test_portfolios_are_fitted_together_by_the_button():
    of = made(investors=SMALL, learn=LearnSettings(start="zero", refine=False))
    record(of, "caution", "together")
    test = page("market")
    assert test.button(key="cure_result").label == "Fit all together"
    assert learned_by_a_light(test, "result").settings.learn.refine


def test_better_anchors_are_chosen_by_the_button():
    table = portfolios(120)
    names = history_names()
    weak = ((names[0], 0.05), (names[1], 0.0501))
    of = uploaded(history_file(), table.to_csv(index=False).encode())
    unsure = ((names[0], 0.2), (names[1], 0.2))
    of.workspace.learn = LearnSettings("assets", weak, known_errors=unsure)
    of.save()
    record(of, "caution", "anchors")
    result = three(of)[2]
    assert result.press.label == "Choose better anchors"
    assert result.press.change.known != weak
    low, high = (value for _, value in result.press.change.known)
    assert low < high
    test = page("market")
    job = learned_by_a_light(test, "result")
    assert job.settings.learn.known == result.press.change.known
    assert job.status == "finished"


def test_a_cap_is_set_on_all_assets():
    of = made(investors=SMALL)
    record(of, "caution", "caps", cap=0.3)
    press = three(of)[0].press
    assert press.label == "Set a cap of 30%"
    capped = lights.market_after(of.workspace.market, press)
    assert set(capped.limits) == {Limit(f"Security {i}", 0.3) for i in range(1, 9)}


def test_limits_that_portfolios_break_are_at_the_market():
    of = made(investors=SMALL)
    record(of, "poor", "limits")
    market = three(of)[0]
    assert market.colour == "poor"
    assert market.press.label == "Look at the limits"
    assert (market.press.action, market.press.change) == ("page", "market")


def test_what_many_hold_more_than_is_no_cap():
    class Piled:
        estimate = object()
        checks = (type("Check", (), {"name": "caps"}),)
        specification = type("Shape", (), {"piled_at": 0.1})

        def __init__(self, holdings):
            self.decisions = pd.DataFrame(holdings)

    assert run_record._cap(Piled([[0.1, 0.1, 0.1]] * 40)) == 0.1
    assert run_record._cap(Piled([[0.1, 0.1, 0.8]] * 40)) == 0.0


def test_a_short_history_has_a_button_until_it_is_settled():
    of = uploaded(b"\n".join(history_file().splitlines()[:31]), b"")
    of.workspace.investors = None
    press = three(of)[0].press
    assert press.label == "Use a shrunk covariance"
    of.workspace.market = lights.market_after(of.workspace.market, press)
    assert of.workspace.market.covariance == "ledoit-wolf"
    press = three(of)[0].press
    assert press.label == "Leave it so"
    of.accept(press.change)
    assert three(of)[0].colour == "good"


def test_groups_are_compared_by_the_button():
    three_groups = InvestorSettings(
        (InvestorBatch("simulate", Simulation(count=150, weights="segments")),)
    )
    of = made(investors=three_groups)
    record(of, "caution", "beliefs")
    press = three(of)[2].press
    assert press == Press("Compare groups by segment", "groups", "segment")


def test_risks_are_taken_from_the_history_by_the_button():
    of = made(investors=SMALL)
    record(of, "caution", "refit")
    press = three(of)[2].press
    assert (press.label, press.learns) == ("Take risks from the history", True)
    assert press.change == replace(LearnSettings(start="zero"), risks="history")


def test_changed_choices_make_the_result_amber_with_learn_again():
    of = made(investors=SMALL)
    record(of, "note", "duplicates")
    of.choose_investors(GOOD)
    result = three(of)[2]
    assert (result.colour, result.press.label) == ("caution", "Learn again")
    assert "the investors" in result.reason


def test_the_welcome_page_has_recent_work_examples_and_files():
    older = Workspace("w-older", name="Pensions 2024", market=MarketSettings())
    older.save()
    Workspace("w-test").save()
    test = page("market")
    assert "Recent work" in said(test)
    test.button(key="recent_w-older").click().run()
    assert state_of(quiet(test)).workspace.name == "Pensions 2024"


# -- the anchor helper ---------------------------------------------------------------------------
def test_the_default_pair_is_the_one_that_is_advised():
    uploaded(history_file(), portfolios(120).to_csv(index=False).encode())
    test = page("learn")
    test.segmented_control(key="learn_anchoring").set_value("assets").run()
    quiet(test)
    chosen = state_of(test).workspace.learn
    names = [name for name, _ in chosen.known]
    assert len(names) == 2
    assert " and ".join(names) in said(test), "the caption advises what is chosen"
    assert {name for name, _ in chosen.known_errors} == set(names), "with the history's ±"


def test_inverted_anchors_are_told_before_anything_is_learned():
    uploaded(history_file(), portfolios(120).to_csv(index=False).encode())
    test = page("learn")
    test.segmented_control(key="learn_anchoring").set_value("assets").run()
    low, high = state_of(test).workspace.learn.known
    test.number_input(key=f"known_{low[0]}").set_value(100.0 * high[1] + 5.0).run()
    assert any("returned more" in one.value for one in test.error)
    assert state_of(test).workspace.learn.known[0][1] > high[1]


def test_one_total_return_sets_the_level_of_the_average_portfolio():
    of = uploaded(history_file(), portfolios(120).to_csv(index=False).encode())
    of.workspace.learn = LearnSettings("total", total=0.07, total_error=0.01)
    of.save()
    test = page("learn")
    test.button(key="learn_start").click().run()
    job = JOBS.get("w-test")
    job.wait(PATIENCE)
    quiet(test.run())
    from imop_app.services import results

    study = results.open_run(state_of(test).store, job.run)
    mean = study.decisions.to_numpy().mean(axis=0)
    assert abs(float(mean @ study.theta) - 0.07) < 1e-6
    assert study.settings.anchor_errors[0] == 0.01
