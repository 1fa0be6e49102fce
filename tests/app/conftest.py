"""Every test of the app has a data folder of its own, and leaves no thread behind."""

import sys

import pytest

from imop_app.jobs import JOBS
from imop_engine import warm


@pytest.fixture(scope="session", autouse=True)
def prepared():
    """Pages wait for the numerical code, and tests for pages: after a change it is compiled here,
    once for all processes that test."""
    if not warm.is_ready():
        warm.run()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("IMOP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IMOP_CACHE", str(tmp_path / "cache"))
    # Tests look into runs and change parts of them: in threads of this process. What processes of
    # their own do is tested in test_workers.py.
    monkeypatch.setenv("IMOP_WORKERS", "0")
    # Streamlit makes the script it tests the main module and leaves it there; processes that a
    # later test starts would run it again.
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    yield tmp_path / "home"
    for name in list(JOBS._jobs):
        JOBS.drop(name)
