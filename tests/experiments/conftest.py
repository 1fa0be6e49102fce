"""One quick run of everything, shared by the tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from imop_engine.locking import alone

IMOP = Path(sys.executable).with_name("imop")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One for the whole run of tests: worker processes share what lies above their own."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "reproduce"


@pytest.fixture(scope="session")
def results(folder):
    told = folder.with_suffix(".json")
    with alone(folder.with_suffix(".lock")):  # whoever comes second finds it done
        if not told.exists():
            command = [IMOP, "reproduce", "all", "--quick", "--json", "--out", folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            told.write_text(done.stdout)
    return json.loads(told.read_text())


@pytest.fixture(scope="session")
def numbers(results):
    return {one["name"]: one["numbers"] for one in results["experiments"]}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Whatever needs that run is slow."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and "results" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
