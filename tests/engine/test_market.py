"""One Market and one Limits: checked where they are made, whatever form the numbers come in."""

import numpy as np
import pandas as pd
import pytest

from imop_engine.bundled import market, market_names
from imop_engine.errors import InvalidInput
from imop_engine.limits import Limits, LimitWords
from imop_engine.loading import (
    HistoryOptions,
    MarketSource,
    SourceWords,
    TableFile,
    load_investors,
    load_market,
)
from imop_engine.market import Market
from imop_engine.sentences.market import PYTHON, SHELL

RETURNS = pd.Series({"A": 0.05, "B": 0.08, "C": 0.02})
COVARIANCE = pd.DataFrame(np.diag([0.04, 0.09, 0.01]), index=list("ABC"), columns=list("ABC"))


def test_frames_in_any_order_and_arrays_make_the_same_market():
    framed = Market.of(RETURNS[["C", "A", "B"]], COVARIANCE)
    listed = Market.of([0.05, 0.08, 0.02], COVARIANCE.to_numpy(), ["A", "B", "C"])
    assert framed.names == listed.names == ("A", "B", "C")
    np.testing.assert_array_equal(framed.expected_returns, listed.expected_returns)
    np.testing.assert_array_equal(framed.covariance, listed.covariance)
    np.testing.assert_allclose(framed.risks, [0.2, 0.3, 0.1])


def test_labelled_views_carry_the_same_numbers():
    one = Market.of(RETURNS, COVARIANCE)
    assert one.returns_by_asset["B"] == 0.08
    assert one.covariance_by_asset.loc["B", "B"] == 0.09
    assert one.returns_by_asset.index.name == "asset"


@pytest.mark.parametrize("name", market_names())
def test_numbers_of_a_market_cannot_be_written_to(name):
    one = market(name)
    with pytest.raises(ValueError, match="read-only"):
        one.covariance[0, 0] = 1.0
    assert one.title
    assert one.description.endswith(".")


@pytest.mark.parametrize(
    ("returns", "covariance", "names", "sentence"),
    [
        ([0.1, 0.2], np.eye(2), None, "the assets have no names"),
        ([0.1, 0.2], np.eye(2), ["A", "A"], "'A' is there twice"),
        ([0.1], np.eye(2), ["A", "B"], "have 1 numbers for 2 assets"),
        ([0.1, np.nan], np.eye(2), ["A", "B"], "have nan for B"),
        ([0.1, 0.2], np.eye(3), ["A", "B"], "has shape (3, 3) for 2 assets"),
        (["x", 0.2], np.eye(2), ["A", "B"], "must be numbers"),
        (RETURNS[["A", "B"]], COVARIANCE, None, "have no entry for C"),
    ],
)
def test_what_is_no_market_is_refused_in_a_sentence(returns, covariance, names, sentence):
    with pytest.raises(InvalidInput) as refused:
        Market.of(returns, covariance, names)
    assert sentence in str(refused.value)


def test_a_cap_of_its_own_counts_before_the_common_one():
    limits = Limits(0.5, (("B", 0.2),))
    assert limits.upper_of(("A", "B", "C")).tolist() == [0.5, 0.2, 0.5]


def test_the_box_widens_where_the_market_goes_further():
    returns = np.array([-0.7, 0.3, 0.9])
    assert Limits().box(returns) == (-1.4, 1.8)
    assert Limits().box(np.array([0.1])) == (-1.0, 1.0)
    assert Limits(bounds=(-0.2, 0.4)).box(returns) == (-0.2, 0.4)


def test_limits_speak_in_the_words_of_the_place():
    words = LimitWords("no field {name} among {assets}", upper="Cap", cap_of="Cap of {name}")
    with pytest.raises(InvalidInput, match="no field D among A, B"):
        Limits(caps=(("D", 0.2),)).check(("A", "B"), words)
    with pytest.raises(InvalidInput, match="Cap of B is 0; give a share"):
        Limits(caps=(("B", 0.0),)).check(("A", "B"), words)
    with pytest.raises(InvalidInput, match="there is no asset 'D' to cap; the assets are A, B"):
        Limits(caps=(("D", 0.2),)).upper_of(("A", "B"))


def test_a_source_that_is_none_is_named_in_the_words_of_the_place():
    words = SourceWords("choose a file", "two tables")
    with pytest.raises(InvalidInput, match="choose a file"):
        load_market(MarketSource(), words=words)
    with pytest.raises(InvalidInput, match="choose a file"):
        load_market(MarketSource(bundled="us20", history=TableFile("x", b"")), words=words)
    with pytest.raises(InvalidInput, match="two tables"):
        load_market(MarketSource(expected=TableFile("x", b"")), words=words)


def test_a_history_read_back_gives_the_bundled_moments(tmp_path):
    path = tmp_path / "us20.csv"
    market("us20").history.to_csv(path)
    read = load_market(MarketSource(history=TableFile.at(path)), HistoryOptions(kind="returns"))
    np.testing.assert_allclose(read.expected_returns, market("us20").expected_returns)
    np.testing.assert_allclose(read.covariance, market("us20").covariance)
    assert read.periods_per_year == 12
    assert read.title == "us20.csv"
    assert read.reading[0].rows_read == len(market("us20").history)


def test_a_market_knows_how_much_its_means_rest_on():
    us20 = market("us20")
    years = len(us20.history) / 12
    assert us20.periods_known.tolist() == [len(us20.history)] * us20.size
    np.testing.assert_allclose(us20.mean_covariance, us20.covariance / years)
    np.testing.assert_allclose(us20.standard_errors, us20.risks / np.sqrt(years))
    given = Market.of(RETURNS, COVARIANCE)
    assert given.periods_known is None
    assert given.mean_covariance is None
    assert given.standard_errors is None


def test_histories_of_unequal_length_load_and_say_so(tmp_path):
    path = tmp_path / "late.csv"
    history = market("us20").history.iloc[:, :4].copy()
    history.iloc[:350, 1] = np.nan
    history.to_csv(path)
    read = load_market(MarketSource(history=TableFile.at(path)))
    assert np.linalg.eigvalsh(read.covariance)[0] > 0
    short = history.columns[1]
    assert f"{short} (begins in April 2019, 45 of 395 periods)" in read.notes[0]
    assert read.periods_known.tolist() == [395, 45, 395, 395]
    own, others = read.standard_errors[1], read.risks[1] / np.sqrt(45 / 12)
    assert 0 < own < others
    with pytest.raises(ValueError, match="read-only"):
        read.mean_covariance[0, 0] = 1.0


@pytest.mark.parametrize(
    ("words", "said"),
    [(PYTHON, 'repair=True or covariance="ledoit-wolf"'), (SHELL, "--repair or --covariance-esti")],
)
def test_a_covariance_that_is_none_is_refused_with_what_helps(words, said):
    """Three assets, two at a time, with correlations that no three assets can have."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(np.nan, index=range(180), columns=list("ABC"))
    for block, (one, other, sign) in enumerate((("A", "B", 1), ("B", "C", 1), ("A", "C", -1))):
        moves = rng.normal(0, 0.05, 60)
        frame.loc[60 * block : 60 * block + 59, one] = moves
        frame.loc[60 * block : 60 * block + 59, other] = sign * moves + rng.normal(0, 0.002, 60)
    source = MarketSource(history=TableFile("h.csv", frame))
    place = SourceWords("", "", words)
    with pytest.raises(InvalidInput) as refused:
        load_market(source, HistoryOptions(gaps="pairwise"), place)
    assert str(refused.value).startswith("h.csv: The covariance is not positive definite (smallest")
    assert said in str(refused.value)
    for options in (HistoryOptions(), HistoryOptions(gaps="pairwise", repair=True)):
        assert np.linalg.eigvalsh(load_market(source, options, place).covariance)[0] > 0


def test_portfolios_are_read_on_the_assets_of_a_market(tmp_path):
    path = tmp_path / "held.csv"
    path.write_text("investor,A,B\nann,0.25,0.75\nbob,1,0\n")
    held = load_investors(TableFile.at(path), ("A", "B"))
    assert held.holdings.loc["ann"].tolist() == [0.25, 0.75]


def test_names_of_0_1_0_are_still_found_in_tables():
    from imop_engine import tables

    assert tables.History is tables.ReturnHistory
    assert tables.Limits is tables.ReadingLimits
