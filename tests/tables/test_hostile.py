"""A file made to harm ends in a sentence, within its processor time and memory, apart from us."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal

from imop_engine import forking
from imop_engine.errors import ReadingStopped, RefusedRows, UnreadableFile
from imop_engine.sentences.market import APP, PYTHON, SHELL
from imop_engine.tables import apart, read_portfolios, read_returns, readers
from imop_engine.tables.reading_limits import MEGABYTE, Budget
from imop_engine.tables.transport import packed, unpacked
from tables import endless_reader
from tables.hostile_files import PORTFOLIOS
from tables.vendor_files import HISTORIES, HOLDINGS

pytestmark = pytest.mark.skipif(not apart.CAN_FORK, reason="this system cannot fork")

# What a hostile file is allowed: processor seconds and bytes, the interpreter included. What the
# files below really take is measured by benchmarks/bench_hostile.py; no test asks how fast we are.
MOST_SECONDS, MOST_MEMORY = 5.0, 500 * MEGABYTE
GIVEN_UP = (
    "was given up after 1 seconds of processor time, far more than a file of its size needs; "
    "remove what is not part of the table, or save it as CSV."
)
UNPACK = "save the sheet as CSV or Parquet."
# What a person sees, on whatever machine, where the processor time is enough.
SENTENCES = {
    "shared strings": "bad, part xl/sharedStrings.xml: it would unpack to 170 MB, and at most 18 "
    f"MB are unpacked of a file of 0.4 MB; {UNPACK}",
    "styles": "bad, part xl/styles.xml: it would unpack to 145 MB, and at most 17 MB are unpacked "
    f"of a file of 0.4 MB; {UNPACK}",
    "empty cells": "bad, part xl/worksheets/sheet1.xml: it would unpack to 172 MB, and at most 60 "
    f"MB are unpacked of a file of 0.5 MB; {UNPACK}",
    "far cells": "bad, sheet Data: there are more than 25,000,000 cells, empty ones included; "
    "remove empty rows and columns, or save the sheet as CSV or Parquet.",
    "unclosed sheets": "bad is a damaged Excel file; open it and save it again.",
    "repeated text": "bad unpacks to 133 MB or more, and at most 107 MB are unpacked of a file of "
    "0.3 MB; split it, or save it as CSV.",
    "repeated numbers": "bad unpacks to 106 MB or more, and at most 102 MB are unpacked of a file "
    "of 0.1 MB; split it, or save it as CSV.",
    "empty lines": "bad has more than 5,000,000 empty rows; remove them, or save the table alone.",
    "nobody twice": "bad has 150,000 portfolios of 150,000 different assets, and at most "
    "25,000,000 holdings are read; check that column asset names the assets, and leave out those "
    "without a history.",
    "many columns": "bad has 20,000 columns, and none of them is named like an asset of the "
    "history (A, B); check that it is the right file, or say which assets they are.",
    "spanning page": "bad has cells that span more than 1,000,000 others; save the table alone, as "
    "CSV.",
    "unclosed page": "bad is a web page or XML without a table; download the data themselves "
    "(often the link needs a login).",
}


@pytest.fixture
def ended(monkeypatch) -> list[dict]:
    """How reading processes ended, and what they took."""
    seen: list[dict] = []
    answers = apart._answers

    def note(*arguments):
        answer, how = answers(*arguments)
        seen.append(how)
        return answer, how

    monkeypatch.setattr(apart, "_answers", note)
    return seen


def read(content: bytes, **options):
    return apart.read_apart("portfolios", [content], {"name": "bad", **options})


class Endless:
    """A reading process whose reader never ends by itself, on however fast a machine."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes
        self.process = forking.ForkingProcess(endless_reader.__name__)

    def ended(self) -> bool:
        """Whether the reading has begun and ends, which only a bug makes last for minutes."""
        return any(self._has_ended() or time.sleep(0.1) for _ in range(3000))

    def _has_ended(self) -> bool:
        if not self.notes.exists():
            return False
        try:
            os.kill(int(self.notes.read_text()), 0)
        except ProcessLookupError:
            return True
        return False


@pytest.fixture
def endless(monkeypatch, tmp_path) -> Iterator[Endless]:
    monkeypatch.setenv("PYTHONPATH", str(Path(endless_reader.__file__).parents[1]))
    monkeypatch.setenv(endless_reader.NOTES, str(tmp_path / "reader"))
    endless = Endless(tmp_path / "reader")
    monkeypatch.setattr(apart, "_PROCESS", endless.process)
    yield endless
    endless.process.close()


@pytest.mark.slow
@pytest.mark.parametrize("case", SENTENCES)
def test_a_hostile_file_ends_in_a_sentence_within_its_memory(case, ended, monkeypatch) -> None:
    budget_of = apart.budget_of
    monkeypatch.setattr(
        apart, "budget_of", lambda given: replace(budget_of(given), seconds=600.0, wall=6000.0)
    )
    with pytest.raises(UnreadableFile) as caught:
        read(PORTFOLIOS[case](), assets=["A", "B"])
    assert str(caught.value) == SENTENCES[case]
    assert ended[0]["memory"] <= MOST_MEMORY


def test_a_long_cell_is_read_as_any_other() -> None:
    people = read(PORTFOLIOS["long number"](), assets=["A", "B"])
    assert people.weights.to_numpy().tolist() == [[0.5, 0.5]]


def test_every_hostile_file_has_its_sentence() -> None:
    assert {*SENTENCES, "long number"} == set(PORTFOLIOS)


def test_processor_time_is_limited(monkeypatch, ended, endless) -> None:
    budget = Budget(1.0, 200 * MEGABYTE, 6000.0)
    monkeypatch.setattr(apart, "budget_of", lambda sources: budget)
    with pytest.raises(UnreadableFile) as caught:
        read(b"investor,A,B\n")
    assert str(caught.value) == f"bad {GIVEN_UP}"
    assert ended[0]["status"] == -signal.SIGXCPU
    assert endless.ended()


def test_memory_is_limited(monkeypatch) -> None:
    monkeypatch.setattr(apart, "budget_of", lambda sources: Budget(60.0, 20 * MEGABYTE, 600.0))
    with pytest.raises(UnreadableFile, match="needs more than 20 MB of memory"):
        read(PORTFOLIOS["repeated numbers"]())


def test_the_budget_grows_with_the_file() -> None:
    small, large = Budget.of("text", 1_000), Budget.of("text", 100 * MEGABYTE)
    assert small.seconds < MOST_SECONDS
    assert small.memory < MOST_MEMORY
    assert large.seconds == 60.0
    assert large.memory > 10 * 100 * MEGABYTE


def test_whoever_leaves_stops_the_reading(monkeypatch, endless) -> None:
    budget = Budget(6000.0, 200 * MEGABYTE, 6000.0)
    monkeypatch.setattr(apart, "budget_of", lambda sources: budget)

    def stop() -> bool:
        return endless.notes.exists()  # somebody leaves while it is being read

    with pytest.raises(ReadingStopped, match=r"Reading bad was stopped; choose the file again\."):
        apart.read_apart("portfolios", [b"investor,A,B\n"], {"name": "bad"}, stop)
    assert endless.ended(), "a file that nobody waits for is still being read"


def test_a_reading_process_that_was_killed_is_started_again() -> None:
    read(b"investor,A,B\nAnn,0.5,0.5\n")
    process = apart._PROCESS._process
    os.kill(process.pid, 9)
    process.wait()
    assert len(read(b"investor,A,B\nAnn,0.5,0.5\n")) == 1
    assert apart._PROCESS._process.pid != process.pid


@pytest.mark.skipif(readers.data_size() == 0, reason="this system limits no memory")
def test_the_shell_reads_within_the_same_budget(monkeypatch) -> None:
    def greedy(source):
        return np.ones(50_000_000)

    monkeypatch.setattr(readers, "budget_of", lambda sources: Budget(60.0, 20 * MEGABYTE, 600.0))
    monkeypatch.setitem(readers.READERS, "portfolios", greedy)
    with pytest.raises(UnreadableFile, match="the file was given up as it needs more than 20 MB"):
        readers.read_within_budget("portfolios", [b"x"], {})
    assert len(greedy(b"x")) == 50_000_000  # and may afterwards have memory as before


def same(ours, theirs) -> None:
    assert ours.guessed == theirs.guessed
    assert ours.report.sentences() == theirs.report.sentences()
    assert_frame_equal(ours.report.to_frame(), theirs.report.to_frame())


@pytest.mark.parametrize("case", [*HOLDINGS][::4])
def test_portfolios_read_apart_are_the_same(case) -> None:
    text, options, _ = HOLDINGS[case]
    options = {"name": "file.csv", **options}
    here = read_portfolios(text.encode(), **options)
    there = apart.read_apart("portfolios", [text.encode()], options)
    same(here, there)
    assert_frame_equal(here.weights, there.weights)
    assert_frame_equal(here.attributes, there.attributes)
    assert here.roles == there.roles
    if here.dates is not None:
        assert_series_equal(here.dates, there.dates)


@pytest.mark.parametrize("case", [*HISTORIES][::4])
def test_histories_read_apart_are_the_same(case) -> None:
    text, options, _ = HISTORIES[case]
    options = {"name": "file.csv", **options}
    here = read_returns(text.encode(), **options)
    there = apart.read_apart("returns", [text.encode()], options)
    same(here, there)
    assert_frame_equal(here.returns, there.returns)
    assert (here.prices is None) == (there.prices is None)


def test_an_error_read_apart_is_the_same() -> None:
    content = b"investor,A,B\nAnn,0.5,0.4\n"
    with pytest.raises(RefusedRows) as caught:
        read(content, strict=True)
    assert str(caught.value).startswith("bad is refused, as strict reading was asked for.")
    assert caught.value.report.rows_changed == 1


def test_a_path_is_read_where_it_is(tmp_path) -> None:
    path = tmp_path / "clients.csv"
    path.write_bytes(b"investor,A,B\nAnn,0.5,0.5\n")
    assert apart.read_apart("portfolios", [path], {}).name == "clients.csv"
    with pytest.raises(UnreadableFile, match=r"There is no file .*none\.csv"):
        apart.read_apart("portfolios", [tmp_path / "none.csv"], {})


def test_a_frame_has_been_read_already() -> None:
    frame = pd.DataFrame({"investor": ["Ann"], "A": [0.5], "B": [0.5]})
    assert len(apart.read_apart("portfolios", [frame], {})) == 1


@pytest.mark.parametrize(
    "forged",
    [
        {"ours": ["os", "system", {}]},
        {"ours": ["imop_engine.tables.apart", "close", {}]},
        {"ours": ["imop_engine.errors", "ImopError", {}]},
    ],
)
def test_only_our_own_values_are_made_of_an_answer(forged) -> None:
    honest = packed("x")
    tree = __import__("json").dumps(forged).encode()
    sizes = f"[{len(tree)}]".encode()
    with pytest.raises(TypeError, match="nothing that is handed over"):
        unpacked(len(sizes).to_bytes(8, "big") + sizes + tree)
    assert unpacked(honest) == "x"
    with pytest.raises(TypeError, match="a set is nothing"):
        packed({1, 2})


@pytest.mark.parametrize(
    ("place", "market", "cash"),
    [
        (PYTHON, "read_returns", "with_cash"),
        (SHELL, "--returns", "--cash"),
        (APP, "Market", "field"),
    ],
)
def test_the_words_of_the_place_cross_to_the_other_process(place, market, cash) -> None:
    prices = b"date,A,B\n" + b"".join(
        f"2020-{m:02d}-28,{100 + m},{200 - m}\n".encode() for m in range(1, 13)
    )
    with pytest.raises(UnreadableFile) as caught:
        read(prices, words=place)
    assert place.to_market in str(caught.value)
    assert market in str(caught.value)
    people = read(b"client,A,Cash\nAnn,0.9,0.1\n", assets=["A", "B"], words=place)
    (needs,) = people.report.needs_you
    assert f"give cash a rate with {place.cash}" in needs.sentence()
    assert cash in needs.sentence()
    assert people.report.covered == pytest.approx(0.9)
