"""Scores of assets are read from every kind of table, and what is wrong with one is said."""

import io

import pandas as pd
import pytest

from imop_engine.errors import UnreadableFile
from imop_engine.tables.score_table import read_scores

NAMES = ("A", "B", "C")
FRAME = pd.DataFrame({"asset": ["C", "A", "B", "Other"], "score": [0.3, 0.1, 0.2, 9.0]})


def as_bytes(frame: pd.DataFrame, kind: str) -> bytes:
    if kind == "csv":
        return frame.to_csv(index=False).encode()
    if kind == "semicolon":
        return frame.to_csv(index=False, sep=";", decimal=",").encode()
    file = io.BytesIO()
    if kind == "xlsx":
        frame.to_excel(file, index=False)
    else:
        frame.to_parquet(file, index=False)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["csv", "semicolon", "xlsx", "parquet"])
def test_any_kind_of_table_gives_the_same_scores(kind):
    assert read_scores(as_bytes(FRAME, kind), NAMES) == pytest.approx((0.1, 0.2, 0.3))


def test_names_in_an_old_encoding_and_percent_are_read():
    table = "asset,score\nMünchen,10%\nb,20%\n".encode("latin-1")
    assert read_scores(table, ("B", "München")) == pytest.approx((0.2, 0.1))


def test_a_column_is_found_by_its_name_or_is_named():
    table = b"asset,sector,ESG score,price,comment\nA,x,0.1,5,p\nB,y,0.2,6,q\nC,y,0.3,7,r\n"
    assert read_scores(table, NAMES) == (0.1, 0.2, 0.3)
    assert read_scores(table, NAMES, column="price") == (5.0, 6.0, 7.0)
    two = b"asset,first,second\nA,1,2\nB,2,3\nC,3,4\n"
    with pytest.raises(UnreadableFile, match="one column of scores is needed, found: first, sec"):
        read_scores(two, NAMES)
    with pytest.raises(UnreadableFile, match="has no column third"):
        read_scores(two, NAMES, column="third")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (b"asset,score\nA,1\nB,2\nC,3\nA,4\n", "row 5: A is there twice, first in row 2"),
        (b"asset,score\nA,1\nB,\nC,3\n", "row 3, column score: the score of B is missing"),
        (b"asset,score\nA,1\nB,high\nC,3\n", "the score of B is 'high'"),
        (b"asset,score\nA,1\nB,2\n", "no score for C"),
        (b"asset,score\nX,1\nY,2\n", "names none of the assets"),
    ],
)
def test_what_is_wrong_is_said(table, said):
    with pytest.raises(UnreadableFile, match=said):
        read_scores(table, NAMES)
