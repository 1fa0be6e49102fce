"""Who works now and who waits: so many at once, one of each visitor, in the order they came."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

LOOK_SECONDS: Final = 0.25


@dataclass(eq=False)
class Ticket:
    """A place in the queue.

    Args:
        owner: Who has at most one job at work.
        working: Whether its turn has come.
    """

    owner: str
    working: bool = False
    _moved: threading.Event = field(default_factory=threading.Event, repr=False)


class Queue:
    """Jobs in the order they came.

    Args:
        places: How many may work at once; asked anew whenever one begins or ends.
    """

    def __init__(self, places: Callable[[], int]) -> None:
        self._places = places
        self._tickets: list[Ticket] = []
        self._lock = threading.Lock()

    def enter(self, owner: str) -> Ticket:
        """Take the last place of the queue, for somebody."""
        ticket = Ticket(owner)
        with self._lock:
            self._tickets.append(ticket)
            self._admit()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """The job has ended, or nobody wants it any more."""
        with self._lock, suppress(ValueError):
            self._tickets.remove(ticket)
            self._admit()

    def wait(self, ticket: Ticket, stop: Callable[[], bool]) -> bool:
        """Wait for the turn of a ticket; False where it was stopped before.

        Args:
            ticket: Of this queue.
            stop: Asked four times a second whether to wait no longer.
        """
        while not ticket._moved.wait(LOOK_SECONDS):
            if stop():
                return ticket.working
        return True

    def place(self, ticket: Ticket) -> int:
        """How many of the waiting have to begin until its turn comes, itself among them; 0: its
        turn has come."""
        with self._lock:
            if ticket.working or ticket not in self._tickets:
                return 0
            waiting = [one for one in self._tickets if not one.working]
            return waiting.index(ticket) + 1

    def sentence(self, ticket: Ticket) -> str:
        """What is said to whoever waits."""
        with self._lock:
            own = any(one.working and one.owner == ticket.owner for one in self._tickets)
            working = sum(one.working for one in self._tickets)
        if own:
            return "Waiting until your other run has ended; this one then begins by itself"
        place, at_work = self.place(ticket), "1 run is" if working == 1 else f"{working} runs are"
        return f"Place {place} in the queue ({at_work} at work); it begins by itself"

    def _admit(self) -> None:
        """Let begin who may; called with the lock held."""
        busy = {one.owner for one in self._tickets if one.working}
        free = max(1, self._places()) - sum(one.working for one in self._tickets)
        for one in self._tickets:
            if free <= 0:
                return
            if not one.working and one.owner not in busy:
                one.working = True
                one._moved.set()
                busy.add(one.owner)
                free -= 1
