"""Tables out: every digit, formats that open elsewhere, and no text that a spreadsheet runs."""

import io
import json
import math
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import imop_engine as imop
from imop_engine.errors import InvalidInput
from imop_engine.tables import export

DANGEROUS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3+cmd", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("a")']


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "name": [*DANGEROUS[:3], "plain", "-12"],
            "=heading": [0.1, -0.25, 1 / 3, 1e-300, -7.0],
            "when": pd.to_datetime(["2024-03-31"] * 5),
            "count": [1, -2, 3, 4, 5],
            "flag": [True, False, True, True, False],
        }
    )


@pytest.mark.parametrize("text", DANGEROUS)
def test_dangerous_text_is_neutralised_and_comes_back(text):
    safe = export.safe_text(text)
    assert safe == "'" + text
    assert export.plain_text(safe) == text


@pytest.mark.parametrize("text", ["-12", "+3.5", "-1e-5", "Security 1", "'tis", "a=b", ""])
def test_harmless_text_stays(text):
    assert export.safe_text(text) == text
    assert export.plain_text(text) == text


@given(st.text() | st.text(alphabet="'=+-@1\t\r"))
def test_no_text_leaves_as_a_formula(text):
    safe = export.safe_text(text)
    assert export.plain_text(safe) == text
    assert not safe.startswith(export.FORMULA_STARTS) or math.isfinite(float(safe))


def test_csv_makes_text_and_headings_safe_and_keeps_numbers(table):
    lines = export.csv_text(table).splitlines()
    assert lines[0] == "name,'=heading,when,count,flag"
    assert lines[1].startswith("'=1+1,0.1,2024-03-31")
    assert lines[2].split(",")[1] == "-0.25"
    assert lines[5].split(",")[0] == "-12"


@pytest.mark.parametrize("ending", export.FORMATS)
def test_every_format_comes_back(ending, table, tmp_path):
    path = export.write_table(table, tmp_path / f"t{ending}")
    back = export.read_table(path)
    assert list(back.columns) == list(table.columns)
    assert back["=heading"].tolist() == table["=heading"].tolist()
    assert back["count"].tolist() == table["count"].tolist()
    assert back["name"].astype(str).tolist() == table["name"].tolist()
    assert pd.to_datetime(back["when"]).tolist() == table["when"].tolist()


@pytest.mark.parametrize("ending", export.FORMATS)
def test_names_that_mean_nothing_to_pandas_are_names(ending, tmp_path):
    names = ["NA", "None", "null", "nan", "n/a", "'=A", "=A"]
    path = export.write_table(pd.DataFrame({"asset": names, "true": 0.1}), tmp_path / f"t{ending}")
    assert export.read_table(path)["asset"].tolist() == names


@pytest.mark.slow
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_keep_every_bit(numbers):
    frame = pd.DataFrame({"x": np.array(numbers, dtype=float)})
    assert export.read_csv_text(export.csv_text(frame))["x"].astype(float).tolist() == numbers
    rows = json.loads(export.json_text({"t": frame}))["t"]
    assert [float(row["x"]) for row in rows] == numbers
    sheet = openpyxl.load_workbook(io.BytesIO(export.workbook({"t": frame})))["t"]
    assert [float(cell.value) for cell in sheet["A"][1:]] == numbers


def test_a_workbook_has_formatted_sheets_and_no_formula(table):
    book = openpyxl.load_workbook(
        io.BytesIO(export.workbook({"returns": table, "empty": table[:0]}))
    )
    assert book.sheetnames == ["returns", "empty"]
    sheet = book["returns"]
    assert sheet.freeze_panes == "B2"
    assert sheet["A1"].font.bold
    assert sheet.auto_filter.ref == "A1:E6"
    assert [cell.data_type for row in sheet.iter_rows() for cell in row].count("f") == 0
    assert sheet["A2"].value == "=1+1"
    assert sheet["A2"].quotePrefix
    assert sheet["B3"].value == -0.25
    assert sheet["C2"].number_format == "yyyy-mm-dd"


def test_names_that_excel_refuses_are_changed():
    frame = pd.DataFrame({"x": [1.0]})
    long = "a" * 40
    book = openpyxl.load_workbook(
        io.BytesIO(export.workbook({"a/b": frame, long: frame, long + "b": frame}))
    )
    assert book.sheetnames == ["a-b", "a" * 31, "a" * 28 + " 2"]


def test_control_characters_do_not_break_a_workbook():
    frame = pd.DataFrame({"x": ["a\x00b\x1fc"]})
    sheet = openpyxl.load_workbook(io.BytesIO(export.workbook({"t": frame})))["t"]
    assert sheet["A2"].value == "abc"


def test_json_has_no_word_that_json_does_not_know(table):
    frame = pd.DataFrame(
        {"x": [np.nan, np.inf, 1.0], "d": [pd.NaT, pd.Timestamp("2024-01-02"), None]}
    )
    rows = json.loads(export.json_text({"t": frame}))["t"]
    assert [row["x"] for row in rows] == [None, None, 1.0]
    assert [row["d"] for row in rows] == [None, "2024-01-02", None]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("s.xlsx", "s.xlsx"),
        ("s.json", "s.json"),
        ("s.csv", "s.csv.zip"),
        ("s.parquet", "s.parquet.zip"),
        ("s.zip", "s.zip"),
        ("s.parquet.zip", "s.parquet.zip"),
    ],
)
def test_a_study_is_exported_by_the_ending(name, written, study, tmp_path):
    path = imop.export_study(study, tmp_path / name)
    assert path == tmp_path / written
    names = {"returns", "investors", "frontier", "distribution"}
    names |= {"checks", "sources", "differences", "about"}
    if path.suffix == ".zip":
        inner = ".parquet" if "parquet" in name else ".csv"
        with zipfile.ZipFile(path) as archive:
            assert set(archive.namelist()) == {f"{one}{inner}" for one in names}
    elif path.suffix == ".json":
        document = json.loads(path.read_text())
        assert set(document) == names
        estimate = [row["estimate"] for row in document["returns"]]
        known = study.frame_returns["estimate"]
        assert estimate == [None if np.isnan(one) else one for one in known]
    else:
        assert set(openpyxl.load_workbook(path).sheetnames) == names


def test_the_same_tables_make_the_same_bytes(table):
    assert export.archive({"t": table}) == export.archive({"t": table})


def test_mistakes_are_named(table, tmp_path):
    with pytest.raises(InvalidInput, match=r"t\.doc has no ending we can write"):
        export.write_table(table, tmp_path / "t.doc")
    with pytest.raises(InvalidInput, match="there is no such file"):
        export.read_table(tmp_path / "t.csv")
    for ending in (".parquet", ".xlsx", ".json"):
        path = tmp_path / f"bad{ending}"
        path.write_bytes(b"\x00\x01")
        with pytest.raises(InvalidInput, match=rf"bad\{ending}"):
            export.read_table(path)
    path.write_text('{"a": 1}')
    with pytest.raises(InvalidInput, match="is not a table; give a list of rows"):
        export.read_table(path)
