"""A new machine, where the numerical code is compiled behind the first page."""

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import expect

import preparing_harness
from browser_harness import CHROMIUM, Visit, served
from imop_engine import warm

pytestmark = pytest.mark.browser


@pytest.fixture
def unprepared(tmp_path):
    """A server that prepares, until the test says how that ends."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    if (
        not warm.is_ready()
    ):  # once for all tests and on all cores, not in the server kernel by kernel
        warm.run()
    imop = (sys.executable, str(Path(preparing_harness.__file__)), str(tmp_path))
    with served(tmp_path, imop) as found:
        yield found


def test_pages_show_what_they_have_and_go_on_by_themselves(browser, unprepared, tmp_path):
    visit = Visit(browser, unprepared)
    said = visit.key("preparing")
    expect(said).to_contain_text("Preparing the numerical code, once: 3 of 7 parts")
    visit.picture("preparing-welcome")
    visit.page.get_by_role("button", name=re.compile("Example: Eight")).click()
    expect(visit.page.get_by_text("This waits for the numerical code").first).to_be_visible()
    expect(visit.charts()).to_have_count(2)
    visit.picture("preparing-market")
    visit.page.get_by_test_id("stSidebarNav").get_by_role("link", name="Learn").click()
    visit.press("learn_start")
    expect(said).to_contain_text("Learning begins when the numerical code is ready")
    visit.picture("preparing-learn")

    (tmp_path / "fail").touch()
    expect(said).to_contain_text("the disk is full")
    visit.picture("preparing-failed")
    visit.press("prepare_again")
    expect(said).to_contain_text("3 of 7 parts")
    (tmp_path / "go").touch()
    expect(visit.page.get_by_text("What came out")).to_be_visible()
    expect(said).to_have_count(0)
    visit.open("market")
    visit.expect_charts(3)
    visit.close_in_peace()
