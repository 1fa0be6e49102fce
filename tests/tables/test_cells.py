"""Numbers and dates as people write them, against slow twins and by hand."""

import datetime as dt
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imop_engine.tables.cells import mixed_column, text_column
from imop_engine.tables.dates import read_dates
from imop_engine.tables.numbers import (
    COMMA,
    MANY_CELLS,
    POINT,
    find_decimal_marks,
    read_numbers,
)


def numbers_of(cells, separator="comma", mark="auto"):
    column = text_column("x", pa.array(cells, pa.string()))
    marks = find_decimal_marks([column], mark, separator)
    return read_numbers(column, marks.marks["x"]), marks


@pytest.mark.parametrize(
    ("cell", "mark", "value"),
    [
        ("12", POINT, 12.0),
        ("+12.5", POINT, 12.5),
        (".5", POINT, 0.5),
        ("5.", POINT, 5.0),
        ("1e-3", POINT, 0.001),
        ("-1.5E+2", POINT, -150.0),
        ("1,234.5", POINT, 1234.5),
        ("1,234,567", POINT, 1234567.0),
        ("12,34,567.5", POINT, 1234567.5),
        ("1 234.5", POINT, 1234.5),
        ("1'234.5", POINT, 1234.5),
        ("1\u00a0234", POINT, 1234.0),
        ("1\u202f234", POINT, 1234.0),
        ("12%", POINT, 0.12),
        ("-1.5 %", POINT, -0.015),
        ("(3.1)", POINT, -3.1),
        ("($1,000)", POINT, -1000.0),
        ("$ 5", POINT, 5.0),
        ("-€7.50", POINT, -7.5),
        ("7.50 EUR", POINT, 7.5),
        ("USD 3", POINT, 3.0),
        ("5-", POINT, -5.0),
        ("−2.5", POINT, -2.5),
        ("0,5", COMMA, 0.5),
        ("1.234,5", COMMA, 1234.5),
        ("1.234", COMMA, 1234.0),
        ("1.234.567", COMMA, 1234567.0),
        ("12,5 %", COMMA, 0.125),
        ("(1.000,25)", COMMA, -1000.25),
        ("1,5e3", COMMA, 1500.0),
        ("50*", POINT, 50.0),
        ("1,250.5 ¹", POINT, 1250.5),
        ("12,5 %†", COMMA, 0.125),
        ("(3.1)*", POINT, -3.1),
        ("١٢", POINT, 12.0),
        ("۱۲٫۵٪", POINT, 0.125),
    ],
)
def test_a_number_as_it_is_written(cell, mark, value):
    read, _ = numbers_of([cell, ""], mark=mark)
    assert read.values[0] == pytest.approx(value, rel=1e-15)
    assert not read.bad.any()
    assert list(read.empty) == [False, True]


@pytest.mark.parametrize(
    "cell",
    ["abc", "1.2.3", "1,23,4", "--5", "(5", "5)", "(-5)", "-5-", "1/2", "12a", "inf", "1e999",
     "#DIV/0!", "1,2345.6", "%", "$", "1 2", "0x10", "1_000", "5%%"],
)  # fmt: skip
def test_what_is_no_number(cell):
    read, _ = numbers_of([cell, "1"], mark=POINT)
    assert list(read.bad) == [True, False]
    assert np.isnan(read.values[0])


@pytest.mark.parametrize("cell", ["NA", "n/a", "NaN", "null", "None", "#N/A", ".", "?"])
def test_words_for_nothing(cell):
    read, _ = numbers_of([cell, "1"])
    assert read.missing[0]
    assert not read.bad.any()


@pytest.mark.parametrize(
    ("cells", "separator", "values"),
    [
        (["0,5", "1,234"], "comma", [0.5, 1.234]),
        (["1,234.5", "1,234"], "comma", [1234.5, 1234]),
        (["1.234,5", "1.234"], "comma", [1234.5, 1234]),
        (["0.5", "1,234"], "comma", [0.5, 1234]),
        (["1,234"], "comma", [1234]),
        (["1,234"], "semicolon", [1.234]),
        (["1.234"], "semicolon", [1.234]),
        (["1,234", "0.5"], "semicolon", [1234, 0.5]),
    ],
)
def test_one_cell_settles_what_another_leaves_open(cells, separator, values):
    read, marks = numbers_of(cells, separator)
    assert read.values.tolist() == values
    assert bool(marks.open_columns) == (cells == ["1,234"])


def test_a_column_without_a_tell_follows_the_file():
    columns = [
        text_column("a", pa.array(["0,5", "2,25"])),
        text_column("b", pa.array(["1.234", "5.678"])),
    ]
    marks = find_decimal_marks(columns, "auto", "semicolon")
    assert read_numbers(columns[1], marks.marks["b"]).values.tolist() == [1234, 5678]


def naive_number(cell):
    """Read a number with a decimal point and commas between thousands, character by character."""
    body = cell[1:] if cell[:1] in "+-" else cell
    whole, point, decimals = body.partition(".")
    groups = whole.split(",")
    if len(groups) > 1 and not (
        1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
    ):
        return None
    digits = "".join(groups) + decimals
    if not digits.isascii() or not digits.isdigit() or (decimals and not point):
        return None
    return float(("-" if cell[:1] == "-" else "") + "".join(groups) + point + decimals)


@given(st.lists(st.text(alphabet="0123456789.,+-", min_size=1, max_size=9), min_size=1))
def test_against_a_slow_twin(cells):
    read, _ = numbers_of(cells, mark=POINT)
    for i, cell in enumerate(cells):
        wanted = naive_number(cell)
        # Accountants' signs, and the Indian grouping 12,34,567, are known to the reader alone.
        if cell.endswith("-") or re.search(r",\d\d,", cell) or cell.startswith(("-,", "+,", ",")):
            continue
        assert (None if np.isnan(read.values[i]) else read.values[i]) == wanted


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_what_python_writes_is_read_to_the_last_digit(values):
    read, _ = numbers_of([repr(value) for value in values])
    assert read.values.tolist() == values


def dates_of(*cells, order="auto"):
    return read_dates(text_column("date", pa.array(cells)), order)


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("2020-01-31", "2020-01-31"),
        ("2020/1/31", "2020-01-31"),
        ("2020-01-31T23:59:59Z", "2020-01-31T23:59:59"),
        ("2020-01-31 10:00+02:00", "2020-01-31T08:00:00"),
        ("20200131", "2020-01-31"),
        ("31.1.2020", "2020-01-31"),
        ("31/01/20", "2020-01-31"),
        ("01/31/1999", "1999-01-31"),
        ("1/31/70", "1970-01-31"),
        ("31-Jan-2020", "2020-01-31"),
        ("31 January 2020", "2020-01-31"),
        ("Jan 31, 2020", "2020-01-31"),
        ("Friday, 31 January 2020", "2020-01-31"),
        ("31. Januar 2020", "2020-01-31"),
        ("1 août 2020", "2020-08-01"),
        ("31/01/2020 5:30 PM", "2020-01-31T17:30:00"),
        ("Jan 2020", "2020-01-31"),
        ("Feb-21", "2021-02-28"),
        ("2020-02", "2020-02-29"),
        ("202002", "2020-02-29"),
        ("02/2020", "2020-02-29"),
        ("2020M02", "2020-02-29"),
        ("2020Q1", "2020-03-31"),
        ("Q4 2020", "2020-12-31"),
        ("2020", "2020-12-31"),
        ("43861", "2020-01-31"),
    ],
)
def test_a_date_as_it_is_written(cell, day):
    read = dates_of(cell)
    assert read.values[0] == np.datetime64(day, "us")
    assert not read.bad.any()


@pytest.mark.parametrize(
    "cell",
    ["31.02.2020", "2020-13-01", "soon", "12", "1/2", "2020-01-31x", "99999999", "13/13/2020"],
)
def test_what_is_no_date(cell):
    assert dates_of(cell).bad.all()


def test_the_column_decides_which_is_the_day():
    assert dates_of("03/02/2020", "13/02/2020").values[0] == np.datetime64("2020-02-03", "us")
    assert dates_of("03/02/2020", "03/13/2020").values[0] == np.datetime64("2020-03-02", "us")
    # Only one reading is in order.
    in_order = dates_of("05/01/2020", "04/02/2020", "06/03/2020")
    assert in_order.values[0] == np.datetime64("2020-01-05", "us")
    assert "only then are the dates in order" in in_order.guess.reason
    # Only one reading is evenly spaced.
    even = dates_of("01/11/2020", "01/12/2020", "01/01/2021")
    assert even.values[0] == np.datetime64("2020-11-01", "us")
    assert "only then are the dates evenly spaced" in even.guess.reason
    asked = dates_of("03/02/2020", order="month first")
    assert asked.values[0] == np.datetime64("2020-03-02", "us")
    assert dates_of("03/02/2020").open_order


@given(st.lists(st.dates(dt.date(1900, 1, 1), dt.date(2150, 1, 1)), min_size=1, max_size=30))
def test_dates_survive_every_way_of_writing_them(days):
    wanted = np.array(days, dtype="datetime64[us]")
    for form, order in (
        ("%Y-%m-%d", "auto"), ("%d.%m.%Y", "day first"), ("%m/%d/%Y", "month first"),
        ("%d %B %Y", "auto"), ("%B %d, %Y", "auto"), ("%Y%m%d", "auto"),
    ):  # fmt: skip
        read = dates_of(*(day.strftime(form) for day in days), order=order)
        assert (read.values == wanted).all()


def test_typed_cells_are_taken_as_they_are():
    column = mixed_column("x", [dt.datetime(2020, 1, 31), 43890, "2020-03-31", None, "x"])
    read = read_dates(column)
    assert [str(value)[:10] for value in read.values[:3]] == [
        "2020-01-31",
        "2020-02-29",
        "2020-03-31",
    ]
    assert list(read.bad) == [False, False, False, False, True]
    numbers = read_numbers(mixed_column("x", [0.5, "25%", None, dt.datetime(2020, 1, 1), True]))
    assert numbers.values[:2].tolist() == [0.5, 0.25]
    assert list(numbers.bad) == [False, False, False, True, True]


@pytest.mark.parametrize("mark", [POINT, COMMA])
def test_a_long_column_of_few_words_is_read_as_each_of_its_cells(mark):
    words = ["1.5", "1,5", "12%", "(3)", "n/a", "-", "", "abc", "7 EUR", "50*", "1.234,5", "٣"]
    column = text_column("x", pa.array(words * (MANY_CELLS // len(words) + 1)))
    alone = text_column("x", pa.array(words))
    long, short = read_numbers(column, mark), read_numbers(alone, mark)
    for name in ("values", "empty", "dash", "missing", "bad", "percent", "misfit"):
        cells = getattr(long, name).reshape(-1, len(words))
        np.testing.assert_array_equal(cells, np.tile(getattr(short, name), (len(cells), 1)))
