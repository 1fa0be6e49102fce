"""How beliefs moved over a stream, at bounded memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector

MOST_KEPT = 1024  # snapshots; more points than that no chart can show


@dataclass(frozen=True, eq=False)
class History:
    """theta after some of the rounds: all at first, then evenly spaced ones."""

    rounds: NDArray[np.int64]
    theta: Matrix  # one row a snapshot

    def at(self, round_: int) -> Vector:
        """theta after that round, or after the last one before it that was kept."""
        place = int(np.searchsorted(self.rounds, round_, side="right")) - 1
        result: Vector = self.theta[max(place, 0)]
        return result


class Recorder:
    """Keeps every `stride`-th theta, and doubles the stride when the room is full.

    What is kept depends only on the rounds seen, never on how the stream was cut into calls.
    """

    def __init__(self, size: int) -> None:
        self.stride = 1
        self._rounds: list[int] = []
        self._thetas: list[Vector] = []
        self._size = size

    @classmethod
    def of(cls, history: History, stride: int) -> Recorder:
        """One that goes on from what another kept."""
        recorder = cls(history.theta.shape[1])
        recorder.stride = stride
        recorder._rounds = history.rounds.tolist()
        recorder._thetas = list(history.theta.copy())
        return recorder

    def add(self, done: int, thetas: Matrix) -> None:
        """Record theta after rounds done + 1, done + 2, ..."""
        at = 0
        while at < len(thetas):
            wait = -(done + at + 1) % self.stride  # rounds until the next one that is kept
            if at + wait >= len(thetas):
                return
            at += wait
            self._rounds.append(done + at + 1)
            self._thetas.append(thetas[at].copy())
            at += 1
            if len(self._rounds) == MOST_KEPT:
                self.stride *= 2
                kept = [i for i, r in enumerate(self._rounds) if r % self.stride == 0]
                self._rounds = [self._rounds[i] for i in kept]
                self._thetas = [self._thetas[i] for i in kept]

    def history(self) -> History:
        """What was kept so far."""
        thetas = np.array(self._thetas).reshape(len(self._rounds), self._size)
        return History(np.array(self._rounds, np.int64), thetas)
