"""One process at a time, by a file that the operating system locks.

The lock belongs to the process, not to the file: it is gone when the process is, however that
ended. So a file that was left behind means nothing, and no rule has to guess how old is too old.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

LOOK_SECONDS: Final = 0.2


@contextmanager
def alone(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock of a file; wait while another process holds it.

    Where the file system knows no locks nobody waits: work done twice is better than none.

    Args:
        path: the file to lock, made if need be; its content does not matter.
        waiting: called again and again, about five times a second, while another holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        while not _taken(file):
            if waiting is not None:
                waiting()
            time.sleep(LOOK_SECONDS)
        yield


if sys.platform == "win32":

    def _taken(file: IO[str]) -> bool:
        import msvcrt

        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        except OSError:
            return True
        return True

else:

    def _taken(file: IO[str]) -> bool:
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True
