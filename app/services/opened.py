"""The studies that stay in memory, so that turning a page does not read them again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from imop_engine.study import Study


class OpenedStudies:
    """The studies used last, by where they are kept; a location is never used twice.

    A run that has just ended is put here at once, so that showing it does not read it back.

    Args:
        most: How many.
        rows: How many portfolios they may have together; the last one is kept whatever it has.
    """

    def __init__(self, most: int, rows: int) -> None:
        self._most, self._rows = most, rows
        self._studies: OrderedDict[str, Study] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, location: str) -> Study | None:
        """The study, if it is among the last."""
        with self._lock:
            if location in self._studies:
                self._studies.move_to_end(location)
            return self._studies.get(location)

    def put(self, location: str, study: Study) -> Study:
        """Remember a study and forget the one that was used longest ago."""
        with self._lock:
            self._studies[location] = study
            while len(self._studies) > 1 and self._too_much():
                self._studies.popitem(last=False)
        return study

    def _too_much(self) -> bool:
        rows = sum(one.rounds for one in self._studies.values())
        return len(self._studies) > self._most or rows > self._rows


# Those of many people of usual size, a megabyte or two each; two of 100,000 investors.
OPENED: Final = OpenedStudies(40, 250_000)
