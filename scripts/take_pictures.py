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

from browser_harness import CHROMIUM, FLAGS, Visit, served  # noqa: E402

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


if __name__ == "__main__":
    main()
