"""Every test of the app has a data folder of its own, and leaves no thread behind."""

import pytest

from imop_app.jobs import JOBS
from imop_app.services import learning


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("IMOP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IMOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(learning, "HEAD_START", 0.0)  # nobody looks at these pages
    yield tmp_path / "home"
    for name in list(JOBS._jobs):
        JOBS.drop(name)
