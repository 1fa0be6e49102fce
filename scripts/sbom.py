"""What the image is made of, as CycloneDX: python scripts/sbom.py --out artifacts/sbom.json.

Names, versions and digests are those of constraints-image.txt, from which the image is installed;
licences are what the packages that are installed here say of themselves.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from imop_engine import __version__

ROOT = Path(__file__).resolve().parents[1]
PINNED = ROOT / "constraints-image.txt"
LINE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)\s*(?:;\s*(?P<when>.*))?$")
# What the image is: Linux, and the Python of its base.
IMAGE = {
    "os_name": "posix",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "python_version": "3.12",
    "python_full_version": "3.12.0",
}


@dataclass(frozen=True)
class Pinned:
    """One package: name, version, and the SHA-256 of every file it may be installed from."""

    name: str
    version: str
    digests: tuple[str, ...]


def pinned(text: str) -> list[Pinned]:
    """The packages of a file with digests that are installed on Linux.

    Args:
        text: Of the file, as `uv pip compile --generate-hashes` writes it.
    """
    found = []
    for block in text.replace("\\\n", " ").splitlines():
        line, *digests = block.split(" --hash=sha256:")
        said = LINE.match(line.strip())
        if said is None or not digests:
            raise ValueError(f"this is no package with its digests: {block[:80]!r}")
        if in_image(said["when"]):
            one = Pinned(said["name"], said["version"], tuple(part.strip() for part in digests))
            found.append(one)
    return found


def in_image(when: str | None) -> bool:
    """Whether a condition of the file holds in the image."""
    return when is None or Marker(when).evaluate(IMAGE)


def licence(name: str) -> str:
    """What an installed package says of its licence; empty where it says nothing or is not here."""
    try:
        about: Message = metadata.metadata(name)  # type: ignore[assignment]
    except metadata.PackageNotFoundError:
        return ""
    said = str(about.get("License-Expression") or "")
    if said:
        return said
    kinds = [str(one) for one in about.get_all("Classifier") or () if "License ::" in str(one)]
    names = [kind.rpartition(" :: ")[2] for kind in kinds]
    return "; ".join(names) or str(about.get("License") or "").strip().partition("\n")[0][:80]


def component(one: Pinned) -> dict[str, Any]:
    """A package in CycloneDX's words."""
    purl = f"pkg:pypi/{canonicalize_name(one.name)}@{one.version}"
    said = licence(one.name)
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": one.name,
        "version": one.version,
        "purl": purl,
        "properties": [{"name": "imop:sha256", "value": digest} for digest in one.digests],
    }
    return {**made, "licenses": [{"license": {"name": said}}]} if said else made


def document(packages: list[Pinned]) -> dict[str, Any]:
    """The whole list; the same packages always give the same one."""
    ours = f"pkg:pypi/imop@{__version__}"
    components = [component(one) for one in packages]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": ours,
                "name": "imop",
                "version": __version__,
                "purl": ours,
            }
        },
        "components": components,
        "dependencies": [{"ref": ours, "dependsOn": [one["bom-ref"] for one in components]}],
    }


def main() -> int:
    """Write the list; say how long it is, and which licences nobody stated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    made = document(pinned(PINNED.read_text()))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    unknown = [one["name"] for one in made["components"] if "licenses" not in one]
    print(f"{given.out}: {len(made['components'])} packages, {len(unknown)} say no licence")
    if unknown:
        print("  " + ", ".join(unknown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
