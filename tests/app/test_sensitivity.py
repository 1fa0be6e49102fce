"""The estimate under other choices, from the page: in a thread, and in a process of its own."""

import numpy as np
import pytest

from app_harness import PATIENCE, charts_on, learned, page, quiet, said, state_of, workspace
from imop_app.services import sensitivity


def location() -> str:
    workspace()
    test = learned()
    state = state_of(test)
    return state.store.location(state.workspace.run)


def test_choices_are_compared_beside_the_page_and_shown_there():
    location()
    test = page("frontier")
    before = charts_on(test)
    test.button(key="sensitivity_start").click().run()
    state = state_of(test)
    now = sensitivity.of_run(state.store.location(state.workspace.run))
    now.wait(PATIENCE)
    assert now.error is None
    quiet(test.run())
    assert charts_on(test) == before + 1
    assert "anchors" in set(now.found.summary["choice"])
    assert now.found.said
    assert now.found.said[0] in said(test).replace("\\", "")


@pytest.mark.slow
def test_a_process_of_its_own_says_the_same(monkeypatch):
    place = location()
    here = sensitivity.begin(place)
    here.wait(PATIENCE)
    monkeypatch.setenv("IMOP_WORKERS", "1")
    beside = sensitivity.Comparing(place)
    beside.start()
    beside.wait(PATIENCE)
    assert beside.error is None
    assert beside.share > 0.0, "it tells how far it is"
    assert list(beside.found.table.columns) == list(here.found.table.columns)
    np.testing.assert_allclose(beside.found.table["estimate"], here.found.table["estimate"])
