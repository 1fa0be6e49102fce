"""From an analyst's own files to a client's one-pager, in a real browser."""

import pandas as pd
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import expect

from browser_harness import CHROMIUM, Visit, own_files

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark")])
def test_own_wide_file_to_one_pager(browser, address, tmp_path, width, scheme):
    visit = Visit(browser, address, width, scheme)
    history, portfolios = own_files()
    visit.bring_history(history)
    visit.open("investors")
    visit.choose("Upload portfolios")
    visit.upload("investor_file", "clients.csv", portfolios)
    expect(visit.key("status")).to_contain_text("120 from clients.csv")
    visit.wait_until_idle()
    visit.learn()
    visit.open("clients")
    expect(visit.page.get_by_text("All 120 clients")).to_be_visible()
    expect(visit.page.get_by_text("hold more risk than stated")).to_be_visible()
    visit.expect_nothing_sticks_out()
    visit.picture("clients")
    box = visit.page.get_by_role("combobox", name="Client")
    box.fill("C0007")
    box.press("Enter")
    visit.wait_until_idle()
    visit.expect_charts(3)
    visit.expect_nothing_sticks_out()
    visit.picture("client")
    page = visit.download("One-pager (HTML)", tmp_path).read_text()
    assert "<h1>C0007</h1>" in page
    assert "<script" not in page
    if CHROMIUM is not None and (width, scheme) == (1280, "light"):
        assert visit.download("One-pager (PDF)", tmp_path).read_bytes().startswith(b"%PDF")
        rows = pd.read_csv(visit.download("These clients (CSV)", tmp_path))
        assert len(rows) == 120
        assert rows["wealth"].gt(0).all()
        assert f"{rows.set_index('id').loc['C0007', 'score']:.0f} (" in page
    visit.close_in_peace()
