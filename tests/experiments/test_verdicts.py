"""Verdicts follow the numbers: turn the numbers round and the verdict turns too."""

import pandas as pd
import pytest

from imop_experiments import fig1a, portfolio_table, regret, trails


def table_numbers(grid: float, exact: float) -> dict[str, float]:
    found = {
        f"K = {K}, {label}, {family}": grid
        for K in (6, 11, 21, 41)
        for label in ("Algorithm 1", "Algorithm 2")
        for family in ("normal", "uniform")
    }
    found |= {f"exact weights, Algorithm 2, {f}": exact for f in ("normal", "uniform")}
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
