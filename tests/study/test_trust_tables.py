"""What a verdict rests on: checks, sources, differences, ranks, and the covariance fitted too."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.inference.differences import differences, ranks
from imop_engine.report.frames_trust import (
    covariance_changes,
    has_estimate,
    neighbours_table,
    source_shares,
    sources_table,
    with_and_without,
)
from imop_engine.report.html import html_report
from imop_engine.report.trust import way_sentences
from imop_engine.storage import save_study, study_tables
from imop_engine.study.checks import verdict_of
from imop_engine.study.sensitivity import _covariance_jobs

SOURCES = ["sample", "noise", "history", "anchors", "model"]


@pytest.fixture(scope="module")
def short(moments, portfolios):
    """The covariance and the anchors are estimates from twenty years, investors know better."""
    mean, covariance = (one.to_numpy() / 12 for one in moments)
    drawn = np.random.default_rng(5).multivariate_normal(mean, covariance, 240)
    history = pd.DataFrame(drawn, columns=portfolios.columns)
    return imop.run_study(history.mean() * 12, history.cov() * 12, portfolios, history=history)


def test_sources_add_up_where_there_is_an_interval(short):
    table = sources_table(short)
    known = has_estimate(short)
    assert list(table.columns) == ["asset", *SOURCES]
    assert table.loc[~known, SOURCES].isna().all(axis=None)
    assert table.loc[known, SOURCES].sum(axis=1).to_numpy() == pytest.approx(1.0)
    assert (table.loc[known, "anchors"] > 0).all()
    shares = source_shares(short)
    assert set(shares["asset"]) == set(table.loc[known, "asset"])
    assert shares.groupby("asset")["share"].sum().to_numpy() == pytest.approx(1.0)


def test_differences_are_of_the_estimates_and_within_their_intervals(short):
    table = differences(short.identification, has_estimate(short))
    known = int(has_estimate(short).sum())
    assert len(table) == known * (known - 1) // 2
    by_name = dict(zip(short.problem.names, short.theta, strict=True))
    expected = [
        by_name[a] - by_name[b] for a, b in zip(table["asset"], table["other"], strict=True)
    ]
    assert table["difference"].to_numpy() == pytest.approx(expected)
    assert (table["difference"] >= 0).all()
    assert (table["low"] <= table["difference"]).all()
    assert (table["high"] >= table["difference"]).all()


def known_of(covariance, anchors, estimate=(0.10, 0.06, 0.05)):
    """An identification of three returns with nothing but what differences are made of."""
    from imop_engine.inference.sources import Sources

    n = len(estimate)
    return SimpleNamespace(
        estimate=np.array(estimate), step=np.zeros(n), level=0.95, response=None, levels=None,
        low=np.zeros(n), high=np.ones(n), problem=SimpleNamespace(theta_names=("A", "B", "C")),
        sources=Sources(np.array(covariance), None, anchors, None, np.zeros(n)),
    )  # fmt: skip


def test_a_common_level_widens_no_difference_and_no_rank():
    own, level = np.diag([1e-6] * 3), np.full((3, 3), 0.04)
    shown = np.ones(3, dtype=bool)
    for anchors in (None, level):
        known = known_of(own, anchors)
        table = differences(known, shown)
        half = 1.959964 * np.sqrt(2e-6)
        assert table["high"].to_numpy() - table["difference"].to_numpy() == pytest.approx(half)
        assert ranks(known, shown)[["rank", "low", "high"]].to_numpy().tolist() == [
            [1, 1, 1], [2, 2, 2], [3, 3, 3]
        ]  # fmt: skip


def test_ranks_that_the_portfolios_do_not_tell_apart_say_so():
    table = ranks(known_of(np.diag([1e-8, 1e-3, 1e-3]), None, (0.5, 0.06, 0.05)), np.ones(3, bool))
    assert table[["low", "high"]].to_numpy().tolist() == [[1, 1], [2, 3], [2, 3]]


def test_bounded_assets_move_differences_through_the_anchors():
    known = known_of(np.diag([1e-6] * 3), None)
    known.response = np.array([[0, 0, 0.5], [0, 0, 0.0], [0, 0, 0.0]])
    known.low, known.high = np.array([0, 0, -0.05]), np.array([0, 0, 0.15])
    table = differences(known, np.array([True, True, False]))
    half = 1.959964 * np.sqrt(2e-6)
    assert table["low"].item() == pytest.approx(0.04 - half - 0.05)
    assert table["high"].item() == pytest.approx(0.04 + half + 0.05)


def test_neighbours_go_down_the_order(short):
    table = neighbours_table(short)
    assert table["rank"].tolist() == list(range(1, len(table) + 1))
    assert table["other"].tolist()[:-1] == table["asset"].tolist()[1:]
    assert pd.isna(table["other"].iloc[-1])
    assert (table["low_rank"] <= table["rank"]).all()
    assert (table["high_rank"] >= table["rank"]).all()


def test_the_folder_has_a_table_of_each(short, tmp_path):
    save_study(short, tmp_path)
    for name, table in study_tables(short).items():
        back = pd.read_csv(tmp_path / f"{name}.csv")
        assert list(back.columns) == [str(column) for column in table.columns]
        assert len(back) == len(table)
    checks = pd.read_csv(tmp_path / "checks.csv")
    assert checks.to_dict("records") == [check.to_dict() for check in short.checks]
    fitted = short.estimate.joint is not None
    assert (tmp_path / "covariance.csv").is_file() == fitted
    assert fitted, "else the next lines say nothing"
    square = pd.read_csv(tmp_path / "covariance.csv", index_col="asset")
    assert square.to_numpy() == pytest.approx(short.problem.covariance)


def test_risks_as_the_history_has_them_are_not_fitted(short):
    """The covariance stays the history's, its error is in the intervals, and the other choice is
    among what may be compared."""
    settings = replace(short.settings, risks="history")
    study = imop.run_study(
        short.data.expected_returns, short.data.covariance, short.decisions, settings,
        history=short.data.market.history,
    )  # fmt: skip
    assert study.estimate.joint is None
    assert study.estimate.periods == short.estimate.periods
    np.testing.assert_array_equal(study.problem.covariance, short.data.covariance)
    assert (study.identification.sources.history > 0).any()
    assert not any(check.name == "refit" for check in study.checks)
    labels = [label for _, label, _ in _covariance_jobs(study)]
    assert labels[0] == "covariance fitted together with the returns"
    assert labels[0] not in [label for _, label, _ in _covariance_jobs(short)]
    again = imop.StudySettings.from_dict(study.settings.to_dict())
    assert again.risks == "history"


def test_a_folder_keeps_no_covariance_of_another_study(study, tmp_path):
    (tmp_path / "covariance.csv").write_text("asset\n")
    save_study(study, tmp_path)
    assert study.estimate.joint is None
    assert not (tmp_path / "covariance.csv").exists()


def test_changes_of_the_covariance_are_largest_first(short):
    table = covariance_changes(short, 3)
    assert table["kind"].tolist() == ["volatility"] * 3 + ["correlation"] * 3
    risks = table[table["kind"] == "volatility"]
    moved = (risks["after"] / risks["before"] - 1).abs().tolist()
    assert moved == sorted(moved, reverse=True)
    one = risks.iloc[0]
    place = short.problem.names.index(one["what"])
    assert one["before"] == pytest.approx(np.sqrt(short.data.covariance.iloc[place, place]))
    assert one["after"] == pytest.approx(np.sqrt(short.problem.covariance[place, place]))


def test_the_report_says_verdict_reasons_sources_and_order(short):
    page = html_report(short)
    assert f'class="verdict {short.verdict}"' in page
    assert f"Verdict: {short.verdict}." in page
    for words in ("Where the width of each interval comes from", "Order and differences",
                  "given the anchors", "Covariance, fitted too",
                  "What keeps investors from the frontier"):  # fmt: skip
        assert words in page
    assert len(short.checks) == page.count("What helps:")
    assert any("fitted together with the returns" in one for one in way_sentences(short))


def test_those_set_aside_are_compared(moments, portfolios):
    strange = portfolios.copy()
    strange.iloc[:30] = 1.0 / portfolios.shape[1]
    study = imop.run_study(*moments, strange)
    assert study.figures["set_aside"] >= 30
    both = with_and_without(study)
    assert both is not None
    assert (both["with_everyone"] - both["estimate"]).to_numpy() == pytest.approx(
        both["difference"]
    )
    assert "with everyone" in html_report(study)
    assert (
        with_and_without(imop.run_study(*moments, strange, imop.StudySettings(trim=False))) is None
    )


def test_a_stream_that_was_not_fitted_together_is_never_good(moments, portfolios):
    study = imop.run_study(*moments, portfolios, imop.StudySettings(refine=False))
    assert "together" in [check.name for check in study.checks]
    assert study.verdict != "good"
    assert way_sentences(study) == []
    assert verdict_of(study.checks) in html_report(study)


def test_a_frontier_that_explains_nothing_is_poor(moments, portfolios):
    drawn = np.random.default_rng(0).dirichlet(np.full(20, 0.3), 12)
    held = pd.DataFrame(drawn, columns=portfolios.columns)
    study = imop.run_study(*moments, held)
    assert study.explained_elsewhere is None
    assert study.verdict == "poor"
