"""Work in processes of its own: one loads what is needed and waits, a fork of it does one job.

Loading takes seconds, a fork a moment. Whatever a job does to its process, memory and processor
time are given back when it ends, others do not notice; and when nobody waits for a job any more,
its process ends. Messages are a byte that says what it is, a length, and the content.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

RESULT, END = b"R", b"E"
HEADER_BYTES: Final = 9
CAN_FORK: Final = hasattr(os, "fork") and hasattr(socket, "send_fds")
# One thread each: a fork copies one thread, and limits count what all of them hold.
ENVIRONMENT: Final = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class DoesNotStart(Exception):
    """The process that waits for jobs cannot be started."""


# -- messages ------------------------------------------------------------------------------------
def send(connection: socket.socket, kind: bytes, content: bytes) -> None:
    """Send one message.

    Args:
        connection: To whom.
        kind: One byte that says what it is.
        content: Of the message.
    """
    connection.sendall(kind + len(content).to_bytes(8, "big"))
    connection.sendall(content)


def receive(connection: socket.socket) -> tuple[bytes, bytearray] | None:
    """The next message, its kind and its content; None where nobody is there any more."""
    header = _exactly(connection, HEADER_BYTES)
    if header is None:
        return None
    content = _exactly(connection, int.from_bytes(header[1:], "big"))
    return None if content is None else (bytes(header[:1]), content)


def _exactly(connection: socket.socket, count: int) -> bytearray | None:
    """So many bytes; None where the other end closed before."""
    content = bytearray(count)
    view, place = memoryview(content), 0
    while place < count:
        got = connection.recv_into(view[place:])
        if not got:
            return None
        place += got
    return content


# -- the process that waits, and its forks -------------------------------------------------------
def serve(descriptor: int, work: Callable[[socket.socket, bytearray], None]) -> None:
    """Fork for every connection that is handed over, until the process that started this is gone.

    Args:
        descriptor: Of the socket on which connections are handed over.
        work: Called in a process of its own, with a connection and the request that came on it.
    """
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here asks how children ended
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the shell's Ctrl-C is for the one who asked
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _supervise(socket.socket(fileno=descriptors[0]), work)
            os._exit(0)
        os.close(descriptors[0])


def _supervise(connection: socket.socket, work: Callable[[socket.socket, bytearray], None]) -> None:
    """Work in a child, and say how it ended and what it took."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request = receive(connection)
    if request is None:
        return
    child = os.fork()
    if child == 0:
        work(connection, request[1])
        os._exit(0)
    _, status, used = os.wait4(child, 0)
    ended = {
        "status": os.waitstatus_to_exitcode(status),
        "seconds": used.ru_utime + used.ru_stime,
        "memory": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    with suppress(OSError):  # nobody may wait for it
        send(connection, END, json.dumps(ended).encode())


def leave_with(
    connection: socket.socket, heard: Callable[[bytes], None] | None = None
) -> threading.Thread:
    """End this process when the one who asked has gone; watched by a thread, which is returned.

    Args:
        connection: To the one who asked.
        heard: Called with each byte that comes from there; None: none matters.
    """

    def watch() -> None:
        with suppress(OSError):
            while said := connection.recv(1):
                if heard is not None:
                    heard(said)
        os._exit(1)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


# -- what a process may spend --------------------------------------------------------------------
def limit_process(seconds: float, memory: int, wall: float | None = None) -> None:
    """Let this process spend so much from now on; beyond it the system ends it.

    Args:
        seconds: Of processor time.
        memory: Bytes beyond what it holds now.
        wall: Seconds by the clock; None: no limit.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit(resource.RLIMIT_CPU, int(seconds + 0.999))
    held = data_size()
    if held:
        limit(resource.RLIMIT_DATA, held + memory)
    if wall is not None:
        signal.setitimer(signal.ITIMER_REAL, wall)


def limit(kind: int, most: int) -> None:
    """Lower a limit of this process, never beyond the one that it has already."""
    import resource

    soft, hard = resource.getrlimit(kind)
    for other in (soft, hard):
        most = most if other == resource.RLIM_INFINITY else min(most, other)
    resource.setrlimit(kind, (most, hard))


def data_size() -> int:
    """Bytes of memory that this process can write to; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    sizes = [line.split()[1] for line in lines if line.startswith("VmData:")]
    return 1024 * int(sizes[0]) if sizes else 0


# -- who asks ------------------------------------------------------------------------------------
class ForkingProcess:
    """The process that waits for jobs: started when it is needed, and again when it is gone.

    Args:
        module: Run with the number of a socket as its argument; it calls `serve`.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @contextmanager
    def asked(self, request: bytes) -> Iterator[socket.socket]:
        """A connection on which answers will come; closing it ends the job.

        Args:
            request: What the job is given.
        """
        connection = self.ask(request)
        try:
            yield connection
        finally:
            connection.close()

    def ask(self, request: bytes) -> socket.socket:
        """The same connection, to be closed by the caller."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._hand_over(theirs)
            send(ours, RESULT, request)
        except BaseException:
            ours.close()
            raise
        return ours

    def start(self) -> None:
        """Start it ahead of the first job; does nothing where it runs."""
        with self._lock:
            if self._control is None:
                self._start()

    def close(self) -> None:
        """Let it end; the next job starts another."""
        with self._lock:
            self._forget()
            if self._process is not None:
                self._process.terminate()  # it may still be loading; jobs end with their connection
                self._process.wait()
            self._process = None

    def _hand_over(self, connection: socket.socket) -> None:
        with self._lock:
            for _ in range(2):
                if self._control is None:
                    self._start()
                assert self._control is not None
                try:
                    socket.send_fds(self._control, [b"."], [connection.fileno()])
                    return
                except OSError:
                    self._forget()
        raise DoesNotStart(self._module)

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            # -P: not what lies in the folder we happen to be in, but what this process runs
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", self._module, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, **ENVIRONMENT},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _forget(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control = None
