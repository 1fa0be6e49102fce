"""Known holes in the packages we depend on, by pip-audit where it can be had and may ask.

Run: python scripts/audit.py. Where there is no pip-audit or no database can be reached it says so
and ends with 0: an audit that could not be made is not a finding, and not a clean bill either.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
UV = Path(sys.executable).with_name("uv")
SECONDS = 300


def auditor() -> list[str] | None:
    """How pip-audit is called: as it is installed here, else by uv, which fetches it for once."""
    if importlib.util.find_spec("pip_audit") is not None:
        return [sys.executable, "-m", "pip_audit"]
    return [str(UV), "tool", "run", "--quiet", "pip-audit"] if UV.is_file() else None


def told(packages: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """The code to end with, and the lines to print, for what pip-audit found.

    Args:
        packages: Its "dependencies": name, version, and either "vulns" or "skip_reason".
    """
    asked = [one for one in packages if "skip_reason" not in one]
    left = [f"{one['name']}" for one in packages if "skip_reason" in one]
    holes = [
        f"{one['name']} {one['version']}: {hole['id']}, mended in "
        f"{', '.join(hole['fix_versions']) or 'no version yet'}"
        for one in asked
        for hole in one["vulns"]
    ]
    if not asked:
        return 0, ["Not audited: the database that can be reached here knows none of the packages."]
    lines = [f"{len(asked)} packages audited, {len(holes)} known holes.", *holes]
    if left:
        lines.append(f"Not audited, for the database does not know them: {', '.join(left)}.")
    return (1 if holes else 0), lines


def main() -> int:
    """Audit the pinned versions; 1 where a hole is known."""
    call = auditor()
    if call is None:
        print("Not audited: pip-audit is not installed (pip install pip-audit).")
        return 0
    pinned = ["--requirement", str(ROOT / "constraints.txt"), "--no-deps", "--format", "json"]
    try:
        done = subprocess.run(
            [*call, *pinned], capture_output=True, text=True, check=False, timeout=SECONDS
        )
        packages = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        print("Not audited: no database of known holes can be reached from here.")
        return 0
    code, lines = told(packages)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
