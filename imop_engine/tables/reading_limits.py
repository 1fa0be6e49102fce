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

# Processor seconds for a megabyte, several times what honest files took: 0.06 to 0.1 for text (0.2
# on a machine full of other work), 0.5 to 3 for Excel, whose cells are packed, 0.3 for Parquet.
SECONDS_PER_MEGABYTE: Final = {"text": 0.6, "excel": 6.0, "parquet": 1.5}
# Memory in times the file's size, beside what is granted to any file.
MEMORY_TIMES: Final = {"text": 10, "excel": 50, "parquet": 30}
LEAST_SECONDS: Final = 4.0
LEAST_MEMORY: Final = 280 * MEGABYTE
# A machine that does much else takes longer by the clock; only what hangs takes this long.
WALL_TIMES, LEAST_WALL = 10.0, 60.0


@dataclass(frozen=True)
class Budget:
    """What reading one file may cost.

    Args:
        seconds: Of processor time.
        memory: Bytes beyond what the process has before it begins.
        wall: Seconds by the clock.
    """

    seconds: float
    memory: int
    wall: float

    @classmethod
    def of(cls, kind: str, size: int) -> Budget:
        """The budget of a file: little for a small one, and more the more there is to read.

        Args:
            kind: "text", "excel" or "parquet".
            size: In bytes.
        """
        seconds = max(LEAST_SECONDS, SECONDS_PER_MEGABYTE[kind] * size / MEGABYTE)
        memory = LEAST_MEMORY + MEMORY_TIMES[kind] * size
        return cls(seconds, memory, max(LEAST_WALL, WALL_TIMES * seconds))

    def out_of_time(self, file: str) -> str:
        """The sentence where the processor time is spent."""
        return (
            f"{file} was given up after {self.seconds:.0f} seconds of processor time, far more "
            "than a file of its size needs; remove what is not part of the table, or save it as "
            "CSV."
        )

    def out_of_memory(self, file: str) -> str:
        """The sentence where the memory is spent."""
        return (
            f"{file} was given up as it needs more than {self.memory / MEGABYTE:,.0f} MB of "
            "memory, far more than a file of its size should; remove what is not part of the "
            "table, or split it."
        )
