"""Compiling that a test controls: a process that says how far it is and ends when it is told to."""

from __future__ import annotations

import sys
from pathlib import Path

from imop_app.services.preparing import Preparation

# Started with a folder and the path of the status file. Each start adds a line to `starts`; what
# the file `ends` says line by line is how each start ends: a word to wait for a file of that name,
# then a code, or a negative signal by which it kills itself.
SCRIPT = """
import json, os, pathlib, sys, time

folder, status = map(pathlib.Path, sys.argv[1:])
with (folder / "starts").open("a") as starts:
    starts.write("start\\n")
number = len((folder / "starts").read_text().split()) - 1
ends = (folder / "ends").read_text().splitlines()
waits, code = ends[min(number, len(ends) - 1)].split()
half = status.with_suffix(".half")
half.write_text(json.dumps({"done": 3, "total": 7, "state": "compiling", "what": "the frontier"}))
half.replace(status)
while not (folder / waits).exists():
    time.sleep(0.02)
if int(code) < 0:
    os.kill(os.getpid(), -int(code))
if int(code) > 0:
    print("Traceback ...", "RuntimeError: the disk is full", sep="\\n", file=sys.stderr)
sys.exit(int(code))
"""


def command(folder: Path, *ends: str) -> tuple[str, ...]:
    """The command of a process that ends as `ends` say, start by start: "file code"."""
    (folder / "script.py").write_text(SCRIPT)
    (folder / "ends").write_text("\n".join(ends) + "\n")
    (folder / "now").touch()
    return (sys.executable, str(folder / "script.py"), str(folder))


def preparation(folder: Path, *ends: str) -> Preparation:
    """A preparation whose process ends as `ends` say."""
    return Preparation(lambda: False, command(folder, *ends))


def starts(folder: Path) -> int:
    """How often the process was started."""
    return len((folder / "starts").read_text().split())


if __name__ == "__main__":
    # The shell's `imop` on a machine where nothing is compiled: a folder, then its arguments. The
    # first try fails, the second ends when a file named "go" lies in the folder.
    from imop_app.services.preparing import PREPARATION
    from imop_engine.cli import main

    PREPARATION._is_ready = lambda: False
    PREPARATION._command = command(Path(sys.argv[1]), "fail 3", "go 0")
    main(sys.argv[2:])
