"""The readers by name, and the ways to call them: here, here within limits, or in another process.

A way is a function of a reader's name, the sources and the options; loading takes one as an
argument, so that the shell, the app and Python read with the same code.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from imop_engine.errors import UnreadableFile
from imop_engine.forking import data_size, limit
from imop_engine.tables.asset_map import read_asset_map
from imop_engine.tables.group_table import read_asset_groups
from imop_engine.tables.mandate_table import read_mandates
from imop_engine.tables.moment_tables import read_moments
from imop_engine.tables.open_table import UNNAMED, Source
from imop_engine.tables.portfolios import read_portfolios
from imop_engine.tables.reading_limits import Budget
from imop_engine.tables.returns import read_returns
from imop_engine.tables.score_table import read_scores
from imop_engine.tables.workbook import sheet_names

READERS: Final[dict[str, Callable[..., Any]]] = {
    "returns": read_returns,
    "portfolios": read_portfolios,
    "moments": read_moments,
    "sheets": sheet_names,
    "asset map": read_asset_map,
    "asset groups": read_asset_groups,
    "mandates": read_mandates,
    "scores": read_scores,
}
Reading = Callable[[str, Sequence[Source], Mapping[str, Any]], Any]
MAGIC: Final = {b"PK": "excel", b"PAR1": "parquet"}


def read_here(reader: str, sources: Sequence[Source], options: Mapping[str, Any]) -> Any:
    """Call a reader in this process, without a limit on what it costs.

    Args:
        reader: Its name in `READERS`, such as "returns" or "portfolios".
        sources: The files, as the reader takes them.
        options: Its named arguments.
    """
    return READERS[reader](*sources, **options)


def read_within_budget(reader: str, sources: Sequence[Source], options: Mapping[str, Any]) -> Any:
    """Call a reader in this process; what costs more than its files are worth ends in a sentence.

    Args:
        reader: Its name in `READERS`, such as "returns" or "portfolios".
        sources: The files, as the reader takes them.
        options: Its named arguments.
    """
    budget = budget_of(sources)
    if budget is None or threading.current_thread() is not threading.main_thread():
        return read_here(reader, sources, options)
    file = named(sources, options)
    # memory only: the time of all that the analyst's own process does would count
    with spending(replace(budget, seconds=math.inf), file):
        return read_here(reader, sources, options)


def budget_of(sources: Sequence[Source]) -> Budget | None:
    """What reading these files may cost; None where a source is no file."""
    parts = []
    for source in sources:
        if isinstance(source, bytes | bytearray):
            head, size = bytes(source[:4]), len(source)
        elif isinstance(source, str | Path):
            try:
                with Path(source).open("rb") as stream:
                    head, size = stream.read(4), Path(source).stat().st_size
            except (OSError, ValueError):
                return None  # the reader says what is wrong with it
        else:
            return None
        kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "text")
        parts.append(Budget.of(kind, size))
    return max(parts, key=lambda one: one.memory) if parts else None


def named(sources: Sequence[Source], options: Mapping[str, Any]) -> str:
    """What sentences call the file."""
    given = options.get("name") or next(iter(options.get("names") or ()), None)
    first = sources[0]
    return str(given or (Path(first).name if isinstance(first, str | Path) else UNNAMED))


@contextmanager
def spending(budget: Budget, file: str) -> Iterator[None]:
    """Let this process spend a budget, and no more; what it may spend afterwards is as before.

    Args:
        budget: What may be spent.
        file: What the file is called in the sentence where it is not enough.
    """
    if sys.platform == "win32":
        yield  # that system has no such limits
        return
    import resource

    def out_of_time(number: int, frame: Any) -> None:
        raise UnreadableFile(budget.out_of_time(file))

    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    before = {
        kind: resource.getrlimit(kind) for kind in (resource.RLIMIT_CPU, resource.RLIMIT_DATA)
    }
    handler = signal.signal(signal.SIGXCPU, out_of_time)
    try:
        if math.isfinite(budget.seconds):
            limit(resource.RLIMIT_CPU, int(spent + budget.seconds + 1))
        held = data_size()
        if held:
            limit(resource.RLIMIT_DATA, held + budget.memory)
        try:
            yield
        except MemoryError as error:
            raise UnreadableFile(budget.out_of_memory(file)) from error
    finally:
        for kind, both in before.items():
            resource.setrlimit(kind, both)
        signal.signal(signal.SIGXCPU, handler)
