"""Who does work that comes in parts: this process, several of this machine, or a Dask cluster.

One function over a part and one reduction are written once; where they run is decided here. A task
is told what it needs and gives back what is small, so that nothing but files is ever shared. On a
cluster a worker that dies costs the tasks it was at: the scheduler gives them to another.

Dask takes a second or two to import, so it is loaded where a cluster is opened.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol, TypeVar

from imop_engine import gate
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.one_thread import one_thread
from imop_engine.versions import versions

P = TypeVar("P")
R = TypeVar("R")
Task = Callable[[P, Any], R]  # of a part, and of what all parts have in common

HERE: Final = "here"
PROCESSES: Final = "processes"
LOCAL: Final = "local"
ADDRESS: Final = re.compile(r"(tcp|tls)://\S+:\d+")
ANSWERS: Final = "20s"  # a scheduler that says nothing for so long is not there
FIRST_WORKER: Final = 60  # seconds until the first worker of a cluster must have come
NO_DASK: Final = (
    'a cluster needs Dask, which is not installed; install it with `pip install "imop[cluster]"`, '
    "or leave --cluster out."
)


class Workers(Protocol):
    """Those who do the work."""

    @property
    def name(self) -> str:
        """What they are, in words."""
        ...

    def each(
        self, task: Task[P, R], parts: Sequence[P], common: Any = None
    ) -> Iterator[tuple[int, R]]:
        """Do every part, in any order; whoever stops listening stops the work.

        Args:
            task: A function of a module, called with a part and with `common`.
            parts: What is to be done.
            common: What every part needs to know.

        Yields:
            The number of a part and what the function made of it.
        """
        ...


def in_order(
    workers: Workers,
    task: Task[P, R],
    parts: Sequence[P],
    common: Any = None,
    tell: Callable[[int, int], None] | None = None,
) -> list[R]:
    """What every part came to, in the order of the parts: sums have the same digits wherever
    they were made.

    Args:
        workers: Who does the work.
        task: A function of a module, called with a part and with `common`.
        parts: What is to be done.
        common: What every part needs to know.
        tell: Called with the number of parts that are done and of all.
    """
    found: dict[int, R] = {}
    for number, result in workers.each(task, parts, common):
        found[number] = result
        if tell is not None:
            tell(len(found), len(parts))
    return [found[number] for number in range(len(parts))]


class Here:
    """This process, one part after another."""

    name = "this process"

    def each(
        self, task: Task[P, R], parts: Sequence[P], common: Any = None
    ) -> Iterator[tuple[int, R]]:
        """Do every part; see `Workers`.

        Args:
            task: A function of a module, called with a part and with `common`.
            parts: What is to be done.
            common: What every part needs to know.
        """
        for number, part in enumerate(parts):
            yield _numbered(task, number, part, common)


class Processes:
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.name = f"{count} processes"

    def each(
        self, task: Task[P, R], parts: Sequence[P], common: Any = None
    ) -> Iterator[tuple[int, R]]:
        """Do every part; see `Workers`.

        Args:
            task: A function of a module, called with a part and with `common`.
            parts: What is to be done.
            common: What every part needs to know.
        """
        # joblib's processes are safe beside threads, and a script needs no main guard for them
        from joblib import Parallel, delayed

        run = Parallel(n_jobs=self.count, return_as="generator_unordered")
        yield from run(
            delayed(_numbered)(task, number, part, common) for number, part in enumerate(parts)
        )


class Cluster:
    """A Dask cluster.

    Args:
        client: The connection, a `distributed.Client`; whoever made it closes it.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        count = len(client.ncores())
        self.name = f"a Dask cluster of {count} worker{'s' if count != 1 else ''}"

    def each(
        self, task: Task[P, R], parts: Sequence[P], common: Any = None
    ) -> Iterator[tuple[int, R]]:
        """Do every part; see `Workers`.

        Args:
            task: A function of a module, called with a part and with `common`.
            parts: What is to be done.
            common: What every part needs to know.
        """
        import distributed

        untyped: Any = distributed
        # the result of a task, not scattered data: if the worker that has it dies it is made anew
        known = self.client.submit(_itself, common, pure=False)
        tasks = [
            self.client.submit(_numbered, task, number, part, known, pure=False)
            for number, part in enumerate(parts)
        ]
        try:
            for done in untyped.as_completed(tasks):
                yield done.result()
                done.release()  # or the scheduler would keep every answer until the end
        except distributed.KilledWorker as error:
            raise ImopError(
                f"a part of the work ended four workers, most often for want of memory ({error}). "
                "Give each worker more (--worker-memory 2GB), or write smaller row groups."
            ) from None
        finally:
            with suppress(Exception):  # a cluster that is gone has nothing to cancel
                self.client.cancel([one for one in tasks if not one.done()])


def _itself(common: Any) -> Any:
    return common


def _numbered(task: Task[P, R], number: int, part: P, common: Any) -> tuple[int, R]:
    with one_thread():
        return number, task(part, common)


@gate.public("imop_engine.workers")
@contextmanager
def open_workers(
    where: str | None = None, count: int | None = None, memory: str | None = None
) -> Iterator[Workers]:
    """Those who are to do the work, and an end to them afterwards.

    Args:
        where: "here" or None, "processes", "local" for a Dask cluster of this machine, or the
            address of a Dask scheduler, as tcp://host:8786 or tls://host:8786.
        count: How many processes or local workers; None: one for each processor.
        memory: The most that a local worker may take, as "1GB"; None: its share of the machine.

    Yields:
        The workers.
    """
    gate.whole(1, none=True)("count", count)
    for name, text in (("where", where), ("memory", memory)):
        gate.maybe_text(name, text)
    chosen = where or HERE
    if memory is not None and chosen != LOCAL:
        raise InvalidInput(
            "a limit of memory belongs to --cluster local; elsewhere workers have their own."
        )
    if chosen == HERE:
        yield Here()
        return
    number = count or os.cpu_count() or 1
    if chosen == PROCESSES:
        yield Processes(number)
        return
    if chosen != LOCAL and not ADDRESS.fullmatch(chosen):
        raise InvalidInput(
            f"--cluster is {chosen!r}; give here, processes, local, or the address of a Dask "
            "scheduler, for example tcp://scheduler:8786."
        )
    with _client(chosen, number, memory) as client:
        yield Cluster(client)


@contextmanager
def _client(where: str, count: int, memory: str | None) -> Iterator[Any]:
    try:
        import dask
        import distributed
    except ImportError:
        raise InvalidInput(NO_DASK) from None
    _quiet()
    untyped: Any = distributed
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        if where == LOCAL:
            limit = _bytes(memory) if memory is not None else "auto"
            with (
                untyped.LocalCluster(
                    n_workers=count, threads_per_worker=1, memory_limit=limit,
                    dashboard_address=None, silence_logs=50,
                ) as cluster,
                untyped.Client(cluster) as client,
            ):  # fmt: skip
                yield client
            return
        try:
            client = untyped.Client(where, timeout=ANSWERS)
        except (OSError, TimeoutError) as error:
            raise InvalidInput(
                f"no Dask scheduler answers at {where} ({_first_line(error)}); start one with "
                "`dask scheduler`, or name another."
            ) from None
        with client:
            _require_same_engine(client, where)
            yield client


def _quiet() -> None:
    """Why a worker died is told by our error, not by a page of log lines."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _bytes(memory: str) -> int:
    """A size such as 1GB.

    >>> _bytes("1GB"), _bytes("500 MiB")
    (1000000000, 524288000)
    """
    from dask.utils import parse_bytes

    try:
        found = int(parse_bytes(memory))
    except ValueError:
        found = 0
    if found < 1:
        raise InvalidInput(f"--worker-memory is {memory!r}; write it as 1GB or 800MiB.")
    return found


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _require_same_engine(client: Any, where: str) -> None:
    """Workers that compute with another version would give other digits."""
    try:
        client.wait_for_workers(1, timeout=FIRST_WORKER)
    except TimeoutError:
        raise InvalidInput(
            f"the Dask scheduler at {where} has no workers; start some with `dask worker {where}`."
        ) from None
    try:
        there = client.run(versions)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"a worker of {where} cannot load imop ({_first_line(error)}); install the same "
            "version on every worker."
        ) from None
    mine = versions()["imop"]
    for worker, found in there.items():
        if found["imop"] != mine:
            raise InvalidInput(
                f"the worker {worker} has imop {found['imop']} and this machine has {mine}; "
                "install the same version everywhere."
            )
