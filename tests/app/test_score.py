"""A score as third objective, from the page: entered, uploaded, fitted, drawn, exported."""

import io

import numpy as np
import pandas as pd
import pytest
from openpyxl import load_workbook

from app_harness import PATIENCE, charts_on, learned, page, quiet, said, state_of, workspace
from imop_app.services import results, score
from imop_app.services.errors import AppError

pytestmark = pytest.mark.slow

SCORES = [0.1, 0.9, 0.4, 0.7, 0.2, 0.8, 0.5, 0.3]


@pytest.fixture
def place() -> str:
    """Where a run on the paper's market is kept."""
    workspace()
    state = state_of(learned())
    return state.store.location(state.workspace.run)


def study_of(test):
    state = state_of(test)
    return results.open_run(state.store, state.workspace.run)


def fitted(place: str, test) -> score.Scored:
    edited = score.table(study_of(test), dict(zip(names(test), SCORES, strict=True)))
    known = score.suggested(study_of(test), edited)
    now = score.begin(place, score.complete(edited), known)
    now.wait(PATIENCE)
    assert now.error is None
    return now.found


def names(test) -> list[str]:
    return list(study_of(test).problem.names)


def test_the_example_is_fitted_beside_the_page_and_drawn_there(place):
    test = page("score")
    assert charts_on(test) == 0
    test.button(key="score_example").click().run()
    quiet(test)
    assert "no rating" in said(test)
    assert len(test.multiselect[0].value) == 3, "three known returns are proposed"
    test.button(key="score_start").click().run()
    now = score.of_run(place)
    now.wait(PATIENCE)
    assert now.error is None
    quiet(test.run())
    assert charts_on(test) >= 5
    assert "What the score is worth to them" in said(test)
    assert now.found.said[0] in said(test).replace("\\", "")
    assert now.share > 0.9


def test_what_is_missing_or_all_the_same_is_said(place):
    test = page("score")
    test.button(key="score_start").click().run()
    assert "have no score yet" in test.error[0].value
    assert score.of_run(place) is None
    flat = score.table(study_of(test), dict.fromkeys(names(test), 2.0))
    with pytest.raises(AppError, match="All assets have the score 2"):
        score.complete(flat)
    one = score.table(study_of(test), dict(zip(names(test)[1:], SCORES[1:], strict=True)))
    with pytest.raises(AppError, match="Security 1 has no score yet"):
        score.complete(one)


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_scores_come_from_a_file(place, form):
    test = page("score")
    table = pd.DataFrame({"Asset": names(test), "ESG score": SCORES, "comment": "x"})
    if form == "csv":
        content = table.to_csv(index=False, sep=";", decimal=",").encode("latin-1")
    else:
        buffer = io.BytesIO()
        table.to_excel(buffer, index=False)
        content = buffer.getvalue()
    test.file_uploader(key="score_file").upload(f"scores.{form}", content).run()
    quiet(test)
    shown = test.get("arrow_data_frame") or test.dataframe
    assert shown
    assert len(test.multiselect[0].value) == 3
    draft = state_of(test).drafts[f"score_{place}"]
    assert list(draft.scores.values()) == SCORES


def test_a_file_that_is_none_is_said(place):
    test = page("score")
    test.file_uploader(key="score_file").upload("poem.csv", b"roses,are\nred,blue\n").run()
    assert "poem.csv names none of the assets" in test.error[0].value.replace("\\", "")


def test_tables_and_downloads_say_the_same(place):
    test = page("score")
    found = fitted(place, test)
    people = found.tables["investors"]
    assert np.allclose(people[["share_return", "share_risk", "share_score"]].sum(axis=1), 1.0)
    assert np.allclose(people[["weight_return", "weight_risk", "weight_score"]].sum(axis=1), 1.0)
    read = pd.read_csv(io.BytesIO(score.csv(found, "returns")))
    pd.testing.assert_frame_equal(read, found.tables["returns"], check_dtype=False)
    sheets = load_workbook(io.BytesIO(score.workbook(found))).sheetnames
    assert sheets == ["returns", "investors", "surface", "frontiers", "known returns"]
    assert found.tables["frontiers"]["series"].nunique() >= 4, "any score, and three levels"


def test_without_known_returns_no_number_is_made_up(place):
    test = page("score")
    edited = score.table(study_of(test), dict(zip(names(test), SCORES, strict=True)))
    now = score.begin(place, score.complete(edited), {})
    now.wait(PATIENCE)
    assert now.error is None
    assert not now.found.drawn
    assert now.found.tables["returns"]["estimate"].isna().any()
    assert any("stay open" in one or "No result" in one for one in now.found.said)
    quiet(test.run())


def test_an_unknown_name_is_refused_in_a_sentence(place):
    now = score.begin(place, SCORES, {"Gold": 0.05})
    now.wait(PATIENCE)
    assert "Gold is neither an asset nor a portfolio" in now.error
    test = page("score", errors=1)
    assert "Gold" in test.error[0].value


def test_a_process_of_its_own_says_the_same_and_stops_at_once(place, monkeypatch):
    test = page("score")
    here = fitted(place, test)
    monkeypatch.setenv("IMOP_WORKERS", "1")
    beside = score.Scoring(place, here.scores, here.anchors)
    beside.start()
    beside.wait(PATIENCE)
    assert beside.error is None
    assert beside.share > 0.0, "it tells how far it is"
    assert beside.found.said == here.said
    for name, table in here.tables.items():
        pd.testing.assert_frame_equal(beside.found.tables[name], table)
    stopped = score.Scoring(place, here.scores, here.anchors)
    stopped.stop()
    stopped.start()
    stopped.wait(PATIENCE)
    assert stopped.error == "Stopped."
