"""What a file may hold, and what reading it may cost: size, cells, memory, processor time.

Limits in bytes are checked before anything is unpacked. The budget is the net below them: whatever
a file does, reading ends with a sentence and not with the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MEGABYTE: Final = 1_000_000

# A packed file may unpack to so many times its size, and to this much in any case. Sheets of honest
# workbooks unpack to 4 to 14 times, their lists of strings to 10, Parquet of holdings to 8.
SHEET_TIMES, SHEET_MEGABYTES = 40, 40
STRINGS_TIMES, STRINGS_MEGABYTES = 20, 10
PARQUET_TIMES, PARQUET_MEGABYTES = 20, 100


@dataclass(frozen=True)
class ReadingLimits:
    """What a file may hold at most; beyond it reading stops with a sentence, not with the memory.

    A text file of 394 MB and 18.5 million cells was read with 1.8 GB of memory.
    """

    megabytes: int = 400
    rows: int = 5_000_000
    columns: int = 20_000
    cells: int = 25_000_000

    @property
    def size(self) -> int:
        """The largest file, in bytes."""
        return self.megabytes * MEGABYTE

    def unpacked(self, packed: int, times: int, at_least: int) -> int:
        """Bytes that a part of a packed file may unpack to.

        Args:
            packed: The file's size in bytes.
            times: How many times that the part may have.
            at_least: Megabytes that it may have in any case.
        """
        return min(times * packed + at_least * MEGABYTE, UNPACKED_TIMES_LIMIT * self.size)


# All parts together: unpacked XML is about ten times the numbers in it.
UNPACKED_TIMES_LIMIT: Final = 4
DEFAULT_LIMITS: Final = ReadingLimits()
