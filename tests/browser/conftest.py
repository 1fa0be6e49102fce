"""One server and one browser for all tests of this folder."""

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import sync_playwright

from browser_harness import CHROMIUM, FLAGS, IMOP_THAT_WAITS, Visit, served
from imop_engine import warm


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    if not warm.is_ready():  # after a change of the numerical code; pages would wait for it
        warm.run()
    with served(tmp_path_factory.mktemp("elsewhere")) as found:
        yield found


@pytest.fixture
def address_of_waiting_runs(tmp_path):
    """Another server, whose runs wait after their third step until they are told to stop."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with served(tmp_path, IMOP_THAT_WAITS) as found:
        yield found


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, address):
    opened = Visit(browser, address)
    yield opened
    opened.context.close()
