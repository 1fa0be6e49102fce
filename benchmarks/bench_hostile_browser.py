"""Claim: while somebody uploads a hostile file, another user's page answers within 1 second.

Two visitors of the app in Chromium. One uploads every file of tests/tables/hostile_files.py as
portfolios and waits for the sentence; the other searches the table of investors on her own page
meanwhile, again and again. Printed is how long she waits at most, beside what she waits while
nothing is read, and while somebody uploads a file that harms nobody: two pages that are drawn at
once share the machine whatever the file.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

LIMIT_PAGE = 1.0  # seconds
ALONE = 5  # searches while nothing is read
HARMLESS = b"investor,Security 1,Security 2\nAnn,0.5,0.5\nBob,0.2,0.8\n"
MOST_SEARCHES = 400  # while one file is read
# Notes when the page has been drawn again: running, then not.
WATCH = """() => {
  const app = document.querySelector('[data-testid=stApp]'), start = performance.now();
  let ran = false;
  window.took = null;
  new MutationObserver((_, watching) => {
    const state = app.getAttribute('data-test-script-state');
    ran = ran || state === 'running';
    if (ran && state === 'notRunning') {
      window.took = performance.now() - start;
      watching.disconnect();
    }
  }).observe(app, {attributes: true});
}"""


def main() -> int:
    """Print how long the other visitor waited for each file; return 1 when it was too long."""
    from playwright.sync_api import sync_playwright

    from browser_harness import CHROMIUM, FLAGS, served
    from tables.hostile_files import PORTFOLIOS

    if CHROMIUM is None:
        print("hostile, browser: there is no Chromium here")
        return 0
    broken = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as address,
        sync_playwright() as tool,
    ):
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        other = _visitor(browser, address)
        alone = max(_search(other, place) for place in range(ALONE))
        print(f"hostile, browser: alone she waits {alone:.2f} s at most", flush=True)
        for name, make in {"a harmless file": lambda: HARMLESS, **PORTFOLIOS}.items():
            waits, said = _read(browser, address, make(), other)
            broken += max(waits) > LIMIT_PAGE
            print(
                f"hostile, browser: {name}: the other waits {max(waits):.2f} s at most of "
                f"{len(waits)}; {said[:90]}",
                flush=True,
            )
        browser.close()
    return int(broken > 0)


def _visitor(browser: Any, address: str) -> Any:
    """A visitor on the Investors page of the example."""
    from browser_harness import Visit

    visit = Visit(browser, address)
    visit.example()
    visit.open("investors")
    return visit


def _read(browser: Any, address: str, content: bytes, other: Any) -> tuple[list[float], str]:
    """Upload the file as somebody else; how long the other waits meanwhile, and what is said."""
    visit = _visitor(browser, address)
    visit.choose("Upload portfolios")
    visit.page.evaluate(WATCH)
    visit.upload("investor_file", "bad.csv", content)
    waits: list[float] = []
    while len(waits) < MOST_SEARCHES:
        waits.append(_search(other, len(waits)))
        if visit.page.evaluate("window.took") is not None:
            break
    visit.wait_until_idle()
    alerts = visit.page.locator("[data-testid=stAlertContentError]")
    said = alerts.first.inner_text() if alerts.count() else "read"
    visit.context.close()
    return waits, " ".join(said.split())


def _search(visit: Any, place: int) -> float:
    """Look for an investor; the seconds until the page has been drawn again."""
    field = visit.key("investor_search").locator("input")
    visit.page.evaluate(WATCH)
    field.fill(f"I{100 + place:04d}-{visit.page.evaluate('Math.random()')}")
    field.press("Enter")
    visit.page.wait_for_function("window.took !== null")
    return float(visit.page.evaluate("window.took")) / 1000


if __name__ == "__main__":
    sys.exit(main())
