"""The client's sheet: numbers of the study, what is withheld, and the page that prints it."""

import datetime as dt
import io
import re
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from imop_engine.client_files import client_archive
from imop_engine.clients.book import ClientBook, ClientOptions
from imop_engine.clients.compare import CHOSEN, compared_figures, with_choice
from imop_engine.clients.selection import ClientFilter, choose, chosen_ids, filter_ranges
from imop_engine.clients.sheet import client_sheet
from imop_engine.clients.trades import TradeRules
from imop_engine.clients.what_if import what_if
from imop_engine.efficiency_gap.kept import keeping
from imop_engine.errors import InvalidInput
from imop_engine.report.html_client import client_page, file_name
from imop_engine.sentences.numbers import percent_cell, points_cell
from imop_engine.study.checks import Check
from imop_engine.study.data import StudyData
from imop_engine.tables.export import read_csv_text

DAY = dt.date(2026, 11, 18)
# What a study works out from the statuses of its returns.
FOLLOWS = ("known_assets", "_left", "frame_investors", "figures")
OPTIONS = ClientOptions(TradeRules(0.05, 0.005), currency="EUR", risk_column="risk profile")


@pytest.fixture(scope="module")
def book(study):
    return ClientBook.of(study, OPTIONS)


def far(book):
    """The client who leaves most on the table."""
    return book.ids[int(np.nanargmax(book.gap))]


def with_verdict(study, verdict):
    """The same study, to be trusted as little as asked."""
    check = Check("trial", verdict, "Something is the matter.", "Mend it.")
    other = replace(study)
    vars(other)["_checks"] = (check,)
    return other


def test_the_sheet_says_what_the_study_says(study, book):
    client = far(book)
    sheet, row = client_sheet(book, client), book.places[client]
    held = study.decisions.loc[client].to_numpy()
    assert sheet.holdings.set_index("asset")["held"][list(study.problem.names)].to_numpy() == (
        pytest.approx(held, abs=1e-12)
    )
    assert sheet.before.expected == pytest.approx(held @ study.theta)
    assert sheet.before.risk == pytest.approx(np.sqrt(held @ study.problem.covariance @ held))
    assert sheet.before.gap == study.gaps.investors["gap"].loc[client]
    assert sheet.efficient.risk == pytest.approx(sheet.before.risk)
    assert sheet.efficient.expected - sheet.before.expected == pytest.approx(sheet.before.gap)
    assert sheet.after.expected == pytest.approx(sheet.before.expected + sheet.trades.gain)
    assert sheet.after.gap == pytest.approx(sheet.before.gap - sheet.trades.gain)
    assert sheet.trades.turnover <= 0.05 + 1e-9
    told = study.frame_investors.set_index("id").loc[client]
    assert sheet.preference.risk_aversion == told["risk_aversion"]
    assert sheet.preference.low == told["risk_aversion_low"]
    assert sheet.gap_interval[0] <= sheet.before.gap <= sheet.gap_interval[1]
    assert sheet.wealth == book.attributes["wealth"].iloc[row]
    assert sheet.trade_list["amount"].sum() == pytest.approx(0.0, abs=1e-6)
    assert not sheet.withheld


def test_score_and_trades_do_not_depend_on_the_anchors(book, elsewhere):
    other = ClientBook.of(elsewhere, OPTIONS)
    assert other.score == pytest.approx(book.score, abs=1e-9)
    assert other.mismatch.tolist() == book.mismatch.tolist()
    assert other.preference["score"].to_numpy() == pytest.approx(
        book.preference["score"].to_numpy(), abs=0.2
    )
    client = far(book)
    mine, theirs = client_sheet(book, client).trades, client_sheet(other, client).trades
    assert theirs.changes == pytest.approx(mine.changes, abs=5e-3)


def test_the_score_does_not_depend_on_the_other_clients(study, book):
    mask = np.arange(len(book)) % 2 == 0
    people = study.data.investors.only(mask)
    half = replace(study, data=StudyData.on(study.data.market, people))
    assert ClientBook.of(half).score.tolist() == book.score[mask].tolist()


def test_a_poor_study_says_nothing_that_rests_on_returns(study):
    book = ClientBook.of(with_verdict(study, "poor"), OPTIONS)
    sheet = client_sheet(book, book.ids[0])
    assert sheet.trades is sheet.efficient is sheet.after is sheet.preference is None
    assert np.isnan([sheet.before.expected, sheet.before.gap]).all()
    assert np.isfinite([sheet.before.risk, sheet.before.score]).all()
    assert sheet.stated is not None
    assert "verdict on this study is poor" in sheet.withheld[0]
    page = client_page(book, book.ids[0], DAY)
    assert "verdict on this study is poor" in page
    assert "basis points) a year" not in page
    assert "<h2>Trades</h2>" not in page
    assert book.table["gap"].isna().all()
    assert book.table["risk_aversion"].isna().all()


def test_without_anchors_no_return_is_said_but_trades_are(unanchored):
    book = ClientBook.of(unanchored, OPTIONS)
    if book.poor:
        book = ClientBook.of(with_verdict(unanchored, "caution"), OPTIONS)
    sheet = client_sheet(book, book.ids[0])
    assert np.isnan([sheet.before.expected, sheet.before.gap, sheet.before.money(1.0)]).all()
    assert sheet.efficient is not None
    assert sheet.trades is not None
    assert "level and the scale" in sheet.withheld[0]
    assert "nan" not in client_page(book, book.ids[0], DAY).lower().replace("finan", "")


def without_returns(study, asset):
    """The study as if its portfolios did not fix the return of one asset."""
    frame = study.frame_returns.copy()
    frame.loc[frame["asset"] == asset, "status"] = "bounded above"
    other = replace(study)
    told = {name: value for name, value in vars(study).items() if name not in FOLLOWS}
    vars(other).update({**told, "frame_returns": frame})
    return other


def test_an_asset_whose_return_is_not_known_is_kept_and_the_rest_is_judged(study):
    book = ClientBook.of(without_returns(study, "High yield"), OPTIONS)
    asset = study.problem.names.index("High yield")
    place = int(np.flatnonzero(book.hidden & (book.held[:, asset] >= 0.01))[0])
    sheet = client_sheet(book, book.ids[place])
    assert "High yield is not known" in sheet.withheld[0]
    assert np.isnan([sheet.before.expected, sheet.efficient.expected, sheet.after.expected]).all()
    assert sheet.trades.changes[asset] == 0.0
    assert sheet.efficient.risk <= sheet.before.risk * (1 + 1e-9)
    assert sheet.efficient.gap == 0.0
    assert sheet.after.gap == pytest.approx(sheet.before.gap - sheet.trades.gain)
    assert book.table["gap"].iloc[place] == sheet.before.gap
    assert np.isnan(book.table["expected_return"].iloc[place])
    # with everything free to move it is no less, and what is not known plays no part
    whole = ClientBook.of(study, OPTIONS)
    assert 0.0 <= sheet.before.gap <= whole.gap[place] + 1e-9
    theta = np.asarray(study.theta) + 5.0 * (np.arange(len(study.theta)) == asset)
    kept = np.arange(len(theta)) == asset
    again = keeping(study.problem, theta, book.held[place], kept)
    assert again.gap == pytest.approx(sheet.before.gap, abs=1e-9)
    seen = what_if(book, book.held[place])
    assert seen.gap == pytest.approx(sheet.before.gap, abs=1e-9)
    assert np.isnan(seen.expected)


def test_too_many_to_judge_one_by_one_are_withheld(study, monkeypatch):
    monkeypatch.setattr("imop_engine.efficiency_gap.kept.MOST_KEPT", 1)
    book = ClientBook.of(without_returns(study, "High yield"), OPTIONS)
    sheet = client_sheet(book, book.ids[int(np.flatnonzero(book.hidden)[0])])
    assert "trades are withheld" in sheet.withheld[0]
    assert sheet.trades is sheet.efficient is None
    assert np.isnan(sheet.before.gap)
    assert "nothing is said" in book.study.gaps.sentence()
    assert np.isfinite(book.study.gaps.mean), "of those for whom it can be said"


def test_a_client_who_takes_no_part_is_refused_with_the_reason(book):
    with pytest.raises(InvalidInput, match="no investor 'nobody'"):
        client_sheet(book, "nobody")


def test_names_from_outside_are_escaped_and_nothing_is_fetched(study):
    bad = "<script>alert(1)</script>"
    ids = study.data.portfolios.index.tolist()
    people = replace(study.data.investors, ids=(bad, *ids[1:]))
    other = StudyData.on(study.data.market, people)
    book = ClientBook.of(replace(study, data=other), OPTIONS)
    page = client_page(book, bad, DAY)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert "default-src 'none'" in page
    assert file_name(bad, ".html") == "client_script-alert-1-script.html"


def test_the_page_has_every_number_of_the_sheet(book):
    client = far(book)
    sheet, page = client_sheet(book, client), client_page(book, client, DAY)
    for shown in (
        percent_cell(sheet.before.risk),
        percent_cell(sheet.before.expected),
        percent_cell(sheet.after.expected),
        percent_cell(sheet.efficient.expected),
        points_cell(1e4 * sheet.before.gap),
        f"{sheet.before.score:.0f} (",
        "given the anchors",
        "2026-11-18",
        "Government bonds returns 2.50% a year",
        "EUR",
        sheet.stated.sentence,
    ):
        assert shown in page
    for row in sheet.trade_list.itertuples():
        assert f"{100.0 * row.change:+.2f}%" in page
        assert f"{round(row.amount):+,}" in page
    assert "size: A4" in client_page(book, client, DAY, "a4")
    assert "size: letter" in client_page(book, client, DAY, "letter")
    with pytest.raises(InvalidInput, match="no paper 'a5'"):
        client_page(book, client, DAY, "a5")


def test_one_pagers_of_a_segment_in_one_archive(book):
    north = chosen_ids(book, ClientFilter(values=(("branch", ("north",)),), text="C000"))
    packed = client_archive(book, north, DAY)
    assert packed == client_archive(book, north, DAY)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        names = archive.namelist()
        assert len(names) == len(set(names)) == len(north) + 2
        rows = read_csv_text(archive.read("clients.csv").decode())
        about = read_csv_text(archive.read("about.csv").decode())
        page = archive.read(file_name(north[0], ".html")).decode()
    assert rows["id"].tolist() == list(north)
    assert rows["gap"].tolist() == book.table.set_index("id").loc[list(north), "gap"].tolist()
    assert {"made", "anchor", "units", "settings", "verdict"} <= set(about["what"])
    assert page == client_page(book, north[0], DAY)
    with pytest.raises(InvalidInput, match="nobody"):
        client_archive(book, [], DAY)


def test_mismatches_are_listed_the_furthest_first(book):
    table = book.mismatches
    assert set(table["mismatch"]) <= {"more", "less"}
    assert table["beyond"].is_monotonic_decreasing
    counted = int(np.isin(book.mismatch, ["more", "less"]).sum())
    assert len(table) == counted > 0
    assert f"{int((book.mismatch == 'more').sum())} hold more" in book.mismatches_said()
    bands = book.bands()
    assert bands["clients"].sum() == len(book)
    assert bands["score_from"].iloc[0] == 1.0
    assert bands["score_to"].iloc[-1] == 99.0


def test_wealth_by_number_column_or_not_at_all(study):
    assert (ClientBook.of(study, ClientOptions(wealth=1000.0)).wealth == 1000.0).all()
    named = ClientBook.of(study, ClientOptions(wealth_column="wealth"))
    assert named.wealth.tolist() == named.attributes["wealth"].tolist()
    with pytest.raises(InvalidInput, match="no column 'fortune'"):
        ClientBook.of(study, ClientOptions(wealth_column="fortune"))
    with pytest.raises(InvalidInput, match="wealth is -1"):
        ClientOptions(wealth=-1.0)


def test_filters_agree_with_the_table(book):
    table = book.table
    flags = choose(
        book,
        ClientFilter(
            values=(("branch", ("south",)),), ranges=(("score", 40.0, 60.0),), mismatch=("agrees",)
        ),
    )
    by_hand = (table["branch"] == "south") & table["score"].between(40, 60)
    assert flags.tolist() == (by_hand & (table["mismatch"] == "agrees")).tolist()
    assert choose(book, ClientFilter()).all()
    assert chosen_ids(book, ClientFilter(text="c0007")) == ("C0007",)
    assert (
        choose(book, ClientFilter(text="SOUTH")).tolist() == (table["branch"] == "south").tolist()
    )
    outliers = choose(book, ClientFilter(status=("outlier",)))
    assert outliers.tolist() == book.outlier.tolist()
    assert "score" in filter_ranges(book)
    with pytest.raises(InvalidInput, match="no column 'hat'"):
        choose(book, ClientFilter(values=(("hat", ("red",)),)))
    said = ClientFilter(values=(("branch", ("south",)),), mismatch=("more",), text="x").said()
    assert said == "branch 'south'; more risk than stated; text 'x'"


def test_some_beside_the_rest_needs_no_new_run(study, book):
    north = chosen_ids(book, ClientFilter(values=(("branch", ("north",)),)))
    figures = compared_figures(book, north).set_index("who")
    table = book.table[book.table["branch"] == "north"]
    assert figures.loc["these", "clients"] == len(table)
    assert figures.loc["these", "score"] == pytest.approx(table["score"].mean())
    assert figures["clients"].sum() == len(book)
    mine, theirs = with_choice(study, north).groups_by(CHOSEN), study.groups_by("branch")
    assert mine.test.p_value == pytest.approx(theirs.test.p_value)
    with pytest.raises(InvalidInput, match="no rest"):
        with_choice(study, book.ids)


def test_several_dates_of_one_client_show_the_latest(study):
    people = study.data.investors
    ids = ("C0001", *people.ids[1:])
    other = StudyData.on(study.data.market, replace(people, ids=ids))
    book = ClientBook.of(replace(study, data=other))
    assert len(book) == len(people) - 1
    assert book.held[book.places["C0001"]] == pytest.approx(people.portfolios[1], abs=1e-12)


def test_amounts_of_a_file_bring_wealth(tmp_path):
    table = pd.DataFrame(
        {"client": ["a", "b"], "Bonds": [3000.0, 50_000.0], "Stocks": [1000.0, 150_000.0]}
    )
    path = tmp_path / "amounts.csv"
    table.to_csv(path, index=False)
    from imop_engine.tables import read_portfolios

    people = read_portfolios(path, ["Bonds", "Stocks"], units="amounts")
    assert people.attributes["wealth"].tolist() == [4000.0, 200_000.0]
    assert people.weights.loc["b"].tolist() == [0.25, 0.75]
    shares = read_portfolios(
        table.assign(Bonds=0.5, Stocks=0.5), ["Bonds", "Stocks"], units="fraction"
    )
    assert "wealth" not in shares.attributes
