"""Histories and portfolios in every layout and format come out as they went in."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imop_engine.bundled import market, sample_portfolios
from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.loading import TableFile
from imop_engine.moments import estimate_moments
from imop_engine.sentences.market import APP, PYTHON, SHELL
from imop_engine.tables import ReadingLimits, read_portfolios, read_returns
from imop_engine.tables.export import FORMATS as WRITTEN
from imop_engine.tables.export import write_table
from tables.bad_files import with_part, workbook
from thirty import thirty_stocks


def as_csv(frame, **options):
    return frame.to_csv(index=False, **options).encode(options.get("encoding", "utf-8"))


def as_excel(frame):
    file = io.BytesIO()
    frame.to_excel(file, index=False)
    return file.getvalue()


def as_parquet(frame):
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()


FORMATS = {
    "csv": as_csv,
    "semicolon": lambda frame: as_csv(frame, sep=";"),
    "german": lambda frame: as_csv(frame, sep=";", decimal=",", date_format="%d.%m.%Y"),
    "tab, utf-16": lambda frame: frame.to_csv(index=False, sep="\t").encode("utf-16"),
    "bar, byte-order mark": lambda frame: frame.to_csv(index=False, sep="|").encode("utf-8-sig"),
    "windows lines": lambda frame: as_csv(frame, lineterminator="\r\n"),
    "excel": as_excel,
    "parquet": as_parquet,
    "frame": lambda frame: frame,
}


@pytest.fixture(scope="module")
def history():
    frame = market("us20").history.copy()
    frame.iloc[5:9, 3] = np.nan
    return frame


def shapes(frame, value):
    """Return the same history wide, long and transposed."""
    wide = frame.reset_index()
    long = wide.melt(id_vars="date", var_name="ticker", value_name=value)
    turned = frame.T.rename_axis("ticker").reset_index()
    turned.columns = [
        one if isinstance(one, str) else one.strftime("%Y-%m-%d") for one in turned.columns
    ]
    return {"wide": wide, "long": long, "transposed": turned}


@pytest.mark.parametrize("shape", ["wide", "long", "transposed"])
@pytest.mark.parametrize("form", FORMATS)
def test_returns_survive_every_format_to_the_last_digit(history, shape, form):
    source = FORMATS[form](shapes(history, "return")[shape])
    read = read_returns(source, name="history")
    pd.testing.assert_frame_equal(
        read.returns, history, check_freq=False, check_index_type=False, check_column_type=False,
        rtol=0, atol=0,
    )  # fmt: skip
    assert read.periods_per_year == 12
    assert read.guessed["layout"].value == shape
    assert read.guessed["kind"].value == "returns"
    assert read.guessed["units"].value == "fraction"
    assert read.prices is None
    (gap,) = [line for line in read.report.sentences() if "returns are missing" in line]
    assert "4 periods, 1990-07-31 to 1990-10-31" in gap


@pytest.mark.parametrize("shape", ["wide", "long"])
@pytest.mark.parametrize("form", ["csv", "german", "excel", "parquet", "frame"])
def test_prices_are_told_from_returns(history, shape, form):
    # Excel keeps 15 digits of a number.
    prices = (100 * (1 + history.fillna(0)).cumprod()).round(6)
    source = FORMATS[form](shapes(prices, "close")[shape])
    read = read_returns(source, name="prices")
    assert read.guessed["kind"].value == "prices"
    pd.testing.assert_frame_equal(read.prices, prices, check_freq=False, rtol=0, atol=0,
                                  check_index_type=False, check_column_type=False)  # fmt: skip
    expected = prices.to_numpy()[1:] / prices.to_numpy()[:-1] - 1
    np.testing.assert_array_equal(read.returns.to_numpy(), expected)


def test_percentages_are_told_from_fractions(history):
    percent = read_returns((100 * history).reset_index(), name="percent")
    assert percent.guessed["units"].value == "percent"
    np.testing.assert_allclose(percent.returns, history, rtol=1e-15)
    signed = history.map(lambda value: "" if np.isnan(value) else f"{100 * value:.6f}%")
    read = read_returns(as_csv(signed.reset_index()), name="signed")
    np.testing.assert_allclose(read.returns, history, atol=1e-8)
    asked = read_returns(history.reset_index(), name="asked", units="percent")
    np.testing.assert_allclose(asked.returns, history / 100, rtol=1e-15)


@pytest.mark.parametrize(
    ("rule", "periods"),
    [("B", 252), ("D", 365), ("W", 52), ("ME", 12), ("QE", 4), ("YE", 1)],
)
def test_how_often_is_told_from_the_dates(rule, periods):
    index = pd.date_range("2001-01-01", periods=60, freq=rule, name="date")
    values = np.random.default_rng(3).normal(0, 0.3 / np.sqrt(periods), (60, 2))
    frame = pd.DataFrame(values, index=index, columns=["A", "B"])
    read = read_returns(frame, name="x")
    assert read.periods_per_year == periods
    np.testing.assert_array_equal(read.returns, values)


def test_guesses_give_way_to_what_is_said(history):
    wide = history.reset_index()
    read = read_returns(wide, name="x", kind="prices", periods_per_year=4)
    assert read.guessed["kind"].reason == "as asked for"
    assert read.periods_per_year == 4
    named = wide.rename(columns={"date": "when"})
    chosen = read_returns(
        named, name="x", roles={"when": "date", **dict.fromkeys(history.columns[1:], "ignore")}
    )
    assert list(chosen.returns) == [history.columns[0]]


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        (b"date,600000,600004\n2020-01-31,0.1,-0.1\n2020-02-29,0.2,-0.3\n",
         ["600000", "600004"], 2),
        (b"2020-01-31,0.1\n2020-02-29,-0.2\n", ["column 2"], 2),
        (b"31.01.2020;0.1\n28.02.2020;-0.2\n", ["column 2"], 2),
        (b"2020-01-31,n/a,0.1\n2020-02-29,-0.2,0.2\n2020-03-31,-0.1,0.2\n",
         ["column 2", "column 3"], 3),
        (b",A,B\n2020-01-31,0.1,-0.1\n2020-02-29,0.2,-0.3\n", ["A", "B"], 2),
        (b"Fund prices\n\ndate,A\n2020-01-31,0.1\n2020-02-29,-0.2\n", ["A"], 2),
        (b"sep=;\ndate;A\n2020-01-31;0.1\n2020-02-29;-0.2\n", ["A"], 2),
    ],
)  # fmt: skip
def test_the_header_is_found(text, names, rows):
    read = read_returns(text, name="x.csv")
    assert list(read.returns) == names
    assert len(read.returns) == read.report.rows_read == rows


def test_without_dates_rows_keep_their_order(history):
    read = read_returns(history.reset_index(drop=True), name="x")
    np.testing.assert_array_equal(read.returns, history)
    assert "months are assumed" in read.guessed["periods per year"].reason


def test_thirty_stocks_of_which_two_were_listed_later(tmp_path):
    path = tmp_path / "thirty.csv"
    thirty_stocks().to_csv(path)
    read = read_returns(path)
    assert read.returns.shape == (180, 30)
    assert read.returns.isna().sum().loc[["GS", "V"]].tolist() == [5, 111]
    gaps = read.report.to_frame().query("what == 'returns are missing'")
    assert gaps["value"].tolist() == [
        "5 periods, 1999-01-29 to 1999-05-31",
        "111 periods, 1999-01-29 to 2008-03-31",
    ]
    pd.testing.assert_frame_equal(
        read.returns, pd.read_csv(path, index_col=0, parse_dates=True), check_index_type=False
    )


def daily_prices():
    """Six years of daily prices of two assets that grow by five percent a year or so."""
    rng = np.random.default_rng(2)
    moves = rng.normal(0.0003, 0.011, (1565, 2)) @ np.array([[1.0, 0.5], [0.0, 0.8]])
    days = pd.bdate_range("2018-01-02", periods=1565, name="date")
    return pd.DataFrame(148.2 * np.exp(np.cumsum(moves, axis=0)), index=days, columns=["A", "B"])


def yearly_mean(prices, name="A"):
    read = read_returns(prices.reset_index(), name="prices.csv")
    return estimate_moments(read.returns, periods_per_year=252).expected_returns[name], read


def test_a_missing_price_is_spanned():
    """Twelve holes in 1,565 prices leave growth alone; dropping their returns moves it by percents.

    The arithmetic mean moves by the squares that the holes hide, here those of the largest moves.
    """
    prices = daily_prices()
    whole, _ = yearly_mean(prices)
    moves = prices["A"].pct_change().to_numpy()
    # where the two returns that a hole takes away are largest, dropping them does most harm
    order = np.argsort(-np.convolve(np.nan_to_num(moves), [1, 1])[1:-1])
    holes = sorted(order[::7][:12] + 1)
    prices.iloc[holes, 0] = np.nan
    holed, read = yearly_mean(prices)
    assert abs(holed - whole) < 5e-4
    dropped = prices["A"].pct_change(fill_method=None).mean() * 252
    assert abs(dropped - whole) > 0.02
    assert read.returns.notna().all().all()
    np.testing.assert_allclose(
        (1 + read.returns).prod(), prices.iloc[-1] / prices.iloc[0], rtol=1e-12
    )
    (said,) = read.report.sentences()
    assert said.endswith(
        "a price is missing; the growth across it is spread evenly over the periods it took (for "
        f"example 1 period, {prices.index[holes[0]]:%Y-%m-%d}); nothing needs to be done, or add "
        "the price."
    )


def test_before_the_first_price_and_after_the_last_nothing_is_spanned():
    frame = pd.DataFrame(
        {
            "date": pd.date_range("2020-01-31", periods=8, freq="ME"),
            "A": [np.nan, 100, 110, np.nan, np.nan, 133.1, 146.41, np.nan],
            "B": [50.0, 51, 52, 51, 50, 52, 53, 54],
        }
    )
    read = read_returns(frame, name="prices.csv")
    each = 1.21 ** (1 / 3) - 1  # from 110 to 133.1 in three months
    np.testing.assert_allclose(
        read.returns["A"], [np.nan, 0.1, each, each, each, 0.1, np.nan], rtol=1e-12
    )


def test_a_price_file_called_returns_is_read_as_prices():
    read = read_returns(daily_prices().reset_index(), name="returns.csv")
    assert read.guessed["kind"].value == "prices"
    assert read.guessed["kind"].reason.endswith("none negative, are no returns")
    assert read.report.sentences()[0].startswith(
        "returns.csv: the names speak of returns, but values around"
    )
    assert read.returns.abs().max().max() < 0.1


def test_names_are_believed_where_values_allow_both():
    """A rate is positive and steady, as prices are, but far too small for one."""
    days = pd.date_range("2020-01-31", periods=24, freq="ME")
    cash = pd.DataFrame({"date": days, "cash": np.linspace(0.0012, 0.0021, 24)})
    assert read_returns(cash, name="returns.csv").guessed["kind"].value == "returns"
    assert read_returns(cash, name="prices.csv").guessed["kind"].value == "prices"


def test_a_contradiction_is_asked_in_the_words_of_the_place():
    fund = daily_prices().div(12).reset_index()
    for words, choices in (
        (PYTHON, 'kind="prices" or kind="returns"'),
        (SHELL, "--kind prices or --kind returns"),
        (APP, "“Prices” under Contents or “Returns” under Contents"),
    ):
        with pytest.raises(UnreadableFile) as caught:
            read_returns(fund, name="returns.csv", words=words)
        assert str(caught.value).startswith(
            "returns.csv: the names speak of returns, but the values look like prices (around "
        )
        assert str(caught.value).endswith(f"; say which they are with {choices}.")
    assert read_returns(fund, name="returns.csv", kind="prices").returns.abs().max().max() < 0.1


def test_an_asset_may_be_called_what_people_are():
    """A sector called Household Goods does not make a history one of households."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-31", periods=24, freq="ME")
    frame = pd.DataFrame(rng.normal(0, 0.03, (24, 2)), columns=["Household Goods", "Portfolio"])
    assert read_returns(frame.assign(date=days), name="sectors.csv").returns.shape == (24, 2)


@pytest.mark.parametrize(("words", "place"), [(SHELL, "with --portfolios"), (APP, "Investors")])
def test_portfolios_are_sent_where_they_belong(words, place):
    with pytest.raises(UnreadableFile, match=place):
        read_returns(b"client,A,B\nAnn,60,40\nBob,25,75\n", name="p.csv", words=words)


@pytest.mark.parametrize(("words", "place"), [(SHELL, "with --returns"), (APP, "page Market")])
def test_histories_are_sent_where_they_belong(words, place):
    prices = daily_prices().reset_index()
    with pytest.raises(UnreadableFile, match=place):
        read_portfolios(prices, ["A", "B"], name="p.csv", words=words)
    long = prices.melt(id_vars="date", var_name="asset", value_name="close")
    with pytest.raises(UnreadableFile, match="looks like a history of prices, not like portfolios"):
        read_portfolios(long, ["A", "B"], name="p.csv")
    assert len(read_portfolios(prices, ["A", "B"], name="p.csv", units="amounts")) == 1565


# Portfolios


@pytest.fixture(scope="module")
def people():
    wide = sample_portfolios().head(60).copy()
    wide.insert(1, "segment", np.where(np.arange(60) % 3, "retail", "private"))
    wide.insert(2, "as of", pd.date_range("2021-01-01", periods=60)[::-1])
    return wide


def assert_same_people(read, wide):
    expected = wide.iloc[::-1]
    assets = [name for name in wide if name.startswith("Security")]
    assert list(read.weights) == assets
    assert read.weights.index.tolist() == expected["investor"].astype(str).tolist()
    np.testing.assert_array_equal(read.weights.to_numpy(), expected[assets].to_numpy())
    assert read.attributes["segment"].tolist() == expected["segment"].tolist()
    assert read.dates.is_monotonic_increasing


@pytest.mark.parametrize("form", FORMATS)
def test_wide_portfolios_survive_every_format(people, form):
    read = read_portfolios(FORMATS[form](people), name="people")
    assert_same_people(read, people)
    assert read.roles["as of"] == "date"
    assert read.roles["segment"] == "attribute"
    assert read.report.clean


@pytest.mark.parametrize("form", FORMATS)
def test_long_portfolios_survive_every_format(people, form):
    assets = [name for name in people if name.startswith("Security")]
    long = people.melt(
        id_vars=["investor", "segment", "as of"], var_name="asset", value_name="weight"
    )
    long = long[long["weight"] > 0].sample(frac=1, random_state=1)
    read = read_portfolios(FORMATS[form](long), assets, name="people")
    assert_same_people(read, people)
    assert read.guessed["layout"].value == "long"


def test_percent_amounts_and_shares_give_the_same_weights(people):
    assets = [name for name in people if name.startswith("Security")]
    weights = people[assets].to_numpy()
    wealth = np.random.default_rng(1).uniform(1e3, 1e6, (60, 1))
    for factor, units in ((100.0, "percent"), (wealth, "amounts")):
        other = people.copy()
        other[assets] = weights * factor
        read = read_portfolios(other, name="people")
        assert read.guessed["units"].value == units
        np.testing.assert_allclose(read.weights.to_numpy()[::-1], weights, atol=1e-12)
    long = people.melt(id_vars=["investor"], value_vars=assets, var_name="isin", value_name="w")
    price = {name: 3.0 + 7 * i for i, name in enumerate(assets)}
    long["price"] = long["isin"].map(price)
    long["quantity"] = long["w"] * 1e5 / long["price"]
    read = read_portfolios(long.drop(columns="w"), name="people")
    assert {read.roles["quantity"], read.roles["price"]} == {"shares", "price"}
    np.testing.assert_allclose(read.weights.to_numpy(), weights, atol=1e-12)


def test_snapshots_of_one_investor_stay_apart():
    text = b"client,date,A,B\nAnn,2020-02-29,0.4,0.6\nBob,2020-01-31,1,0\nAnn,2020-01-31,0.5,0.5\n"
    read = read_portfolios(text, name="x.csv", snapshots="panel")
    assert read.weights.index.tolist() == ["Bob", "Ann", "Ann"]
    assert read.weights["A"].tolist() == [1, 0.5, 0.4]
    assert read.dates.dt.strftime("%Y-%m").tolist() == ["2020-01", "2020-01", "2020-02"]


def test_roles_are_guessed_shown_and_corrected():
    text = (
        b"Kunde,Berater,Alter,Fonds A,Fonds B,Punkte\n"
        b"K1,Meier,44,60,40,7\nK2,Roth,51,30,70,9\nK3,Meier,38,10,90,3\n"
    )
    read = read_portfolios(text, name="kunden.csv")
    assert read.roles == {
        "Kunde": "investor", "Berater": "attribute", "Alter": "holding", "Fonds A": "holding",
        "Fonds B": "holding", "Punkte": "holding",
    }  # fmt: skip
    corrected = read_portfolios(
        text, name="kunden.csv", roles={"Alter": "attribute", "Punkte": "attribute"}
    )
    assert corrected.weights.loc["K1"].tolist() == [0.6, 0.4]
    assert corrected.guessed["units"].value == "percent"
    assert corrected.attributes["Alter"].tolist() == ["44", "51", "38"]


@pytest.mark.parametrize("form", ["csv", "excel", "parquet", "frame"])
def test_long_account_numbers_stay_apart(form):
    """Two numbers that are one and the same as floats."""
    numbers = [900719925474099267, 900719925474099268, 7]
    frame = pd.DataFrame({"account": numbers, "A": [0.5, 0.4, 1.0], "B": [0.5, 0.6, 0.0]})
    if form == "excel":
        frame["account"] = frame["account"].astype(str)  # Excel itself has no such numbers
    read = read_portfolios(FORMATS[form](frame), name="x")
    assert read.weights.index.tolist() == [str(number) for number in numbers]


def test_a_long_table_without_an_investor_is_one_portfolio():
    text = b"ticker,sector,weight\nAAPL,tech,0.6\nJPM,banks,0.4\n"
    read = read_portfolios(text, name="mine.csv")
    assert read.weights.to_dict("index") == {"mine": {"AAPL": 0.6, "JPM": 0.4}}
    assert read.report.sentences()[0] == (
        "mine.csv: no column names an investor; all rows are one portfolio; "
        "say which column is the investor if there are several."
    )


def test_whoever_parts_the_assets_owns_them():
    text = b"Inhaber,Sparte,ISIN,Betrag\nAnn,x,A,5\nAnn,y,B,5\nBob,x,A,2\nBob,y,B,8\n"
    read = read_portfolios(text, name="x.csv")
    assert read.weights.to_dict("index") == {
        "Ann": {"A": 0.5, "B": 0.5},
        "Bob": {"A": 0.2, "B": 0.8},
    }


def test_one_holding_each_is_still_a_long_table():
    text = b"client,asset,weight\nAnn,A,1\nBob,B,1\nCyd,A,1\n"
    read = read_portfolios(text, ["A", "B"], name="x.csv")
    assert read.weights.to_dict("list") == {"A": [1, 0, 1], "B": [0, 1, 0]}
    assert read_portfolios(text, name="x.csv").guessed["layout"].value == "long"


def test_roles_can_be_handed_back(people):
    wide = read_portfolios(people, name="people")
    again = read_portfolios(people, name="people", roles=wide.roles)
    pd.testing.assert_frame_equal(wide.weights, again.weights)
    long = sample_portfolios("long")
    first = read_portfolios(long, name="people")
    second = read_portfolios(long, name="people", roles=first.roles)
    pd.testing.assert_frame_equal(first.weights, second.weights)
    undated = read_portfolios(people, name="people", roles={"as of": "attribute"})
    assert undated.dates is None
    assert undated.weights.index.tolist() == people["investor"].astype(str).tolist()


def test_a_company_called_total_is_an_asset():
    text = b"client,asset,weight\n1,Total,0.5\n1,Shell,0.5\n2,Total,1\n"
    read = read_portfolios(text, ["Total", "Shell"], name="x.csv")
    assert read.weights["Total"].tolist() == [0.5, 1.0]
    wide = b"client,TotalEnergies,Shell\n1,0.5,0.5\n2,1,0\n"
    assert list(read_portfolios(wide, name="x.csv").weights) == ["TotalEnergies", "Shell"]


def test_one_name_with_a_percent_sign_does_not_scale_a_table(history):
    named = history.rename(columns={"AAPL": "Bond 3%"})
    assert read_returns(named, name="x").guessed["units"].value == "fraction"
    every = history.rename(columns=lambda name: f"{name} (%)")
    assert read_returns(every, name="x").guessed["units"].value == "percent"


def test_assets_are_recognised_in_other_spellings():
    text = b"id,weight brk.b (%),aapl\n1,40,60\n2,0,100\n"
    read = read_portfolios(text, ["AAPL", "BRK-B"], name="x.csv")
    assert read.weights.to_dict("list") == {"AAPL": [0.6, 1.0], "BRK-B": [0.4, 0.0]}


def test_cash_is_an_asset_when_asked():
    text = b"id,A,B,Cash\n1,0.4,0.4,0.2\n2,0.5,0.2,\n3,0.5,0.5,0\n"
    read = read_portfolios(text, ["A", "B"], sums="cash", name="x.csv")
    np.testing.assert_allclose(read.weights["Cash"], [0.2, 0.3, 0])
    dropped = read_portfolios(text, ["A", "B"], name="x.csv")
    np.testing.assert_allclose(dropped.weights["A"], [0.5, 0.5 / 0.7, 0.5])


@pytest.mark.parametrize(("rule", "first"), [("first", 0.5), ("last", 0.4)])
def test_duplicates_by_rule(rule, first):
    text = b"id,A,B\nx,0.5,0.5\nx,0.4,0.6\ny,1,0\n"
    read = read_portfolios(text, name="x.csv", duplicates=rule)
    assert read.weights["A"].tolist() == [first, 1.0]
    assert len(read_portfolios(text, name="x.csv", duplicates="keep")) == 3


def test_any_door_opens_the_same_table(people, tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(as_csv(people))
    with path.open("rb") as opened:
        sources = [path, str(path), path.read_bytes(), opened]
        frames = [read_portfolios(source).weights for source in sources]
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frame, frames[0])
    with pytest.raises(UnreadableFile) as caught:
        read_portfolios(path, limits=ReadingLimits(megabytes=0))
    assert str(caught.value) == (
        "people.csv has 0 MB and at most 0 MB are read; split it, or save it as Parquet."
    )
    with pytest.raises(UnreadableFile, match="There is no file"):
        read_portfolios(tmp_path / "other.csv")
    with pytest.raises(UnreadableFile, match="is a folder; name a file in it"):
        read_portfolios(tmp_path)
    with pytest.raises(UnreadableFile, match="A int cannot be read as a table"):
        read_portfolios(3)
    with pytest.raises(InvalidInput, match="choose auto, wide or long"):
        read_portfolios(path, layout="tall")


def test_nothing_that_was_given_is_changed(people):
    before = people.copy(deep=True)
    read_portfolios(people, name="people")
    read_returns(market("us20").history, name="history")
    pd.testing.assert_frame_equal(people, before)


@settings(max_examples=40)
@given(
    st.integers(2, 5), st.integers(1, 12), st.integers(0, 1000), st.sampled_from([1, 3, 17]),
    st.booleans(),
)  # fmt: skip
def test_any_portfolios_come_back(assets, count, seed, places, long):
    """Write portfolios with hypothesis' sizes and read them back, wide or long."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(assets), count).round(places)
    weights[:, -1] = 1 - weights[:, :-1].sum(axis=1)
    weights = np.where(np.abs(weights) < 1e-12, 0.0, weights)
    names = [f"Fund {j}" for j in range(assets)]
    frame = pd.DataFrame(weights, columns=names)
    frame.insert(0, "investor", [f"p{i}" for i in range(count)])
    if long:
        frame = frame.melt(id_vars="investor", var_name="asset", value_name="weight")
    keep = (weights >= 0).all(axis=1)
    if not keep.any():
        return
    read = read_portfolios(as_csv(frame), names, name="x.csv")
    np.testing.assert_array_equal(read.weights.to_numpy(), weights[keep])
    assert read.report.rows_refused == (~keep).sum() * (assets if long else 1)


# What a spreadsheet would run, what has our apostrophe already, and what is neither.
ODD_NAMES = ["=A", "+B", "-C", "@D", "'=E", "''=F", "'tis", "-5%", "NA", "None"]


@pytest.mark.parametrize("ending", WRITTEN)
def test_names_that_look_like_formulas_come_back_from_every_format(ending, tmp_path):
    rng = np.random.default_rng(5)
    history = pd.DataFrame(rng.normal(0, 0.04, (30, len(ODD_NAMES))), columns=ODD_NAMES)
    history.insert(0, "date", pd.date_range("2020-01-31", periods=30, freq="ME"))
    wide = pd.DataFrame(rng.dirichlet(np.ones(len(ODD_NAMES)), len(ODD_NAMES)), columns=ODD_NAMES)
    people = [f"{name} & Co" for name in ODD_NAMES]
    wide.insert(0, "investor", people)
    wide.insert(1, "segment", people[::-1])
    long = wide.melt(id_vars=["investor", "segment"], var_name="asset", value_name="weight")
    paths = [
        write_table(table, tmp_path / f"{name}{ending}")
        for name, table in {"returns": history, "wide": wide, "long": long}.items()
    ]
    read = read_returns(TableFile.at(paths[0]).source, name=paths[0].name)
    assert list(read.returns) == ODD_NAMES
    np.testing.assert_array_equal(read.returns, history[ODD_NAMES])
    for path in paths[1:]:
        held = read_portfolios(TableFile.at(path).source, ODD_NAMES, name=path.name)
        assert list(held.weights) == ODD_NAMES
        assert held.weights.index.tolist() == people
        assert held.attributes["segment"].tolist() == people[::-1]
        np.testing.assert_array_equal(held.weights, wide[ODD_NAMES])
        assert held.report.clean


def test_a_formula_with_an_empty_text_as_its_result_is_an_empty_cell():
    """As =IF(B2="","",1-B2) gives it: calculated, and nothing is held."""
    rows = [["investor", "A", "B", "C"], ["Ann", 0.5, 0.5, "=1"], ["Bob", 1.0, 0.0, "=1"]]
    book = with_part(
        workbook(rows), "xl/worksheets/sheet1.xml", b"><f>1</f><v", b' t="str"><f>1</f><v'
    )
    people = read_portfolios(book, ["A", "B", "C"], name="p.xlsx")
    assert people.weights.to_dict("list") == {"A": [0.5, 1], "B": [0.5, 0], "C": [0, 0]}
    assert people.report.clean


def test_a_bar_in_every_name_is_no_separator():
    text = "investor,A,B\n" + "".join(f"=cmd|{i},0.4,0.6\n" for i in range(20))
    people = read_portfolios(text.encode(), ["A", "B"], name="bars.csv")
    assert people.weights.index[0] == "=cmd|0"
    assert people.weights.to_numpy().tolist() == [[0.4, 0.6]] * 20


def test_attributes_that_are_dates_are_dates():
    text = (
        b"client;Kohorte;Kunde seit;Geburtsdatum;Jahrgang;A;B\n"
        b"Ann;Q1 2003;2003-02-01;23.11.1985;1985;60;40\nBob;Q2 2003;;01.02.1960;1960;20;80\n"
    )
    read = read_portfolios(text, name="x.csv", roles={"Kohorte": "attribute"})
    assert read.dates is None
    assert read.attributes["Geburtsdatum"].dt.strftime("%Y-%m-%d").tolist() == [
        "1985-11-23",
        "1960-02-01",
    ]
    assert read.attributes["Kunde seit"].isna().tolist() == [False, True]
    assert read.attributes["Jahrgang"].tolist() == ["1985", "1960"]
    assert read.attributes["Kohorte"].tolist() == ["Q1 2003", "Q2 2003"]


def test_a_panel_repeats_investors_and_keeps_their_dates():
    text = b"client,date,A,B\nAnn,2020-02-29,0.4,0.6\nBob,2020-01-31,1,0\nAnn,2020-01-31,0.5,0.5\n"
    latest = read_portfolios(text, name="x.csv")
    assert latest.weights.index.tolist() == ["Bob", "Ann"]
    assert latest.weights.loc["Ann"].tolist() == [0.4, 0.6]
    by_date = read_portfolios(text, name="x.csv", snapshots="by date")
    assert by_date.attributes["snapshot"].tolist() == ["2020-01-31", "2020-01-31", "2020-02-29"]
    one = read_portfolios(text, name="x.csv", snapshots="2020-01-31")
    assert one.weights.index.tolist() == ["Bob", "Ann"]
    assert one.weights.loc["Ann"].tolist() == [0.5, 0.5]


def test_the_report_has_two_parts():
    text = b"client,A,B,total\nAnn,0.5,0.5,1\nBob,0.5,0.4,0.9\nCyd,0.333,0.666,0.999\n"
    report = read_portfolios(text, name="x.csv").report
    (needs,) = report.needs_you
    assert "do not add up to one" in needs.what
    assert [(cure.option, cure.value) for cure in needs.cures] == [
        ("sums", "cash"),
        ("sums", "refuse"),
    ]
    assert len(report.done_for_you) == 2
    assert report.done_summary() == "2 things were done for you, in 1 row."
    assert read_portfolios(b"client,A,B\nAnn,0.5,0.5\n").report.done_summary() == ""


def test_a_sheet_is_chosen_by_what_it_holds():
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "About"
    for row in (["Fees", "2023"], ["Custody", 0.1], ["Trading", 0.2]):
        book.active.append(row)
    for name, rows in (
        (
            "Prices",
            [["date", "A", "B"], *[[f"2020-0{m}-28", 100 + m, 99 - m] for m in range(1, 6)]],
        ),
        ("Holdings", [["client", "A", "B"], ["Ann", 0.5, 0.5], ["Bob", 0.2, 0.8]]),
    ):
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    people = read_portfolios(file.getvalue(), ["A", "B"], name="all.xlsx")
    assert people.guessed["sheet"].value == "Holdings"
    assert people.guessed["sheet"].reason == "of 3 sheets it looks most like a table of portfolios"
    history = read_returns(file.getvalue(), name="all.xlsx")
    assert history.guessed["sheet"].value == "Prices"
    assert list(history.prices) == ["A", "B"]
