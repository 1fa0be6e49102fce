"""`imop bench` measures what it says; how fast this machine is, no test asserts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import imop_benchmarks as bench
from imop_benchmarks.cases import Section
from imop_benchmarks.gaps import AIMS, aims
from imop_engine.errors import InvalidInput

SECTIONS = {
    "gurobi", "gurobi_tuned", "algorithms", "assets", "second_order", "weights", "rounds",
    "stream", "frontier", "forward", "start", "gap_fits", "gap_file", "gap_agreement", "gap_starts",
    "gap_rounds", "gap_aims", "studies", "limits_frontiers", "limits_updates", "limits_costs",
    "hot_forward", "third_objective",
}  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict:
    for needed in ("gurobipy", "cvxpy", "cvxcla", "daqp", "quadprog"):
        pytest.importorskip(needed)
    out = tmp_path_factory.mktemp("results")
    command = [Path(sys.executable).with_name("imop"), "bench", "--quick", "--json"]
    files = ["--out", out, "--page", out / "page.md"]
    done = subprocess.run([*command, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert json.loads((out / "quick.json").read_text()) == made
    assert (out / "page.md").read_text() == bench.page(made)
    return made


def rows(report: dict, name: str) -> list[dict]:
    return next(section["rows"] for section in report["sections"] if section["name"] == name)


@pytest.mark.slow
def test_the_report_has_every_section_and_says_what_it_ran_on(report: dict) -> None:
    assert {section["name"] for section in report["sections"]} == SECTIONS
    assert all(section["rows"] and section["how"] for section in report["sections"])
    assert {"python", "numpy", "numba", "gurobipy"} <= set(report["versions"])
    assert report["machine"]["cpu"]


@pytest.mark.slow
def test_every_measurement_is_a_positive_number(report: dict) -> None:
    for section in report["sections"]:
        for row in section["rows"]:
            for name, value in row.items():
                measured = value is not None  # a cone solver gets no more than it can do
                if measured and name.endswith(("_us", "_ms", "us", "ratio", "seconds", "second")):
                    assert value > 0, (section["name"], name)


@pytest.mark.slow
def test_beyond_two_objectives_ratios_are_those_of_the_times_beside_them(report: dict) -> None:
    forward = rows(report, "hot_forward")
    assert {row["problem"] for row in forward} == {"cvar", "mad", "semivariance", "entropic"}
    for row in forward:
        assert row["ratio"] == pytest.approx(row["whole_ms"] / row["solver_ms"])
    for row in rows(report, "third_objective"):
        assert row["ratio"] == pytest.approx(row["three_us"] / row["two_us"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gurobi", "gurobi_tuned"])
def test_ratios_are_those_of_the_times_beside_them(report: dict, name: str) -> None:
    found = rows(report, name)
    assert [row["algorithm"] for row in found] == [2, 1] * 4
    for row in found:
        spent = 1e3 * (row["forward_ms"] + row["update_ms"])
        assert row["ratio"] == pytest.approx(spent / row["native_us"])
        assert row["ratio_update_alone"] == pytest.approx(1e3 * row["update_ms"] / row["native_us"])
        assert row["gurobi_rounds"] >= 1


@pytest.mark.slow
def test_solvers_that_are_compared_found_the_same(report: dict) -> None:
    for row in rows(report, "forward"):
        assert max(row["quadprog_apart"], row["daqp_apart"]) < 1e-7
    assert all(row["apart"] < 1e-7 for row in rows(report, "frontier"))
    # Gurobi's default tolerance is 1e-4 of an objective, and 1e-6 in each constraint.
    assert all(-1e-6 < row["excess"] < 0.01 for row in rows(report, "gurobi"))


@pytest.mark.slow
def test_fits_of_gaps_are_proven_and_never_above_those_of_cone_solvers(report: dict) -> None:
    fits = rows(report, "gap_fits")
    assert {row["errors"] for row in fits} == {"dirichlet", "gaussian"}
    assert all(row["unproven"] < 1e-6 for row in fits)
    beside = [row for row in fits if row["clarabel_seconds"] is not None]
    assert beside
    assert all(abs(row["excess"]) < 1e-4 for row in beside)  # Clarabel's default tolerance
    for row in rows(report, "gap_agreement"):
        assert row["certified"] == 1.0
        assert row["largest_excess"] < 1e-6
    assert all(row["certified"] for row in rows(report, "gap_file"))
    assert all(row["gap_certified"] > 0.99 for row in rows(report, "gap_rounds"))


@pytest.mark.slow
def test_limits_are_kept_and_nobody_finds_better(report: dict) -> None:
    for row in rows(report, "limits_frontiers"):
        assert row["outside"] < 1e-12
        assert row["above_clarabel"] < 1e-12
        assert row["apart_cvxcla"] is None or row["apart_cvxcla"] < 1e-8
    for row in rows(report, "limits_updates"):
        assert row["certified"] == 1.0 or row["covariance"] == "no full rank"
        assert row["above_gurobi"] < 1e-4
        assert row["apart_from_solve"] < 1e-9


def test_what_was_not_measured_is_a_bar() -> None:
    assert bench.shown(None) == "–"


def test_aims_are_read_from_the_rows_they_name() -> None:
    measured = [
        Section(
            "gap_rounds", "", "", [{"assets": 8, "gap_us": 31.0}, {"assets": 200, "gap_us": 9}]
        ),
        Section("gap_file", "", "", [{"investors": 1_000_000, "seconds": 8.0, "grown_mb": 241.0}]),
    ]
    found = {row["what"]: (row["measured"], row["within"]) for row in aims(measured).rows}
    assert found["round of a stream, 8 assets: microseconds"] == (31.0, "no")
    assert found["round of a stream, 200 assets: microseconds"] == (9, "yes")
    assert found["fit from a Parquet file, 1,000,000 investors: seconds"] == (8.0, "yes")
    assert found["the same, of which all numbers take 240 MB: MB of memory grown"] == (241.0, "no")
    assert found["fit, 30 assets, 100,000 investors: seconds"] == (None, "–")


@pytest.mark.slow
def test_every_aim_names_a_column_of_its_section(report: dict) -> None:
    for _, name, column, where, _ in AIMS:
        assert {column, *where} <= set(rows(report, name)[0]), name


@pytest.mark.slow
def test_random_starts_end_at_one_answer(report: dict) -> None:
    (row,) = rows(report, "gap_starts")
    assert row["certified"] == 1.0
    assert max(row["largest_apart"], row["value_apart"]) <= 1e-7


@pytest.mark.slow
def test_the_page_holds_every_row(report: dict) -> None:
    page = bench.page(report)
    for section in report["sections"]:
        assert f"## {section['title']}" in page
        for row in section["rows"]:
            assert " | ".join(bench.shown(value) for value in row.values()) in page


def test_a_missing_solver_leaves_a_section_that_says_so() -> None:
    def missing(size: bench.Size, say: bench.Say) -> list[bench.Section]:
        raise ImportError("No module named 'cvxcla'")

    (section,) = bench.attempt(missing, bench.QUICK, print)
    assert section.rows == []
    assert "Not measured: No module named 'cvxcla'" in section.how


def test_results_in_the_tree_and_the_page_agree() -> None:
    root = Path(__file__).resolve().parents[1]
    kept, page = root / "benchmarks" / "results" / "bench.json", root / "docs" / "benchmarks.md"
    assert page.read_text() == bench.page(json.loads(kept.read_text()))


def test_a_measurement_made_again_takes_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def algorithms(size: object, say: object) -> list[Section]:
        return [Section("algorithms", "New", "How.", [{"us": 2.0}])]

    monkeypatch.setattr(bench, "SECTIONS", (algorithms,))
    old = [Section("algorithms", "Old", "How.", [{"us": 1.0}]), Section("other", "O", "H.", [])]
    kept = {"name": "bench", "sections": [vars(section) for section in [*old, aims(old)]]}
    (tmp_path / "bench.json").write_text(json.dumps(kept))
    report = bench.again(["algorithms"], tmp_path)
    assert json.loads((tmp_path / "bench.json").read_text()) == report
    first, second, last = report["sections"]
    assert (first["title"], first["rows"], second["title"]) == ("New", [{"us": 2.0}], "O")
    assert first["how"].startswith("How. Measured by itself")
    assert last["name"] == "gap_aims"
    with pytest.raises(InvalidInput, match="no measurement 'speed'; use one of algorithms"):
        bench.again(["speed"], tmp_path)
