"""One process at a time, by a file that the operating system locks.

The lock belongs to the process, not to the file: it is gone when the process is, however that
ended. So a file that was left behind means nothing, and no rule has to guess how old is too old.
"""

from __future__ import annotations

import os
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

    Where the file system knows no locks nobody waits: work done twice is better than none. Who
    holds it may remove the file; whoever waited for that one then waits for the next.

    Args:
        path: the file to lock, made if need be; its content does not matter.
        waiting: called again and again, about five times a second, while another holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a") as file:
            while not _taken(file):
                if waiting is not None:
                    waiting()
                time.sleep(LOOK_SECONDS)
            if not _is_there(file, path):
                continue
            yield
            return


@contextmanager
def alone_or_not(path: Path) -> Iterator[bool]:
    """Whether nobody else holds the lock of a file; it is held meanwhile where nobody did."""
    with path.open("a") as file:
        yield _taken(file) and _is_there(file, path)


def _is_there(file: IO[str], path: Path) -> bool:
    """Whether the locked file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


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
