"""A score as third objective in a real browser: entered, fitted, looked at, taken away."""

import pandas as pd
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import expect

from browser_harness import NAMES, SCORES, Visit, scored_files

pytestmark = pytest.mark.browser

PICTURES = 5  # the triangle, weights by objective, frontiers by level, costs, returns
WORTH = "What the score is worth to them"


def test_scores_from_a_file_to_a_file_in_hand(visit, tmp_path):
    history, portfolios, scores = scored_files()
    visit.bring_history(history)
    visit.open("investors")
    visit.choose("Upload portfolios")
    visit.upload("investor_file", "clients.csv", portfolios)
    expect(visit.key("status")).to_contain_text("240 from clients.csv")
    visit.wait_until_idle()
    visit.learn()
    visit.open("score")
    visit.upload("score_file", "scores.csv", scores)
    expect(visit.page.get_by_text("Return of", exact=False).nth(2)).to_be_visible()
    visit.wait_until_idle()
    visit.press("score_start")
    expect(visit.page.get_by_role("heading", name=WORTH)).to_be_visible()
    visit.expect_charts(PICTURES + 1)  # and what it costs by attitude
    visit.expect_nothing_sticks_out()
    visit.page.get_by_role("heading", name=WORTH).scroll_into_view_if_needed()
    visit.picture("score")
    visit.expect_access()
    table = pd.read_csv(visit.download("Returns (CSV)", tmp_path))
    assert list(table.columns) == ["asset", "score", "estimate", "low", "high", "status"]
    assert dict(zip(table["asset"], table["score"], strict=True)) == dict(
        zip(NAMES, SCORES, strict=True)
    )
    people = pd.read_csv(visit.download("Investors (CSV)", tmp_path))
    middle = people.groupby("attitude")["price"].median()
    assert middle["devoted"] > middle["interested"] > middle["indifferent"]
    visit.page.reload()
    expect(visit.page.get_by_role("heading", name=WORTH)).to_be_visible()
    visit.close_in_peace()


def test_the_example_on_a_phone_in_the_dark(browser, address):
    visit = Visit(browser, address, 390, "dark")
    visit.example()
    visit.learn()
    visit.open("score")
    visit.press("score_example")
    expect(visit.page.get_by_text("It is no rating")).to_be_visible()
    visit.wait_until_idle()
    visit.press("score_start")
    expect(visit.page.get_by_role("heading", name=WORTH).first).to_be_visible()
    # these investors were drawn without a score: the page says so and draws none of its prices
    expect(visit.page.get_by_text("No returns and no price are shown").first).to_be_visible()
    visit.expect_charts(0)
    visit.expect_nothing_sticks_out()
    visit.picture("score")
    visit.close_in_peace()
