"""Take the pictures of the app that the README and docs/app.md show.

`.venv/bin/python scripts/take_pictures.py`; needs a chromium, as the browser tests do.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from playwright.sync_api import Browser, expect, sync_playwright  # noqa: E402

from browser_harness import CHROMIUM, FLAGS, Visit, own_files, scored_files, served  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SIZE = {"width": 1280, "height": 960}


def take(visit: Visit, name: str) -> None:
    """One picture of what is on the screen."""
    visit.wait_until_idle()
    visit.page.wait_for_timeout(1500)  # charts fade in
    visit.page.mouse.move(0, 0)
    visit.page.screenshot(path=IMAGES / f"{name}.png")


def light(browser: Browser, address: str) -> None:
    """Frontier, preferences with a brush, and the laboratory half-way."""
    visit = Visit(browser, address)
    visit.page.set_viewport_size(SIZE)
    visit.example()
    visit.learn()
    visit.open("frontier")
    take(visit, "frontier")
    visit.open("preferences")
    box = visit.charts().first.bounding_box()
    across, middle = box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5
    visit.page.mouse.move(across, middle)
    visit.page.mouse.down()
    visit.page.mouse.move(across + box["width"] * 0.2, middle, steps=8)
    visit.page.mouse.up()
    expect(visit.page.get_by_text("investors chosen")).to_be_visible()
    take(visit, "preferences")
    visit.open("lab")
    for seen in (100, 200):
        visit.press("lab_step_100")
        expect(visit.page.get_by_text(f"{seen} of 1,000 decisions")).to_be_visible()
        visit.wait_until_idle()
    take(visit, "lab")
    visit.context.close()


def dark(browser: Browser, address: str) -> None:
    """The market of twenty stocks in the dark theme."""
    visit = Visit(browser, address, scheme="dark")
    visit.page.set_viewport_size(SIZE)
    visit.example("20 large US stocks")
    take(visit, "market-dark")
    visit.context.close()


def own(browser: Browser, address: str) -> None:
    """Clients of a file with amounts: what they leave on the table, and the page of one."""
    visit = Visit(browser, address, 1200)
    history, portfolios = own_files()
    visit.bring_history(history)
    visit.open("investors")
    visit.choose("Upload portfolios")
    visit.upload("investor_file", "clients.csv", portfolios)
    expect(visit.key("status")).to_contain_text("120 from clients.csv")
    visit.wait_until_idle()
    visit.learn()
    visit.open("preferences")
    visit.page.set_viewport_size({"width": 1200, "height": 4000})
    between(visit, "gaps", "Money left on the table", "By segment")
    visit.open("clients")
    box = visit.page.get_by_role("combobox", name="Client")
    box.fill("C0007")
    box.press("Enter")
    visit.expect_charts(3)
    between(visit, "client", "C0007", None)
    visit.context.close()


def scored(browser: Browser, address: str) -> None:
    """What investors give for a score of the assets."""
    visit = Visit(browser, address, 1200)
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
    visit.expect_charts(6)
    visit.page.set_viewport_size({"width": 1200, "height": 4000})
    between(visit, "score", "What the score is worth to them", None)
    visit.context.close()


def between(visit: Visit, name: str, first: str, after: str | None) -> None:
    """A picture of the page from one heading to another, at most as high as the others."""
    visit.wait_until_idle()
    visit.page.wait_for_timeout(1500)  # charts fade in
    top = visit.page.get_by_role("heading", name=first, exact=True).first.bounding_box()
    assert top is not None
    end = None if after is None else visit.page.get_by_role("heading", name=after).bounding_box()
    low = top["y"] + SIZE["height"] if end is None else end["y"] - 12
    clip = {"x": top["x"] - 30, "y": top["y"] - 20, "width": top["width"] + 60}
    visit.page.screenshot(path=IMAGES / f"{name}.png", clip={**clip, "height": low - clip["y"]})


def main() -> None:
    """Serve the app, take all pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        light(browser, address)
        dark(browser, address)
        scored(browser, address)
        own(browser, address)


if __name__ == "__main__":
    main()
