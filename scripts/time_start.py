"""How long a newcomer waits: a fresh clone, `make app`, and the seconds until each thing is there.

Run from the checkout as `.venv/bin/python scripts/time_start.py [times]`, alone on the machine and
with the packages in the download cache. Best of several, because whatever else the machine does
only adds to it. Claimed: the page answers within 45 seconds and all is compiled within 90.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLAIMED = {"answers": 45.0, "painted": 45.0, "compiled": 90.0}
PATIENCE = 900.0  # seconds
LOOK_SECONDS = 0.1


def answers(address: str) -> bool:
    """Whether the server there answers."""
    try:
        with urllib.request.urlopen(address, timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def until(true, server: subprocess.Popen) -> None:
    """Wait until something is true, while the server is being made and lives."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("The app did not come up; `make app` in a fresh clone says why.")
        time.sleep(LOOK_SECONDS)


def paint(address: str) -> bool:
    """Open the page in a browser and wait for its first buttons; False without a browser."""
    sys.path.insert(0, str(ROOT / "tests"))
    from playwright.sync_api import sync_playwright

    from browser_harness import CHROMIUM, FLAGS

    if CHROMIUM is None:
        return False
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.goto(address)
        page.get_by_role("button", name="Example").first.wait_for(timeout=1000 * PATIENCE)
        browser.close()
    return True


def once(folder: Path) -> dict[str, float]:
    """Clone, make, and measure one start; the page stays open only until it is painted."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    surroundings = {**os.environ, "IMOP_HOME": str(folder / "home")}
    surroundings.pop("NUMBA_CACHE_DIR", None)
    began = time.monotonic()
    taken = {}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            ["make", "app", f"PORT={port}"],
            cwd=clone, env=surroundings, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        until(lambda: answers(address), server)
        taken["answers"] = time.monotonic() - began
        if paint(address):
            taken["painted"] = time.monotonic() - began
        kernels = clone / "imop_engine" / "kernels" / "__pycache__"
        until(lambda: any(kernels.glob("*/ready-*")), server)
        taken["compiled"] = time.monotonic() - began
    finally:
        os.killpg(server.pid, signal.SIGINT)
        server.wait()
    return taken


def main() -> None:
    """Measure as often as asked and print the best of each as JSON."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    load = os.getloadavg()[0]
    before = os.times()
    every = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            every.append(once(Path(folder)))
    after = os.times()
    spent = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    best = {name: round(min(one[name] for one in every), 1) for name in every[0]}
    report = {
        "best": best,
        "claimed": CLAIMED,
        "every": [{name: round(seconds, 1) for name, seconds in one.items()} for one in every],
        "processor_seconds_each": round(spent / times, 1),
        "cores": os.cpu_count(),
        "load_before": round(load, 2),
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
