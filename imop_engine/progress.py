"""How far a long computation has come, told to whoever watches and to nobody else.

What computes says `note(0.5)` where it is half done, or `stretch` around a part of itself; it knows
nothing of who listens. Without a listener both cost next to nothing and change no digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Notice = Callable[[float], None]
_NOTICE: ContextVar[Notice | None] = ContextVar("notice", default=None)


class Stopped(Exception):
    """Raised by a listener that wants no more of it; passes through what computes."""


@contextmanager
def watched(notice: Notice) -> Iterator[None]:
    """Tell `notice` of the share that is done, from 0 to 1, while this is open.

    Args:
        notice: Called in the thread that computes; may raise `Stopped`.
    """
    before = _NOTICE.set(notice)
    try:
        yield
    finally:
        _NOTICE.reset(before)


def note(share: float) -> None:
    """Say how much of the innermost stretch is done."""
    notice = _NOTICE.get()
    if notice is not None:
        notice(min(1.0, max(0.0, share)))


@contextmanager
def stretch(low: float, high: float) -> Iterator[None]:
    """A part of the whole: what is noted inside counts from `low` to `high` of it.

    Args:
        low: Share that is done when the part begins.
        high: Share that is done when it has ended.
    """
    outer = _NOTICE.get()
    if outer is None:
        yield
        return
    outer(low)
    with watched(lambda share: outer(low + share * (high - low))):
        yield
    outer(high)
