"""Runs of the app that wait after their third step until they are told to stop.

What a test clicks while a run works is then clicked while it works, however fast the machine is.
Run as a script this is the shell's `imop` with such runs.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from imop_app.jobs import JOBS
from imop_app.services import learning

WAITS_AFTER = 3


def waiting(every: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """The same steps; after the third one no other comes before somebody asks for a stop."""

    def steps(*arguments: Any) -> Iterator[Any]:
        for number, step in enumerate(every(*arguments), start=1):
            yield step
            while number >= WAITS_AFTER and not any(job._stop.is_set() for job in jobs()):
                time.sleep(0.01)

    return steps


def jobs() -> list[Any]:
    return list(JOBS._jobs.values())


if __name__ == "__main__":
    from imop_engine.cli import main

    os.environ["IMOP_WORKERS"] = "0"  # the steps are changed in this process
    learning._steps = waiting(learning._steps)
    main(sys.argv[1:])
