"""The app's worker with runs that do what a file of a test says.

`waits`: a run that starts anew waits after its third step until it is stopped or killed.
`waits always`: also one that goes on. `spins`: it computes for ever. `full`: its disk is full.
So what a test does while a run works it does while it works, however fast the machine is.
"""

import errno
import os
import sys
import time
from pathlib import Path

from imop_app import worker
from imop_engine import storage

WAITS_AFTER = 3
every = worker._Run._steps
write = storage.manifest.write


def signals(request) -> Path:
    """Where a test says what the runs of a workspace do."""
    return Path(request["store"]["IMOP_HOME"]) / "signals" / request["workspace"]


def steps(self, state=None):
    folder = signals(self._request)
    waits = state is None and not self._request["go_on"] and (folder / "waits").exists()
    waits = waits or (folder / "waits always").exists()
    for number, step in enumerate(every(self, state), start=1):
        yield step
        while (folder / "spins").exists():
            pass
        while waits and number >= WAITS_AFTER and not self._job._stop.is_set():
            time.sleep(0.01)


def full(folder, version):
    if any((Path(os.environ["IMOP_HOME"]) / "signals").glob("*/full")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return write(folder, version)


if __name__ == "__main__":
    worker._Run._steps = steps
    storage.manifest.write = full
    worker.main(int(sys.argv[1]))
