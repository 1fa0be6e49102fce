"""The bundled data is what SOURCES.md and the paper say it is."""

import hashlib
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from imop_engine.bundled import market, market_names, sample_portfolios
from imop_engine.errors import InvalidInput

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data"

# The appendix typed a second time, as printed, so that a slip in one of the two
# transcriptions shows.
RETURNS_AS_PRINTED = r"""
Security        & 1      & 2      & 3      & 4      & 5      & 6      & 7      & 8      \\ \midrule
Expected Return & 0.1791 & 0.1143 & 0.1357 & 0.0837 & 0.1653 & 0.1808 & 0.0352 & 0.0368 \\ \bottomrule
"""  # noqa: E501
COVARIANCE_AS_PRINTED = r"""
Security & 1      & 2      & 3      & 4      & 5      & 6      & 7      & 8      \\ \midrule
1        & 0.1641 & 0.0299 & 0.0478 & 0.0491 & 0.058  & 0.0871 & 0.0603 & 0.0492 \\
2        & 0.0299 & 0.0720 & 0.0511 & 0.0287 & 0.0527 & 0.0297 & 0.0291 & 0.0326 \\
3        & 0.0478 & 0.0511 & 0.0794 & 0.0498 & 0.0664 & 0.0479 & 0.0395 & 0.0523 \\
4        & 0.0491 & 0.0287 & 0.0498 & 0.1148 & 0.0336 & 0.0503 & 0.0326 & 0.0447 \\
5        & 0.0580 & 0.0527 & 0.0664 & 0.0336 & 0.1073 & 0.0483 & 0.0402 & 0.0533 \\
6        & 0.0871 & 0.0297 & 0.0479 & 0.0503 & 0.0483 & 0.1134 & 0.0591 & 0.0387 \\
7        & 0.0603 & 0.0291 & 0.0395 & 0.0326 & 0.0402 & 0.0591 & 0.0704 & 0.0244 \\
8        & 0.0492 & 0.0326 & 0.0523 & 0.0447 & 0.0533 & 0.0387 & 0.0244 & 0.1028 \\ \bottomrule
"""


def printed_rows(table: str) -> list[list[str]]:
    """Return the cells of a LaTeX table's body, without its heading and its first column."""
    lines = [line.split(r"\\")[0] for line in table.strip().splitlines() if "&" in line]
    return [[cell.strip() for cell in line.split("&")[1:]] for line in lines[1:]]


def four_digits(rows: list[list[str]]) -> list[list[str]]:
    """Write out trailing zeros, which the print drops here and there; change no other digit."""
    assert all(re.fullmatch(r"0\.\d{1,4}", cell) for row in rows for cell in row)
    return [[cell.ljust(len("0.0000"), "0") for cell in row] for row in rows]


def file_rows(name: str) -> list[list[str]]:
    lines = (DATA / name).read_text().splitlines()[1:]
    return [line.split(",")[1:] for line in lines]


def assert_files_match(returns: str, covariance: str) -> None:
    (printed,) = four_digits(printed_rows(returns))
    assert [printed] == [[row[0] for row in file_rows("paper8_returns.csv")]]
    assert four_digits(printed_rows(covariance)) == file_rows("paper8_covariance.csv")


def test_paper8_matches_the_second_transcription_digit_by_digit() -> None:
    assert_files_match(RETURNS_AS_PRINTED, COVARIANCE_AS_PRINTED)


def test_paper8_is_a_market() -> None:
    paper = market("paper8")
    assert paper.names == tuple(f"Security {i}" for i in range(1, 9))
    assert paper.expected_returns.shape == (8,)
    assert np.array_equal(paper.covariance, paper.covariance.T)
    assert np.linalg.eigvalsh(paper.covariance)[0] > 0
    assert paper.history is None


def test_us20_moments_are_yearly_and_arithmetic() -> None:
    stocks = market("us20")
    assert stocks.history is not None
    monthly = stocks.history.to_numpy()
    assert monthly.shape == (395, 20)
    assert stocks.history.notna().all(axis=None)
    assert np.allclose(stocks.expected_returns, 12 * monthly.mean(axis=0))
    assert np.allclose(stocks.covariance, 12 * np.cov(monthly, rowvar=False))
    assert stocks.names == tuple(stocks.history.columns)
    assert stocks.history.index.min().year == 1990
    assert stocks.history.index.max().year == 2022


@pytest.mark.parametrize("name", market_names())
def test_a_market_cannot_be_changed_by_accident(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        market(name).expected_returns[0] = 1.0


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="no bundled market 'dax'; choose one of paper8, us20"):
        market("dax")
    with pytest.raises(InvalidInput, match=r"no form 'tall'.*choose wide or long"):
        sample_portfolios("tall")


def test_both_forms_of_the_sample_hold_the_same_portfolios() -> None:
    wide = sample_portfolios().set_index("investor")
    long = sample_portfolios("long")
    assert list(long.columns) == ["investor", "date", "asset", "weight"]
    assert tuple(wide.columns) == market("paper8").names
    assert len(wide) == 1000
    back = long.pivot_table(index="investor", columns="asset", values="weight", fill_value=0.0)
    pd.testing.assert_frame_equal(back[wide.columns], wide, check_names=False)
    assert long["date"].is_monotonic_increasing
    assert long.groupby("investor")["date"].nunique().eq(1).all()


def test_sample_portfolios_are_whole_thousandths_that_sum_to_one() -> None:
    thousandths = sample_portfolios().set_index("investor") * 1000
    assert np.allclose(thousandths, thousandths.round(), atol=1e-9)
    assert (thousandths.round().sum(axis=1) == 1000).all()
    assert (thousandths >= 0).all(axis=None)


@pytest.mark.parametrize("script", ["derive_us20", "make_samples"])
def test_scripts_make_the_committed_files_again(script: str, tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "scripts" / f"{script}.py"))["main"](tmp_path)
    made = list(tmp_path.iterdir())
    assert made
    for path in made:
        assert path.read_bytes() == (DATA / path.name).read_bytes(), path.name


def test_sources_gives_the_checksum_of_every_file() -> None:
    stated = dict(
        re.findall(
            r"^\| `([^`]+\.csv)` .*`([0-9a-f]{64})` \|$", (DATA / "SOURCES.md").read_text(), re.M
        )
    )
    actual = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in DATA.glob("*.csv")
    }
    assert stated == actual
