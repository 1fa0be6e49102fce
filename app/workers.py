"""The processes that learn and open studies, so that the one that serves pages does neither.

One process loads the numerical code and waits (`imop_app.worker`); every run and every study that
is opened is a fork of it, with limits of its own. How many work at once, and what each may spend,
can be set by environment variables; IMOP_WORKERS=0 works in threads of the server, as does a
system that cannot fork.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
from dataclasses import asdict, dataclass
from typing import Any, Final

from imop_app.database import Place
from imop_app.environment import chosen_number
from imop_app.queueing import Queue
from imop_engine.forking import CAN_FORK, ForkingProcess, receive
from imop_engine.tables.transport import packed

WORKERS: Final = "IMOP_WORKERS"
MEMORY: Final = "IMOP_JOB_MEMORY"  # megabytes
SECONDS: Final = "IMOP_JOB_SECONDS"  # of processor time
MEGABYTE: Final = 1_000_000
# All jobs together may have this share of the machine's memory, and each of them this much.
MEMORY_SHARE: Final = 0.6
LEAST_MEMORY: Final = 1_000 * MEGABYTE
USUAL_SECONDS: Final = 4 * 3600
HOUR: Final = 3600

# What a worker says, and what it is told.
BEGUN, STEP, PART, TROUBLE = b"B", b"P", b"N", b"T"
FINISHED, STOPPED, FAILED = b"F", b"S", b"X"
STOP, AGAIN = b"s", b"a"


def places() -> int:
    """How many jobs work at once: one for each core, as they give way to pages; 0: threads."""
    if not CAN_FORK:
        return 0
    return chosen_number(WORKERS, os.cpu_count() or 1, least=0)


def use_processes() -> bool:
    """Whether jobs work in processes of their own."""
    return places() > 0


@dataclass(frozen=True)
class JobLimits:
    """What one job may spend.

    Args:
        seconds: Of processor time.
        memory: Bytes.
    """

    seconds: int
    memory: int

    @classmethod
    def chosen(cls) -> JobLimits:
        """As the environment says, or by the size of this machine."""
        share = int(MEMORY_SHARE * _machine_memory() / max(1, places()))
        usual = max(LEAST_MEMORY, share) // MEGABYTE
        memory = chosen_number(MEMORY, usual, least=1) * MEGABYTE
        return cls(chosen_number(SECONDS, USUAL_SECONDS, least=1), memory)

    def out_of_memory(self) -> str:
        """The sentence where the memory is spent."""
        return (
            f"The run needs more than the {self.memory / MEGABYTE:,.0f} MB of memory that one run "
            f"may take here. Learn from fewer investors, or start the app with a larger {MEMORY}."
        )

    def out_of_time(self) -> str:
        """The sentence where the processor time is spent."""
        spent = self.seconds
        said = f"{spent / HOUR:g} hours" if spent >= HOUR else f"{spent} seconds"
        return (
            f"The run was ended after {said} of processor time, which is what one run may take "
            f"here. Resume goes on from its last checkpoint for as long again; {SECONDS} sets "
            "another limit."
        )


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 0


def store() -> dict[str, str]:
    """What a process of its own is told of the store: it was started before, and elsewhere."""
    place = Place.chosen()
    return {"IMOP_HOME": str(place.home), "IMOP_STORE": place.url}


def ended(said: bytes | bytearray) -> dict[str, Any]:
    """How a worker ended: its status, processor seconds and memory."""
    read: dict[str, Any] = json.loads(bytes(said))
    return read


def by_its_limits(status: int | None, limits: JobLimits) -> str | None:
    """The sentence where a worker ended because it spent what it may; None where not.

    Args:
        status: How it ended, as the system says: negative is the number of a signal.
        limits: What it could spend.
    """
    if status is None or os.name == "nt":
        return None
    if status == -signal.SIGXCPU:
        return limits.out_of_time()
    return limits.out_of_memory() if status == -signal.SIGABRT else None


def how(status: int | None, limits: JobLimits) -> str:
    """In what way a worker ended, in a few words.

    Args:
        status: How it ended, as the system says: negative is the number of a signal.
        limits: What it could spend.
    """
    if status is None:
        return "is gone"
    if status in (-signal.SIGSEGV, -signal.SIGBUS):
        # compiled code of others that does not ask whether it got the memory it wanted
        return (
            f"ended within compiled code (signal {-status}), as where it needs more than the "
            f"{limits.memory / MEGABYTE:,.0f} MB of memory that one run may take here ({MEMORY})"
        )
    if status < 0:
        return f"was ended from outside (signal {-status})"
    return f"ended with code {status}"


PROCESS: Final = ForkingProcess("imop_app.worker")
LEARNING: Final = Queue(places)
# Beside those who learn: whoever wants to see a study waits for the page.
OPENING: Final = Queue(places)


def start() -> None:
    """Start the process that waits for jobs ahead of the first; does nothing where it runs."""
    if use_processes():
        PROCESS.start()


def wait_until_ready() -> None:
    """Wait until the process has loaded what jobs need; where jobs work in threads, not at all."""
    if use_processes():
        request = {"what": "nothing", "limits": asdict(JobLimits.chosen())}
        with PROCESS.asked(packed(request)) as connection:
            receive(connection)


atexit.register(PROCESS.close)
