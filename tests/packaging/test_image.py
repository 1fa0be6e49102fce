"""What the image is made of: pinned, compared with digests, listed, audited where one may ask."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import audit  # noqa: E402
import sbom  # noqa: E402

IMAGE = (ROOT / "constraints-image.txt").read_text()
DIGEST = re.compile(r"[0-9a-f]{64}")


def test_the_image_has_the_versions_that_are_tested_and_a_digest_for_each():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    said = [sbom.LINE.match(line) for line in lines]
    tested = {one["name"]: one["version"] for one in said if one and sbom.in_image(one["when"])}
    packages = sbom.pinned(IMAGE)
    assert {one.name for one in packages} >= {"streamlit", "numba", "numpy", "setuptools"}
    for one in packages:
        assert tested[one.name] == one.version
        assert one.digests
        assert all(DIGEST.fullmatch(digest) for digest in one.digests)


def test_no_file_of_pins_names_an_address():
    for name in ("constraints.txt", "constraints-image.txt"):
        assert "://" not in (ROOT / name).read_text()


def test_the_image_is_installed_by_digests_and_its_base_can_be_named_by_one():
    said = (ROOT / "Dockerfile").read_text()
    assert "--require-hashes -r constraints-image.txt" in said
    assert f"ARG BASE=python:{sbom.IMAGE['python_version']}-" in said
    assert said.count("FROM ${BASE}${DIGEST:+@${DIGEST}}") == 2
    installs = [line for line in said.splitlines() if "pip install" in line]
    assert all("--require-hashes" in line or "--no-build-isolation" in line for line in installs)


def test_everything_the_project_needs_is_in_the_image():
    import tomllib

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    there = {canonicalize_name(one.name): one.version for one in sbom.pinned(IMAGE)}
    for line in wanted:
        needed = Requirement(line)
        assert needed.specifier.contains(there[canonicalize_name(needed.name)])


def test_the_list_of_what_the_image_is_made_of(tmp_path):
    out = tmp_path / "artifacts" / "sbom.json"
    command = [sys.executable, str(ROOT / "scripts" / "sbom.py"), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    first = out.read_text()
    subprocess.run(command, check=True, capture_output=True)
    assert out.read_text() == first, "the same packages, the same list"
    listed = {one["name"]: one for one in sbom.document(sbom.pinned(IMAGE))["components"]}
    assert listed["numpy"]["purl"].startswith("pkg:pypi/numpy@")
    assert listed["numpy"]["licenses"]
    assert "colorama" not in listed, "only Windows has it"


def test_a_line_without_a_digest_is_no_pin():
    with pytest.raises(ValueError, match="no package with its digests"):
        sbom.pinned("numpy==2.1.0\n")


def test_an_audit_that_nobody_answered_is_called_none():
    code, lines = audit.told([{"name": "numpy", "skip_reason": "not found"}])
    assert code == 0
    assert lines == [
        "Not audited: the database that can be reached here knows none of the packages."
    ]
    hole = {"id": "X-1", "fix_versions": ["2"]}
    asked = {"name": "a", "version": "1", "vulns": [hole]}
    code, lines = audit.told([asked, {"name": "b", "skip_reason": "not found"}])
    assert code == 1
    assert "a 1: X-1, mended in 2" in lines
    assert "know them: b." in lines[-1]
    assert audit.told([{**asked, "vulns": []}]) == (0, ["1 packages audited, 0 known holes."])
