"""Portfolios in chunks from files that do not fit into memory."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.tables import portfolio_chunks, read_portfolios

NAMES = ["A", "B", "C"]


@pytest.fixture
def frame() -> pd.DataFrame:
    held = np.random.default_rng(1).dirichlet([2.0, 1.0, 1.0], 500)
    return pd.DataFrame(held, columns=NAMES).assign(client=range(500))[["client", "C", "A", "B"]]


@pytest.fixture(params=["parquet", "csv"])
def path(request, frame, tmp_path):
    file = tmp_path / f"portfolios.{request.param}"
    if request.param == "csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_parquet(file, row_group_size=120)
    return file


def test_chunks_are_the_file_in_the_order_asked_for(path, frame):
    chunks = list(portfolio_chunks(path, NAMES, rows=64))
    together = pd.concat(chunks, ignore_index=True)
    assert list(together) == NAMES
    assert together.to_numpy() == pytest.approx(frame[NAMES].to_numpy(), abs=1e-15)
    if path.suffix == ".parquet":
        assert len(chunks) > 7
        assert max(map(len, chunks)) <= 64


def test_they_are_what_the_careful_reader_reads(path):
    people = read_portfolios(path, NAMES).weights
    together = pd.concat(portfolio_chunks(path, NAMES))
    assert together.to_numpy() == pytest.approx(people.to_numpy(), abs=1e-12)


def test_a_fit_and_a_learner_take_them(path, frame):
    problem = imop.portfolio_problem(
        np.diag([0.01, 0.04, 0.09]), anchors={"A": 0.02, "B": 0.06}, names=NAMES
    )
    whole = imop.fit_efficiency(problem, frame)
    found = imop.fit_efficiency(problem, portfolio_chunks(path, NAMES, rows=50))
    assert found.investors == 500
    assert found.theta == pytest.approx(whole.theta, abs=1e-9)
    one = imop.OnlineLearner(problem, loss="efficiency").partial_fit(frame)
    other = imop.OnlineLearner(problem, loss="efficiency")
    for chunk in portfolio_chunks(path, NAMES):
        other.partial_fit(chunk)
    assert other.theta_ == pytest.approx(one.theta_, abs=1e-12)


def test_rows_that_nearly_add_up_are_rescaled(tmp_path):
    file = tmp_path / "rounded.parquet"
    pd.DataFrame({"A": [0.333, 0.5], "B": [0.666, 0.51]}).to_parquet(file)
    (chunk,) = portfolio_chunks(file, ["A", "B"])
    assert chunk.sum(axis=1).tolist() == pytest.approx([1.0, 1.0])
    assert chunk["A"][0] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"A": [0.5, 0.5], "B": [0.5, 0.5]}, "has no column 'C'; it has A, B"),
        ({"A": [1.0, 60.0], "B": [0.0, 30.0], "C": [0.0, 10.0]}, "portfolio 2 adds up to 100"),
        ({"A": [0.5, None], "B": [0.5, 0.5], "C": [0.0, 0.5]}, "portfolio 2 has a cell without a"),
        ({"A": ["x", "y"], "B": [0.5, 0.5], "C": [0.5, 0.5]}, "not numbers; read_portfolios"),
    ],
)
def test_what_is_no_holding_is_said_with_its_place_and_remedy(tmp_path, columns, sentence):
    file = tmp_path / "clients.parquet"
    pd.DataFrame(columns).to_parquet(file)
    with pytest.raises(UnreadableFile, match=rf"clients\.parquet.*{sentence}") as caught:
        list(portfolio_chunks(file, NAMES))
    assert "read_portfolios understands other tables" in str(caught.value)


def test_a_text_cell_of_a_csv_names_its_column_and_value(tmp_path):
    file = tmp_path / "clients.csv"
    file.write_text("A,B,C\n0.5,0.5,0\n0.2,half,0.3\n")
    with pytest.raises(UnreadableFile, match=r"clients\.csv cannot be read.*'half'"):
        list(portfolio_chunks(file, NAMES))


def test_files_that_are_missing_or_cut_short_are_named(tmp_path, frame):
    with pytest.raises(UnreadableFile, match=r"There is no file .*nowhere\.parquet"):
        list(portfolio_chunks(tmp_path / "nowhere.parquet", NAMES))
    file = tmp_path / "short.parquet"
    frame.to_parquet(file)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UnreadableFile, match=r"short\.parquet cannot be read"):
        list(portfolio_chunks(file, NAMES))


def test_impossible_arguments_are_refused(path):
    with pytest.raises(InvalidInput, match="none of them twice"):
        list(portfolio_chunks(path, ["A", "A"]))
    with pytest.raises(InvalidInput, match="at least one row"):
        list(portfolio_chunks(path, NAMES, rows=0))


GROWN = """
import sys, numpy as np, imop_engine as imop
from imop_engine.tables import portfolio_chunks
from imop_benchmarks.measuring import peak_mb
names = [f"A{i}" for i in range(24)]
problem = imop.portfolio_problem(
    np.diag(np.linspace(0.01, 0.1, 24)), anchors={"A0": 0.02, "A23": 0.1}, names=names
)
for _ in range(4):  # the reader keeps what it took for its first chunks
    imop.fit_efficiency(problem, portfolio_chunks(sys.argv[1], names, rows=20_000))
before = peak_mb()
found = imop.fit_efficiency(problem, portfolio_chunks(sys.argv[2], names, rows=20_000))
print(found.investors, peak_mb() - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    rng = np.random.default_rng(2)
    names = [f"A{i}" for i in range(24)]
    files = []
    for count in (40_000, 300_000):  # the second holds 58 MB of numbers
        held = rng.dirichlet(np.ones(24), count)
        files.append(tmp_path / f"{count}.parquet")
        pd.DataFrame(held, columns=names).to_parquet(files[-1], row_group_size=40_000)
    del held
    done = subprocess.run(
        [sys.executable, "-c", GROWN, *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    investors, grown = done.stdout.split()
    assert int(investors) == 300_000
    # eight bytes an investor, and as much again while they are put together and sorted
    assert float(grown) < 3 * 8e-6 * 300_000 + 12
