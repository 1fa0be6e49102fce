"""Whole journeys in a real browser: from data to a file in hand, and nothing complains."""

import re

import pandas as pd
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import expect

from app_harness import history_file, history_names, portfolio_file
from browser_harness import PAGES, PHONE_WIDTH, Visit, record, time_many

pytestmark = pytest.mark.browser

NEXT = {"frontier": "See the preferences", "preferences": "Get the report"}
CHARTS = {"market": 3, "investors": 2, "learn": 4, "frontier": 6, "preferences": 5, "lab": 2}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_from_an_example(browser, address, width, scheme):
    visit = Visit(browser, address, width, scheme)
    visit.picture("welcome")
    if width > PHONE_WIDTH:
        visit.expect_access()
    visit.example("20 large US stocks" if scheme == "dark" else "Eight securities")
    visit.learn()
    for name in PAGES:
        visit.open(name)
        visit.expect_charts(CHARTS.get(name, 0))
        visit.expect_nothing_sticks_out()
        expect(visit.key("status")).to_contain_text(NEXT.get(name, "Read the frontier"))
        visit.title(name).scroll_into_view_if_needed()
        visit.picture(name)
        visit.expect_peace()
        if width > PHONE_WIDTH:
            visit.expect_access()
    visit.close_in_peace()


def test_bundled_data_to_exports(visit, tmp_path):
    record("first paint", visit.first_paint)
    visit.example()
    record("1,000 decisions: click to result", visit.learn())
    visit.open("report")
    visit.page.get_by_role("textbox", name="Title").fill("Our clients")
    visit.page.get_by_role("textbox", name="Title").press("Enter")
    visit.wait_until_idle()
    table = pd.read_csv(visit.download("Returns (CSV)", tmp_path))
    assert table["asset"].tolist() == [f"Security {i}" for i in range(1, 9)]
    assert table["estimate"].between(0, 1).all()
    sheets = pd.read_excel(visit.download("All tables (Excel)", tmp_path), sheet_name=None)
    assert len(sheets["investors"]) == 1000
    report = visit.download("Report (HTML)", tmp_path).read_text()
    assert "<h1>Our clients</h1>" in report
    assert "<script" not in report
    assert visit.download("SVG", tmp_path).read_bytes().startswith(b"<svg")
    visit.page.get_by_text("Preview", exact=True).click()
    frame = visit.page.frame_locator("iframe").first
    expect(frame.get_by_role("heading", name="Our clients")).to_be_visible()
    visit.expect_peace()


def test_uploads_wide_long_excel_and_broken(visit, tmp_path):
    visit.choose("Upload a history")
    visit.upload("market_file", "history.csv", history_file())
    expect(visit.key("status")).to_contain_text("history.csv")
    visit.wait_until_idle()
    visit.picture("upload-market")
    visit.open("investors")
    visit.choose("Upload portfolios")
    for form in ("wide", "long", "xlsx"):
        name, content = portfolio_file(form)
        visit.upload("investor_file", name, content)
        expect(visit.key("status")).to_contain_text(f"80 from {name}")
        expect(visit.page.get_by_text(f"80 investors from {name}")).to_be_visible()
        visit.wait_until_idle()
        visit.page.get_by_role("button", name=f"Remove {name}").click()
        visit.wait_until_idle()
    visit.upload("investor_file", "poem.csv", b"roses,are\nred,blue\n")
    expect(visit.page.get_by_test_id("stAlert")).to_contain_text("poem.csv")
    visit.picture("upload-refused")
    visit.page.get_by_role("button", name="Remove poem.csv").click()
    visit.wait_until_idle()
    name, content = portfolio_file("broken")
    visit.upload("investor_file", name, content)
    expect(visit.key("status")).to_contain_text("from broken.csv")
    expect(visit.page.get_by_text(re.compile("broken.csv: 80 rows read"))).to_be_visible()
    visit.wait_until_idle()
    visit.picture("upload-investors")
    visit.learn()
    visit.open("report")
    table = pd.read_csv(visit.download("Returns (CSV)", tmp_path))
    assert table["asset"].tolist() == history_names()
    people = pd.read_csv(visit.download("Investors (CSV)", tmp_path))
    assert {"segment", "age"} <= set(people.columns)
    visit.close_in_peace()


def test_stop_look_elsewhere_reload_and_resume(browser, address_of_waiting_runs):
    visit = Visit(browser, address_of_waiting_runs)
    visit.example("20 large US stocks")
    visit.open("learn")
    visit.press("learn_start")
    expect(visit.key("progress")).to_contain_text("of 1,000")
    visit.open("market")
    expect(visit.key("progress")).to_contain_text("of 1,000")
    visit.picture("running")
    visit.press("stop_run")
    expect(visit.key("status")).to_contain_text("Stopped: resume")
    visit.open("learn")
    expect(visit.page.get_by_text("Stopped after")).to_be_visible()
    visit.picture("stopped")
    visit.page.reload()
    expect(visit.page.get_by_text("Stopped after")).to_be_visible()
    visit.press("learn_resume")
    expect(visit.key("progress")).to_contain_text("Learning")
    visit.press("stop_run")
    expect(visit.page.get_by_text("Stopped after")).to_be_visible()
    visit.close_in_peace()


def test_a_reload_brings_everything_back(visit):
    visit.example()
    visit.learn()
    where = visit.workspace
    visit.page.reload()
    expect(visit.page.get_by_text("What came out")).to_be_visible()
    assert visit.workspace == where
    visit.open("investors")
    expect(visit.page.get_by_role("spinbutton", name="Number of investors")).to_have_value("1000")
    other = visit.context.new_page()
    other.goto(f"{visit.address}/frontier?workspace={where}")
    expect(other.get_by_text("Table of returns")).to_be_visible()
    expect(visit.page.get_by_test_id("stException")).to_have_count(0)
    visit.close_in_peace()


def test_two_runs_compared_and_one_deleted(visit):
    visit.example()
    visit.learn()
    visit.page.get_by_role("combobox", name=re.compile("Weights tried")).click()
    visit.page.get_by_role("option", name="A grid of 41").click()
    expect(visit.key("status")).to_contain_text("Changed: learn again")
    visit.wait_until_idle()
    visit.press("learn_start")
    expect(visit.key("status")).to_contain_text("Read the frontier")
    visit.open("runs")
    expect(visit.page.get_by_role("heading", name="Compare two")).to_be_visible()
    visit.expect_charts(3)
    visit.picture("runs-compared")
    table = visit.page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    visit.page.mouse.click(box["x"] + 20, box["y"] + 50)  # the mark before the first row
    expect(visit.page.get_by_text("imop learn").first).to_be_visible()
    visit.picture("runs-one")
    visit.press("run_delete")
    visit.page.get_by_role("button", name="Delete for good").click()
    expect(visit.page.get_by_role("heading", name="Compare two")).to_have_count(0)
    visit.close_in_peace()


def test_offline_tickers_end_in_a_sentence(visit):
    visit.choose("Tickers")
    visit.page.get_by_role("textbox", name="Ticker symbols").fill("AAPL, MSFT")
    visit.page.get_by_role("button", name="Download").click()
    expect(visit.page.get_by_test_id("stAlert")).to_contain_text("AAPL")
    visit.picture("offline")
    assert visit.complaints == []
    assert visit.outside == []


def test_brushing_the_histogram_chooses_investors(visit):
    visit.example()
    visit.learn()
    visit.open("preferences")
    expect(visit.page.get_by_text("All 1,000 investors")).to_be_visible()
    box = visit.charts().first.bounding_box()
    across, middle = box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5
    visit.page.mouse.move(across, middle)
    visit.page.mouse.down()
    visit.page.mouse.move(across + box["width"] * 0.2, middle, steps=8)
    visit.page.mouse.up()
    expect(visit.page.get_by_text("investors chosen")).to_be_visible()
    visit.wait_until_idle()
    visit.picture("brushed")
    visit.close_in_peace()


def test_an_investor_on_click(visit):
    visit.example()
    visit.open("investors")
    box = visit.charts().first.bounding_box()
    table = visit.page.get_by_test_id("stDataFrame").first.bounding_box()
    assert box is not None
    visit.page.mouse.click(table["x"] + 20, table["y"] + 50)
    visit.expect_charts(3)
    visit.picture("investor")
    visit.close_in_peace()


def test_the_laboratory_plays(visit):
    visit.open("lab")
    visit.press("lab_play")
    progress = visit.page.get_by_text(re.compile(r"of 1,000 decisions"))
    # Whether anybody can press Pause before is the machine's affair (tests/app does it instead).
    expect(progress).to_contain_text("1,000 of 1,000 decisions")
    visit.press("lab_again")
    visit.press("lab_step_100")
    expect(progress).to_contain_text("100 of 1,000 decisions")
    visit.press("lab_step_10")
    expect(progress).to_contain_text("110 of 1,000 decisions")
    visit.picture("lab-playing")
    visit.close_in_peace()


def test_a_hundred_thousand_uploaded_investors_stay_usable(visit):
    seconds = time_many(visit, history_file(), portfolio_file("wide", 100_000))
    for step, measured in seconds.items():
        record(f"100,000 investors: {step}", measured)
    visit.close_in_peace()


def test_the_keyboard_reaches_what_the_mouse_does(visit):
    page = visit.page
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.innerText") or "")
    text = " ".join(reached)
    assert "Example: Eight securities" in text
    assert "Learn" in text
    visit.close_in_peace()


def test_the_keyboard_alone_comes_to_the_report_in_under_thirty_tab_stops(visit):
    page = visit.page
    stops = visit.tab_to("Example: Eight securities")
    page.keyboard.press("Enter")
    expect(visit.key("status")).to_contain_text("1,000 simulated")
    steps = (  # what the next step in the strip says, and what it leads to; it has the focus
        ("link", "Next: learn", visit.title("learn")),
        ("button", "Next: learn", page.get_by_text("What came out").first),
        ("link", "Read the frontier", page.get_by_text("Table of returns").first),
        ("link", "See the preferences", page.get_by_text("Money left on the table").first),
        ("link", "Get the report", page.get_by_role("heading", name="The report").first),
    )
    for role, name, reached in steps:
        expect(visit.key("next_step").get_by_role(role, name=name).first).to_be_focused()
        page.keyboard.press("Enter")
        expect(reached).to_be_visible()
        visit.wait_until_idle()
    stops += visit.tab_to("Report (HTML)")
    assert stops < 30, stops
    visit.close_in_peace()
