"""Every number of a vendor's file is read right, and a person is told what was done and why."""

import re
from pathlib import Path

import numpy as np
import pytest

from imop_engine.errors import UnreadableFile
from imop_engine.tables import read_portfolios, read_returns
from tables import odd_files, report_files, vendor_files

HISTORIES = {**vendor_files.HISTORIES, **report_files.HISTORIES, **odd_files.HISTORIES}
REPORTS = {
    case: (content, {**files.MARKET, **options}, weights)
    for files in (report_files, odd_files)
    for case, (content, options, weights) in files.HOLDINGS.items()
}
HOLDINGS = {**vendor_files.HOLDINGS, **REPORTS}
REFUSED = {**vendor_files.REFUSED, **report_files.REFUSED, **odd_files.REFUSED}
REFUSED_PORTFOLIOS = odd_files.REFUSED_PORTFOLIOS


def expected() -> dict[str, list[str]]:
    """Read the lists of sentences: for each case those of its report, or of its error."""
    found = {}
    for name in ("vendor_files.txt", "report_files.txt", "odd_files.txt"):
        for block in (Path(__file__).parent / name).read_text().strip().split("\n\n"):
            head, *sentences = block.split("\n")
            found[re.fullmatch(r"\[(.*)\]", head).group(1)] = sentences
    return found


def content(file: str | bytes) -> bytes:
    """The bytes of a case."""
    return file.encode() if isinstance(file, str) else file


EXPECTED = expected()


def test_each_file_has_its_sentences() -> None:
    assert set(EXPECTED) == {*HISTORIES, *HOLDINGS, *REFUSED, *REFUSED_PORTFOLIOS}


@pytest.mark.parametrize("case", HISTORIES)
def test_histories_of_vendors(case) -> None:
    text, options, values = HISTORIES[case]
    history = read_returns(content(text), **{"name": "file.csv", **options})
    table = history.returns if history.prices is None else history.prices
    assert list(table) == list(values)
    for name, column in values.items():
        np.testing.assert_allclose(table[name], column, rtol=1e-15)
    assert history.report.sentences() == EXPECTED[case]
    assert all(guess.reason for guess in history.guessed.values())


@pytest.mark.parametrize("case", HOLDINGS)
def test_holdings_of_brokers_and_custodians(case) -> None:
    text, options, weights = HOLDINGS[case]
    people = read_portfolios(content(text), **{"name": "file.csv", **options})
    # in a panel an investor comes once for each date
    assert people.weights.index.tolist() == [name.removesuffix(" again") for name in weights]
    for row, held in zip(people.weights.to_numpy(), weights.values(), strict=True):
        assert list(people.weights) == list(held)
        np.testing.assert_allclose(row, list(held.values()), rtol=1e-12)
    assert people.report.sentences() == EXPECTED[case]
    assert all(guess.reason for guess in people.guessed.values())


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_cannot_be_trusted(case) -> None:
    text, options = REFUSED[case]
    with pytest.raises(UnreadableFile) as caught:
        read_returns(content(text), **{"name": "file.csv", **options})
    assert [str(caught.value)] == EXPECTED[case]


@pytest.mark.parametrize("case", REFUSED_PORTFOLIOS)
def test_portfolios_that_cannot_be_trusted(case) -> None:
    file, options = REFUSED_PORTFOLIOS[case]
    with pytest.raises(UnreadableFile) as caught:
        read_portfolios(content(file), **{"name": "file.csv", **odd_files.MARKET, **options})
    assert [str(caught.value)] == EXPECTED[case]
