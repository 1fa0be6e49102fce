"""Claims: on a warm start the app's first page is painted within 3 seconds; the result of 1,000
decisions is on the screen within 2 seconds of the click; 100,000 uploaded investors stay usable.

A real browser drives the real app. Warm means that the server has shown its first page once. Every
repetition is a new visitor with an empty browser cache and a workspace of her own; the median of
five is held to its claim, and the worst is reported beside it. How usable 100,000 investors are is
what the three waits say: from the upload to the charts, from the click to the result, and to the
page of preferences. Results go to benchmarks/results/app.json and to docs/app.md.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REPETITIONS = 5
MANY = 100_000
PAINT, RESULT = "first paint, warm", "1,000 decisions: click to result"
LIMIT_SECONDS = {PAINT: 3.0, RESULT: 2.0}
RESULTS = Path(__file__).parent / "results" / "app.json"
PAGE = ROOT / "docs" / "app.md"
MARKS = ("<!-- app benchmark -->\n", "<!-- end of app benchmark -->")


def main() -> int:
    """Measure; return 1 when the median of a claim does not hold."""
    if find_spec("playwright") is None:
        print("app: playwright is not installed here, so the app is not measured")
        return 0
    from playwright.sync_api import sync_playwright

    from browser_harness import CHROMIUM, FLAGS, served

    if CHROMIUM is None:
        print("app: there is no chromium on this machine, so the app is not measured")
        return 0
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "streamlit": version("streamlit"),
        "cores": os.cpu_count(),
        "load before": round(os.getloadavg()[0], 2),
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        report["chromium"] = browser.version
        report["waits"] = [judged(name, found) for name, found in measure(browser, address).items()]
        browser.close()
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    write_page(report)
    for wait in report["waits"]:
        print(f"app: {wait['wait']}: {said(wait)}")
    return int(any(wait["holds"] is False for wait in report["waits"]))


def measure(browser: Browser, address: str) -> dict[str, list[float]]:
    """The seconds of every wait, in the order in which they are told."""
    from app_harness import history_file, portfolio_file
    from browser_harness import Visit, time_many

    first = Visit(browser, address)
    waits: dict[str, list[float]] = {"first paint, server just started": [first.first_paint]}
    first.close_in_peace()
    for _ in range(REPETITIONS):
        visit = Visit(browser, address)
        waits.setdefault(PAINT, []).append(visit.first_paint)
        visit.example()
        waits.setdefault(RESULT, []).append(visit.learn())
        visit.close_in_peace()
    visit = Visit(browser, address)
    many = time_many(visit, history_file(), portfolio_file("wide", MANY))
    visit.close_in_peace()
    return waits | {f"{MANY:,} investors: {step}": [found] for step, found in many.items()}


def judged(name: str, seconds: list[float]) -> dict[str, Any]:
    """Median and worst of a wait, held to its claim where there is one."""
    limit = LIMIT_SECONDS.get(name)
    median = statistics.median(seconds)
    return {
        "wait": name,
        "repetitions": len(seconds),
        "median": round(median, 2),
        "worst": round(max(seconds), 2),
        "claimed": limit,
        "holds": None if limit is None else median <= limit,
    }


def said(wait: dict[str, Any]) -> str:
    """One wait in a line."""
    if wait["repetitions"] == 1:
        return f"{wait['median']} s, once"
    line = f"median {wait['median']} s, worst {wait['worst']} s of {wait['repetitions']}"
    return line if wait["claimed"] is None else f"{line}; claimed: {wait['claimed']:g} s"


def write_page(report: dict[str, Any]) -> None:
    """Put the table into docs/app.md, between its marks."""
    head = "| wait | times | median, s | worst, s | claimed, s |\n|---|---:|---:|---:|---:|\n"
    lines = [
        f"| {wait['wait']} | {wait['repetitions']} | {wait['median']} | {wait['worst']} | "
        f"{'' if wait['claimed'] is None else format(wait['claimed'], 'g')} |\n"
        for wait in report["waits"]
    ]
    where = (
        f"\nOne run on {report['cores']} cores, Python {report['python']}, Streamlit "
        f"{report['streamlit']}, Chromium {report['chromium']}; the machine's load before it was "
        f"{report['load before']}. Browser and server share the cores.\n\n"
    )
    before, rest = PAGE.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    PAGE.write_text(before + MARKS[0] + where + head + "".join(lines) + "\n" + MARKS[1] + after)


if __name__ == "__main__":
    sys.exit(main())
