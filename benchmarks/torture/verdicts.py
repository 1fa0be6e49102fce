"""How an ordeal ended, and how many ended which way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

GOOD: Final = ("right", "refused", "unchanged", "old", "new")


@dataclass(frozen=True)
class Trial:
    """One ordeal: what was done, and how it ended in one word and in full."""

    what: str
    ended: str
    said: str = ""

    @property
    def bad(self) -> bool:
        """Whether it ended as it must not."""
        return self.ended not in GOOD


@dataclass(frozen=True)
class Tally:
    """Many of one kind."""

    name: str
    trials: tuple[Trial, ...]
    figures: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, trials: Iterable[Trial]) -> Tally:
        """Count them."""
        return cls(name, tuple(trials))

    @property
    def counts(self) -> dict[str, int]:
        """How many ended how, the most frequent first."""
        return dict(Counter(trial.ended for trial in self.trials).most_common())

    @property
    def bad(self) -> list[Trial]:
        """Those that ended as they must not."""
        return [trial for trial in self.trials if trial.bad]
