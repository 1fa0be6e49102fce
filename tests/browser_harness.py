"""What the browser tests share: the app started as a user starts it, and a visitor who notices."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

import imop_engine as imop
import waiting_runs
from imop_engine.curve import decisions
from servers import end, first_answer, reserved_port

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ARTIFACTS = Path(__file__).resolve().parents[1] / "artifacts"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Streamlit closes the rail after a tap only where the browser says that it is a phone's.
PHONE_WIDTH = 600
PHONE = {
    "is_mobile": True,
    "has_touch": True,
    "user_agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1",
}
PATIENCE = 600_000  # milliseconds; only what hangs takes so long, on however busy a machine
SETTLE = 150  # milliseconds
PAGES = (
    "market", "investors", "learn", "frontier", "preferences", "score", "clients", "report", "runs",
    "lab",
)  # fmt: skip
# On a page that is opened by its own address Streamlit's client first asks for its server below
# that address, gets a 404 and asks again at the root. That is how it finds out where it lives.
PROBES = re.compile(rf"/({'|'.join(PAGES)})/_stcore/(health|host-config)$")


IMOP = (str(Path(sys.executable).with_name("imop")),)
IMOP_THAT_WAITS = (sys.executable, str(Path(waiting_runs.__file__)))


@contextmanager
def served(
    folder: Path,
    imop: tuple[str, ...] = IMOP,
    more: Callable[[str], dict[str, str]] = lambda address: {},
    *,
    dies: bool = False,
) -> Iterator[str]:
    """The app, started away from the checkout as an installed one would be, and offline.

    `more` are variables of its environment, given its address. With `dies` it is killed in the
    end, as by a power cut, and not asked to end.
    """
    nowhere = "http://127.0.0.1:9"
    surroundings = {
        **os.environ,
        "NO_COLOR": "1",
        "IMOP_HOME": str(folder / "home"),
        "IMOP_CACHE": str(folder / "cache"),
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), nowhere),
        "NO_PROXY": "127.0.0.1",
    }
    with (folder / "log").open("a") as log, reserved_port() as port:
        address = f"http://127.0.0.1:{port}"
        command = [*imop, "app", "--port", str(port)]
        around = {**surroundings, **more(address)}
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=around)
        try:
            assert first_answer(f"{address}/_stcore/health", server) == "ok"
            yield address
            assert server.poll() is None, "the server died during the tests"
        finally:
            if dies:
                server.kill()
            end(server)
    assert address in (folder / "log").read_text()
    assert "Traceback" not in (folder / "log").read_text()


class Visit:
    """A browser tab, and everything that went wrong in it."""

    def __init__(
        self, browser: Browser, address: str, width: int = 1280, scheme: str = "light"
    ) -> None:
        self.address, self.width, self.scheme = address, width, scheme
        self.context = browser.new_context(
            # As tall as the longest page: a picture of the whole page needs no scrolling then.
            viewport={"width": width, "height": 1500},
            color_scheme=scheme,
            accept_downloads=True,
            **(PHONE if width < PHONE_WIDTH else {}),
        )
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.outside: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._request)
        self.page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        started = time.perf_counter()
        self.page.goto(address)
        expect(self.page.get_by_role("button", name=re.compile("Example")).first).to_be_visible()
        self.first_paint = time.perf_counter() - started

    def _console(self, message: Any) -> None:
        if message.type == "error" and not PROBES.search(message.location.get("url", "")):
            self.complaints.append(f"{message.text} {message.location}")

    def _request(self, request: Any) -> None:
        if not re.match(r"(http|ws)://127\.0\.0\.1:|data:|blob:", request.url):
            self.outside.append(request.url)

    @property
    def workspace(self) -> str:
        return re.search(r"workspace=([a-z0-9-]+)", self.page.url)[1]

    def wait_until_idle(self) -> None:
        """Wait until the page has been drawn: idle now and still idle a moment later.

        A click takes a moment to become a run, so that idle once may be idle too early. How long
        that moment is the server says itself: it answers a question of the page only after what
        was clicked before.
        """
        idle = "[data-testid=stApp][data-test-script-state=notRunning]"
        ask = "fetch('/_stcore/health', {cache: 'no-store'}).then(answer => answer.text())"
        for _ in range(2):
            self.page.wait_for_selector(idle)
            self.page.evaluate(ask)
            self.page.wait_for_timeout(SETTLE)
        self.page.wait_for_selector(idle)

    def key(self, name: str) -> Locator:
        """The part of the page with that key of ours."""
        return self.page.locator(f".st-key-{name}").first

    def press(self, name: str) -> None:
        """Press the button with that key."""
        self.key(name).get_by_role("button").first.click()

    def example(self, title: str = "Eight securities") -> None:
        self.page.get_by_role("button", name=re.compile(f"Example: {title}")).click()
        expect(self.key("status")).to_contain_text("1,000 simulated")
        self.wait_until_idle()

    def open(self, name: str) -> None:
        """Go to a page by the rail."""
        rail = self.page.get_by_test_id("stSidebarNav")
        if not rail.is_visible():
            self.page.get_by_test_id("stExpandSidebarButton").click()
        link = rail.get_by_role("link", name=re.compile(name, re.IGNORECASE))
        link.click()
        expect(self.title(name)).to_be_visible()
        self.wait_until_idle()

    def tab_to(self, name: str, most: int = 30) -> int:
        """Go on with the keyboard until what has the focus says this; the tab stops it took."""
        asked = "(document.activeElement.innerText || '').trim().split('\\n').at(-1).trim()"
        seen = []
        for stops in range(1, most + 1):
            self.page.keyboard.press("Tab")
            seen.append(self.page.evaluate(asked))
            if seen[-1].startswith(name):
                return stops
        raise AssertionError(f"{name} is not among {seen}")

    def title(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name.capitalize(), exact=True).first

    def learn(self) -> float:
        """Press Learn and wait for the result; the seconds between."""
        self.open("learn")
        started = time.perf_counter()
        self.press("learn_start")
        expect(self.page.get_by_text("What came out")).to_be_visible()
        expect(self.charts().nth(1)).to_be_visible()
        seconds = time.perf_counter() - started
        self.wait_until_idle()
        return seconds

    def charts(self) -> Locator:
        return self.page.locator(
            "[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg"
        )

    def expect_charts(self, count: int) -> None:
        if count:
            expect(self.charts().nth(count - 1)).to_be_attached()
        self.wait_until_idle()
        assert self.charts().count() == count
        for index in range(count):
            self.charts().nth(index).scroll_into_view_if_needed()
            box = self.charts().nth(index).bounding_box()
            assert box is not None
            assert box["width"] > 180
            assert box["height"] > 120

    def upload(self, key: str, name: str, content: bytes) -> None:
        self.key(key).locator("input[type=file]").set_input_files(
            {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        )

    def bring_history(self, content: bytes) -> None:
        """Make a file of returns the market."""
        self.choose("Upload a history")
        self.upload("market_file", "history.csv", content)
        expect(self.key("status")).to_contain_text("history.csv")
        self.wait_until_idle()

    def choose(self, label: str) -> None:
        """Press one part of a row of choices."""
        self.page.get_by_test_id("stButtonGroup").get_by_text(label, exact=True).click()
        self.wait_until_idle()

    def download(self, label: str, target: Path) -> Path:
        with self.page.expect_download() as coming:
            self.page.get_by_role("button", name=label, exact=True).first.click()
        coming.value.save_as(target / coming.value.suggested_filename)
        return target / coming.value.suggested_filename

    def picture(self, name: str) -> None:
        ARTIFACTS.mkdir(exist_ok=True)
        self.page.mouse.move(0, 0)
        self.page.screenshot(path=ARTIFACTS / f"{name}-{self.width}-{self.scheme}.png")

    def expect_nothing_sticks_out(self) -> None:
        overflow = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert overflow <= 0, "nothing sticks out to the side"

    def expect_peace(self) -> None:
        expect(self.page.get_by_test_id("stException")).to_have_count(0)
        assert self.page.locator("[data-testid=stAlertContentError]").count() == 0
        assert self.complaints == [], self.complaints
        assert self.outside == [], f"the page asks others: {self.outside}"

    def expect_access(self) -> None:
        """Nothing that axe calls serious: names, contrasts, order of headings."""
        # Vega draws the brush without a name and offers none; the chart around it has one.
        context = {"exclude": [[".brush_brush_bg"], [".brush_brush"]]}
        found = Axe().run(self.page, context=context).response["violations"]
        grave = [
            (one["id"], one["nodes"][0]["target"], one["nodes"][0]["failureSummary"])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert grave == [], grave

    def close_in_peace(self) -> None:
        self.expect_peace()
        self.context.close()


NAMES = ("Cash fund", "Bonds", "High yield", "Real estate", "World equity", "Emerging equity")
RETURNS = np.array([0.015, 0.025, 0.045, 0.055, 0.065, 0.085])
RISKS = np.array([0.01, 0.04, 0.08, 0.13, 0.16, 0.25])


def own_files(count: int = 120, seed: int = 8) -> tuple[bytes, bytes]:
    """A history of returns, and a wide file of amounts with a stated class."""
    rng = np.random.default_rng(seed)
    covariance = np.outer(RISKS, RISKS) * (0.3 + 0.7 * np.eye(len(NAMES)))
    days = pd.period_range("2010-01", periods=180, freq="M").to_timestamp().strftime("%Y-%m-%d")
    drawn = rng.multivariate_normal(RETURNS / 12, covariance / 12, len(days))
    history = pd.DataFrame(drawn, columns=list(NAMES), index=pd.Index(days, name="date"))
    weights = np.clip(rng.normal(0.35, 0.15, count), 0.05, 0.9)
    problem = imop.portfolio_problem(covariance, names=NAMES)
    held = imop.efficient_frontier(problem, RETURNS).at(weights)
    held = np.maximum(held + rng.normal(0.0, 0.02, held.shape), 0.0)
    amounts = held / held.sum(axis=1, keepdims=True) * rng.lognormal(11.5, 0.8, count)[:, None]
    table = pd.DataFrame(amounts.round(2), columns=list(NAMES))
    profile = np.where(weights < 0.2, "conservative", np.where(weights < 0.5, "balanced", "growth"))
    table.insert(0, "risk profile", profile)
    table.insert(0, "client", [f"C{number:04d}" for number in range(count)])
    return history.to_csv().encode(), table.to_csv(index=False).encode()


SCORES = (0.9, 0.6, 0.1, 0.5, 0.4, 0.2)


def scored_files(count: int = 240, seed: int = 5) -> tuple[bytes, bytes, bytes]:
    """A history, portfolios of investors who believe in it and give return for a score, scores.

    The stated class says who gives how much: a price of 0.5% a year for a unit, 2% or 5%.
    """
    history = pd.read_csv(io.BytesIO(own_files()[0]), index_col=0)
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, count)
    price = np.array([0.005, 0.02, 0.05])[kind] * rng.uniform(0.5, 1.5, count)
    bold = np.exp(rng.normal(np.log(0.25), 0.8, count))
    weights = np.column_stack([2 * bold, np.ones(count), 2 * bold * price])
    problem = imop.score_problem(12 * history.cov(), SCORES, bounds=(-1.0, 1.0))
    beliefs = 12 * history.mean().to_numpy()
    held = decisions(problem, beliefs, weights / weights.sum(axis=1, keepdims=True))
    table = pd.DataFrame(held.round(3), columns=list(NAMES))
    table.insert(0, "attitude", np.array(["indifferent", "interested", "devoted"])[kind])
    table.insert(0, "client", [f"C{number:04d}" for number in range(count)])
    scores = pd.DataFrame({"Asset": NAMES, "Score": SCORES})
    return (
        history.to_csv().encode(),
        table.to_csv(index=False).encode(),
        scores.to_csv(index=False, sep=";", decimal=",").encode(),
    )


def time_many(visit: Visit, history: bytes, portfolios: tuple[str, bytes]) -> dict[str, float]:
    """Bring a market and very many investors, learn, see who they are; the seconds of each wait."""
    seconds = {}
    visit.bring_history(history)
    visit.open("investors")
    visit.choose("Upload portfolios")
    started = time.perf_counter()
    visit.upload("investor_file", *portfolios)
    expect(visit.key("status")).to_contain_text(f"from {portfolios[0]}")
    visit.expect_charts(2)
    seconds["upload to charts"] = time.perf_counter() - started
    visit.wait_until_idle()
    visit.picture("many")
    seconds["click to result"] = visit.learn()
    started = time.perf_counter()
    visit.open("preferences")
    visit.expect_charts(7)
    seconds["preferences page"] = time.perf_counter() - started
    visit.picture("many-preferences")
    return seconds


def record(name: str, seconds: float) -> None:
    """Keep a measurement beside the pictures. What is claimed of it, benchmarks/bench_app.py tests:
    beside other work seconds say nothing of the app."""
    ARTIFACTS.mkdir(exist_ok=True)
    path = ARTIFACTS / "measured.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, name: round(seconds, 2)}, indent=1) + "\n")
