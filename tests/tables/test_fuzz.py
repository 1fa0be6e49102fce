"""Whatever the bytes or the cells, reading ends in a result or in one of our own errors.

And whatever was read obeys its promises: weights that add up, counts that follow from the lines.
"""

import contextlib
import io
import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imop_engine.errors import ImopError
from imop_engine.moments import estimate_moments
from imop_engine.tables import ReadingLimits, read_moments, read_portfolios, read_returns
from tables.bad_files import PORTFOLIOS, RETURNS

pytestmark = pytest.mark.slow

SMALL = ReadingLimits(megabytes=1, rows=2_000, columns=60, cells=20_000)
# Reproducible: hypothesis is derandomised in this project.
MANY = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))

# Sums of 30 floats differ from one by their rounding only.
SUM_ROOM = 1e-9


def check_history(read) -> None:
    try:
        history = read()
    except ImopError as error:
        check_sentence(error)
        return
    values = history.returns.to_numpy()
    assert not np.isinf(values).any()
    assert (values[np.isfinite(values)] >= -1).all()
    assert history.returns.columns.is_unique
    assert history.periods_per_year >= 1
    if isinstance(history.returns.index, pd.DatetimeIndex):
        assert history.returns.index.is_monotonic_increasing
        assert history.returns.index.is_unique
    check_report(history.report)
    with contextlib.suppress(ImopError):
        estimate_moments(history.returns, periods_per_year=history.periods_per_year)


def check_people(read) -> None:
    try:
        people = read()
    except ImopError as error:
        check_sentence(error)
        return
    values = people.weights.to_numpy()
    assert np.isfinite(values).all()
    assert np.abs(values.sum(axis=1) - 1).max() <= SUM_ROOM
    assert (people.attributes.index == people.weights.index).all()
    if people.dates is not None:
        assert people.dates.is_monotonic_increasing
    check_report(people.report)


def check_sentence(error: ImopError) -> None:
    assert str(error).endswith(".")
    assert "\n" not in str(error)


def check_report(report) -> None:
    assert 0 <= report.rows_kept <= report.rows_read
    assert report.rows_changed <= report.rows_kept
    lines = report.to_frame()
    assert set(lines.loc[lines["row"] > 0, "row"]) <= set(range(1, 10_000))
    assert all(sentence.endswith(".") for sentence in report.sentences())


@MANY
@given(st.binary(max_size=300))
def test_any_bytes(content) -> None:
    check_history(lambda: read_returns(content, limits=SMALL))
    check_people(lambda: read_portfolios(content, limits=SMALL))


WORDS = st.sampled_from(
    [
        "", " ", "date", "investor", "asset", "A", "B", "weight", "amount", "shares", "price",
        "Total", "0", "1", "0.5", "0,5", "1,234", "1.234,5", "50%", "-1", "(3)", "$5", "1e308",
        "1e-320", "nan", "inf", "-", "n/a", "2020-01-31", "31/12/2020", "12/31/20", "Jan 2020",
        "202001", "Q1 2020", "43831", "9999999999999999999999", '"', "'", "−2", "٣", "½", "\ufeff",
        "\x85", "\u2028", "=1+1", "#N/A", "TRUE", "x" * 50,
    ]
)  # fmt: skip
CELLS = st.one_of(WORDS, WORDS, st.text(alphabet=string.printable, max_size=6), st.text(max_size=4))


@MANY
@given(
    st.lists(st.lists(CELLS, max_size=6), max_size=9),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_any_table_of_text(rows, separator, encoding, end) -> None:
    text = end.join(separator.join(row) for row in rows)
    content = text.encode(encoding, "replace")
    check_history(lambda: read_returns(content, limits=SMALL))
    check_people(lambda: read_portfolios(content, limits=SMALL))
    check_people(lambda: read_portfolios(content, ["A", "B"], sums="cash", limits=SMALL))


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.datetimes(), st.dates(), CELLS
)


@SOME
@given(
    st.lists(CELLS, min_size=1, max_size=5),
    st.lists(st.lists(VALUES, min_size=5, max_size=5), max_size=8),
    st.sampled_from(["object", "own"]),
)
def test_any_data_frame(names, rows, kind) -> None:
    frame = pd.DataFrame([row[: len(names)] for row in rows], columns=names, dtype=object)
    if kind == "own":
        frame = frame.infer_objects()
    check_history(lambda: read_returns(frame, limits=SMALL))
    check_people(lambda: read_portfolios(frame, negative="keep", limits=SMALL))


@SOME
@given(st.lists(st.lists(VALUES, max_size=5), max_size=8))
def test_any_workbook(rows) -> None:
    from openpyxl import Workbook
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook()
    for row in rows:
        cells = []
        for cell in row:
            try:
                book.active.cell(1, 1).value = cell
                cells.append(cell)
            except (ValueError, TypeError, IllegalCharacterError):  # Excel does not allow them
                cells.append(None)
        book.active.cell(1, 1).value = None
        book.active.append(cells)
    file = io.BytesIO()
    try:
        book.save(file)
    except (ValueError, OverflowError):  # a date before Excel's calendar
        return
    check_history(lambda: read_returns(file.getvalue(), limits=SMALL))
    check_people(lambda: read_portfolios(file.getvalue(), limits=SMALL))


SEEDS = [content for cases in (RETURNS, PORTFOLIOS) for content, _ in cases.values()]
SEEDS = [content for content in SEEDS if 0 < len(content) < 20_000]


@MANY
@given(st.sampled_from(SEEDS), st.data())
def test_real_files_with_a_few_bytes_changed(content, data) -> None:
    """Text, workbooks and Parquet files alike, cut off or damaged somewhere."""
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        damaged = damaged[: data.draw(st.integers(1, len(damaged)))]
    check_history(lambda: read_returns(bytes(damaged), limits=SMALL))
    check_people(lambda: read_portfolios(bytes(damaged), limits=SMALL))


@SOME
@given(st.lists(st.lists(CELLS, max_size=4), max_size=5), st.lists(st.lists(CELLS, max_size=4)))
def test_any_two_tables_of_moments(first, second) -> None:
    pair = ["\n".join(",".join(row) for row in rows).encode() for rows in (first, second)]
    try:
        moments = read_moments(*pair)
    except ImopError:
        return
    assert np.isfinite(moments.covariance.to_numpy()).all()
