"""The pages' logic, without a browser: what each offers, shows, keeps and hands out."""

import io
import json
import re
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import imop_app
from app_harness import (
    PATIENCE,
    charts_on,
    history_file,
    history_names,
    learned,
    page,
    portfolio_file,
    portfolios,
    quiet,
    said,
    state_of,
    workbook,
    workspace,
)
from imop_app.components import show, status
from imop_app.components.market_source import (
    ASSET_MAP,
    COVARIANCES,
    GAPS,
    HELP,
    KINDS,
    MEANS,
    REPAIR,
)
from imop_app.jobs import JOBS
from imop_app.services import file_choices, learning, results
from imop_app.services.errors import AppError
from imop_app.settings import InvestorBatch, InvestorSettings, MarketSettings, Simulation
from imop_app.store import DatabaseStore
from imop_app.workspace import Workspace, open_workspace
from imop_engine.bundled import market
from imop_engine.sentences.market import APP as APP_WORDS
from imop_engine.sentences.words import WORDS
from imop_engine.weight_families import drawn_by_mean_and_sd
from imop_engine.weight_families import family as weight_family
from waiting_runs import waiting

pytestmark = pytest.mark.slow

APP = Path(imop_app.__file__).parent
VIEWS = (
    "market", "investors", "learn", "frontier", "preferences", "score", "clients", "report", "runs",
    "lab",
)  # fmt: skip
LINES_AT_MOST = 400
# What views and components may know of the engine: charts, words, and the type of a study.
ENGINE = {
    "from imop_engine.report",
    "from imop_engine.report.style",
    "from imop_engine.sentences.words",  # explanations for tooltips: text alone
    "from imop_engine.study",
}
SEGMENTS = InvestorSettings((InvestorBatch("simulate", Simulation(120, "segments")),))


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_says_what_to_do_when_there_is_nothing_yet(view):
    test = page(view, "w-empty")
    assert test.title[0].value == view.capitalize()
    assert "Market" in said(test)
    if view != "lab":
        assert test.header, "an empty page explains itself"
        assert charts_on(test) == 0


def test_the_entry_opens_on_the_market_with_examples():
    test = AppTest.from_file(str(APP / "main.py"), default_timeout=PATIENCE).run()
    quiet(test)
    assert test.title[0].value == "Market"
    test.button(key="example_paper8").click().run()
    quiet(test)
    assert charts_on(test) == 3
    kept = open_workspace(state_of(test).workspace.id)
    assert kept.market == MarketSettings()
    assert kept.investors == InvestorSettings()


def test_example_to_result_and_a_reload_finds_it():
    workspace()
    test = learned()
    assert "What came out" in said(test)
    assert [metric.label for metric in test.metric] == [
        "Investors",
        "Explained",
        "Error",
        "Risk aversion",
        "Outliers",
        "Left on the table",
    ]
    run = state_of(test).workspace.run
    again = page("learn")
    assert state_of(again).workspace.run == run
    assert charts_on(again) == charts_on(test) == 4


def test_every_widget_has_a_sentence_of_help():
    workspace(investors=SEGMENTS)
    learned()
    seen = 0
    for view in VIEWS:
        test = page(view)
        widgets = [*test.selectbox, *test.number_input, *test.slider, *test.multiselect]
        widgets += [*test.text_input, *test.text_area, *test.toggle, *test.checkbox]
        for widget in widgets:
            assert widget.help, f"{view}: {widget.label}"
            assert widget.help.endswith("."), f"{view}: {widget.label}"
            seen += 1
    assert seen >= 30


def test_words_are_one_line_each():
    for name, meaning in WORDS.items():
        assert meaning[0].isupper(), name
        assert meaning.endswith("."), name
        assert len(meaning) < 260, name


def shown_study(test):
    return results.open_run(state_of(test).store, state_of(test).workspace.run)


@pytest.mark.parametrize("view", ["learn", "frontier"])
def test_the_verdict_is_on_the_page_with_reasons_and_remedies(view):
    workspace()
    learned()
    test = page(view)
    study = shown_study(test)
    box = {"good": test.success, "caution": test.warning, "poor": test.error}[study.verdict]
    said = box[0].value
    assert f"Verdict\\: {study.verdict}" in said
    for check in study.checks:
        assert show.escape(check.sentence) in said
        assert show.escape(check.remedy) in said


def test_the_frontier_page_has_the_table_with_words():
    workspace()
    learned()
    test = page("frontier")
    assert charts_on(test) == 6 + (results.frontier(shown_study(test)).both is not None)
    table = test.dataframe[0].value
    study = results.open_run(state_of(test).store, state_of(test).workspace.run)
    fixed = table["status"].isin(["identified", "anchored"])
    np.testing.assert_allclose(table["estimate"][fixed], 100.0 * study.theta[fixed], rtol=1e-12)
    assert table["estimate"][~fixed].isna().all(), "what is only bounded has no estimate"
    assert {"low", "high", "status", "sentence", "true", "implied"} <= set(table.columns)
    assert table["sentence"].str.endswith(".").all()
    test.toggle(key="frontier_projected").set_value(True).run()
    quiet(test)


def test_the_preferences_page_shows_groups_outliers_and_one_investor():
    workspace(investors=SEGMENTS)
    learned()
    test = page("preferences")
    assert "described best" in said(test)
    assert "By segment" in said(test)
    test.selectbox(key="one_investor").select("I007").run()
    quiet(test)
    assert "Weight on return" in said(test)
    test.segmented_control(key="preference_scale").set_value("risk aversion").run()
    quiet(test)


def test_the_preferences_page_compares_what_groups_believe():
    workspace(investors=SEGMENTS)
    learned()
    test = page("preferences")
    before = charts_on(test)
    assert "What groups believe" in said(test)
    test.selectbox(key="groups_by").select("segment").run()
    assert charts_on(quiet(test)) == before + 1
    assert "more than chance would give" in said(test)
    table = next(one.value for one in test.dataframe if "between" in one.value)
    assert {"asset", "common", "between", "p_value"} < set(table.columns)
    assert table["common"].notna().any()


def test_the_preferences_page_shows_what_is_left_on_the_table():
    workspace(investors=SEGMENTS)
    state = state_of(learned())
    test = page("preferences")
    study = results.open_run(state.store, state.workspace.run)
    assert "Money left on the table" in said(test)
    assert study.gaps.sentence().split(" a year")[0] in said(test)
    table = next(one.value for one in test.dataframe if "gap_points" in one.value)
    assert list(table["id"]) == list(study.frame_investors["id"][: len(table)])
    np.testing.assert_allclose(table["gap_points"], 1e2 * table["gap"], err_msg="gaps in per cent")
    test.selectbox(key="preference_order").select("gap").run()
    table = next(one.value for one in quiet(test).dataframe if "gap_points" in one.value)
    assert table["gap"].is_monotonic_decreasing
    assert table["gap"].iloc[0] == pytest.approx(100.0 * study.frame_investors["gap"].max())
    groups = next(one.value for one in test.dataframe if "mean_points" in one.value)
    assert groups["total_gap"].sum() == pytest.approx(study.gaps.total)
    before = charts_on(test)
    test.selectbox(key="one_investor").select("I007").run()
    assert charts_on(quiet(test)) == before + 2, "what she holds, and the arrow above her dot"
    assert "an efficient one at the same risk earns" in said(test)


def test_the_loss_is_a_choice_with_a_sentence():
    workspace()
    test = page("learn")
    assert "nearer to the frontier" in said(test)
    test.segmented_control(key="learn_loss").set_value("efficiency").run()
    quiet(test)
    assert "leaves less return on the table" in said(test)
    assert open_workspace("w-test").learn.loss == "efficiency"
    with pytest.raises(KeyError):  # one exact update: there is nothing to choose
        test.segmented_control(key="learn_algorithm")
    done = learned()
    study = results.open_run(state_of(done).store, state_of(done).workspace.run)
    assert study.settings.loss == "efficiency"
    np.testing.assert_array_less(-1e-15, study.state.learned.losses)


def test_brushed_investors_are_those_in_the_interval():
    workspace()
    test = learned()
    state = state_of(test)
    picture = results.preferences(results.open_run(state.store, state.workspace.run))
    flags = results.chosen(picture, "weight", (0.4, 0.5))
    weights = picture.investors["weight"]
    np.testing.assert_array_equal(flags, (weights >= 0.4) & (weights <= 0.5))
    assert len(results.chosen_table(picture, flags)) == flags.sum()
    assert results.dots(picture, flags)["chosen"].sum() == flags.sum()
    assert not results.chosen(picture, "weight", None).any()
    assert len(results.chosen_table(picture, np.zeros(60, bool))) == 60


def test_changed_settings_are_pointed_out():
    workspace()
    learned()
    test = page("investors")
    test.number_input(key="seed").set_value(8).run()
    quiet(test)
    links = [link.proto.label for link in test.get("page_link")]
    assert "Changed: learn again" in links


def test_simulation_settings_are_kept():
    workspace()
    test = page("investors")
    test.selectbox(key="noise").select("gaussian").run()
    test.number_input(key="count").set_value(70).run()
    quiet(test)
    kept = open_workspace("w-test").investors.first.simulation
    assert (kept.noise, kept.noise_level, kept.count) == ("gaussian", 0.005, 70)
    again = page("investors")
    assert again.number_input(key="count").value == 70


def test_every_distribution_of_weights_is_in_the_menu_and_kept():
    workspace()
    test = page("investors")
    for name in drawn_by_mean_and_sd():
        assert weight_family(name).label in test.selectbox(key="weights").options
        test.selectbox(key="weights").select(name).run()
        quiet(test)
        assert open_workspace("w-test").investors.first.simulation.weights == name


def test_an_impossible_choice_is_a_sentence_and_changes_nothing():
    workspace()
    test = page("investors")
    test.selectbox(key="weights").select("beta").run()
    test.slider(key="mean").set_value(0.05)
    test.slider(key="sd").set_value(0.4).run()
    assert not test.exception
    assert "No beta distribution" in test.error[0].value
    assert open_workspace("w-test").investors.first.simulation.mean == 0.5


@pytest.mark.parametrize("form", ["wide", "long", "xlsx", "broken"])
def test_an_upload_is_read_learned_and_reported(form):
    Workspace("w-up").save()
    test = page("market", "w-up")
    test.segmented_control(key="market_source").set_value("upload").run()
    test.file_uploader(key="market_file").upload("history.csv", history_file(), "text/csv")
    quiet(test.run())
    assert open_workspace("w-up").market.source == "upload"
    assert "Reading report" in " ".join(one.label for one in test.expander)
    name, content = portfolio_file(form)
    test = page("investors", "w-up")
    test.segmented_control(key="investor_source").set_value("upload").run()
    test.file_uploader(key="investor_file").upload(name, content, "text/csv")
    quiet(test.run())
    assert name in said(test).replace("\\", "")
    assert (", none left out" in said(test)) == (form != "broken")
    test = learned("w-up")
    table = results.open_run(state_of(test).store, state_of(test).workspace.run).frame_returns
    assert table["asset"].tolist() == history_names()


def test_a_file_that_cannot_be_read_changes_nothing():
    workspace()
    test = page("investors")
    test.segmented_control(key="investor_source").set_value("upload").run()
    test.file_uploader(key="investor_file").upload("poem.csv", b"roses,are\nred,blue\n", "text/csv")
    test.run()
    assert not test.exception
    assert "poem.csv" in test.error[0].value.replace("\\", "")
    assert open_workspace("w-test").investors.first.source == "simulate"


def upload_market(name, frame):
    Workspace("w-odd").save()
    test = page("market", "w-odd")
    test.segmented_control(key="market_source").set_value("upload").run()
    content = frame.to_csv().encode()
    test.file_uploader(key="market_file").upload(name, content, "text/csv")
    return test.run()


def control(boxes, label):
    return next(box for box in boxes if box.label == label)


def test_a_contradiction_between_name_and_values_is_asked_and_answered():
    prices = 12 * (1 + market("us20").history.iloc[-60:, :3]).cumprod()
    test = upload_market("returns.csv", prices)
    assert not test.exception
    assert test.error[0].value.endswith(
        "say which they are with “Prices” under Contents or “Returns” under Contents."
    )
    assert control(test.expander, "How the file is read").proto.expanded
    assert open_workspace("w-odd").market is None
    quiet(control(test.selectbox, "Contents").set_value("prices").run())
    assert open_workspace("w-odd").market.kind == "prices"


def test_a_covariance_is_repaired_where_the_page_says_so():
    history = market("us20").history.iloc[-60:, :3]
    test = upload_market("history.csv", history.assign(again=history.iloc[:, 0]))
    quiet(test)
    assert "use “Repair the covariance” or “Shrunk (Ledoit–Wolf)” under Covariance." in said(test)
    quiet(control(test.checkbox, "Repair the covariance").check().run())
    assert open_workspace("w-odd").market.repair
    assert "was replaced by the nearest that is" in said(test)


def test_missing_returns_can_be_treated_in_three_ways():
    history = market("us20").history.iloc[-60:, :3].copy()
    history.iloc[:40, 1] = np.nan
    test = upload_market("history.csv", history)
    quiet(test)
    assert "greatest likelihood given all returns there are" in said(test)
    quiet(control(test.selectbox, "Missing returns").set_value("complete").run())
    assert "uses the 20 periods in which every asset has a return" in said(test)


def test_what_sentences_call_the_controls_is_on_the_page():
    names = vars(APP_WORDS).values()
    quoted = {part for name in names for part in re.findall("“(.*?)”", name)}
    shown = [one for choices in (KINDS, MEANS, COVARIANCES, GAPS) for one in choices.values()]
    assert quoted <= {REPAIR, ASSET_MAP, *shown}
    assert {name.split(" under ")[1] for name in names if " under " in name} <= set(HELP)


def test_text_of_a_file_is_shown_as_it_is():
    content = portfolio_file("wide")[1].replace(b"client", b"**bold** $x$")
    Workspace("w-up", market=None).save()
    test = page("market", "w-up")
    test.segmented_control(key="market_source").set_value("upload").run()
    test.file_uploader(key="market_file").upload("h_[x](y).csv", history_file(), "text/csv")
    quiet(test.run())
    assert r"h\_\[x\](y).csv" in said(test)
    test = page("investors", "w-up")
    test.segmented_control(key="investor_source").set_value("upload").run()
    test.file_uploader(key="investor_file").upload("a.csv", content, "text/csv")
    quiet(test.run())


@pytest.mark.parametrize("what", ["market", "investor"])
def test_the_sheet_of_a_workbook_can_be_chosen(what):
    table = portfolios() if what == "investor" else market("us20").history.iloc[-60:, :6]
    note = pd.DataFrame({"note": ["made by operations"]})
    book = workbook({"Read & me": note, "Data": table.reset_index(drop=what == "investor")})
    Workspace("w-book").save()
    test = page("market", "w-book")
    test.segmented_control(key="market_source").set_value("upload").run()
    if what == "investor":
        test.file_uploader(key="market_file").upload("h.csv", history_file(), "text/csv")
        quiet(test.run())
        test = page("investors", "w-book")
        test.segmented_control(key="investor_source").set_value("upload").run()
    test.file_uploader(key=f"{what}_file").upload("book.xlsx", book, "application/zip")
    quiet(test.run())  # the sheet is found by what it holds
    choice = next(box for box in test.selectbox if box.label == "Sheet")
    assert choice.options[1:] == ["Read & me", "Data"]
    test = quiet(choice.set_value("Read & me").run(), errors=1)
    wrong = test.error[0].value.replace("\\", "")
    assert wrong.startswith("book.xlsx, sheet Read & me")
    assert wrong.endswith("The workbook also has Data; choose one of these.")
    choice = next(box for box in test.selectbox if box.label == "Sheet")
    quiet(choice.set_value("Data").run())
    kept = open_workspace("w-book")
    assert (kept.market if what == "market" else kept.investors.first).sheet == "Data"
    again = page("market" if what == "market" else "investors", "w-book")
    assert next(box for box in again.selectbox if box.label == "Sheet").value == "Data"


def test_a_clean_history_has_its_reading_report_closed():
    Workspace("w-clean").save()
    test = page("market", "w-clean")
    test.segmented_control(key="market_source").set_value("upload").run()
    test.file_uploader(key="market_file").upload("h.csv", history_file(), "text/csv")
    quiet(test.run())
    report = next(one for one in test.expander if one.label.startswith("Reading report"))
    assert report.label.endswith("nothing to remark")
    assert not report.proto.expanded
    assert "Detected" in said(test)


def test_names_from_outside_are_no_markup():
    made = workspace()
    made.name = "**bold** $x$"
    made.save()
    test = page("market")
    label = test.sidebar.children[0].proto.popover.label
    assert label == r"\*\*bold\*\* \$x\$"


def test_known_assets_anchor_the_rest():
    workspace()
    test = page("learn")
    test.segmented_control(key="learn_anchoring").set_value("assets").run()
    quiet(test)
    names = test.multiselect(key="learn_known").value
    known = open_workspace("w-test").learn.known
    assert [name for name, _ in known] == names
    assert len(names) == 2
    assert known[0][1] < known[1][1]
    learned()
    test.segmented_control(key="learn_anchoring").set_value("none").run()
    assert "order and the proportions" in said(quiet(test))


def test_stopped_and_resumed_from_the_page(monkeypatch):
    monkeypatch.setattr(learning, "_steps", waiting(learning._steps))
    workspace()
    test = page("learn")
    test.button(key="learn_start").click().run()
    job = JOBS.get("w-test")
    job.stop()
    job.wait(PATIENCE)
    assert job.status == "stopped"
    quiet(test.run())
    assert "Stopped after" in said(test)
    assert charts_on(test) == 3
    done = job.done
    test.button(key="learn_resume").click().run()
    quiet(test)
    assert job.status == "running"
    job.stop()
    job.wait(PATIENCE)
    assert job.done > done


def test_a_run_that_ends_while_the_page_is_drawn_is_shown_all_the_same(monkeypatch):
    """Between a page's look for an ended run and what follows one under way it may end."""
    drawing = threading.Event()
    steps, lights = learning._steps, status._lights

    def held(*given):
        drawing.wait(PATIENCE)
        yield from steps(*given)

    def slow(state):
        if state.job is not None and not drawing.is_set():
            drawing.set()
            state.job.wait(PATIENCE)
            assert state.job.status == "finished"
        return lights(state)

    monkeypatch.setattr(learning, "_steps", held)
    monkeypatch.setattr(learning, "wait_briefly", lambda job, seconds: None)
    monkeypatch.setattr(status, "_lights", slow)
    workspace()
    test = page("learn")
    test.button(key="learn_start").click().run()
    assert drawing.is_set()
    assert "What came out" in said(quiet(test))
    assert state_of(test).workspace.run == JOBS.get("w-test").run


def test_later_portfolios_continue_the_run():
    workspace()
    learned()
    test = page("investors")
    test.button(key="more_simulated").click().run()
    quiet(test)
    test = page("learn")
    test.button(key="learn_continue").click().run()
    JOBS.get("w-test").wait(PATIENCE)
    quiet(test.run())
    state = state_of(test)
    assert results.record_of(state.store, state.workspace.run).rounds == 120


def test_two_runs_are_compared_renamed_opened_and_deleted():
    workspace()
    learned()
    test = page("learn")
    test.selectbox(key="learn_grid_all").select(41).run()
    test.button(key="learn_start").click().run()
    JOBS.get("w-test").wait(PATIENCE)
    quiet(test.run())
    test = page("runs")
    assert charts_on(test) == 3
    assert len(test.dataframe[0].value) == 2
    settings = test.dataframe[1].value.set_index("setting")
    assert settings.loc["Weights tried"].tolist() == ["every weight", "a grid of 41", "differs"]
    assert "**Settings** (1 setting differs)" in said(test)
    left = results.open_run(state_of(test).store, test.selectbox(key="compare_a").value)
    right = results.open_run(state_of(test).store, test.selectbox(key="compare_b").value)
    table = results.compare(left, right).table
    fixed = (table["status A"] == "identified") & (table["status B"] == "identified")
    apart = right.theta - left.theta
    np.testing.assert_allclose(table["difference"][fixed], apart[fixed], atol=1e-15)
    assert table["difference"][~fixed].isna().all()
    assert len(DatabaseStore("w-test").list()) == 2


def test_runs_on_different_markets_are_not_compared():
    workspace("w-a")
    left = learned("w-a")
    made = workspace("w-b")
    made.market = MarketSettings(bundled="us20")
    made.save()
    right = learned("w-b")
    a, b = (results.open_run(state_of(t).store, state_of(t).workspace.run) for t in (left, right))
    with pytest.raises(results.AppError, match="no asset in common"):
        results.compare(a, b)


def test_the_report_page_hands_out_every_file():
    workspace()
    learned()
    test = page("report")
    labels = [button.proto.label for button in test.get("download_button")]
    assert labels[:1] == ["Report (HTML)"]
    assert {"Returns (CSV)", "All tables (Excel)", "All tables (JSON)", "SVG", "PNG"} <= set(labels)
    test.text_input(key="report_title").input("Our clients").run()
    quiet(test)
    assert open_workspace("w-test").title == "Our clients"


def test_groups_that_are_compared_go_into_the_report_and_every_download():
    from imop_app.services import groups, reports

    workspace(investors=SEGMENTS)
    state = state_of(learned())
    preferences = page("preferences")
    preferences.selectbox(key="groups_by").select("segment").run()
    assert open_workspace("w-test").groups == "segment"
    test = page("report")
    assert test.selectbox(key="groups_by").value == "segment"
    labels = [button.proto.label for button in test.get("download_button")]
    assert "Groups (CSV)" in labels
    assert labels.count("SVG") == len(reports.PICTURES) + 1
    plain = results.open_run(state.store, state.workspace.run)
    assert plain.groups is None
    study = groups.grouped(plain, "segment")
    assert reports.table_csv(study, "groups").startswith(b"group,portfolios,")
    assert "groups" in pd.read_excel(io.BytesIO(reports.workbook(study)), sheet_name=None)
    assert "groups" in json.loads(reports.json_document(study))
    assert reports.picture(study, "groups", "svg").startswith(b"<svg")
    assert "Beliefs by segment" in reports.html(study, "", "", "")
    record = results.record_of(state.store, state.workspace.run)
    assert "--by segment" in reports.command_line(record, "x", study)
    # what does not depend on groups is not computed again
    assert study.frame_returns is plain.frame_returns
    test.selectbox(key="groups_by").select_index(0).run()
    labels = [button.proto.label for button in quiet(test).get("download_button")]
    assert "Groups (CSV)" not in labels
    assert open_workspace("w-test").groups is None


def test_the_laboratory_learns_step_by_step():
    test = page("lab", "w-empty")
    first = test.dataframe[0].value["error"].abs().sum()
    test.button(key="lab_step_100").click().run()
    quiet(test)
    assert "100 of 1,000" in test.get("progress")[0].proto.text
    assert test.dataframe[0].value["error"].abs().sum() < first
    test.selectbox(key="lab_unknown").select("b").run()
    test.button(key="lab_step_10").click().run()
    quiet(test)
    assert len(test.dataframe[0].value) == 2


def test_the_laboratory_plays_until_it_is_paused():
    test = page("lab", "w-empty")
    test.button(key="lab_play").click().run()
    assert test.button(key="lab_play").label == "Pause"
    assert test.button(key="lab_step_10").disabled
    test.button(key="lab_play").click().run()
    quiet(test)
    assert test.button(key="lab_play").label == "Play"
    assert not test.button(key="lab_step_10").disabled


def test_pages_hold_no_arithmetic_and_no_file_is_long():
    for file in APP.rglob("*.py"):
        lines = file.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= LINES_AT_MOST, file.name
        if file.parent.name in ("views", "components"):
            text = "\n".join(lines)
            assert "numpy" not in text, file.name
            engine = {line.split(" import ")[0].strip() for line in lines if "imop_engine" in line}
            assert engine <= ENGINE, file.name


def test_charts_are_the_only_thing_views_take_from_the_report():
    for file in (APP / "views").glob("*.py"):
        for line in file.read_text(encoding="utf-8").splitlines():
            if "from imop_engine.report" in line:
                names = line.split(" import ")[1].split("#")[0].replace(" ", "").split(",")
                assert all(name.startswith("charts") for name in names), file.name


def test_tables_and_pictures_are_what_they_say():
    workspace()
    test = learned()
    from imop_app.services import reports

    study = results.open_run(state_of(test).store, state_of(test).workspace.run)
    back = pd.read_csv(io.BytesIO(reports.table_csv(study, "returns")))
    np.testing.assert_array_equal(back["estimate"], study.frame_returns["estimate"])
    assert set(pd.read_excel(io.BytesIO(reports.workbook(study)), sheet_name=None)) == {
        "returns", "investors", "frontier", "distribution", "checks", "sources", "differences",
        "about",
    }  # fmt: skip
    for name in reports.PICTURES:
        assert reports.picture(study, name, "svg").startswith(b"<svg")
        assert reports.picture(study, name, "png").startswith(b"\x89PNG")
    html = reports.html(study, "A <b>title</b>", "Notes & more", "imop learn")
    assert "A &lt;b&gt;title&lt;/b&gt;" in html
    assert "Notes &amp; more" in html


TWO_DATES = (
    b"client,date,AAPL,AMD\nAnn,2020-01-31,0.5,0.5\nBob,2020-01-31,1,0\n"
    b"Ann,2020-02-29,0.1,0.9\nBob,2020-02-29,0.2,0.8\n"
)


def uploaded_people(name: str, content: bytes, errors: int = 0):
    """The Investors page after a file was dropped on it, on a market of six stocks."""
    made = Workspace("w-needs")
    made.market = MarketSettings("upload", file=made.box.put("h.csv", history_file()))
    made.save()
    test = page("investors", "w-needs")
    test.segmented_control(key="investor_source").set_value("upload").run()
    test.file_uploader(key="investor_file").upload(name, content, "text/csv")
    return quiet(test.run(), errors)


def test_several_dates_are_asked_about_and_one_click_settles_it():
    test = uploaded_people("c.csv", TWO_DATES)
    assert "**Needs you** (1)" in said(test)
    assert "2 investors come at several dates; only the latest portfolio of each is used" in said(
        test
    )
    panel = next(one for one in test.button if one.label == "Use all, as a panel")
    test = quiet(panel.click().run())
    assert open_workspace("w-needs").investors.first.snapshots == "panel"
    assert "Needs you" not in said(test)
    assert "4 portfolios of 2 investors from c.csv" in said(test)
    labels = [one.label for one in test.expander]
    assert "Reading report: 1 thing was done for you." in labels
    again = next(one for one in test.selectbox if one.label == "Investors at several dates")
    assert again.value == "panel"


def test_amounts_in_several_currencies_ask_for_rates():
    text = b"client,asset,value,currency\nAnn,AAPL,10,USD\nAnn,AMD,20,EUR\n"
    test = uploaded_people("c.csv", text, errors=1)
    assert "are in several currencies (EUR, USD)" in test.error[0].value
    field = next(one for one in test.text_input if one.label == "Exchange rates")
    test = quiet(field.set_value("EUR=1 USD=2").run())
    held = open_workspace("w-needs").investors.first
    assert held.rates == (("EUR", 1.0), ("USD", 2.0))
    assert "1 investors from c.csv" in said(test)


def test_a_rate_that_is_none_is_a_sentence():
    with pytest.raises(AppError, match=r"USD is no exchange rate; write USD=0\.92"):
        file_choices.rates_of("USD")


def test_files_are_read_apart_and_the_limit_of_an_upload_is_the_documented_one(monkeypatch):
    import tomllib

    from imop_engine.tables import apart

    asked = []

    def note(reader, sources, options, stop):
        asked.append((reader, stop()))
        return apart.read_here(reader, sources, options)

    monkeypatch.setattr(apart, "read_apart", note)
    uploaded_people("other.csv", TWO_DATES.replace(b"Ann", b"Eve"))
    assert ("portfolios", False) in asked
    folder = Path(__file__).parents[2]
    chosen = tomllib.loads((folder / "app/.streamlit/config.toml").read_text())
    limit = chosen["server"]["maxUploadSize"]
    assert f"at most {limit} MB" in (folder / "docs/app.md").read_text()
