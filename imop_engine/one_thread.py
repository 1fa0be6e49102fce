"""Linear algebra on one thread while a study is computed.

Matrices of a hundred rows are too small to share out: a study of 1,000 investors in 100 assets took
47 processor seconds with two threads, 33 by the clock, and 32 with one. And sums come out the same
however many processors there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """The libraries' threads, found once: looking for them takes longer than a small fit."""
    return ThreadpoolController()


class _Users:
    """How many are computing, and what to give back to when the last of them is done."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.count = 0
        self.before: Any = None


_users = _Users()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread; it may have more again once everybody here is done.

    The limit is one for the whole process, so whoever comes first sets it and whoever leaves last
    takes it back, in whatever order pages of several analysts come and go.
    """
    with _users.lock:
        _users.count += 1
        if _users.count == 1:
            _users.before = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _users.lock:
            _users.count -= 1
            if _users.count == 0:
                _users.before.restore_original_limits()
