"""One quick run of everything, shared by the tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

IMOP = Path(sys.executable).with_name("imop")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reproduce")


@pytest.fixture(scope="session")
def results(folder):
    command = [IMOP, "reproduce", "all", "--quick", "--json", "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
