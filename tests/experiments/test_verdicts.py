"""Verdicts follow the numbers: turn the numbers round and the verdict turns too."""

import ast
from pathlib import Path

import pandas as pd
import pytest

from imop_experiments import (
    algorithms,
    approximation,
    batches,
    convexity,
    exact,
    experiment,
    fig1a,
    fig1d,
    fig3b,
    gap_regret,
    gurobi,
    portfolio_table,
    regret,
    timing,
    trails,
)


def table_numbers(grid: float, exact: float) -> dict[str, float]:
    found = {
        f"K = {K}, {label}, {family}": grid
        for K in (6, 11, 21, 41)
        for label in ("Algorithm 1", "Algorithm 2")
        for family in ("normal", "uniform")
    }
    found |= {f"exact weights, Algorithm 2, {f}": exact for f in ("normal", "uniform")}
    found |= {
        f"return left on the table, {how}, from {start}, {family}": exact
        for how in ("one pass", "second-order", "all at once")
        for start in ("zero", "anywhere in Θ")
        for family in ("normal", "uniform")
    }
    return found | {
        f"second-order, T = {rounds}, from {start}, {family}": 1e-4
        for rounds in ("100", "1,000")
        for start in ("zero", "a random start")
        for family in ("normal", "uniform")
    }


@pytest.mark.parametrize(("error", "verdict"), [(0.009, "better"), (0.01, "differs")])
def test_the_table_is_better_only_if_no_median_is_above_the_papers(error, verdict):
    assert portfolio_table._against_paper(table_numbers(error, 1e-4)).verdict == verdict


@pytest.mark.parametrize(("exact", "verdict"), [(1e-4, "beyond"), (0.02, "differs")])
def test_exact_weights_have_to_be_better(exact, verdict):
    assert portfolio_table._beyond(table_numbers(0.009, exact))[0].verdict == verdict


@pytest.mark.parametrize(("exact", "verdict"), [(2e-4, "beyond"), (5e-5, "differs")])
def test_the_second_order_learner_has_to_beat_exact_weights(exact, verdict):
    assert portfolio_table._second_order(table_numbers(0.009, exact), exact).verdict == verdict


@pytest.mark.parametrize(("gap", "verdict"), [(1e-4, "beyond"), (0.02, "differs")])
def test_the_return_left_on_the_table_has_to_be_better_from_every_start(gap, verdict):
    assert portfolio_table._gaps(table_numbers(0.009, gap), 0.009).verdict == verdict


def gap_numbers(share: float, growth: float, unproven: float, not_convex: float) -> dict:
    numbers = {f"share_{name}": 0.01 for name in gap_regret.STREAMS} | {"share_random": share}
    numbers |= {f"growth_{name}": 0.1 for name in gap_regret.STREAMS} | {"growth_random": growth}
    numbers |= {f"distance_growth_{name}": 0.9 for name in gap_regret.STREAMS}
    numbers |= {f"share_{name}_largest": 0.1 for name in gap_regret.LEARNERS}
    return numbers | {
        "streams": 8.0, "unproven": unproven, "not_convex_efficiency": not_convex,
        "not_convex_distance": 0.4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("judge", "turned"),
    [
        (gap_regret._below, {"share": 1.1}),
        (gap_regret._beside, {"growth": 0.7}),
        (gap_regret._exactly, {"unproven": 1e-3}),
        (gap_regret._convex, {"not_convex": 0.01}),
    ],
)
def test_every_promise_on_gaps_can_be_broken(judge, turned):
    good = {"share": 0.5, "growth": 0.5, "unproven": 1e-9, "not_convex": 0.0}
    assert judge(gap_numbers(**good)).verdict == "beyond"
    assert judge(gap_numbers(**good | turned)).verdict == "differs"


@pytest.mark.parametrize(("early", "verdict"), [(0.6, "reproduced"), (3.0, "differs")])
def test_fast_means_fast(early, verdict):
    numbers = {f"{name}_{a}": 1.0 for name in ("end", "early") for a in "12"}
    numbers |= {"start_1": 6.7, "start_2": 6.7, "early_2": early}
    assert fig1a._fast(numbers).verdict == verdict


@pytest.mark.parametrize(("regret_at_end", "verdict"), [(5.0, "reproduced"), (50.0, "differs")])
def test_regret_above_the_bound_is_not_reproduced(regret_at_end, verdict):
    frame = pd.DataFrame({"case": ["appendix"], "regret": [regret_at_end], "bound": [10.0]})
    numbers = {"regret_appendix": regret_at_end, "bound_appendix": 10.0}
    assert regret._below(frame, numbers).verdict == verdict


def test_parts_cover_every_repetition_once():
    parts = trails.parts("c", 41, 50, 23)
    for algorithm in ("full", "accelerated"):
        seeds = [s for part in parts if part["algorithm"] == algorithm for s in part["seeds"]]
        assert seeds == list(range(23))


# -- every verdict has its reason ----------------------------------------------------------------
def says_something(node: ast.expr) -> bool:
    """Whether a text comes out whichever way its conditions go."""
    if isinstance(node, ast.IfExp):
        return says_something(node.body) and says_something(node.orelse)
    if isinstance(node, ast.BinOp):
        return says_something(node.left) or says_something(node.right)
    if isinstance(node, ast.JoinedStr):
        return any(says_something(part) for part in node.values)
    return isinstance(node, ast.Constant) and bool(str(node.value).strip())


def findings_in_the_source() -> list:
    return [
        pytest.param(node, id=f"{path.stem}:{node.lineno}")
        for path in sorted(Path(experiment.__file__).parent.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "PaperFinding"
    ]


@pytest.mark.parametrize("call", findings_in_the_source())
def test_every_branch_of_every_verdict_carries_its_reason(call):
    assert len(call.args) == 4, "claim, ours, verdict, why"
    assert says_something(call.args[3])


def test_a_verdict_without_a_reason_is_refused():
    with pytest.raises(ValueError, match="'differs' on 'All is well' has no reason"):
        experiment.PaperFinding("All is well", "It is not", "differs", " ")


# -- verdicts that rest on times: the times are given, never measured ------------------------------
@pytest.mark.parametrize(("price", "verdict"), [(2.7, "beyond"), (5.1, "differs")])
def test_algorithm_1_is_affordable_up_to_a_factor(price, verdict):
    finding = algorithms._price({"price_c": price, "price_b": 1.2, "error_1_c": 99.0})
    assert finding.verdict == verdict
    assert f"1.20 to {price:.2f} times" in finding.ours


@pytest.mark.parametrize(("factor", "verdict"), [(3.2, "reproduced"), (1.2, "differs")])
def test_much_faster_needs_a_factor(factor, verdict):
    seconds = {"full": [factor, factor], "accelerated": [1.0, 1.0]}
    parts = [{"K": K, "rounds": 10, "learn": "c", "seeds": [0, 1]} for K in (6, 81)]
    report = timing.report([(part, {"seconds": seconds}) for part in parts])
    assert report.findings[0].verdict == verdict
    assert report.numbers["ratio_81"] == pytest.approx(factor)


def outcome_of_figure_1d(program: float, local: float, proven: bool = True) -> list:
    ours = {"seconds": {fig1d.ONLINE: [1.0], fig1d.LOCAL: [local]}}
    solved = {
        "seconds": {fig1d.SMALL: [0.01], fig1d.GLOBAL: [program]},
        "proven": [proven], "loss": [0.5], "local_loss": [0.51],
    }  # fmt: skip
    return [
        ({"what": "ours", "rounds": 100, "seeds": [0]}, ours),
        ({"what": "program", "rounds": 4, "seeds": [0]}, solved),
    ]


@pytest.mark.parametrize(
    ("program", "local", "verdicts"),
    [
        (2.0, 1.4, ["reproduced", "differs"]),
        (0.02, 30.0, ["differs", "reproduced"]),
    ],
)
def test_drastic_means_a_factor_of_ten(program, local, verdicts):
    report = fig1d.report(outcome_of_figure_1d(program, local))
    assert [one.verdict for one in report.findings] == verdicts


def test_programs_that_were_cut_off_are_counted_and_said():
    finding = fig1d.report(outcome_of_figure_1d(20.0, 1.0, proven=False)).findings[0]
    assert "1 of 1 programs reached the limit" in finding.ours
    assert "No program was solved to the end" in finding.why


@pytest.mark.parametrize(
    ("error", "seconds", "verdict"),
    [(0.001, 0.01, "beyond"), (0.001, 0.03, "differs"), (0.01, 0.01, "differs")],
)
def test_exact_weights_have_to_be_as_near_and_cheaper(error, seconds, verdict):
    def row(family, weights, error, seconds):
        part = {"family": family, "weights": weights, "rounds": 1000, "seeds": [0]}
        return part, {"error": [error], "seconds": [seconds]}

    outcome = []
    for family in ("normal", "uniform"):
        outcome += [row(family, 321, 0.002, 0.02), row(family, "exact", error, seconds)]
    assert exact.report(outcome).findings[0].verdict == verdict


@pytest.mark.parametrize(("theirs", "verdict"), [(9.0, "better"), (1.5, "differs")])
def test_better_than_gurobi_needs_a_factor_on_every_row(theirs, verdict):
    def row(algorithm, seconds):
        part = {"case": "c", "algorithm": algorithm, "rounds": 5, "seed": 0}
        return part, {"gurobi": seconds, "native": 1.0, "apart": 0.0}

    report = gurobi.report([row("full", 100.0), row("accelerated", theirs)])
    assert report.findings[0].verdict == verdict


def test_without_gurobi_the_comparison_says_so():
    part = {"case": "c", "algorithm": "full", "rounds": 5, "seed": 0}
    (finding,) = gurobi.report([(part, {"missing": "gurobipy is not installed"})]).findings
    assert finding.verdict == "differs"
    assert "nothing to compare with" in finding.why


@pytest.mark.parametrize(
    ("certified", "slow", "verdict"),
    [(100.0, 4.0, "better"), (100.0, 40.0, "reproduced"), (90.0, 4.0, "reproduced")],
)
def test_joint_updates_are_difficult_where_they_are_slow_or_unproven(certified, slow, verdict):
    numbers = {"certified": certified, "ms_c_2": 1.0, "ms_c_8": slow, "ms_r_2": 1.0, "ms_r_8": 2.0}
    assert batches._difficult(numbers).verdict == verdict


# -- the other branches --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("slope", "verdict"), [(-2.0, "better"), (-1.0, "reproduced"), (-0.5, "differs")]
)
def test_the_rate_of_the_surrogate_is_judged_by_its_slope(slope, verdict):
    finding = approximation._faster(2, {"slope_largest": slope, "slope_mean": slope})
    assert finding.verdict == verdict


@pytest.mark.parametrize(("fails", "verdict"), [(0.0, "reproduced"), (0.1, "differs")])
def test_a_failing_draw_contradicts_the_appendix(fails, verdict):
    assert convexity._example({"ordered_a": fails, "ordered_convex": 0.0}).verdict == verdict


@pytest.mark.parametrize(("fails", "verdict"), [(0.0, "reproduced"), (0.1, "differs")])
def test_the_appendix_is_right_where_no_draw_fails(fails, verdict):
    names = ("crossing_a", "crossing_convex", "plane_a", "plane_convex")
    worst = {"theta1": [1.0], "theta2": [2.0], "alpha": 0.5, "x": [1.5], "distance": 0.2}
    finding = convexity._claimed(dict.fromkeys(names, fails), {"crossing": {"worst": worst}})
    assert finding.verdict == verdict
    assert ("For instance" in finding.why) == (fails > 0)


@pytest.mark.parametrize(
    ("family", "verdict"),
    [("normal", "reproduced"), ("beta", "reproduced"), ("uniform", "differs")],
)
def test_roughly_normal_is_normal_or_what_resembles_it(family, verdict):
    found = {"best": family, "parameters": {"mean": 0.5}}
    finding = fig3b._roughly({"exact": found, "true_mean": 0.5, "true_sd": 0.1})
    assert finding.verdict == verdict


@pytest.mark.parametrize(
    ("medians", "verdict"),
    [((0.4, 0.3, 0.2, 0.1), "reproduced"), ((0.4, 0.3, 0.35, 0.1), "differs"),
     ((0.1, 0.1, 0.1, 0.1), "differs")],
)  # fmt: skip
def test_the_error_has_to_fall_with_k(medians, verdict):
    numbers = table_numbers(0.0, 0.0)
    for K, value in zip((6, 11, 21, 41), medians, strict=True):
        numbers |= {f"K = {K}, Algorithm 2, {family}": value for family in ("normal", "uniform")}
    assert portfolio_table._falls(numbers).verdict == verdict
