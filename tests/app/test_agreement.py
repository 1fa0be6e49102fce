"""Page, CSV, Excel, JSON and HTML agree on every number of a run, and say what it was."""

import datetime as dt
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from pypdf import PdfReader

from app_harness import learned, page, said, state_of, workspace
from imop_app.services import clients, making, reports, results
from imop_app.settings import InvestorBatch, InvestorSettings, LearnSettings, Simulation
from imop_engine.sentences.numbers import aversion, percent_cell
from imop_engine.storage import export_study, study_tables
from imop_engine.study.outcome import OUTLIERS
from imop_engine.tables.export import read_csv_text

pytestmark = pytest.mark.slow

DRAWN = Simulation(150, "segments", noise="gaussian", noise_level=0.01, views=0.01)


@pytest.fixture
def state():
    workspace(investors=InvestorSettings((InvestorBatch("simulate", DRAWN),)))
    return state_of(learned())


@pytest.fixture
def study(state):
    return results.open_run(state.store, state.workspace.run)


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Two tables with the same cells; what is no number, or no finite one, may be nothing."""
    assert [str(name) for name in one.columns] == [str(name) for name in other.columns]
    assert len(one) == len(other)
    for at, name in enumerate(one.columns):
        mine, theirs = one.iloc[:, at], other.iloc[:, at]
        if pd.api.types.is_bool_dtype(mine):
            assert mine.astype(bool).tolist() == theirs.astype(bool).tolist(), name
        elif pd.api.types.is_numeric_dtype(mine):
            left = mine.to_numpy(dtype=float)
            right = pd.to_numeric(theirs, errors="coerce").to_numpy(dtype=float)
            known = np.isfinite(left)
            assert (left[known] == right[known]).all(), name
            assert not np.isfinite(right[~known]).any(), name
        else:
            left, right = ([_text(cell) for cell in column] for column in (mine, theirs))
            assert left == right, name


def _text(cell) -> str:
    return "" if cell is None or (isinstance(cell, float) and np.isnan(cell)) else str(cell)


def test_every_table_is_the_same_in_csv_excel_and_json(study, tmp_path):
    tables = study_tables(study)
    book = pd.read_excel(
        io.BytesIO(reports.workbook(study)), sheet_name=None, keep_default_na=False, na_values=[""]
    )
    document = json.loads(reports.json_document(study))
    assert set(book) == set(document) == {*tables, "about"}
    for name, table in tables.items():
        same(table, read_csv_text(reports.table_csv(study, name).decode()))
        same(table, book[name])
        same(table, pd.DataFrame(document[name], columns=[str(one) for one in table.columns]))
    shell = json.loads(export_study(study, tmp_path / "study.json").read_text())
    for name in tables:
        assert shell[name] == document[name]


def test_the_report_has_the_numbers_of_the_tables(study):
    text = re.sub(r"<svg.*?</svg>", "", reports.html(study, "Title", "", ""), flags=re.S)
    for row in study.frame_returns.itertuples():
        cells = re.search(rf"<tr><td>{re.escape(row.asset)}</td>(.*?)</tr>", text, re.S)[1]
        for number in (row.estimate, row.low, row.high):
            assert percent_cell(number) in cells
    assert f"{study.figures['rounds']:,}" in text
    assert dt.date.today().isoformat() in text
    assert "Units: " in text


@pytest.mark.skipif(not reports.can_print(), reason="no browser that prints on this machine")
@pytest.mark.parametrize(("paper", "width"), [("a4", 595), ("letter", 612)])
def test_the_pdf_has_the_numbers_and_the_paper_that_was_chosen(state, study, paper, width):
    record = results.record_of(state.store, state.workspace.run)
    shown = making.Shown(study, state.store.location(record.id), reports.stem(record))
    printed = PdfReader(io.BytesIO(making.pdf(shown, "Title", "", "", paper)))
    assert round(float(printed.pages[0].mediabox.width)) == width
    text = " ".join(" ".join(one.extract_text() for one in printed.pages).split())
    for row in study.frame_returns.itertuples():
        for number in (row.estimate, row.low, row.high):
            assert percent_cell(number) in text
    assert f"1 / {len(printed.pages)}" in text


def test_the_pages_have_the_numbers_of_the_tables(study):
    returns = results.frontier(study).returns
    told = study.frame_returns
    for name in ("estimate", "low", "high"):
        both = zip(returns[name], told[name], strict=True)
        assert all(one == other or (np.isnan(one) and np.isnan(other)) for one, other in both)
    shown = results.preferences(study).investors
    kept = study.frame_investors[study.frame_investors["weight"].notna()]
    drawn = page("frontier").dataframe[0].value  # as the browser gets it, in per cent
    for name in ("estimate", "low", "high"):
        np.testing.assert_allclose(drawn[name], 100.0 * told[name], rtol=1e-12)
    for name in ("weight", "risk_aversion", "distance", "gap"):
        assert np.array_equal(shown[name], kept[name], equal_nan=True)
    counted = int((kept["status"] == "outlier").sum())
    assert counted == study.figures["set_aside"]


def plain(text: str) -> str:
    """What a reader of that page of HTML reads."""
    return " ".join(
        re.sub(r"<[^>]*>", " ", re.sub(r"<(svg|style).*?</\1>", "", text, flags=re.S)).split()
    )


@pytest.mark.parametrize("trim", [False, True])
def test_the_key_figures_are_one_on_pages_in_tables_and_on_paper(trim):
    """Explained, risk aversion, outliers, left on the table: wherever somebody reads them."""
    opened = workspace("w-key", investors=InvestorSettings((InvestorBatch("simulate", DRAWN),)))
    opened.learn = LearnSettings(trim=trim)
    opened.save()
    test = learned("w-key")
    state = state_of(test)
    study = results.open_run(state.store, state.workspace.run)
    shown = {one.label: one.value for one in test.metric}
    rows = read_csv_text(reports.table_csv(study, "investors").decode())
    taken = rows[rows["weight"].notna()]
    assert shown["Investors"] == f"{len(taken):,}"
    assert shown["Outliers"] == f"{taken['status'].isin(OUTLIERS).sum():,}"
    assert shown["Risk aversion"] == aversion(
        taken["risk_aversion"].fillna(np.inf).median()
    )  # at 0
    assert shown["Left on the table"] == percent_cell(taken["gap"].mean(), 3)
    facts = {one["what"]: one["text"] for one in json.loads(reports.json_document(study))["about"]}
    told = [
        facts[name]
        for name in (
            "portfolios", "outliers", "holdings explained", "median risk aversion",
            "left on the table, mean a year",
        )
    ]  # fmt: skip
    names = ("Investors", "Outliers", "Explained", "Risk aversion", "Left on the table")
    assert told == [shown[name] for name in names]
    assert f"{shown['Explained']} explained" in said(test)
    seen = page("preferences", "w-key")
    assert shown["Left on the table"] in said(seen)
    assert f"explains {shown['Explained']} of" in said(seen)
    wild = taken["gap_outlier"].sum()
    assert wild == study.figures["gap_outliers"]
    run = page("runs", "w-key").dataframe[0].value.iloc[0]
    assert (run["explained"], run["rounds"]) == (shown["Explained"], len(taken))
    report = plain(reports.html(study, "Title", "", ""))
    for name in ("Investors", "Explained", "Risk aversion", "Left on the table"):
        assert shown[name] in report, name
    held = page("frontier", "w-key")
    beliefs = next(one.value for one in held.dataframe if "explained" in one.value)
    assert beliefs["explained"].iloc[0] == shown["Explained"]


def test_one_client_is_the_same_on_the_page_in_the_table_and_on_paper(state, study):
    found = clients.book(study, clients.options({"turnover": 100.0, "least": 0.5}))
    client = found.ids[3]
    row = found.table.set_index("id").loc[client]
    told = study.frame_investors.set_index("id").loc[client]
    csv = read_csv_text(clients.table_csv(found, (client,)).decode()).iloc[0]
    sheet = clients.sheet(found, client).sheet
    assert csv["risk"] == row["risk"] == sheet.before.risk
    assert csv["score"] == row["score"] == sheet.before.score
    assert np.array_equal([row["gap"]], [sheet.before.gap], equal_nan=True)
    assert np.isnan(row["gap"]) or row["gap"] == told["gap"] == csv["gap"]
    paper = clients.page_html(found, client)
    test = page("clients")
    test.selectbox(key="client_None").select(client).run()
    for metric in test.metric:
        assert metric.value in paper, metric.label


def test_every_export_says_what_the_run_was(study):
    document = json.loads(reports.json_document(study))
    facts = {one["what"]: one["text"] for one in document["about"]}
    assert facts["made"] == dt.date.today().isoformat()
    assert "0.01 is 1%" in facts["units"]
    assert "level 0.95" in facts["settings"]
    assert facts["anchors chosen"] == "by the return history"
    anchors = [one for one in document["about"] if one["what"] == "anchor"]
    assert len(anchors) == 2


def test_names_of_files_say_what_they_are(state):
    record = results.record_of(state.store, state.workspace.run)
    stem = reports.stem(record, dt.date(2026, 11, 18))
    assert stem.startswith("Eight-securities")
    assert stem.endswith("_2026-11-18")
    assert re.fullmatch(r"[\w.-]+", stem)
    assert reports.stem(None, dt.date(2026, 11, 18)) == "run_2026-11-18"
