"""Every bad file ends in the sentences that it should, and in nothing else."""

import re
from pathlib import Path

import pytest

from imop_engine import errors
from imop_engine.tables import read_portfolios, read_returns
from tables.bad_files import PORTFOLIOS, RETURNS

READERS = {"returns": read_returns, "portfolios": read_portfolios}
CASES = [
    pytest.param(reader, name, *case, id=f"{reader}: {name}")
    for reader, cases in (("returns", RETURNS), ("portfolios", PORTFOLIOS))
    for name, case in cases.items()
]
AT_LEAST = 60


def expected() -> dict[tuple[str, str], tuple[str, list[str]]]:
    """Read bad_files.txt: for each case the kind of error, or "report", and the sentences."""
    found = {}
    for block in (Path(__file__).parent / "bad_files.txt").read_text().strip().split("\n\n"):
        head, *sentences = block.split("\n")
        reader, name, kind = re.match(r"\[(\w+): (.*)\] (\w+)$", head).groups()
        found[reader, name] = (kind, sentences)
    return found


EXPECTED = expected()


def test_there_are_enough_cases_and_each_has_its_sentences() -> None:
    assert {(case.values[0], case.values[1]) for case in CASES} == set(EXPECTED)
    assert len(EXPECTED) >= AT_LEAST


@pytest.mark.parametrize(("reader", "name", "content", "options"), CASES)
def test_the_sentences_a_person_sees(reader, name, content, options) -> None:
    kind, sentences = EXPECTED[reader, name]
    options = {"name": "file.csv", **options}
    if kind != "report":
        with pytest.raises(getattr(errors, kind)) as caught:
            READERS[reader](content, **options)
        assert [str(caught.value)] == sentences
        return
    report = READERS[reader](content, **options).report
    assert report.sentences() == sentences
    assert report.rows_read == report.rows_kept + report.rows_refused
    # What is refused or changed has a line with its row, and the counts follow from the lines.
    lines = report.to_frame()
    rows = {
        action: set(lines.loc[(lines["action"] == action) & (lines["row"] > 0), "row"])
        for action in ("refused", "changed")
    }
    assert len(rows["refused"]) == report.rows_refused
    assert len(rows["changed"] - rows["refused"]) == report.rows_changed


READABLE = [case for case in CASES if EXPECTED[case.values[0], case.values[1]][0] == "report"]


@pytest.mark.parametrize(("reader", "name", "content", "options"), READABLE)
def test_strict_reading_refuses_what_would_be_changed(reader, name, content, options) -> None:
    options = {"name": "file.csv", **options}
    report = READERS[reader](content, **options).report
    options["strict"] = True
    if report.clean:
        READERS[reader](content, **options)
        return
    with pytest.raises(errors.RefusedRows) as caught:
        READERS[reader](content, **options)
    assert caught.value.report.to_frame().equals(report.to_frame())


def test_every_sentence_names_the_file_and_a_remedy() -> None:
    for (reader, name), (kind, sentences) in EXPECTED.items():
        options = {"returns": RETURNS, "portfolios": PORTFOLIOS}[reader][name][1]
        for sentence in sentences:
            assert sentence.endswith(".")
            if kind != "InvalidInput":
                assert options.get("name", "file.csv") in sentence
                assert ";" in sentence
