"""docs/files.md says what the code does: its sentences, its limits, its measurements."""

import json
import re
from pathlib import Path

from imop_engine.tables import ReadingLimits
from imop_engine.tables.history_quality import SHORT_HISTORY
from imop_engine.tables.portfolio_rules import CHOICES, Rules
from imop_engine.tables.workbook import UNPACKED_TIMES_LIMIT
from tables.bad_files import PORTFOLIOS, RETURNS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "files.md").read_text()
MEASURED = ROOT / "benchmarks" / "results" / "reading.json"


def test_every_quoted_sentence_is_one_that_a_test_asks_for() -> None:
    quoted = re.findall(r"^> (.*)$", PAGE, re.MULTILINE)
    lists = ("bad_files.txt", "report_files.txt", "odd_files.txt")
    asked = "".join((ROOT / "tests" / "tables" / name).read_text() for name in lists)
    yahoo = re.sub(r'"\s+"', "", (ROOT / "tests" / "tables" / "test_yahoo.py").read_text())
    assert len(quoted) >= 8
    for sentence in quoted:
        assert sentence in asked.splitlines() or sentence in yahoo


def test_counts_limits_and_defaults() -> None:
    assert f"[{len(RETURNS) + len(PORTFOLIOS)} bad files]" in PAGE
    limits = ReadingLimits()
    for figure in (limits.megabytes, limits.rows, limits.columns, limits.cells):
        assert f"{figure:,}" in PAGE
    assert f"{UNPACKED_TIMES_LIMIT * limits.megabytes:,} MB" in PAGE
    assert f"fewer than {SHORT_HISTORY}" in PAGE
    for name, (default, *others) in CHOICES.items():
        assert getattr(Rules(), name) == default
        assert f'`{name}="{default}"`' in PAGE
        assert all(f'"{other}"' in PAGE for other in others)
    assert f"tolerance={Rules().tolerance}" in PAGE


def test_the_measurements_are_those_of_the_last_run() -> None:
    between = r"<!-- reading benchmark -->\n(.*)<!-- end of reading benchmark -->"
    table = re.search(between, PAGE, re.DOTALL).group(1)
    for row in json.loads(MEASURED.read_text())["files"]:
        line = f"| {row['file']} | {row['rows']:,} | {row['seconds']} | {row['cpu seconds']} |"
        assert line in table
