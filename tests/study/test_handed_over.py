"""A finished study handed from one process to another says the same as before."""

import numpy as np
import pandas as pd
import pytest

from imop_engine.bundled import market, sample_portfolios
from imop_engine.study import StudySettings, run_study
from imop_engine.tables.transport import packed, unpacked

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study():
    paper = market("paper8")
    people = sample_portfolios().set_index("investor").head(60)
    made = run_study(
        paper.returns_by_asset,
        paper.covariance_by_asset,
        people,
        StudySettings(start="zero", by="segment"),
        attributes=pd.DataFrame(
            {"segment": np.where(np.arange(60) % 2, "a", "b"), "mixed": [1, "x", None] * 20}
        ),
    )
    assert made.figures["rounds"] == 60
    made.notes, made.frame_investors, made.frame_frontier, made.frame_distribution  # noqa: B018
    return made


def test_a_study_comes_over_with_all_that_was_computed(study):
    again = unpacked(packed(study, computed=True), computed=True)
    assert set(vars(again)) == set(vars(study))
    np.testing.assert_array_equal(again.theta, study.theta)
    for name in ("frame_investors", "frame_returns", "frame_frontier", "frame_distribution"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(study, name))
    assert again.figures == study.figures
    assert again.notes == study.notes
    assert again.settings == study.settings
    assert [one.to_dict() for one in again.checks] == [one.to_dict() for one in study.checks]
    assert again.groups.to_dict() == study.groups.to_dict()


def test_what_a_study_holds_twice_it_holds_twice_and_not_two_of_it(study):
    again = unpacked(packed(study, computed=True), computed=True)
    assert study.frontier.problem is study.problem
    assert again.frontier.problem is again.problem
    assert not again.data.market.covariance.flags.writeable


def test_it_computes_on_to_the_same_digits(study):
    bare = run_study(
        study.data.market.returns_by_asset,
        study.data.market.covariance_by_asset,
        study.data.portfolios,
        StudySettings(start="zero", refine=False),
    )
    again = unpacked(packed(bare, computed=True), computed=True)
    projected = bare.frontier.project(bare.decisions)
    np.testing.assert_array_equal(
        again.frontier.project(again.decisions).weights, projected.weights
    )


def test_tables_that_arrow_does_not_know_come_over():
    odd = pd.DataFrame([[1, "a", 2.5], ["b", None, 3.5]], columns=["x", "x", 7])
    odd[7] = odd[7].astype(float)
    pd.testing.assert_frame_equal(unpacked(packed(odd)), odd)


def test_nothing_but_ours_is_made():
    class Foreign(tuple):
        pass

    with pytest.raises(TypeError, match="nothing that is handed over"):
        packed(Foreign((1,)))
    with pytest.raises(TypeError, match="nothing that is handed over"):
        packed(object(), computed=True)
    named = packed(market("paper8")).replace(b'"Market"', b'"as_xxx"')
    with pytest.raises(TypeError, match="nothing that is handed over"):
        unpacked(named)
