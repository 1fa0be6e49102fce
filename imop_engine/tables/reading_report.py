"""What reading did to a file, line by line: nothing disappears or changes without a line here.

A finding is one reason and all the cells it concerns, held as arrays: a file of a million rows may
have a million lines, and they must cost little until somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.errors import RefusedRows
from imop_engine.sentences.run import done_sentence, rows_sentence

KEPT: Final = "kept"
CHANGED: Final = "changed"
REFUSED: Final = "refused"
ACTIONS: Final = (KEPT, CHANGED, REFUSED)

FRAME_COLUMNS: Final = ("file", "row", "column", "value", "what", "action", "remedy")

# Row numbers named one by one in a sentence; the table has them all.
ROWS_NAMED: Final = 3
# A cell that is quoted in a sentence is cut here: a person needs to recognise it, not to read it.
VALUE_LENGTH: Final = 60
# How a remedy begins that asks nothing of anybody.
NOTHING: Final = "nothing needs to be done"
# Findings that strict mode quotes before it only counts.
STRICT_SENTENCES: Final = 3


@dataclass(frozen=True)
class Guess:
    """What was detected, and why; every guess can be overridden by an argument."""

    value: Any
    reason: str

    def __str__(self) -> str:
        return f"{self.value} ({self.reason})"


@dataclass(frozen=True)
class Cure:
    """One choice that settles a finding: an argument of the reader and what to give it.

    Every place says it in its own words: the shell as an option, Python as an argument, the app as
    a button with this label.
    """

    option: str
    value: str
    label: str


@dataclass(frozen=True, eq=False)
class Finding:
    """One reason and the cells it concerns.

    `rows` are the rows of the file as a spreadsheet numbers them (0: the file as a whole);
    `columns` and `values` have one entry per row, or one for all. `needs` says whether the analyst
    has to decide or to mend something; None leaves that to the remedy's words. `cures` are the
    choices that would settle it.
    """

    file: str
    what: str
    action: str
    remedy: str
    rows: NDArray[np.int64]
    columns: tuple[str, ...]
    values: tuple[str, ...]
    needs: bool | None = None
    cures: tuple[Cure, ...] = ()

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise ValueError(f"action {self.action!r} is none of {', '.join(ACTIONS)}")
        for given in (self.columns, self.values):
            if len(given) not in (1, len(self.rows)):
                raise ValueError("a finding needs one column and value for all rows, or per row")

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def needs_you(self) -> bool:
        """Whether the analyst has to decide or to mend something."""
        if self.needs is not None:
            return self.needs
        # A remedy for the case that something is wrong asks nothing where it is not.
        return not self.remedy.startswith(NOTHING) and " if " not in self.remedy

    def sentence(self) -> str:
        """Say it once, whatever the number of rows."""
        place = ", ".join(part for part in (self.file, self._rows(), self._column()) if part)
        return f"{place}: {self._what()}; {self.remedy}."

    def _rows(self) -> str:
        rows = np.unique(self.rows[self.rows > 0])
        if not len(rows):
            return ""
        named = [f"{row}" for row in rows[:ROWS_NAMED]]
        more = len(rows) - len(named)
        if len(rows) == 1:
            return f"row {named[0]}"
        if more:
            return f"rows {', '.join(named)} and {more:,} more"
        return f"rows {', '.join(named[:-1])} and {named[-1]}"

    def _column(self) -> str:
        names = list(dict.fromkeys(name for name in self.columns if name))
        if not names:
            return ""
        if len(names) == 1:
            return f"column {names[0]}"
        if len(names) <= ROWS_NAMED:
            return f"columns {', '.join(names[:-1])} and {names[-1]}"
        return f"columns {', '.join(names[:ROWS_NAMED])} and {len(names) - ROWS_NAMED:,} more"

    def extent(self) -> str:
        """How many rows or columns it concerns, in brackets; "" where that is one, or the file."""
        rows = len(np.unique(self.rows[self.rows > 0]))
        columns = len({name for name in self.columns if name})
        if rows > 1:
            return f" ({rows:,} rows)"
        return f" ({columns:,} columns)" if columns > 1 else ""

    def _what(self) -> str:
        values = list(dict.fromkeys(value for value in self.values if value))
        if not values:
            return self.what
        example = shorten(values[0])
        return f"{self.what} ({'for example ' if len(values) > 1 else ''}{example})"

    def frame(self) -> pd.DataFrame:
        """Return one line per cell."""
        count = len(self.rows)
        return pd.DataFrame(
            {
                "file": self.file,
                "row": self.rows,
                "column": list(self.columns) * (count if len(self.columns) == 1 else 1),
                "value": list(self.values) * (count if len(self.values) == 1 else 1),
                "what": self.what,
                "action": self.action,
                "remedy": self.remedy,
            },
            index=range(count),
        )


def repeated_portfolios(file: str, again: int, count: int) -> Finding:
    """What is said of portfolios that were read before and are left out of a later file.

    Args:
        file: The later file.
        again: How many of its portfolios were there.
        count: How many it has.
    """
    return Finding(
        file,
        f"{again:,} of {count:,} portfolios are in the stream already, with the same holdings, and "
        "are left out",
        KEPT,
        NOTHING,
        np.zeros(1, np.int64),
        ("",),
        ("",),
    )


def shorten(value: str) -> str:
    """Quote a cell so that it fits a sentence and stays on its line."""
    line = " ".join(value.split())
    return line if len(line) <= VALUE_LENGTH else f"{line[: VALUE_LENGTH - 1]}…"


@dataclass(frozen=True, eq=False)
class ReadingReport:
    """Rows read, kept, changed and refused, with the reason, the place and the remedy of each.

    `covered` is the share of the value of a file of portfolios that has a return history; None
    where that was not asked.
    """

    file: str
    rows_read: int
    findings: tuple[Finding, ...] = ()
    covered: float | None = None
    _refused: NDArray[np.int64] = field(init=False, repr=False)
    _changed: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        refused = self._rows_with(REFUSED)
        changed = np.setdiff1d(self._rows_with(CHANGED), refused)
        object.__setattr__(self, "_refused", refused)
        object.__setattr__(self, "_changed", changed)

    def _rows_with(self, action: str) -> NDArray[np.int64]:
        chosen = [f.rows[f.rows > 0] for f in self.findings if f.action == action]
        return np.unique(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)

    @property
    def rows_refused(self) -> int:
        """Rows of which nothing was used."""
        return len(self._refused)

    @property
    def rows_changed(self) -> int:
        """Rows that were used, but not as they stand in the file."""
        return len(self._changed)

    @property
    def rows_kept(self) -> int:
        """Rows that were used, changed ones included."""
        return self.rows_read - self.rows_refused

    @property
    def clean(self) -> bool:
        """Whether nothing was changed or refused."""
        return all(finding.action == KEPT for finding in self.findings)

    def to_frame(self) -> pd.DataFrame:
        """Return one line for every cell or row that was noted, changed or refused."""
        if not self.findings:
            return pd.DataFrame({name: [] for name in FRAME_COLUMNS})
        return pd.concat([f.frame() for f in self.findings], ignore_index=True)

    def sentences(self) -> list[str]:
        """Say every finding in a sentence, identical reasons together, the gravest first."""
        return [finding.sentence() for finding in self._ordered()]

    @property
    def needs_you(self) -> tuple[Finding, ...]:
        """What the analyst has to decide or to mend, the gravest first."""
        return tuple(one for one in self._ordered() if one.needs_you)

    @property
    def done_for_you(self) -> tuple[Finding, ...]:
        """What was settled, or is only worth knowing."""
        return tuple(one for one in self._ordered() if not one.needs_you)

    def done_summary(self) -> str:
        """Count what was done, in one sentence; "" where nothing was."""
        rows = [one.rows[one.rows > 0] for one in self.done_for_you]
        touched = len(np.unique(np.concatenate(rows))) if rows else 0
        return done_sentence(len(self.done_for_you), touched)

    def _ordered(self) -> list[Finding]:
        gravity = (REFUSED, CHANGED, KEPT)
        return sorted(self.findings, key=lambda finding: gravity.index(finding.action))

    def summary(self) -> str:
        """Say the four counts in one sentence."""
        counts = rows_sentence(self.rows_read, self.rows_kept, self.rows_changed, self.rows_refused)
        return f"{self.file}: {counts}"


@dataclass(frozen=True, eq=False)
class SetAside:
    """Portfolios of a file that take no part, and why, as what follows the investor's name."""

    ids: NDArray[np.object_]
    dates: NDArray[np.datetime64] | None
    sources: NDArray[np.intp]  # positions in the table; of several rows the first
    reasons: tuple[str, ...]


class Notes:
    """Collects findings while one file is read, and closes them into a report."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.covered: float | None = None  # share of the file's value that has a return history
        self.set_aside: list[SetAside] = []
        self._findings: list[Finding] = []

    def add(
        self,
        what: str,
        action: str,
        remedy: str,
        *,
        rows: int | Sequence[int] | NDArray[np.integer] = (),
        columns: str | Iterable[str] = "",
        values: str | Iterable[Any] = "",
        needs: bool | None = None,
        cures: Sequence[Cure] = (),
    ) -> None:
        """Note one reason for the given rows; no row means the file as a whole.

        Args:
            what: The reason.
            action: Kept, changed or refused.
            remedy: What the analyst can do.
            rows: Row numbers of the file, from 1.
            columns: One name for all rows, or one for each.
            values: One cell to quote for all rows, or one for each.
            needs: Whether the analyst has to act; None leaves that to the remedy's words.
            cures: Choices that would settle it.
        """
        numbers = np.atleast_1d(np.asarray(rows, dtype=np.int64))
        if not len(numbers):
            numbers = np.zeros(1, np.int64)
        self._findings.append(
            Finding(
                file=self.file,
                what=what,
                action=action,
                remedy=remedy,
                rows=numbers,
                columns=(columns,) if isinstance(columns, str) else tuple(columns),
                values=(values,) if isinstance(values, str) else tuple(map(str, values)),
                needs=needs,
                cures=tuple(cures),
            )
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was noted so far."""
        return tuple(self._findings)

    def extend(self, findings: Iterable[Finding]) -> None:
        """Take over findings of an earlier stage."""
        self._findings.extend(findings)

    def close(self, rows_read: int, *, strict: bool) -> ReadingReport:
        """Return the report; in strict mode a changed or refused row is an error instead."""
        report = ReadingReport(self.file, rows_read, tuple(self._findings), self.covered)
        if strict and not report.clean:
            raise RefusedRows(_strict_sentence(report), report)
        return report


def _strict_sentence(report: ReadingReport) -> str:
    grave = [one for one in report.findings if one.action != KEPT]
    quoted = [finding.sentence() for finding in grave[:STRICT_SENTENCES]]
    rest = len(grave) - len(quoted)
    more = f" The report has {rest:,} more reasons." if rest else ""
    return f"{report.file} is refused, as strict reading was asked for. {' '.join(quoted)}{more}"
