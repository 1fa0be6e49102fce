"""The bound on errors with an estimated covariance: a row, the table, the page."""

import json

import numpy as np
import pytest

from imop_benchmarks import covariance_bound
from imop_benchmarks.conditions import CONDITIONS, draw
from imop_benchmarks.covariance_bound import bound_row, bound_table, least_errors

CONDITION = CONDITIONS["covariance-240@8"]


def test_a_row_compares_errors_with_the_bound_of_the_same_studies():
    bounds = {seed: least_errors(draw(CONDITION, seed), 240)[0] for seed in (5, 6)}
    row = bound_row(CONDITION, {"5": 2 * bounds[5], "6": None}, {"5": 2 * bounds[5], "6": 0.9})
    assert row["studies"] == 1
    assert row["bound"] == bounds[5]
    assert row["over"] == pytest.approx(2.0)
    assert row["known"] < row["bound"] / 5
    assert row["out_of_reach"] == 0.5  # of one of two is a third above the bound
    assert "| 240 months | 8 | 1 |" in bound_table([row])


def test_a_longer_history_allows_smaller_errors():
    drawn = draw(CONDITION, 5)
    short, known = least_errors(drawn, 60)
    long, same = least_errors(drawn, 24_000)
    assert same == known
    assert np.sqrt(60 / 24_000) * 0.8 < long / short < 0.2


def test_exact_covariances_have_no_such_bound():
    with pytest.raises(ValueError, match="no estimated covariance"):
        bound_row(CONDITIONS["clean@8"], {}, {})


def test_the_table_goes_into_the_page(tmp_path):
    results, page = tmp_path / "trust.json", tmp_path / "page.md"
    row = {"label": CONDITION.label, "errors_by_seed": {"5": 0.004}}
    results.write_text(json.dumps({"rows": [row]}))
    page.write_text(
        f"before\n{covariance_bound.MARKS[0]}\nold\n{covariance_bound.MARKS[1]}\nafter\n"
    )
    told = ["--results", str(results), "--earlier", str(results), "--page", str(page)]
    covariance_bound.main(told)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "240 months" in text
    assert "old" not in text.split(covariance_bound.MARKS[0])[1]
