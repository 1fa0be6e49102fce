"""The app in a real browser: it starts, learns, draws, hands out a file, and nothing complains."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]

ARTIFACTS = Path(__file__).resolve().parents[2] / "artifacts"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_SECONDS = 90
PATIENCE = 60_000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_healthy(address: str, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert server.poll() is None, "the server ended before it answered"
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
    raise AssertionError(f"{address} did not answer within {START_SECONDS} seconds")


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    # Started away from the checkout, as an installed app would be.
    folder = tmp_path_factory.mktemp("elsewhere")
    port = free_port()
    command = [Path(sys.executable).with_name("imop"), "app", "--port", str(port)]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env={**os.environ, "NO_COLOR": "1"}
        )
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}", server)
            yield f"http://127.0.0.1:{port}"
            assert server.poll() is None, "the server died during the tests"
        finally:
            server.terminate()
            server.wait(timeout=20)
    assert f"http://127.0.0.1:{port}" in (folder / "log").read_text()
    assert "Traceback" not in (folder / "log").read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


class Visit:
    """A page, and everything that went wrong on it."""

    def __init__(
        self, browser: Browser, address: str, width: int, height: int, scheme: str
    ) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.outside: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._request)
        self.page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        self.page.goto(address)
        expect(self.page.get_by_text("Ready.")).to_be_visible()

    def _console(self, message) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _request(self, request) -> None:
        if not re.match(r"(http|ws)://127\.0\.0\.1:|data:|blob:", request.url):
            self.outside.append(request.url)

    def choose_us20(self) -> None:
        self.page.get_by_role("combobox").first.click()
        self.page.get_by_role("option", name="20 large US stocks").click()
        expect(self.page.get_by_text("20 large US stocks, 1,000 simulated")).to_be_visible()

    def learn(self) -> None:
        self.page.get_by_role("button", name=re.compile("Learn")).last.click()
        expect(self.page.get_by_text("Learned.")).to_be_visible()
        expect(self.page.get_by_test_id("stMetric")).to_have_count(5)

    def expect_charts(self, count: int) -> None:
        drawn = self.page.locator(
            "[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg"
        )
        expect(drawn).to_have_count(count)
        for index in range(count):
            drawn.nth(index).scroll_into_view_if_needed()
            box = drawn.nth(index).bounding_box()
            assert box is not None
            assert box["width"] > 200
            assert box["height"] > 150

    def picture(self, name: str) -> None:
        ARTIFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=ARTIFACTS / f"{name}.png")

    def close_in_peace(self) -> None:
        expect(self.page.get_by_test_id("stException")).to_have_count(0)
        expect(self.page.get_by_test_id("stAlert")).to_have_count(0)
        assert self.complaints == []
        assert self.outside == [], "the page asks nobody but its own server"
        self.context.close()


@pytest.mark.parametrize(
    ("width", "height", "scheme"),
    [(1440, 1400, "light"), (1280, 900, "dark"), (400, 900, "light")],
    ids=["desktop", "laptop, dark", "phone"],
)
def test_learning_from_first_sight_to_charts(browser, address, width, height, scheme):
    visit = Visit(browser, address, width, height, scheme)
    visit.expect_charts(2)
    visit.learn()
    visit.expect_charts(5)
    overflow = visit.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0, "nothing sticks out to the side"
    visit.page.get_by_text("What do your investors believe?").scroll_into_view_if_needed()
    visit.picture(f"studio-{width}-{scheme}")
    visit.close_in_peace()


def test_the_table_downloads_as_csv(browser, address, tmp_path):
    visit = Visit(browser, address, 1440, 1400, "light")
    visit.learn()
    with visit.page.expect_download() as coming:
        visit.page.get_by_role("button", name="Returns (CSV)").click()
    target = tmp_path / "returns.csv"
    coming.value.save_as(target)
    assert coming.value.suggested_filename == "returns.csv"
    table = pd.read_csv(target)
    assert table["asset"].tolist() == [f"Security {i}" for i in range(1, 9)]
    assert table["estimate"].between(0, 1).all()
    visit.close_in_peace()


def test_a_long_run_can_be_stopped_and_continued(browser, address):
    visit = Visit(browser, address, 1440, 1400, "light")
    page = visit.page
    visit.choose_us20()
    # So many investors that the run outlasts the click on Stop.
    count = page.get_by_role("spinbutton", name="Number of investors")
    count.fill("20000")
    count.press("Enter")
    expect(page.get_by_text("20,000 simulated investors")).to_be_visible()
    page.get_by_role("button", name=re.compile("Learn")).last.click()
    page.locator("[data-testid=stMain]").get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped")).to_be_visible()
    visit.picture("studio-stopped")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Learned.")).to_be_visible()
    visit.close_in_peace()


def test_the_other_market(browser, address):
    visit = Visit(browser, address, 1440, 1400, "dark")
    visit.choose_us20()
    visit.learn()
    visit.expect_charts(5)
    visit.picture("studio-us20-dark")
    visit.close_in_peace()
