"""The harness of `imop_benchmarks.trust`: records, rows, what holds, the page, and going on."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from imop_benchmarks import conditions, trust, trust_study
from imop_benchmarks.conditions import CONDITIONS, DrawnStudy, draw
from imop_benchmarks.trust_page import trust_page, trust_table
from imop_benchmarks.trust_summary import compare_errors, holds, summary, warned_rightly

CLEAN = CONDITIONS["clean@8"]
ROUNDING = CONDITIONS["rounding-5@8"]


def few(label: str, seed: int, rows: int) -> DrawnStudy:
    """A study of its first investors, to be quick."""
    study = draw(CONDITIONS[label], seed)
    return replace(
        study,
        portfolios=study.portfolios.head(rows),
        true_weights=study.true_weights[:rows],
        efficient=study.efficient[:rows],
        contaminated=study.contaminated[:rows],
    )


def record(seed: int, **changes: Any) -> dict[str, Any]:
    """Four assets of a bundled market: two identified, one bounded, one anchored."""
    plain: dict[str, Any] = {
        "label": "clean@8",
        "seed": seed,
        "market": "paper8",
        "rows": 300,
        "asset": ["a", "b", "c", "d"],
        "true": [0.10, 0.05, 0.02, 0.03],
        "held": [True, True, False, True],
        "failure": "",
        "seconds": 1.0 + seed,
        "estimate": [0.11, 0.05, None, 0.03],
        "low": [0.09, 0.04, None, 0.03],
        "high": [0.13, 0.06, 0.03, 0.03],
        "status": ["identified", "identified", "bounded above", "anchored"],
        "verdict": "good",
        "checks": [["noise", "good"]],
        "errors": {
            name: dict.fromkeys(
                ("identified", "held", "identified_aligned", "held_aligned", "aligned"), value
            )
            for name, value in (("estimate", 0.01 * seed), ("implied", 0.02), ("history", 0.05))
        },
    }
    return plain | changes


def test_a_row_counts_what_the_studies_say() -> None:
    missed = record(2, low=[0.105, 0.04, None, 0.03], high=[0.13, 0.06, 0.01, 0.03])
    stopped = record(3, failure="Error: -1.5% of 12.", errors={"implied": {"held": 0.04}})
    row = summary(CLEAN, [stopped, missed, record(1)])
    assert row["studies"] == 3
    assert row["raised"] == pytest.approx(1 / 3)
    assert row["failures"] == {"Error: …% of ….": 1}
    assert row["coverage"] == pytest.approx(3 / 4)  # identified returns of studies that ended
    assert row["bounded_coverage"] == pytest.approx(1 / 2)
    assert row["bounded"] == 2
    assert row["half_width"] == pytest.approx(0.01125)  # of 0.02, 0.01, 0.0125 and 0.01
    assert row["identified"] == 2
    assert row["held"] == 3
    assert row["errors"]["estimate"]["held"] == pytest.approx(0.015)
    assert row["errors"]["estimate"]["held_worst"] == pytest.approx(0.02)
    assert row["errors"]["implied"]["held"] == pytest.approx(0.02)
    assert row["errors_by_seed"] == {"1": 0.01, "2": 0.02, "3": None}
    assert row["verdicts"] == {"good": 2}
    assert row["seconds"] == 3.0
    json.dumps(row, allow_nan=False)


def test_the_error_of_a_coverage_takes_studies_and_not_assets_as_independent() -> None:
    all_missed = [0.2, 0.2, None, 0.03], [0.3, 0.3, 0.03, 0.03]
    studies = [record(1), record(2, low=all_missed[0], high=all_missed[1])]
    row = summary(CLEAN, studies)
    assert row["coverage"] == 0.5
    assert row["coverage_error"] == pytest.approx(np.sqrt(2) / 4)  # two draws, not four


def test_the_worst_asset_is_one_that_has_an_identity() -> None:
    missed = {"low": [0.105, 0.04, None, 0.03]}
    bundled = [record(seed, **(missed if seed < 2 else {})) for seed in range(6)]
    assert summary(CLEAN, bundled)["worst_asset"] == pytest.approx(4 / 6)
    random = [one | {"market": "random"} for one in bundled]
    assert summary(CLEAN, random)["worst_asset"] is None
    assert summary(CLEAN, bundled[:4])["worst_asset"] is None  # too few to say


def test_an_open_end_covers_and_has_no_width() -> None:
    row = summary(CLEAN, [record(1, low=[None, 0.04, None, 0.03])])
    assert row["coverage"] == 1.0
    assert row["half_width"] == pytest.approx(0.01)


def test_a_warning_counts_for_a_right_reason_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(conditions.RIGHT_REASONS, "rounding-5", ("rounding",))
    right = record(1, verdict="caution", checks=[["rounding", "caution"], ["noise", "good"]])
    wrong = record(2, verdict="poor", checks=[["rounding", "good"], ["noise", "poor"]])
    silent = record(3, checks=[["rounding", "caution"]])
    reasons = ROUNDING.right_reasons
    assert [warned_rightly(one, reasons) for one in (right, wrong, silent)] == [True, False, False]
    assert not warned_rightly(record(4, verdict=None, checks=[]), reasons)
    row = summary(ROUNDING, [right, wrong, silent])
    assert row["warned"] == pytest.approx(2 / 3)
    assert row["warned_rightly"] == pytest.approx(1 / 3)
    assert row["reasons"] == {"rounding": pytest.approx(2 / 3), "noise": pytest.approx(1 / 3)}


@pytest.mark.parametrize(
    ("changes", "by"),
    [
        ({"coverage": 0.95}, "covered"),
        ({"coverage": 0.88}, "covered"),
        ({"coverage": 0.99}, "covered"),
        ({"coverage": 0.87}, ""),
        ({"coverage": 1.0}, ""),
        ({"coverage": None}, ""),
        ({"coverage": 0.95, "raised": 0.2}, ""),
        ({"coverage": 0.5, "warned_rightly": 0.9}, "warned"),
        ({"coverage": 0.5, "warned_rightly": 0.89}, ""),
        ({"coverage": None, "warned_rightly": 1.0, "raised": 0.1}, "warned"),
        ({"coverage": 0.95, "key": "clean", "verdicts": {"good": 94, "caution": 6}}, ""),
        ({"coverage": 0.95, "key": "clean", "verdicts": {"good": 95, "caution": 5}}, "covered"),
        ({"coverage": 0.95, "key": "clean", "verdicts": {"none": 100}}, "covered"),
    ],
)
def test_a_condition_holds_by_the_stated_rule(changes: dict[str, Any], by: str) -> None:
    row = {"key": "other", "studies": 100, "verdicts": {"good": 100}, "raised": 0.0}
    assert holds({**row, "warned_rightly": 0.0, **changes}) == by


def test_errors_are_compared_over_common_seeds_where_there_are_some() -> None:
    ours = summary(CLEAN, [record(1), record(2), record(3)])
    theirs = summary(CLEAN, [record(1), record(9)])
    both = compare_errors(ours, theirs)
    assert both["common_seeds"] == 1
    assert both["estimate"] == both["earlier"] == pytest.approx(0.01)
    assert not both["worse"]
    assert both["ratio"] == pytest.approx(1.0)
    assert both["implied_ratio"] == pytest.approx(0.5)
    apart = compare_errors(ours, summary(CLEAN, [record(8)]))
    assert apart["common_seeds"] == 0
    assert apart["estimate"] == pytest.approx(0.02)
    assert apart["earlier"] == pytest.approx(0.08)
    assert not apart["worse"]  # as good as implied returns
    worse = summary(CLEAN, [record(4)])
    assert compare_errors(worse, None)["worse"]
    assert not compare_errors(worse, None)["earlier"]


def test_pairs_decide_and_not_medians_of_different_draws() -> None:
    """Anchors that are far off by chance make all errors of a study large, whoever estimates."""
    ours = summary(CLEAN, [record(1), record(100), record(101)])
    scaled = {"1": 0.02, "100": 1.1, "101": 1.2}
    theirs = summary(CLEAN, [record(1)]) | {"errors_by_seed": scaled}
    ours["implied_by_seed"] = scaled
    assert compare_errors(ours, theirs)["ratio"] == pytest.approx(1.01 / 1.2)
    assert not compare_errors(ours, theirs)["worse"]
    worse = compare_errors(ours, theirs | {"errors_by_seed": {"100": 0.9, "101": 0.9}})
    assert worse["ratio"] == pytest.approx((1.0 / 0.9 + 1.01 / 0.9) / 2)
    assert worse["worse"]


def results(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"version": "9.9", "engine": "x", "first_seed": 7, "studies": 3, "rows": list(rows)}


def test_the_page_shows_every_row_good_or_bad() -> None:
    good = summary(CLEAN, [record(seed) for seed in range(1, 4)])
    bad = summary(ROUNDING, [record(9, failure="InvalidInput: it is so")] * 2)
    page = trust_page(results(good, bad))
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1
    assert CLEAN.sentence in lines[2]
    assert ROUNDING.sentence in lines[3]
    assert "**no**" in lines[3]
    assert "before" not in lines[0]
    assert "0 of 2 rows hold" in page  # the first covers 100 %
    assert "InvalidInput: it is so (2)" in page
    assert "## What the method cannot know" in page
    assert "{" not in page


def test_an_earlier_version_stands_beside_it() -> None:
    good = summary(CLEAN, [record(1), record(2)])
    worse = summary(ROUNDING, [record(5)])
    earlier = results(summary(CLEAN, [record(20)])) | {"version": "0.1.0", "first_seed": 20}
    head, _, first, second = trust_table(results(good, worse), earlier).splitlines()
    assert head.count("before") == 3
    # error, worst, before, ratio, implied, ratio to implied, history, aligned
    assert "| 1.5 | 2 | 20 | – | 2 | 0.75 | 5 | 1.5 |" in first
    assert "| **5** | 5 | – | – | 2 | 2.5 | 5 | 5 |" in second
    assert "version 0.1.0" in trust_page(results(good), earlier)


def test_bounds_that_do_not_hold_are_told() -> None:
    held = summary(CLEAN, [record(seed) for seed in range(1, 4)])
    none = summary(CLEAN, [record(1, status=["identified", "identified", "not seen", "anchored"])])
    missed = summary(ROUNDING, [record(2, high=[0.13, 0.06, 0.01, 0.03]), record(3)])
    before = {name: value for name, value in missed.items() if name != "bounded"}
    lines = trust_table(results(held, none, missed, before)).splitlines()[2:]
    wanted = ("| 100 % of 3 |", "| – |", "| **50 %** of 2 |", "| **50 %** |")
    assert all(cell in line for line, cell in zip(lines, wanted, strict=True))
    assert "or more in every row" in trust_page(results(held, none))
    page = trust_page(results(held, missed))
    assert "in fewer than 88 % of the cases in 1 of the 2 rows" in page
    assert "As bounds are now, the worst first: rounding-5 with 8 (50.0 %) assets." in page
    assert "Before they counted all" not in page
    assert "Before they counted all sources of error, the worst first: rounding-5" in trust_page(
        results(held, before)
    )


def test_conditions_are_chosen_by_key_label_or_size() -> None:
    def labels(*only: str) -> list[str]:
        return [one.label for one in trust.chosen_conditions(only)]

    assert labels("clean") == ["clean@8", "clean@20", "clean@30", "clean@50"]
    assert labels("even-10@20", "clean@8") == ["even-10@20", "clean@8"]
    assert len(labels("@8")) == 36
    assert labels() == list(CONDITIONS)
    with pytest.raises(ValueError, match=r"there is no condition 'cleen'.*own-covariance"):
        labels("cleen")


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def one(label: str, seed: int) -> dict[str, Any]:
        asked.append(seed)
        return record(seed)

    said: list[str] = []
    monkeypatch.setattr(trust, "one_record", one)
    trust.measure([CLEAN], range(1, 4), tmp_path, say=said.append)
    file = tmp_path / "clean@8.jsonl"
    file.write_text(file.read_text() + '{"seed": 4, "cut')  # it was stopped while writing
    found = trust.measure([CLEAN], range(1, 6), tmp_path, say=said.append)
    assert asked == [1, 2, 3, 4, 5]
    assert found["rows"][0]["studies"] == 5
    assert found["first_seed"] == 1
    assert said[-1].startswith("clean@8: 100.0% covered")
    again = trust.measure([CLEAN], range(1, 6), tmp_path, say=said.append)
    assert asked == [1, 2, 3, 4, 5]
    assert again == found
    monkeypatch.setattr(trust, "engine_digest", lambda: "another")
    trust.measure([CLEAN], range(1, 3), tmp_path, say=said.append)
    assert asked[5:] == [1, 2]


def test_the_command_writes_results_and_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trust, "one_record", lambda label, seed: record(seed))
    out, page = tmp_path / "results" / "trust.json", tmp_path / "trust.md"
    command = ["--only", "clean@8", "--studies", "2", "--seeds-from", "4", "--work", str(tmp_path)]
    trust.main([*command, "--out", str(out), "--page", str(page), "--earlier", str(out) + "no"])
    made = json.loads(out.read_text())
    assert (made["first_seed"], made["studies"]) == (4, 2)
    assert page.read_text() == trust_page(made)
    with pytest.raises(SystemExit):
        trust.main(["--only", "cleen"])
    assert "there is no condition 'cleen'" in capsys.readouterr().err


def test_a_study_that_runs_becomes_a_record() -> None:
    drawn = few("clean@8", 2, 80)
    found = trust_study.study_record(drawn)
    assert found["failure"] == ""
    assert found["seconds"] > 0
    assert len(found["status"]) == len(found["low"]) == 8
    assert "identified" in found["status"]
    assert found["errors"]["estimate"]["identified"] < found["errors"]["history"]["identified"]
    json.dumps(found, allow_nan=False)
    assert summary(CLEAN, [found])["studies"] == 1


def test_a_study_that_raises_is_a_record_too() -> None:
    drawn = few("clean@8", 2, 5)
    found = trust_study.study_record(replace(drawn, covariance=-drawn.covariance))
    assert found["failure"].startswith("InvalidInput: ")
    assert "estimate" not in found["errors"]
    row = summary(CLEAN, [found])
    assert row["raised"] == 1.0
    assert row["coverage"] is None
    assert row["holds"] == ""


@dataclass
class Check:
    name: str
    severity: str
    sentence: str = ""
    remedy: str = ""


def test_the_pipeline_gets_the_history_and_never_the_truth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: dict[str, Any] = {}

    def steps(
        returns: Any, covariance: Any, portfolios: Any, settings: Any, *, history: Any
    ) -> None:
        """With a history, as later versions."""

    def run(returns: Any, covariance: Any, portfolios: Any, settings: Any, **options: Any) -> Any:
        given.update(options, anchors=settings.anchors)
        table = pd.DataFrame({"estimate": [0.1], "low": [np.nan], "high": [0.2], "status": ["x"]})
        checks = (Check("noise", "poor"),)
        return SimpleNamespace(frame_returns=table, theta=[0.1], verdict="poor", checks=checks)

    monkeypatch.setattr(trust_study, "study_steps", steps)
    monkeypatch.setattr(trust_study, "run_study", run)
    drawn = few("both-60@8", 3, 20)
    found = trust_study.study_findings(trust_study.default_study(drawn))
    assert given["history"] is drawn.history
    assert given["anchors"] is None
    assert "truth" not in given
    assert found["verdict"] == "poor"
    assert found["checks"] == [["noise", "poor"]]
    assert found["low"] == [None]


def test_implied_returns_meet_the_anchors_and_are_right_for_one_investor() -> None:
    drawn = few("clean@8", 3, 50)
    names = list(drawn.names)
    implied = trust_study.implied_returns(drawn)
    assert drawn.anchors is not None
    average = drawn.covariance.to_numpy() @ drawn.portfolios.to_numpy().mean(axis=0)
    slope = np.polyfit(average, implied, 1)[0]
    if slope > 0:
        for name, value in drawn.anchors:
            assert implied[names.index(name)] == pytest.approx(value)
    # one investor who holds everything: reverse optimisation is exact
    middle = np.full(8, 1 / 8)
    truth = 0.02 + 3.0 * drawn.covariance.to_numpy() @ middle
    known = tuple((names[i], float(truth[i])) for i in (0, 5))
    alone = replace(drawn, portfolios=pd.DataFrame([middle], columns=names), anchors=known)
    assert trust_study.implied_returns(alone) == pytest.approx(truth)
    # a history in which risk did not pay leaves one return for all
    upside_down = replace(alone, anchors=tuple((name, -value) for name, value in known))
    mean = -np.mean([value for _, value in known])
    assert trust_study.implied_returns(upside_down) == pytest.approx(np.full(8, mean))


def test_some_rows_are_measured_again_and_the_others_stay() -> None:
    before = results(summary(CLEAN, [record(1)]), summary(ROUNDING, [record(2)]))
    again = summary(ROUNDING, [record(3)]) | {"first_seed": 90, "engine": "y"}
    after = trust.kept_rows(results(again) | {"first_seed": 90, "engine": "y"}, before)
    assert [row["label"] for row in after["rows"]] == [CLEAN.label, ROUNDING.label]
    assert [row["engine"] for row in after["rows"]] == ["x", "y"]
    assert after["rows"][1]["errors_by_seed"] == again["errors_by_seed"]
    page = trust_page(after)
    assert "seeds from 7." in page
    assert "again since then, with seeds from 90: rounding-5 with 8 assets." in page
    worse = trust_page(after, results(summary(ROUNDING, [record(1)])) | {"version": "0.1.0"})
    assert "more than 5 % in 1 of the 2 rows" in worse
