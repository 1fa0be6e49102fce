"""Coverage of value: who is set aside, what counts as a holding, and cash that has a rate."""

import numpy as np
import pandas as pd
import pytest

from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.loading import (
    HistoryOptions,
    MarketSource,
    PortfolioOptions,
    TableFile,
    load_investors,
    load_market,
)
from imop_engine.market import CASH_RISK, Market
from imop_engine.storage import load_study, save_study
from imop_engine.study import StudyData, steps_of
from imop_engine.tables import read_portfolios
from imop_engine.tables.extra_holdings import MOST_TRIED

AB = ["A", "B"]


def market(history: bool = True) -> Market:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(0.005, 0.04, (60, 2)), columns=AB)
    about = {"history": table, "periods_per_year": 12} if history else {}
    return Market.of(12 * table.mean(), 12 * table.cov(), **about)


def test_what_is_left_is_made_whole_and_its_share_is_kept():
    text = b"client,A,B,X\nAnn,0.5,0.4,0.1\nBob,0.5,0.5,0\nCyd,0.4,0.3,0.3\n"
    people = read_portfolios(text, AB, name="x.csv")
    assert people.weights.index.tolist() == ["Ann", "Bob"]
    np.testing.assert_allclose(people.weights.loc["Ann"], [5 / 9, 4 / 9])
    np.testing.assert_allclose(people.covered, [0.9, 1.0])
    assert people.report.covered == pytest.approx(1 - 0.4 / 3)
    aside = people.report.to_frame().query("action == 'refused'")
    assert aside[["row", "value"]].to_numpy().tolist() == [[4, "Cyd: 70%"]]
    everyone = read_portfolios(text, AB, name="x.csv", coverage=0.7)
    assert len(everyone) == 3
    assert read_portfolios(text, name="x.csv").report.covered is None


ASIDE = (
    b"client,segment,since,A,B,X\nAnn,retail,2020-01-05,60,40,0\nBob,private,2021-03-01,10,4,86\n"
    b"Cyd,retail,2019-07-01,30,70,0\nDan,retail,2019-07-02,30,abc,0\n"
    b"Eve,private,2018-07-02,-30,130,0\nFay,,2018-08-02,0,0,100\n,retail,2018-08-02,20,n/a,80\n"
)


def test_whoever_is_set_aside_is_named_with_the_reason():
    people = read_portfolios(ASIDE, AB, name="x.csv")
    assert people.weights.index.tolist() == ["Ann", "Cyd"]
    assert people.set_aside["reason"].to_dict() == {
        "Bob": "has a return history for 14% of its value, less than the 80% asked for",
        "Dan": "has no holding to read in column B",
        "Eve": "has a negative holding: A -30",
        "Fay": "holds only assets without a return history",
        "row 8": "has no holding to read in column B",
    }
    assert list(people.set_aside.columns) == ["reason", "segment", "since"]
    assert people.set_aside.loc["Bob", "since"] == pd.Timestamp("2021-03-01")


def test_of_a_long_file_every_portfolio_that_takes_no_part_is_named_once():
    text = (
        b"client,date,asset,value,currency\nAnn,2024-01-31,A,50,EUR\nAnn,2024-01-31,B,50,EUR\n"
        b"Bob,2024-01-31,A,10,EUR\nBob,2024-01-31,X,90,EUR\nCyd,2024-01-31,A,?,EUR\n"
        b"Cyd,2024-01-31,B,50,EUR\nDan,2024-01-31,A,50,USD\nDan,2024-01-31,B,50,EUR\n"
    )
    people = read_portfolios(text, AB, name="x.csv")
    assert people.set_aside["reason"].to_dict() == {
        "Bob": "has a return history for 10% of its value, less than the 80% asked for",
        "Cyd": "has a row that cannot be read",
        "Dan": "has amounts in several currencies and no rate for them",
    }
    assert set(people.set_aside["date"]) == {pd.Timestamp("2024-01-31")}


def test_an_older_or_repeated_portfolio_is_not_set_aside():
    text = b"client,date,A,B\nAnn,2024-01-31,60,40\nAnn,2024-02-29,50,50\n"
    assert read_portfolios(text, AB).set_aside.empty
    old = b"client,date,A,X\nAnn,2024-01-31,60,40\nAnn,2024-02-29,99,1\nBob,2024-02-29,9,91\n"
    assert read_portfolios(old, AB).set_aside.index.tolist() == ["Bob"]
    assert read_portfolios(old, AB, snapshots="panel").set_aside.index.tolist() == ["Ann", "Bob"]
    assert read_portfolios(old, AB, snapshots="2024-02-29").set_aside.index.tolist() == ["Bob"]
    new = b"client,date,A,X\nAnn,2024-01-31,99,1\nAnn,2024-02-29,60,40\nBob,2024-02-29,99,1\n"
    assert read_portfolios(new, AB).set_aside.index.tolist() == ["Ann"]
    twice = b"client,A,B\nAnn,60,40\nAnn,60,40\nTotal,60,40\n"
    assert read_portfolios(twice, AB).set_aside.empty


def test_a_study_lists_whoever_was_set_aside_and_keeps_it(tmp_path):
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.dirichlet([3, 2], 40).round(4), columns=AB)
    table.insert(0, "client", [f"C{i}" for i in range(40)])
    table["segment"], table["X"] = "retail", 0.0
    table.loc[7, [*AB, "X"]] = [0.1, 0.1, 0.8]
    (tmp_path / "people.csv").write_text(table.to_csv(index=False))
    known = market()
    people = load_investors(TableFile.at(tmp_path / "people.csv"), known.names)
    *_, last = steps_of(StudyData.on(known, people))
    frame = last.study.frame_investors
    assert len(frame) == 40
    row = frame.iloc[-1]
    assert row[["id", "status", "segment"]].tolist() == ["C7", "refused", "retail"]
    assert row["reason"] == "has a return history for 20% of its value, less than the 80% asked for"
    assert np.isnan(row["weight"])
    assert last.study.figures["refused"] == 1
    again = load_study(save_study(last.study, tmp_path / "out"))
    pd.testing.assert_frame_equal(again.frame_investors, frame)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "1 of 40 portfolios took no part" in page
    assert "C7 has a return history for 20% of its value" in page


def test_a_share_that_is_just_reached_is_enough():
    people = read_portfolios(b"client,A,B,X\nAnn,0.5,0.3,0.2\nBob,0.1,0.7,0.2\n", AB)
    assert len(people) == 2


def test_amounts_count_by_their_size_and_weights_alike():
    amounts = b"client,asset,value\nAnn,A,9000\nAnn,X,1000\nBob,A,50\nBob,X,50\n"
    assert read_portfolios(amounts, AB).report.covered == pytest.approx(9050 / 10100)
    weights = b"client,asset,weight\nAnn,A,0.9\nAnn,X,0.1\nBob,A,0.5\nBob,X,0.5\n"
    assert read_portfolios(weights, AB).report.covered == pytest.approx(0.7)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_columns_that_rows_fall_short_by_are_holdings_whatever_stands_beside_them(scale):
    rng = np.random.default_rng(1)
    held = rng.dirichlet([4, 3, 0.5, 0.3], 50) * scale
    table = pd.DataFrame(held, columns=[*AB, "Cash", "Unclassified"])
    table.insert(0, "client", [f"C{i}" for i in range(50)])
    table["expense"] = rng.uniform(0.001, 0.02, 50)
    table["volatility"] = rng.uniform(0.05, 0.3, 50)
    table["visits"] = rng.integers(0, 9, 50)
    roles = read_portfolios(table, AB, coverage=0.0).roles
    named = [name for name, role in roles.items() if role == "holding"]
    assert named == [*AB, "Cash", "Unclassified"]
    assert {roles[name] for name in ("expense", "volatility", "visits")} == {"attribute"}


def test_many_columns_are_judged_together():
    table = pd.DataFrame(np.full((4, MOST_TRIED + 1), 0.5 / (MOST_TRIED + 1)))
    table.columns = [f"X{j}" for j in range(MOST_TRIED + 1)]
    table.insert(0, "client", list("abcd"))
    table["A"] = 0.5
    people = read_portfolios(table, AB, coverage=0.5)
    assert people.report.covered == pytest.approx(0.5)


def test_cash_with_a_rate_is_an_asset():
    wide = market().with_cash("Cash", 0.02)
    assert wide.names == ("A", "B", "Cash")
    assert wide.expected_returns[-1] == 0.02
    assert wide.risks[-1] == pytest.approx(CASH_RISK)
    assert not wide.covariance[-1, :-1].any()
    assert np.linalg.eigvalsh(wide.covariance)[0] > 0
    assert wide.standard_errors[-1] == 0.0
    assert wide.history["Cash"].eq(0.02 / 12).all()
    assert wide.periods_known.tolist() == [60, 60, 60]
    assert wide.notes[-1] == (
        "Cash has no history: it earns 2.00% a year as given, with a standard deviation of 0.50% "
        "and no relation to the other assets."
    )
    assert market(history=False).with_cash("Cash", 0.02).mean_covariance is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("A", 0.02), "A is an asset of the market already"),
        (("Cash", 2.0), "cash Cash has the rate 2; give a name and a yearly rate as a fraction"),
        (("", 0.02), r"cash \(no name\) has the rate"),
        (("Cash", 0.02, 0.0), "risk is 0; give cash a standard deviation a year above zero"),
    ],
)
def test_cash_that_makes_no_sense_is_refused(arguments, said):
    with pytest.raises(InvalidInput, match=said):
        market().with_cash(*arguments)


def test_the_loader_gives_cash_its_rate_and_portfolios_their_share(tmp_path):
    history = tmp_path / "h.csv"
    frame = market().history
    frame.index = pd.date_range("2018-01-31", periods=60, freq="ME", name="date")
    frame.to_csv(history)
    source = MarketSource(history=TableFile.at(history), cash=(("Bargeld", 0.01),))
    found = load_market(source, HistoryOptions())
    assert found.names == ("A", "B", "Bargeld")
    people = tmp_path / "p.csv"
    people.write_text("client,A,B,Bargeld,X\nAnn,0.5,0.3,0.1,0.1\nBob,0.2,0.2,0.2,0.4\n")
    read = load_investors(TableFile.at(people), found.names)
    assert read.ids == ("Ann",)
    np.testing.assert_allclose(read.portfolios[0], [5 / 9, 3 / 9, 1 / 9])
    both = load_investors(TableFile.at(people), found.names, PortfolioOptions(coverage=0.5))
    assert both.ids == ("Ann", "Bob")


def test_what_is_missing_to_one_needs_a_cash_that_earns_something(tmp_path):
    people = tmp_path / "p.csv"
    people.write_text("client,A,B\nAnn,0.5,0.3\nBob,0.2,0.2\n")
    options = PortfolioOptions(sums="cash")
    with pytest.raises(UnreadableFile) as caught:
        load_investors(TableFile.at(people), ("A", "B"), options)
    assert "p.csv: what is missing to one is taken as Cash, which has no return history" in str(
        caught.value
    )
    assert [cure.option for cure in caught.value.cures] == ["cash", "sums"]
    names = market().with_cash("Cash", 0.02).names
    read = load_investors(TableFile.at(people), names, options)
    np.testing.assert_allclose(read.portfolios[:, 2], [0.2, 0.6])


def test_wealth_is_told_in_cents_and_not_in_rounding():
    amounts = b"client,A,B,C\nAnn,0.1,0.2,1000000\nBob,61757.10,0.07,0.01\nCid,3,4,5000\n"
    people = read_portfolios(amounts, assets=["A", "B", "C"], name="amounts.csv")
    assert people.attributes["wealth"].tolist() == [1000000.3, 61757.18, 5007.0]
