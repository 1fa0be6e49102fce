"""The compose file, the proxy and their variables fit together, and hold no secret."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from imop_app import login

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
FOLDER = Path(__file__).resolve().parents[2] / "deploy"
COMPOSE = (FOLDER / "compose.yaml").read_text()
EXAMPLE = (FOLDER / "team.env.example").read_text()
SERVICES = yaml.safe_load(COMPOSE)["services"]
# The keys of the compose specification that a service here may have.
KNOWN = {
    "build", "cap_add", "cap_drop", "command", "depends_on", "environment", "healthcheck", "image",
    "mem_limit", "networks", "pids_limit", "ports", "read_only", "restart", "security_opt", "tmpfs",
    "volumes",
}  # fmt: skip


def test_every_service_is_as_the_specification_has_it():
    whole = yaml.safe_load(COMPOSE)
    assert set(whole) == {"name", "services", "networks", "volumes"}
    for name, service in SERVICES.items():
        assert set(service) <= KNOWN, name
        assert "image" in service, name
        assert set(service["networks"]) <= set(whole["networks"]), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in whole["volumes"] or (FOLDER / source).exists(), volume
        assert set(service.get("depends_on", [])) <= set(SERVICES), name


def test_only_the_proxy_is_reached_from_outside_and_the_database_reaches_nobody():
    assert [name for name, one in SERVICES.items() if "ports" in one] == ["proxy"]
    assert yaml.safe_load(COMPOSE)["networks"]["inside"]["internal"] is True
    assert SERVICES["database"]["networks"] == ["inside"]
    assert "inside" not in SERVICES["proxy"]["networks"]
    for name, service in SERVICES.items():
        assert "no-new-privileges:true" in service["security_opt"], name
        assert "mem_limit" in service, name


def test_every_variable_is_in_the_example_and_no_secret_is():
    needed = set(re.findall(r"\$\{(\w+):\?", COMPOSE))
    given = dict(line.split("=", 1) for line in EXAMPLE.splitlines() if re.match(r"\w+=", line))
    assert needed <= set(given)
    assert {name for name in given if "SECRET" in name or "PASSWORD" in name} <= {
        name for name, value in given.items() if not value
    }
    assert {login.VARIABLES[name] for name in login.NEEDED} <= set(SERVICES["app"]["environment"])


def test_the_app_in_the_image_serves_nobody_else_by_itself():
    dockerfile = (FOLDER.parent / "Dockerfile").read_text()
    assert 'CMD ["imop", "app", "--port", "8501"]' in dockerfile
    assert SERVICES["app"]["command"][:2] == ["imop", "app"]


@pytest.mark.skipif(shutil.which("caddy") is None, reason="there is no caddy on this machine")
def test_the_proxy_takes_its_file():
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(FOLDER / "Caddyfile")]
    around = {**os.environ, "STUDIO_HOST": "studio.example.com", "STUDIO_APPS": "app:8501"}
    done = subprocess.run(command, capture_output=True, text=True, env=around)
    assert done.returncode == 0, done.stderr[-2000:]
