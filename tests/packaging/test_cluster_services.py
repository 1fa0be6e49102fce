"""The cluster's compose file: commands that exist, nothing published, limits everywhere."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SERVICES = yaml.safe_load((ROOT / "deploy" / "compose.cluster.yaml").read_text())["services"]


def test_nothing_is_published_and_every_service_is_limited():
    for name, service in SERVICES.items():
        assert "ports" not in service, name
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["networks"] == ["cluster"]
        assert service["mem_limit"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scheduler", "worker"])
def test_the_commands_are_those_that_dask_knows(name):
    program, command, *rest = SERVICES[name]["command"]
    assert program == "dask"
    dask = Path(sys.executable).parent / program
    done = subprocess.run([dask, command, "--help"], capture_output=True, text=True, check=True)
    for option in (one for one in rest if one.startswith("--")):
        bare = option.removeprefix("--no-")
        assert option in done.stdout or f"--{bare}/{option}" in done.stdout, option
