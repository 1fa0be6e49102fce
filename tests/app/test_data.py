"""Markets and investors: bundled, simulated, or read from files of every form; then limited."""

import io

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from app_harness import SMALL, history_file, history_names, portfolio_file, portfolios, workspace
from imop_app.database import database
from imop_app.services import file_choices
from imop_app.services import market as markets
from imop_app.services import people as crowd
from imop_app.services.errors import AppError
from imop_app.settings import InvestorBatch, InvestorSettings, MarketSettings, Simulation
from imop_engine.bundled import market
from imop_engine.tables.workbook import sheet_names


@pytest.fixture
def box():
    return workspace().box


def uploaded(box, form="csv", name=None) -> MarketSettings:
    name = name or ("history.xlsx" if form == "xlsx" else "history.csv")
    return MarketSettings("upload", file=box.put(name, history_file(form)))


def people_of(box, form: str, count: int = 80, **options) -> crowd.Investors:
    name, content = portfolio_file(form, count)
    batch = InvestorBatch("upload", file=box.put(name, content), **options)
    return crowd.load(uploaded(box), InvestorSettings((batch,)), box)


@pytest.mark.parametrize("name", ["paper8", "us20"])
def test_bundled_markets_have_pictures(box, name):
    settings = MarketSettings(bundled=name)
    picture = markets.picture(settings, box)
    size = markets.load(settings, box).size
    assert len(picture.assets) == size
    assert len(picture.correlations) == size**2
    assert (picture.growth is None) == (name == "paper8")


@pytest.mark.parametrize("form", ["csv", "xlsx", "prices"])
def test_a_history_is_read_in_every_form(box, form):
    data = markets.load(uploaded(box, form), box)
    assert list(data.names) == history_names()
    expected = 12 * market("us20").history.iloc[-120:, :6].mean()
    if form == "prices":
        expected = 12 * market("us20").history.iloc[-119:, :6].mean()
    np.testing.assert_allclose(data.expected_returns, expected, rtol=1e-6)
    assert data.reading[0].rows_refused == 0


def test_moments_can_be_given_directly(box):
    paper = market("paper8")
    returns = pd.Series(paper.expected_returns, index=paper.names, name="expected_return")
    square = pd.DataFrame(paper.covariance, index=paper.names, columns=paper.names)
    settings = MarketSettings(
        "moments",
        file=box.put("r.csv", returns.rename_axis("asset").to_csv().encode()),
        second=box.put("q.csv", square.rename_axis("asset").to_csv().encode()),
    )
    data = markets.load(settings, box)
    np.testing.assert_allclose(data.expected_returns, paper.expected_returns)
    np.testing.assert_allclose(data.covariance, paper.covariance)


@pytest.mark.parametrize(
    ("name", "content"),
    [("empty.csv", b""), ("words.csv", b"hello,world\nnot,numbers\n"), ("x.xlsx", b"not a book")],
)
def test_a_file_that_is_no_history_is_refused_in_a_sentence(box, name, content):
    settings = MarketSettings("upload", file=box.put(name, content))
    with pytest.raises(AppError) as refused:
        markets.load(settings, box)
    assert name in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_file_that_has_vanished_is_asked_for_again(box):
    settings = uploaded(box)
    with database().writing() as connection:
        connection.execute(sa.text("DELETE FROM inputs"))
    markets._load.clear()
    with pytest.raises(AppError, match="upload it again"):
        markets.load(settings, box)


@pytest.mark.parametrize("form", ["wide", "long", "xlsx"])
def test_portfolios_are_read_in_every_form(box, form):
    people = people_of(box, form)
    wanted = portfolios()
    assert people.holdings.index.tolist() == wanted["client"].tolist()
    np.testing.assert_allclose(people.portfolios, wanted[history_names()], atol=1e-9)
    assert crowd.filters(people)["segment"] == ["private", "retail"]
    assert people.truth is None


def test_what_is_broken_is_set_aside_with_a_reason(box):
    people = people_of(box, "broken")
    assert len(people) < 80
    table = crowd.reports_table(people)
    assert {"row", "what", "remedy"} <= set(table.columns)
    assert (table["action"] == "refused").sum() >= 2


def test_roles_are_guessed_and_can_be_corrected(box):
    people = people_of(box, "wide")
    assert dict(people.roles)["client"] == "investor"
    corrected = people_of(box, "wide", roles=(("segment", "ignore"),))
    assert dict(corrected.roles)["segment"] == "ignore"
    assert "segment" not in crowd.filters(corrected)


def test_portfolios_without_a_single_good_row_are_refused(box):
    content = b"client,AAPL,AMD\nA,x,y\nB,,\n"
    batch = InvestorBatch("upload", file=box.put("bad.csv", content))
    with pytest.raises(AppError, match=r"bad\.csv"):
        crowd.load(uploaded(box), InvestorSettings((batch,)), box)


def test_simulated_segments_become_an_attribute(box):
    batch = InvestorBatch("simulate", Simulation(count=90, weights="segments"))
    people = crowd.load(MarketSettings(), InvestorSettings((batch,)), box)
    assert crowd.filters(people) == {"segment": ["balanced", "bold", "careful"]}
    picture = crowd.picture(
        MarketSettings(), InvestorSettings((batch,)), box, (("segment", ("bold",)),)
    )
    assert len(picture.points) == (people.attributes["segment"] == "bold").sum()


def test_views_of_their_own_move_the_beliefs_and_the_seed_repeats_them(box):
    data = markets.load(MarketSettings(), box)
    own = crowd.beliefs(data, Simulation(views=0.02, seed=4))
    assert not np.allclose(own, data.expected_returns)
    pd.testing.assert_series_equal(own, crowd.beliefs(data, Simulation(views=0.02, seed=4)))


def test_an_impossible_distribution_is_a_sentence(box):
    batch = InvestorBatch("simulate", Simulation(60, "beta", 0.05, 0.4))
    with pytest.raises(AppError, match="No beta distribution"):
        crowd.load(MarketSettings(), InvestorSettings((batch,)), box)


def test_batches_follow_one_another_in_the_stream(box):
    later = crowd.more_simulated(SMALL.first, 1)
    both = crowd.load(MarketSettings(), SMALL.plus(later), box)
    first = crowd.load(MarketSettings(), SMALL, box)
    assert len(both) == 120
    np.testing.assert_array_equal(both.portfolios[:60], first.portfolios)
    assert not np.array_equal(both.portfolios[60:], first.portfolios)
    assert both.truth is not None


def test_limits_are_edited_in_percent_and_checked(box):
    settings = MarketSettings()
    data = markets.load(settings, box)
    table = markets.limits_table(data, settings)
    assert markets.with_limits(settings, data, table) == settings
    table.loc[0, "cap"] = 25.0
    limited = markets.with_limits(settings, data, table, low=1.0)
    assert [(limit.asset, limit.cap) for limit in limited.limits] == [("Security 1", 0.25)]
    assert limited.bounds == (0.01, 1.0)
    assert markets.bounds_percent(limited, data) == (1.0, None)
    assert markets.limits_table(data, limited).equals(table)
    held = crowd.load(limited, SMALL, box).holdings["Security 1"]
    assert held.max() <= 0.2505
    with pytest.raises(AppError, match="must be below the greatest"):
        markets.with_limits(settings, data, table, 10.0, 5.0)
    table["cap"] = 5.0
    with pytest.raises(AppError, match=r"caps add up to 40%.*at least 100%"):
        markets.with_limits(settings, data, table)


def test_filter_search_and_pages(box):
    people = people_of(box, "wide")
    rows = crowd.shown_rows(people, (("segment", ("retail",)),), "c0001")
    part = crowd.page_of(people, rows, 0, 5)
    assert len(part) == min(5, len(rows))
    assert part["investor"].str.contains("C0001").all()
    assert (part["segment"] == "retail").all()
    np.testing.assert_allclose(part[history_names()].sum(axis=1), 100.0, atol=1e-6)
    with pytest.raises(AppError, match="No investor passes"):
        crowd.picture(
            MarketSettings(),
            InvestorSettings((InvestorBatch("simulate", Simulation(9, "segments")),)),
            box,
            (("segment", ("nobody",)),),
        )


@pytest.mark.slow
def test_a_hundred_thousand_investors_are_counted_not_drawn(box):
    name, content = portfolio_file("wide", 100_000)
    batch = InvestorBatch("upload", file=box.put(name, content))
    settings = uploaded(box), InvestorSettings((batch,))
    people = crowd.load(*settings, box)
    picture = crowd.picture(*settings, box)
    assert len(people) == 100_000
    assert picture.points is None
    assert len(picture.cells) < 2500
    assert int(picture.cells["count"].sum()) == 100_000
    assert len(crowd.page_of(people, crowd.shown_rows(people, (), ""), 999, 100)) == 100


@pytest.mark.slow
def test_offline_tickers_end_in_a_sentence(box, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setattr(markets, "DOWNLOAD_SECONDS", 8.0)
    with pytest.raises(AppError) as refused:
        markets.download(("AAPL", "MSFT"), 5, box)
    assert "AAPL" in str(refused.value)


def test_the_excel_history_is_a_real_workbook():
    assert pd.read_excel(io.BytesIO(history_file("xlsx"))).shape == (120, 7)


def test_investors_are_named_as_one_would_say_it(box):
    drawn = crowd.load(MarketSettings(), SMALL, box)
    assert crowd.title(drawn) == "60 simulated"
    assert crowd.heading(drawn) == "60 simulated investors"
    read = people_of(box, "wide")
    assert crowd.title(read) == "80 from clients.csv"
    assert crowd.heading(read) == "80 investors from clients.csv"


def test_one_asset_is_no_market(box):
    one = box.put("one.csv", market("us20").history.iloc[:, :1].to_csv().encode())
    with pytest.raises(AppError, match=r"one\.csv has one asset \(AAPL\).*at least two"):
        markets.load(MarketSettings(source="upload", file=one), box)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 broken"])
def test_only_a_workbook_has_sheets(content):
    assert sheet_names(content) == []


def test_a_file_of_the_same_shape_is_read_as_the_last_one(box):
    settings = uploaded(box)
    name, content = portfolio_file("wide", 40)
    before = InvestorBatch(
        "upload", file=box.put(name, content), roles=(("segment", "ignore"),), sums="refuse"
    )
    later = InvestorBatch("upload", file=box.put("b.csv", portfolio_file("wide", 50)[1]))
    read = file_choices.remembered(settings, before, later, box)
    assert read.sums == "refuse"
    assert read.roles == before.roles
    assert read.file == later.file
    other = InvestorBatch("upload", file=box.put("c.csv", portfolio_file("long", 50)[1]))
    assert file_choices.remembered(settings, before, other, box) == other


def test_choices_without_which_a_file_cannot_be_read_are_remembered_too(box):
    names = history_names()[:2]
    rows = [f"C1,{names[0]},100,EUR", f"C1,{names[1]},100,USD"]
    files = [
        box.put(f"{day}.csv", "\n".join(["client,asset,amount,currency", *rows[:], ""]).encode())
        for day in ("june", "july")
    ]
    later = f"client,asset,amount,currency\nC2,{names[0]},300,EUR\nC2,{names[1]},100,USD\n"
    files[1] = box.put("july.csv", later.encode())
    before = InvestorBatch("upload", file=files[0], rates=(("EUR", 2.0), ("USD", 1.0)))
    fresh = InvestorBatch("upload", file=files[1])
    with pytest.raises(AppError, match="several currencies"):
        crowd.check(uploaded(box), fresh, box)
    read = file_choices.remembered(uploaded(box), before, fresh, box)
    assert read.rates == before.rates
    held = crowd.check(uploaded(box), read, box).holdings.loc["C2", names]
    np.testing.assert_allclose(held, [6 / 7, 1 / 7])


def test_a_later_history_of_the_same_assets_is_read_as_the_last_one(box):
    known = b"ticker,name\n" + b"".join(f"{n},Stock {n}\n".encode() for n in history_names())
    before = MarketSettings(
        "upload",
        file=box.put("june.csv", history_file()),
        asset_map=box.put("map.csv", known),
        covariance="ledoit-wolf",
    )
    lines = history_file().splitlines(keepends=True)
    later = box.put("july.csv", b"".join(lines[:-1]))
    read = markets.remembered(before, later, box)
    assert (read.asset_map, read.covariance) == (before.asset_map, "ledoit-wolf")
    assert read.file == later
    others = market("us20").history.iloc[:, 8:11].to_csv().encode()
    other = box.put("others.csv", others)
    assert markets.remembered(before, other, box) == MarketSettings("upload", file=other)
    assert markets.remembered(None, later, box) == MarketSettings("upload", file=later)


def test_portfolios_that_are_there_already_are_not_added_again(box):
    settings = uploaded(box)
    name, content = portfolio_file("wide", 40)
    first = InvestorSettings((InvestorBatch("upload", file=box.put(name, content)),))
    with pytest.raises(AppError, match=r"All 40 portfolios of clients\.csv are in the stream"):
        file_choices.more(settings, first, first.first, box)
    lines = content.split(b"\n")
    half = b"\n".join([*lines[:21], *(b"N" + line for line in lines[21:41])]) + b"\n"
    more = InvestorBatch("upload", file=box.put("more.csv", half))
    added = file_choices.more(settings, first, more, box)
    stream = crowd.load(settings, first.plus(added), box)
    assert len(stream) == 60
    assert len(set(stream.ids)) == 60
    assert (
        "more.csv: 20 of 40 portfolios are in the stream already, with the same holdings, and are "
        "left out; nothing needs to be done."
    ) in [str(line) for report in stream.reading for line in report.sentences()]
    new = b"\n".join([lines[0], *(b"N" + line for line in lines[1:41])]) + b"\n"
    batch = InvestorBatch("upload", file=box.put("n.csv", new))
    assert file_choices.more(settings, first, batch, box) == batch


def test_later_portfolios_are_read_like_the_first_file(box):
    settings = uploaded(box)
    name, content = portfolio_file("wide", 40)
    batch = InvestorBatch("upload", file=box.put(name, content), roles=(("age", "ignore"),))
    later = InvestorBatch("upload", file=box.put("b.csv", content.replace(b"\nC", b"\nD")))
    added = file_choices.more(settings, InvestorSettings((batch,)), later, box)
    assert added.roles == batch.roles


def test_assets_are_shown_by_the_names_of_a_map(box):
    known = b"ticker,name\n" + b"".join(f"{n},Stock {n}\n".encode() for n in history_names())
    settings = MarketSettings(
        "upload",
        file=box.put("history.csv", history_file()),
        asset_map=box.put("map.csv", known),
    )
    assert markets.load(settings, box).names[0] == f"Stock {history_names()[0]}"
    name, content = portfolio_file("wide")
    batch = InvestorBatch("upload", file=box.put(name, content))
    people = crowd.load(settings, InvestorSettings((batch,)), box)
    assert people.names[0].startswith("Stock ")
    np.testing.assert_allclose(people.portfolios, portfolios()[history_names()], atol=1e-9)
