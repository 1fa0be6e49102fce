"""Identifiers: history and portfolios may name assets differently, and people see their names."""

import pandas as pd
import pytest

from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.loading import MarketSource, TableFile, load_asset_map, load_investors, load_market
from imop_engine.tables import apart, read_asset_map, read_portfolios

MAP = (
    b"ISIN;WKN;Ticker;Bezeichnung;Anlageklasse;W\xc3\xa4hrung\n"
    b"IE00B4L5Y983;A0RPWH;IWDA;Welt;Aktien;USD\nDE0001102580;110258;BUND;Bund;Anleihen;EUR\n"
)
HISTORY = "date,IWDA,BUND\n" + "".join(
    f"{2020 + m // 12}-{m % 12 + 1:02d}-28,{0.01 * (m % 5 - 2):.3f},{0.002 * (m % 3 - 1):.4f}\n"
    for m in range(30)
)
BY_ISIN = b"Depot;ISIN;Kurswert\n1;IE00B4L5Y983;600\n1;DE0001102580;400\n2;DE0001102580;1000\n"
BY_WKN = b"Depot;A0RPWH;110258\n1;60;40\n2;0;100\n"


@pytest.mark.parametrize("content", [BY_ISIN, BY_WKN])
def test_any_identifier_finds_the_asset_and_people_see_its_name(content):
    source = MarketSource(
        history=TableFile("prices.csv", HISTORY.encode()), asset_map=TableFile("map.csv", MAP)
    )
    market = load_market(source)
    assert market.names == ("Welt", "Bund")
    people = load_investors(
        TableFile("depots.csv", content), market.names, asset_map=load_asset_map(source)
    )
    assert people.holdings.to_numpy().tolist() == [[0.6, 0.4], [0.0, 1.0]]
    assert "assets are called as in map.csv" in people.reading[0].sentences()[0]
    assert not people.reading[0].needs_you


def test_classes_and_currencies_name_no_asset():
    known = read_asset_map(MAP, name="map.csv")
    assert known.label("aktien") == "aktien"
    assert known.label("iwda") == "Welt"
    assert not known.knows("USD")
    shared = read_asset_map(b"name,house,isin\nA,Big,X1\nB,Big,X2\n")
    assert not shared.knows("Big")
    assert shared.label("X2") == "B"


def test_a_map_is_read_apart_too():
    assert apart.read_apart("asset map", [MAP], {"name": "m.csv"}).label("BUND") == "Bund"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b"isin,name\nX1,A\nX1,B\n",
            "map.csv, row 3, column isin: X1 stands for A and for B; remove one of them.",
        ),
        (
            b"isin,name\n",
            "map.csv names no assets; give a row for each asset and a column for each identifier.",
        ),
    ],
)
def test_a_map_that_contradicts_itself_is_refused(content, sentence):
    with pytest.raises(UnreadableFile) as caught:
        read_asset_map(content, name="map.csv")
    assert str(caught.value) == sentence


def test_two_assets_of_one_name_are_refused():
    source = MarketSource(
        history=TableFile("prices.csv", HISTORY.encode()),
        asset_map=TableFile("map.csv", b"name,ticker,other\nWelt,IWDA,BUND\n"),
    )
    with pytest.raises(InvalidInput, match=r"map\.csv calls two assets of prices\.csv Welt"):
        load_market(source)


def test_a_map_that_knows_nothing_changes_nothing():
    frame = pd.DataFrame({"investor": ["Ann"], "A": [0.5], "B": [0.5]})
    people = read_portfolios(frame, ["A", "B"], asset_map=read_asset_map(MAP))
    assert people.report.findings == ()
