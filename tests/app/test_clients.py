"""The Clients page: filters, one client, downloads, and learning from some of them."""

import io
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from app_harness import PATIENCE, charts_on, learned, page, quiet, said, state_of, workspace
from imop_app.jobs import JOBS
from imop_app.services import clients, learning, people, results, what_if
from imop_app.services.errors import AppError
from imop_app.settings import InvestorBatch, InvestorSettings, Selection, Simulation
from imop_app.workspace import open_workspace

pytestmark = pytest.mark.slow

DRAWN = Simulation(120, "segments", noise="gaussian", noise_level=0.01)
INVESTORS = InvestorSettings((InvestorBatch("simulate", DRAWN),))
USUAL = {"turnover": 10.0, "least": 0.5, "wealth": 100_000.0, "currency": "EUR"}


def labels(test, kind):
    return [one.label for one in test.get(kind)]


@pytest.fixture
def state():
    workspace(investors=INVESTORS)
    return state_of(learned())


def opened(state):
    study = results.open_run(state.store, state.workspace.run)
    return clients.book(study, clients.options({**USUAL, "risk_column": "segment"}))


def test_the_page_lists_chooses_and_shows_one_client(state):
    test = page("clients")
    assert "All 120 clients" in said(test)
    assert {"These clients (CSV)", "These clients (Excel)", "One-pagers (ZIP)"} <= set(
        labels(test, "download_button")
    )
    assert test.button(key="client_only").disabled, "everybody is chosen"
    test.text_input(key="client_search").set_value("careful").run()
    quiet(test)
    assert "of 120 clients: text" in said(test).replace("\\", "")
    assert not test.button(key="client_only").disabled
    test.selectbox(key="client_None").select_index(0).run()
    quiet(test)
    assert charts_on(test) == 3
    assert "One-pager (HTML)" in labels(test, "download_button")
    assert any("risk score" in one.label.lower() for one in test.metric)
    test.text_input(key="client_search").set_value("no such client").run()
    assert "Nobody passes" in " ".join(one.value for one in quiet(test).info)


def test_a_stated_class_is_compared_and_an_unknown_order_asked_for(state):
    test = page("clients")
    test.selectbox(key="client_risk_column").select("segment").run()
    assert "hold more risk than stated" in said(quiet(test))
    test.text_input(key="client_order").set_value("careful, bold").run()
    assert "balanced" in quiet(test, 1).error[0].value
    test.text_input(key="client_order").set_value("bold, balanced, careful").run()
    test.multiselect(key="client_mismatch").select("more").run()
    assert "more risk than stated" in said(quiet(test))


def test_downloads_have_the_chosen_and_what_the_run_was(state):
    found = opened(state)
    asked = clients.wanted({"segment": ["bold"]}, {}, (), (), "")
    ids = clients.chosen(found, asked)
    assert 0 < len(ids) < 120
    rows = pd.read_csv(io.BytesIO(clients.table_csv(found, ids)))
    assert set(rows["segment"]) == {"bold"}
    sheets = pd.read_excel(io.BytesIO(clients.workbook(found, ids, asked)), sheet_name=None)
    assert set(sheets) == {"clients", "about", "classes"}
    assert sheets["clients"]["gap"].to_numpy() == pytest.approx(
        rows["gap"].to_numpy(), rel=1e-14, nan_ok=True
    )
    assert {"made", "units", "settings", "verdict"} <= set(sheets["about"]["what"])
    packed = zipfile.ZipFile(io.BytesIO(clients.archive(found, ids[:3])))
    assert len(packed.namelist()) == 5
    page_text = clients.page_html(found, ids[0])
    assert packed.read(clients.file_name(ids[0], ".html")).decode() == page_text
    with pytest.raises(AppError, match="too many"):
        clients.archive(found, ids * 50)


def test_learning_from_these_only_and_all_again(state):
    test = page("clients")
    test.text_input(key="client_search").set_value("bold").run()
    test.button(key="client_only").click().run()
    JOBS.get("w-test").wait(PATIENCE)
    kept = open_workspace("w-test")
    picked = kept.investors.selection
    assert picked.mode == "only"
    assert "text 'bold'" in picked.said
    test = page("learn")
    state = state_of(test)
    study = results.open_run(state.store, state.workspace.run)
    assert len(study.decisions) == len(picked.ids)
    assert set(study.data.attributes["segment"]) == {"bold"}
    test = page("clients")
    assert "Only" in " ".join(one.value for one in test.info)
    test.button(key="selection_drop").click().run()
    quiet(test)
    assert open_workspace("w-test").investors.selection is None


def test_setting_aside_twice_leaves_out_both(state):
    market, box = state.workspace.market, state.workspace.box
    one, two, three, *_ = people.load(market, INVESTORS, box).ids
    first = clients.selected(INVESTORS, Selection("without", (one, two), "a"))
    second = clients.selected(first, Selection("without", (three,), "b"))
    assert second.selection == Selection("without", (one, two, three), "a; b")
    assert clients.all_of(second) == INVESTORS
    left = people.load(market, second, box)
    assert len(left) == len(left.attributes) == len(left.portfolios) == 117
    assert not {one, two, three} & set(left.ids)
    only = clients.selected(INVESTORS, Selection("only", (one, two, three), "c"))
    fewer = clients.selected(only, Selection("without", (two,), "d"))
    assert (fewer.selection.mode, fewer.selection.ids) == ("only", (one, three))
    assert people.load(market, fewer, box).ids == (one, three)
    with pytest.raises(AppError, match="Nobody"):
        people.load(market, clients.selected(INVESTORS, Selection("only", ("nobody",), "e")), box)


def test_a_run_from_some_is_not_continued_by_one_from_all(state):
    record = results.record_of(state.store, state.workspace.run)
    some = clients.selected(INVESTORS, Selection("only", ("1",), "x"))
    state.workspace.investors = some.plus(INVESTORS.first)
    assert some.plus(INVESTORS.first).selection == some.selection
    assert not learning.can_continue(state.workspace, record)
    assert clients.can_learn(replace(state.workspace, investors=INVESTORS), record)


def test_the_chosen_beside_the_rest(state):
    test = page("clients")
    test.text_input(key="client_search").set_value("bold").run()
    test.toggle(key="client_compare").set_value(True).run()
    quiet(test)
    found = opened(state)
    ids = clients.chosen(found, clients.wanted({}, {}, (), (), "bold"))
    figures, beliefs = clients.compared(found, ids)
    assert figures["clients"].tolist() == [len(ids), 120 - len(ids)]
    assert beliefs.said
    assert np.isfinite(figures["score"]).all()


@pytest.mark.parametrize("text", ["5, x", "10, 5"])
def test_limits_that_are_none_end_in_a_sentence(state, text):
    study = results.open_run(state.store, state.workspace.run)
    asked = {**USUAL, "risk_column": "segment", "order": "careful,balanced,bold", "limits": text}
    with pytest.raises(AppError, match=r"no per cent|rising"):
        clients.book(study, clients.options(asked))


def test_what_if_moves_with_the_portfolio_and_models_follow_segments(state):
    test = page("clients")
    test.toggle(key="models").set_value(True).run()
    assert "Model portfolios (CSV)" in labels(quiet(test), "download_button")
    test.selectbox(key="client_None").select_index(0).run()
    test.toggle(key="what_if").set_value(True).run()
    assert "Against the benchmark" in said(quiet(test))
    found = opened(state)
    client = found.ids[0]
    table = what_if.start(found, client)
    same = what_if.picture(found, client, table).figures.set_index("kind")
    assert same.loc["edited", "score"] == pytest.approx(same.loc["held", "score"], abs=0.2)
    table["share"] = [100.0, *[None] * (len(table) - 1)]
    alone = what_if.picture(found, client, table)
    risk = np.sqrt(found.study.problem.covariance[0, 0])
    assert alone.figures.set_index("kind").loc["edited", "risk"] == pytest.approx(risk)
    table["cap"] = 40.0
    assert what_if.picture(found, client, table).above_caps == pytest.approx(0.6)
    table["share"] = None
    with pytest.raises(AppError, match="one above zero"):
        what_if.picture(found, client, table)
    models = what_if.models(found, "segment").set_index("segment")
    assert models.loc["careful", "score"] < models.loc["bold", "score"]
