"""The documentation as a site: it builds without a warning, and needs nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADED = re.compile(
    r'<(?:script|img|iframe|link rel="(?:stylesheet|preload)")[^>]*"(https?://[^"]+)"'
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WARNING" not in done.stderr
    return folder


@pytest.mark.slow
def test_no_page_loads_anything_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    loaded = {link for page in pages for link in LOADED.findall(page.read_text(encoding="utf-8"))}
    assert loaded == set()


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site):
    import imop_engine

    reference = "".join(page.read_text("utf-8") for page in (site / "reference").glob("*.html"))
    missing = [name for name in imop_engine.__all__ if name not in reference]
    assert missing == []


@pytest.mark.slow
@pytest.mark.browser
def test_the_search_works_from_the_disk(site, browser):
    page = browser.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "guide" / "analysts.html").as_uri())
    page.click("input.md-search__input")
    page.keyboard.type("risk aversion")
    page.wait_for_selector(".md-search-result__item a", timeout=600_000)
    page.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
