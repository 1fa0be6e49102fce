"""A score as third objective in a real browser: entered, fitted, looked at, taken away."""

import pandas as pd
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import expect

from browser_harness import PHONE_WIDTH, Visit

pytestmark = pytest.mark.browser

PICTURES = 5  # the triangle, weights by objective, frontiers by level, costs, returns


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_score_from_the_history_to_a_file_in_hand(browser, address, tmp_path, width, scheme):
    visit = Visit(browser, address, width, scheme)
    visit.example("20 large US stocks" if scheme == "dark" else "Eight securities")
    visit.learn()
    visit.open("score")
    visit.press("score_example")
    expect(visit.page.get_by_text("It is no rating")).to_be_visible()
    visit.wait_until_idle()
    visit.picture("score-given")
    visit.press("score_start")
    expect(
        visit.page.get_by_role("heading", name="What the score is worth to them")
    ).to_be_visible()
    visit.expect_charts(PICTURES)
    visit.expect_nothing_sticks_out()
    visit.title("score").scroll_into_view_if_needed()
    visit.picture("score")
    if width > PHONE_WIDTH:
        visit.expect_access()
    table = pd.read_csv(visit.download("Returns (CSV)", tmp_path))
    assert list(table.columns) == ["asset", "score", "estimate", "low", "high", "status"]
    people = pd.read_csv(visit.download("Investors (CSV)", tmp_path))
    # of the stocks some are held by a few investors only, who are left out with them
    assert len(people) == (1000 if scheme == "light" else 991)
    visit.close_in_peace()
