"""A population gives the same estimate whoever works on it, and that of a study of everybody."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import imop_engine as imop
from imop_engine.cli import main
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.belief_sums import belief_sums, most_likely, size_of
from imop_engine.inference.first_order import (
    Positions,
    anchored,
    belief_covariance,
    fit_beliefs,
)
from imop_engine.inference.information import information
from imop_engine.scale.learn import find_parts, learn_population
from imop_engine.scale.looks import Columns, FirstOrder, first_look, packed, unpacked
from imop_engine.study import StudySettings
from imop_engine.tables.parts import array_parts, file_parts, portfolio_files, read_part
from imop_engine.workers import Here, Processes, in_order, open_workers
from killed_worker import Killer

SAMPLED = 1500
SMALL_PARTS = 800


@pytest.fixture(scope="module")
def by_array(paper8, crowd, tmp_path_factory):
    """What is learned in this process from rows in memory."""
    out = tmp_path_factory.mktemp("array")
    parts = array_parts(crowd, SMALL_PARTS)
    return learn_population(paper8, parts, out, Here(), sampled=SAMPLED), out


def from_files(paper8, folder, out, workers, tell=lambda stage, done, total: None):
    columns = Columns(paper8.names, "client")
    parts = find_parts(workers, folder, columns)
    return learn_population(
        paper8, parts, out, workers, columns=columns, sampled=SAMPLED, tell=tell
    )


def small_parts(folder, names):
    """Parts of at most 1,000 rows of a folder's files."""
    return [one for file in portfolio_files(folder) for one in file_parts(file, names, 1000)]


def rows_of(out):
    return pd.concat([pq.read_table(one).to_pandas() for one in sorted(out.glob("part-*"))])


def test_files_give_what_rows_in_memory_give(paper8, folder, by_array, tmp_path):
    found = from_files(paper8, folder, tmp_path, Here())
    assert found.theta == pytest.approx(by_array[0].theta, abs=1e-10)
    assert found.convex.certified
    assert found.convex.theta == pytest.approx(by_array[0].convex.theta, abs=1e-10)
    assert found.known.low == pytest.approx(by_array[0].known.low, abs=1e-10)
    table = rows_of(tmp_path)
    assert table["row"].tolist() == list(range(1, len(table) + 1))
    assert table["client"].tolist() == [f"c{row}" for row in range(len(table))]
    in_memory = rows_of(by_array[1])
    assert table["weight"].to_numpy() == pytest.approx(in_memory["weight"].to_numpy(), abs=1e-10)


def test_processes_give_the_sums_that_this_process_gives(paper8, folder):
    columns = Columns(paper8.names)
    problem = imop.portfolio_problem(paper8.covariance_by_asset)
    parts = small_parts(folder, paper8.names)
    order = FirstOrder(problem, columns, (), 100)
    here, there = (in_order(one, first_look, parts, order) for one in (Here(), Processes(2)))
    for one, other in zip(here, there, strict=True):
        assert np.array_equal(one.total, other.total)
        assert np.array_equal(one.sample.variances, other.sample.variances)
        assert np.array_equal(one.holdings, other.holdings)


@pytest.mark.slow
def test_a_cluster_gives_the_same_where_a_worker_dies(
    paper8, folder, by_array, tmp_path, two_workers
):
    killer = Killer(two_workers, "settling, round 1", 2)
    with open_workers(two_workers.client.scheduler.address) as workers:  # as anybody's cluster
        found = from_files(paper8, folder, tmp_path, workers, killer)
    assert found.workers.startswith("a Dask cluster of")
    assert killer.killed
    assert found.theta == pytest.approx(by_array[0].theta, abs=1e-10)
    assert sorted(rows_of(tmp_path)["row"]) == list(range(1, found.investors + 1))
    assert not list(tmp_path.glob(".new*")), "nothing half written is left"


def test_the_estimate_is_that_of_a_study_of_everybody(paper8, crowd, by_array):
    frame = pd.DataFrame(crowd, columns=list(paper8.names))
    study = imop.run_study(paper8.expected_returns, paper8.covariance_by_asset, frame)
    found, _ = by_array
    errors = study.identification.standard_errors
    assert np.all(np.abs(found.theta - study.theta) <= 1e-3 * errors)
    assert found.set_aside == study.figures["set_aside"]
    kept = crowd[study.estimate.kept]
    info = information(efficient_frontier(study.problem, study.theta), kept)
    assert found.said.hessian == pytest.approx(info.hessian, rel=1e-4)
    assert found.said.outer == pytest.approx(info.outer, rel=1e-4)
    assert found.known.noise.sd == pytest.approx(study.noise_sd, rel=1e-3)
    # the slope of the scores is simulated, from a quarter of the investors
    assert np.all(np.abs(found.known.standard_errors / errors - 1.0) < 0.25)
    assert found.known.status == study.identification.status


def test_a_population_no_larger_than_the_sample_is_that_study(paper8, crowd, tmp_path):
    some = crowd[:1000]
    study = imop.run_study(
        paper8.expected_returns, paper8.covariance_by_asset,
        pd.DataFrame(some, columns=list(paper8.names)),
    )  # fmt: skip
    found = learn_population(paper8, array_parts(some, 300), tmp_path, Here())
    assert found.theta == pytest.approx(study.theta, abs=1e-10)
    assert found.study.verdict == study.verdict


def test_beliefs_that_differ_are_a_sum_too(paper8, crowd):
    problem = imop.anchor_by_history(
        imop.portfolio_problem(paper8.covariance_by_asset), paper8.expected_returns, crowd[:400]
    )
    positions = Positions.of(problem, crowd[:400], 0.005)
    together = fit_beliefs(problem, positions)
    every = together.informed
    size = size_of(problem, positions, every)

    def at(beliefs):
        lots = [Positions.of(problem, lot, 0.005) for lot in np.array_split(crowd[:400], 3)]
        sums = [belief_sums(problem, lot, every, beliefs, size) for lot in lots]
        return sum(sums[1:], sums[0])

    start = together.beliefs + 0.2 * np.arange(8)
    found = most_likely(start, at, 1e-8)
    assert found.converged
    assert found.beliefs == pytest.approx(together.beliefs - together.beliefs.mean(), abs=1e-6)
    assert found.sums.information == pytest.approx(together.information, rel=1e-5)
    assert found.sums.used == together.used.sum()


def test_the_way_of_beliefs_settles_on_everybody(paper8, crowd, tmp_path):
    settings = StudySettings(errors="beliefs", trim=False)
    clean = np.delete(crowd, slice(None, None, 50), axis=0)[:2400]
    found = learn_population(
        paper8, array_parts(clean, 700), tmp_path, Here(), settings, sampled=600
    )
    assert found.settled.way == "beliefs differ"
    chosen = found.study.estimate
    positions = Positions.of(chosen.problem, clean, chosen.found.tiny)
    fit = fit_beliefs(chosen.problem, positions)
    at = anchored(chosen.problem, fit.beliefs)
    errors = np.sqrt(np.diag(at.response @ belief_covariance(fit) @ at.response.T))
    assert np.all(np.abs(found.theta - at.theta) <= 0.01 * errors)
    of_sample = np.sqrt(np.diag(found.known.sources.sample))
    assert of_sample == pytest.approx(errors, rel=0.01)


# -- what is no portfolio, and what cannot be read ---------------------------------------------
def test_a_row_that_is_no_portfolio_costs_that_row(paper8, crowd, tmp_path):
    bad = crowd[:900].copy()
    bad[7] *= 1.5
    bad[11, 2] = np.nan
    bad[13, :2] = bad[13, :2] + [0.6, -0.6]
    found = learn_population(paper8, array_parts(bad, 400), tmp_path, Here())
    assert found.refused == 3
    table = rows_of(tmp_path)
    refused = table[table["status"] == "refused"]
    assert refused["row"].tolist() == [8, 12, 14]
    assert refused["weight"].isna().all()
    assert refused["reason"].str.contains("adds up to 1.5|no number|holds -0").all()
    with pytest.raises(InvalidInput, match="3 of 900 rows are no portfolios"):
        learn_population(
            paper8, array_parts(bad, 400), tmp_path, Here(), StudySettings(strict=True)
        )


def test_files_that_cannot_be_parts_are_named(paper8, tmp_path, folder):
    columns = Columns(paper8.names)
    with pytest.raises(ImopError, match="no file that ends in"):
        find_parts(Here(), tmp_path, columns)
    (tmp_path / "x.csv").write_text("a,b\n0.5,0.5\n")
    with pytest.raises(ImopError, match=r"x.csv has no column 'Security 1'"):
        find_parts(Here(), str(tmp_path / "*.csv"), columns)
    part = file_parts(tmp_path / "x.csv", ["a"])[0]
    (tmp_path / "x.csv").write_text("a,b\n0.5,0.5\n0.1,0.9\n")
    with pytest.raises(ImopError, match="had 1 rows when it was first looked at and has 2 now"):
        list(read_part(part, ["a", "b"]))
    small = small_parts(folder, paper8.names)
    assert sum(part.rows for part in small) == 6000
    assert max(part.rows for part in small if part.groups) <= 1000  # a CSV file is one part
    parts = find_parts(Here(), folder, columns)
    assert sum(part.rows for part in parts) == 6000
    assert [part.first for part in parts] == list(
        np.cumsum([0, *(part.rows for part in parts)])[:-1]
    )


def test_bits_of_who_takes_part_come_back():
    kept = np.random.default_rng(0).random(1001) < 0.5
    bits = np.frombuffer(packed(kept), np.uint8)
    for first, count in ((0, 1001), (3, 5), (8, 8), (1000, 1), (17, 0)):
        assert unpacked(bits, first, count).tolist() == kept[first : first + count].tolist()


@pytest.mark.parametrize(
    ("where", "count", "memory", "said"),
    [
        ("somewhere", None, None, "--cluster is 'somewhere'"),
        ("here", 0, None, "give a whole number from 1 up"),
        ("here", None, "1GB", "belongs to --cluster local"),
        ("local", 1, "much", "write it as 1GB"),
    ],
)
def test_who_is_to_work_is_checked(where, count, memory, said):
    with pytest.raises(InvalidInput, match=said), open_workers(where, count, memory):
        pass


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr("imop_engine.workers.ANSWERS", "200ms")
    with (
        pytest.raises(InvalidInput, match="no Dask scheduler answers"),
        open_workers("tcp://127.0.0.1:9"),
    ):
        pass


# -- the shell ------------------------------------------------------------------------------------
def test_the_shell_learns_from_a_folder(folder, tmp_path, by_array, capsys):
    out = tmp_path / "out"
    asked = ["learn", "--market", "paper8", "--portfolios", folder, "--role", "client=investor"]
    asked += ["--cluster", "here", "--sample", SAMPLED, "--out", out, "--json"]
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in asked])
    assert not ended.value.code
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "population"
    assert document["estimate"] == pytest.approx(by_array[0].theta.tolist(), abs=1e-10)
    assert document["figures"]["investors"] == 6000
    returns = pd.read_csv(out / "returns.csv")
    assert list(returns)[:5] == ["asset", "estimate", "low", "high", "status"]
    assert imop.load_study(out / "sample").verdict == document["verdict"]
    assert len(rows_of(out / "investors")) == 6000


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "name a folder for it with --out"),
        (["--out", "o", "--truth", "t.csv"], "--truth is for a file that is read whole"),
        (["--out", "o", "--role", "a=asset"], "at most one of investors"),
        (["--out", "o", "--portfolio-units", "percent"], "--portfolio-units is for a file"),
    ],
)
def test_the_shell_says_what_does_not_go_with_parts(
    folder, tmp_path, monkeypatch, capsys, more, said
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["learn", "--market", "paper8", "--portfolios", str(folder), *more])
    assert ended.value.code
    assert said in " ".join(capsys.readouterr().err.split())
