"""Groups of a study: the setting, the tables, the report, the round trip."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.inference.belief_identification import draw_disagreeing
from imop_engine.report import charts_groups, frames_groups
from imop_engine.simulate import simulate_investors
from imop_engine.storage import run_document, study_tables
from imop_engine.study.groups import group_columns
from imop_engine.weights import lam_of

COUNT = 240


@pytest.fixture(scope="module")
def inputs():
    """Half of the investors expect 1.5 % less of Security 5; ages say nothing."""
    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names)
    rng = np.random.default_rng(7)
    low = paper.expected_returns - 0.015 * np.eye(8)[4]
    parts = [
        simulate_investors(
            problem, theta, COUNT // 2, noise="gaussian", noise_level=0.01, rng=rng
        ).portfolios
        for theta in (paper.expected_returns, low)
    ]
    order = rng.permutation(COUNT)
    attributes = pd.DataFrame(
        {"segment": np.repeat(["growth", "income"], COUNT // 2), "age": rng.integers(20, 80, COUNT)}
    ).iloc[order]
    portfolios = pd.DataFrame(np.vstack(parts)[order], columns=list(paper.names))
    moments = paper.returns_by_asset, paper.covariance_by_asset
    about = {
        "attributes": attributes.reset_index(drop=True),
        "dates": pd.date_range("2020-01-01", "2022-12-31", periods=COUNT),
    }
    return (*moments, portfolios), about


@pytest.fixture(scope="module")
def study(inputs):
    data, about = inputs
    return imop.run_study(*data, imop.StudySettings(by="segment"), **about)


def test_segments_that_differ_are_told_apart(study):
    groups = study.groups
    assert groups.differ
    assert groups.differing[0] == "Security 5"
    rows = groups.table.set_index(["asset", "group"])["estimate"]["Security 5"]
    assert rows["growth"] - rows["income"] == pytest.approx(0.015, abs=0.004)
    said = " ".join(groups.sentences())
    assert "The groups differ in what they believe" in said
    assert "By segment they differ in what they expect of Security 5: growth" in said
    assert "given the anchors" in said
    assert study.figures["groups_p_value"] == groups.test.p_value


def test_other_groups_need_no_new_learning_and_chance_is_called_so(study):
    ages = study.groups_by("age")
    assert not ages.differ
    assert ages.differing == ()
    assert "do not differ by more than chance would give" in ages.sentences()[0]
    years = study.groups_by("year")
    assert years.names == ("2020", "2021", "2022")
    assert "Beliefs did not move by more than chance would give" in years.sentences()[0]
    assert group_columns(study.data) == ("year", "quarter", "segment", "age")


def test_a_column_that_is_not_there_is_refused_before_learning(inputs):
    data, about = inputs
    with pytest.raises(InvalidInput, match="choose one of date, segment, age"):
        imop.study_steps(*data, imop.StudySettings(by="branch"), **about)


def test_tables_and_documents_have_the_groups(study, tmp_path):
    table = study_tables(study)["groups"]
    assert list(table.columns[:5]) == ["group", "portfolios", "investors", "set_aside", "asset"]
    assert {"estimate", "low", "high", "difference", "own", "common", "p_value"} <= set(table)
    assert len(table) == 2 * 8
    document = run_document(study)
    assert document["groups"]["by"] == "segment"
    assert document["groups"]["differ"]
    assert [one["name"] for one in document["groups"]["groups"]] == ["growth", "income"]
    assert document["settings"]["by"] == "segment"
    book = imop.export_study(study, tmp_path / "study.xlsx")
    assert "groups" in pd.ExcelFile(book).sheet_names


def test_the_report_shows_them_and_a_saved_study_says_the_same(study, tmp_path):
    imop.save_study(study, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "Beliefs by segment" in page
    assert "Where they differ" in page
    assert "Expected returns of each group by segment with intervals" in page
    again = imop.load_study(tmp_path)
    pd.testing.assert_frame_equal(again.groups.table, study.groups.table)
    assert again.groups.test.p_value == study.groups.test.p_value


def test_nothing_is_said_of_groups_that_were_not_asked_for(study, tmp_path):
    plain = replace(study, settings=replace(study.settings, by=None))
    assert plain.groups is None
    (tmp_path / "groups.csv").write_text("of a study that was here before")
    imop.save_study(plain, tmp_path)
    assert not (tmp_path / "groups.csv").exists()
    assert json.loads((tmp_path / "run.json").read_text())["groups"] is None
    assert "Beliefs by" not in (tmp_path / "report.html").read_text()


def test_charts_are_drawn_from_what_is_known(study):
    dots = frames_groups.group_dots(study.groups)
    assert dots["estimate"].notna().all()
    chart = charts_groups.group_chart(dots, "segment").to_dict()
    assert chart["title"]["text"] == "What groups by segment expect (% per year)"
    years = study.groups_by("year")
    lines = frames_groups.group_lines(years)
    assert set(lines["period"]) == {"2020", "2021", "2022"}
    drawn = charts_groups.group_time_chart(lines, "year").to_dict()
    assert drawn["title"]["text"] == "How beliefs moved by year (% per year)"
    matrix = frames_groups.group_matrix(study.groups)
    assert list(matrix.columns) == ["asset", "common", "growth", "income", "between", "p_value"]


def test_a_stream_that_was_not_fitted_together_has_groups_too(inputs):
    data, about = inputs
    settings = imop.StudySettings(by="segment", refine=False)
    found = imop.run_study(*data, settings, **about).groups
    assert found.differ


def paper_study(parts, seed, dates=1, sort_in=None, **settings):
    """A study by segment of portfolios drawn part by part: (segment, how many, beliefs or None);
    each investor comes at so many dates, and `sort_in` deals segments anew."""
    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names)
    rng = np.random.default_rng(seed)
    drawn = [
        rng.dirichlet(np.ones(8), count)
        if theta is None
        else simulate_investors(
            problem, theta, count, noise="gaussian", noise_level=0.004, rng=rng
        ).portfolios
        for _, count, theta in parts
    ]
    segments = np.repeat([name for name, _, _ in parts], [count for _, count, _ in parts])
    people = np.arange(len(segments)) // dates
    order = rng.permutation(len(segments))
    if sort_in is not None:
        segments = rng.choice(sort_in, len(segments))
    days = pd.to_datetime("2020-01-31") + pd.to_timedelta(31 * (order % dates), unit="D")
    return imop.run_study(
        paper.returns_by_asset,
        paper.covariance_by_asset,
        pd.DataFrame(np.vstack(drawn)[order], columns=list(paper.names), index=people[order]),
        imop.StudySettings(by="segment", **settings),
        attributes=pd.DataFrame({"segment": segments[order]}),
        dates=days if dates > 1 else None,
    )


def in_study(study, *beliefs):
    """What is expected of Security 5 at the shift and scale of the study's anchors."""
    rows, values = study.problem.theta.equalities, study.problem.theta.values
    found = []
    for one in beliefs:
        scale, shift = np.linalg.solve(np.column_stack([rows @ one, rows.sum(axis=1)]), values)
        found.append(scale * one[4] + shift)
    return found


def test_a_segment_that_is_far_from_all_others_as_a_whole_is_compared_all_the_same():
    common = market("paper8").expected_returns
    own = common - 0.015 * np.eye(8)[4]
    study = paper_study([("growth", 210, common), ("income", 90, own)], 901)
    apart = study.data.attributes["segment"].eq("income").to_numpy()
    lost = ~study.estimate.kept
    assert lost[apart].mean() > 0.75
    assert not lost[~apart].any()
    groups = study.groups
    sizes = groups.table.drop_duplicates("group").set_index("group")
    assert sizes.loc["income", "set_aside"] < 20
    assert groups.differ
    assert groups.differing[0] == "Security 5"
    rows = groups.table.set_index(["asset", "group"])["estimate"]["Security 5"]
    assert rows["growth"] - rows["income"] == pytest.approx(0.015, abs=0.003)
    counted = lost[apart].sum() - sizes.loc["income", "set_aside"]
    assert f"{counted} of 90 portfolios of income are unlike those that the estimate" in " ".join(
        groups.notes
    )
    assert "and were set aside from it; they are alike" in " ".join(groups.notes)


def test_where_strangers_of_a_segment_have_nothing_in_common_the_answer_is_left_open():
    common = market("paper8").expected_returns
    parts = [("growth", 200, common), ("income", 50, common), ("income", 40, None)]
    study = paper_study(parts, 902)
    groups = study.groups
    sizes = groups.table.drop_duplicates("group").set_index("group")
    assert sizes.loc["income", "set_aside"] >= 36
    assert not groups.differ
    said = groups.sentences()[0]
    assert "Whether the groups differ is open: much of income was set aside as unlike" in said
    assert any("of 90 portfolios of income" in note for note in groups.notes)


@pytest.mark.slow
def test_a_segment_that_is_set_aside_as_a_whole_is_compared_where_beliefs_differ():
    """Investors who each believe something of their own, around what their segment believes."""
    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names)
    common = paper.expected_returns
    own, rng, tau = common - 0.03 * np.eye(8)[4], np.random.default_rng(1), 0.002
    lams = lam_of(np.clip(rng.normal(0.45, 0.15, 300), 0.05, 0.95))
    parts = [
        draw_disagreeing(problem, theta / tau, tau * some, rng)
        for theta, some in ((common, lams[:210]), (own, lams[210:]))
    ]
    study = imop.run_study(
        paper.returns_by_asset,
        paper.covariance_by_asset,
        pd.DataFrame(np.vstack(parts), columns=list(paper.names)),
        imop.StudySettings(by="segment", errors="beliefs", start="zero"),
        attributes=pd.DataFrame({"segment": np.repeat(["growth", "income"], [210, 90])}),
    )
    assert study.estimate.found.way == "beliefs differ"
    assert not study.estimate.kept[210:].all()
    sizes = study.groups.table.drop_duplicates("group").set_index("group")
    assert sizes.loc["income", "apart"] == (~study.estimate.kept[210:]).sum()
    assert sizes.loc["income", "set_aside"] == 0
    assert sizes.loc["income", "apart"] > 45, "most of the segment"
    assert study.groups.differ
    rows = study.groups.table.set_index(["asset", "group"])["estimate"]["Security 5"]
    growth, income = in_study(study, common, own)
    assert rows["growth"] - rows["income"] == pytest.approx(growth - income, rel=0.15)
    told = {one["name"]: one["apart"] for one in study.groups.to_dict()["groups"]}
    assert told == {"growth": 0, "income": sizes.loc["income", "apart"]}


@pytest.mark.slow
def test_a_segment_at_several_dates_is_compared_by_its_investors():
    common = market("paper8").expected_returns
    own = common - 0.015 * np.eye(8)[4]
    many = paper_study([("growth", 210, common), ("income", 90, own)], 904, dates=3)
    sizes = many.groups.table.drop_duplicates("group").set_index("group")
    assert sizes["investors"].to_dict() == {"growth": 70, "income": 30}
    assert sizes.loc["income", "apart"] > 45
    assert many.groups.differ


@pytest.mark.slow
def test_strangers_everywhere_make_no_segment_a_believer_in_something_else():
    """A third believe something else, whatever their segment: nothing is said of a segment."""
    common = market("paper8").expected_returns
    other = common - 0.02 * np.eye(8)[4] + 0.01 * np.eye(8)[2]
    p_values = []
    for seed in range(5):
        parts = [("x", 210, common), ("x", 90, other)]
        groups = paper_study(parts, [77, seed], sort_in=list("ABCDEF")).groups
        assert not any("alike" in note for note in groups.notes)
        assert (groups.table["apart"] == 0).all()
        p_values.append(groups.test.p_value)
    assert sum(p <= 0.05 for p in p_values) <= 2
    assert np.mean(p_values) > 0.15
