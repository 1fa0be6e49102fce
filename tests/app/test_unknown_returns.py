"""An asset of unknown return: one rule for what is left on the table, wherever it is said."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_app.services import clients, gaps, reports, results
from imop_engine.clients.book import ClientBook
from imop_engine.clients.sheet import client_sheet
from imop_engine.clients.what_if import what_if
from imop_engine.report.html_client import client_page
from imop_engine.sentences.numbers import percent_and_points, percent_cell, points_cell
from imop_engine.storage import load_study, save_study
from imop_engine.study import StudySettings
from imop_engine.tables.export import read_csv_text

NAMES = ("Bonds", "Credit", "Property", "Equity", "Gold")
RETURNS = np.array([0.02, 0.032, 0.05, 0.065, 0.03])
VOLATILITIES = np.array([0.03, 0.05, 0.12, 0.16, 0.14])
COVARIANCE = np.outer(VOLATILITIES, VOLATILITIES) * (0.3 + 0.7 * np.eye(5))
HOLDERS = 12


@pytest.fixture(scope="module")
def study():
    """Clients on a frontier without gold, and a dozen who hold some all the same."""
    rng = np.random.default_rng(5)
    history = pd.DataFrame(rng.multivariate_normal(RETURNS / 12, COVARIANCE / 12, 180))
    history.columns = list(NAMES)
    plain = imop.portfolio_problem(COVARIANCE[:4, :4], names=NAMES[:4])
    held = imop.efficient_frontier(plain, RETURNS[:4]).at(rng.uniform(0.05, 0.8, 120))
    held = np.maximum(held + rng.normal(0.0, 0.02, held.shape), 0.0)
    held /= held.sum(axis=1, keepdims=True)
    gold = np.zeros((120, 1))
    gold[3 : 3 + HOLDERS] = rng.uniform(0.02, 0.15, (HOLDERS, 1))
    portfolios = pd.DataFrame(np.hstack([(1.0 - gold) * held, gold]), columns=list(NAMES))
    portfolios.index = [f"C{number:03d}" for number in range(120)]
    about = pd.DataFrame({"branch": rng.choice(["north", "south"], 120), "wealth": 1e5})
    return imop.run_study(
        12 * history.mean(), 12 * history.cov(), portfolios,
        StudySettings(anchors={"Bonds": 0.02, "Equity": 0.065}, title="Gold", by=None),
        history=history, attributes=about,
    )  # fmt: skip


def test_gold_is_not_known_and_judging_it_would_say_something_else(study):
    told = study.frame_returns.set_index("asset")["status"]
    assert told["Gold"] not in ("identified", "anchored"), told["Gold"]
    assert study.verdict != "poor"
    free = imop.measure_gaps(study.frontier, study.complete_decisions)
    apart = (free.investors["gap"] - study.gaps.investors["gap"]).to_numpy()
    unsure = study.gaps.unsure
    assert unsure.sum() >= HOLDERS
    assert len(study.gaps.kept) == unsure.sum()
    assert np.abs(apart[unsure]).max() > 1e-4, "more than a basis point"
    assert (apart[~unsure] == 0.0).all()


def test_what_is_left_on_the_table_is_one_number_everywhere(study, tmp_path):
    left = study.gaps.investors["gap"].to_numpy()
    unsure = np.flatnonzero(study.gaps.unsure)
    book = ClientBook.of(study, clients.options({"turnover": 100.0, "least": 0.5}))
    csv = read_csv_text(reports.table_csv(study, "investors").decode())
    excel = pd.read_excel(io.BytesIO(reports.workbook(study)), sheet_name="investors")
    document = json.loads(reports.json_document(study))
    save_study(study, tmp_path / "kept")
    tables = {
        "the study": study.frame_investors["gap"],
        "the clients": book.table["gap"],
        "Preferences": results.preferences(study).investors["gap"],
        "investors.csv": csv["gap"],
        "the workbook": excel["gap"],
        "the JSON": pd.DataFrame(document["investors"])["gap"],
        "the clients' file": read_csv_text(clients.table_csv(book, book.ids).decode())["gap"],
        "the study read again": load_study(tmp_path / "kept").frame_investors["gap"],
    }
    for where, column in tables.items():
        np.testing.assert_allclose(column.to_numpy(float), left, rtol=1e-9, err_msg=where)
    for row in unsure:
        client = book.ids[row]
        assert client_sheet(book, client).before.gap == left[row]
        assert what_if(book, book.held[row]).gap == pytest.approx(left[row], abs=1e-9)
        said, arrow = gaps.investor(study, client)
        assert percent_and_points(left[row]) in said
        assert "not known" in said
        assert arrow["gap"].iloc[0] == left[row]
    client = book.ids[unsure[0]]
    assert points_cell(1e4 * left[unsure[0]]) in client_page(book, client)


def test_sums_and_groups_are_of_the_same_numbers(study):
    left = study.gaps.investors["gap"]
    groups = results.segments(study, "branch")
    assert groups["total_gap"].sum() == pytest.approx(left.sum())
    assert study.figures["mean_gap"] == pytest.approx(left.mean())
    assert study.figures["gaps_of_the_rest"] == study.gaps.unsure.sum()
    picture = gaps.picture(study)
    assert picture.bins["count"].sum() == len(left)
    assert picture.arrows["gap"].iloc[0] == left.max()
    page = reports.html(study, "Title", "", "")
    for said in (picture.said, results.mean_gap_said(study)):
        assert said.split(" investors an asset")[0] in page
    by_branch = left.groupby(study.data.attributes["branch"].to_numpy()).mean()
    for value in by_branch:
        assert percent_cell(value, 3) in page
