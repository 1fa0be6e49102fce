"""Groups of assets from tables as people have them."""

import pandas as pd
import pytest

from imop_engine.errors import UnreadableFile
from imop_engine.tables import read_asset_groups

NAMES = ("Apple Inc.", "Coca-Cola", "Exxon")


def test_a_row_for_each_asset_in_any_spelling():
    file = (
        b"Name;Ticker;Branche;Region;Gewicht\n"
        b"apple inc;AAPL;Technik;US;0,1\nCOCA COLA;KO;Konsum;US;0,2\nNestle;NESN;Konsum;CH;0,3\n"
    )
    groups = read_asset_groups(file, NAMES)
    assert groups.written == ("Branche:Technik", "Branche:Konsum", "Region:US")
    assert groups.members("Region", "US") == ("Apple Inc.", "Coca-Cola")
    assert groups.columns["Branche"] == {"Technik": ("Apple Inc.",), "Konsum": ("Coca-Cola",)}
    assert read_asset_groups(file, ("AAPL", "NESN")).members("Branche", "Konsum") == ("NESN",)


def test_what_says_no_grouping_is_one_where_few_cells_differ():
    frame = pd.DataFrame(
        {"asset": list("ABCD"), "risk": [1, 1, 2, 2], "price": [3.0, 4.0, 5.0, 6.0]}
    )
    assert read_asset_groups(frame).written == ("risk:1", "risk:2")


def test_long_tables_repeat_and_rows_that_differ_are_refused():
    long = b"date,asset,return,sector\n2020-01-31,A,0.01,X\n2020-02-29,A,0.02,X\n2020-01-31,B,0,Y\n"
    assert read_asset_groups(long, ("A", "B")).written == ("sector:X", "sector:Y")
    with pytest.raises(UnreadableFile, match="row 3: A has the sector Z, and X in a row above"):
        read_asset_groups(long.replace(b"0.02,X", b"0.02,Z"), ("A", "B"))


def test_a_wide_history_may_have_its_groups_below_the_names():
    wide = b"date,A,B,C\nSector,X,Y,X\nRegion,EU,,US\n2020-01-31,0.01,0.02,0.03\n"
    groups = read_asset_groups(wide, ("A", "B", "C"))
    assert groups.members("Sector", "X") == ("A", "C")
    assert groups.written == ("Sector:X", "Sector:Y", "Region:EU", "Region:US")


@pytest.mark.parametrize("file", [b"asset,sector\nZ,X\n", b"date,A,B\n2020-01-31,0.01,0.02\n"])
def test_a_table_without_groups_is_refused(file):
    with pytest.raises(UnreadableFile, match=r"groups no assets, as Apple Inc\., Coca-Cola"):
        read_asset_groups(file, NAMES)
