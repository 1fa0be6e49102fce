"""What a quick run finds: the shape of every figure and table, from real computations."""

import csv
import json
from pathlib import Path

import pytest

from imop_experiments import paper
from imop_experiments.catalogue import EXPERIMENTS

KEPT = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "reproduction.json"


@pytest.fixture(scope="module")
def measured():
    """Numbers of the full run that is kept: times of a quick one tell how busy the machine was."""
    return {one["name"]: one["numbers"] for one in json.loads(KEPT.read_text())["experiments"]}


def test_every_experiment_has_run_with_findings_and_files(results, folder):
    assert [one["name"] for one in results["experiments"]] == [e.name for e in EXPERIMENTS]
    for one in results["experiments"]:
        assert one["findings"], one["name"]
        assert one["figures"] or one["tables"], one["name"]
        for figure in one["figures"]:
            svg = (folder / one["name"] / f"{figure['name']}.svg").read_text()
            assert svg.startswith("<svg")
            assert (folder / one["name"] / f"{figure['name']}.png").read_bytes()[:4] == b"\x89PNG"
        for table in one["tables"]:
            with (folder / one["name"] / f"{table['name']}.csv").open() as file:
                rows = list(csv.reader(file))
            assert rows[0] == [str(name) for name in table["columns"]]
            assert len(rows) - 1 == len(table["rows"])
        assert json.loads((folder / one["name"] / "result.json").read_text()) == one


def test_every_part_has_run_and_every_time_is_a_positive_number(results, numbers):
    assert results["parts_run"] == results["parts"]
    assert results["seconds"] > 0
    for name, found in numbers.items():
        for key, value in found.items():
            if key.startswith(("seconds", "ratio", "price", "ms", "us")) or key.endswith("_ratio"):
                assert 0 < value < float("inf"), (name, key)


@pytest.mark.parametrize("name", ["fig1a", "fig2a"])
def test_errors_fall(numbers, name):
    found = numbers[name]
    ends = {key: value for key, value in found.items() if key.startswith(("end_1", "end_2"))}
    assert ends
    for key, end in ends.items():
        assert end < 0.5 * found[key.replace("end", "start")]


def test_the_estimated_efficient_set_is_near_the_true_one(numbers):
    assert numbers["fig1c"]["mean"] < 0.05 * numbers["fig1c"]["length"]


def test_algorithm_1_costs_more_but_nowhere_near_k_times(measured):
    for name in ("fig1b", "fig2b"):
        assert 1.0 < measured[name]["ratio_81"] < 81 / 4


def test_the_batch_as_one_program_is_far_slower_than_online(measured):
    assert measured["fig1d"]["program_ratio"] > 10


def test_ours_beats_the_papers_table(numbers):
    found = numbers["portfolio-table"]
    for K, theirs in paper.PAPER_TABLE.items():
        for family in ("normal", "uniform"):
            assert found[f"K = {K}, Algorithm 2, {family}"] <= theirs
    for family in ("normal", "uniform"):
        assert found[f"exact weights, Algorithm 2, {family}"] < 0.002


def test_frontiers_and_weights_are_recovered(numbers):
    assert numbers["fig3a"]["largest_gap"] < 0.02 * numbers["fig3a"]["span"]
    assert numbers["fig3b"]["accepted_exact"] >= 0.5
    assert numbers["fig3b"]["uniform_rejected_exact"] == 1.0


def test_regret_stays_below_its_bound_where_the_assumptions_hold(numbers):
    found = numbers["regret"]
    assert 0 < found["regret_appendix"] < found["bound_appendix"]
    assert found["largest_share_of_bound"] <= 1.0
    assert found["growth_appendix"] < 0.6


@pytest.mark.parametrize(("name", "promised"), [("approximation", 1.0), ("approximation-3", 0.5)])
def test_the_surrogate_loss_converges_at_least_as_fast_as_promised(numbers, name, promised):
    found = numbers[name]
    assert found["least_gap"] >= -1e-10
    assert found["largest_share_of_bound"] <= 1.0
    assert found["slope_largest"] <= -0.9 * promised


def test_the_convexity_assumption_holds_where_it_should_and_fails_where_it_is_claimed(numbers):
    found = numbers["convexity"]
    assert found["ordered_a"] == found["ordered_convex"] == 0.0
    assert found["crossing_a"] > 0.05
    assert found["plane_a"] > 0.5
    assert found["crossing_convex"] > 0.05


def test_exact_weights_are_better_than_any_grid_of_the_paper(numbers):
    exact, table = numbers["exact"], numbers["portfolio-table"]
    for family in ("normal", "uniform"):
        assert exact[f"exact_{family}"] < 0.5 * table[f"K = 41, Algorithm 2, {family}"]


def test_joint_updates_are_certified(numbers):
    assert numbers["batches"]["certified"] == 100.0


def test_gurobi_is_slower_on_the_same_rounds(measured):
    assert min(measured["gurobi"].values()) > 2


def test_gaps_stay_below_their_bound_and_are_convex_where_the_papers_loss_is_not(numbers):
    found = numbers["gap-regret"]
    shares = [value for key, value in found.items() if key.startswith("share_")]
    assert len(shares) == 11
    assert max(shares) <= 1.0
    assert found["not_convex_efficiency"] == 0.0 < found["not_convex_distance"]
    assert found["unproven"] <= 1e-6


def test_the_return_left_on_the_table_finds_the_returns_from_anywhere(numbers):
    found = numbers["portfolio-table"]
    for family in ("normal", "uniform"):
        for start in ("zero", "anywhere in Θ"):
            name = f"return left on the table, {{}}, from {start}, {family}"
            assert found[name.format("one pass")] < 5e-4
            assert found[name.format("second-order")] < 5e-4
            assert found[name.format("all at once")] < 2e-4


def test_a_published_program_is_learned_though_it_is_not_quadratic(numbers):
    found = numbers["resource-allocation"]
    assert found["forward"] < 1e-5
    assert found["implicit update, loss"] < 0.1 * found["start, loss"]
    assert found["implicit update, error"] < found["residuals of the optimality conditions, error"]
