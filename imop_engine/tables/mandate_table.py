"""Which limits each mandate has: a row for each limit, with the mandate beside it."""

from __future__ import annotations

from typing import Final

from imop_engine import gate
from imop_engine.errors import UnreadableFile
from imop_engine.tables import words
from imop_engine.tables.open_table import Source, load_table
from imop_engine.tables.reading_limits import DEFAULT_LIMITS, ReadingLimits

LIMIT: Final = words.vocabulary("limit limits restriction constraint rule grenze limite vorgabe")


@gate.public("imop_engine.tables")
def read_mandates(
    source: Source, *, name: str | None = None, limits: ReadingLimits = DEFAULT_LIMITS
) -> dict[str, tuple[str, ...]]:
    """Read the limits of mandates.

    Args:
        source: A path, bytes, an open file or a data frame; one column names the mandate, another
            has a limit as text, and a mandate may have several rows.
        name: What the file is called in sentences.
        limits: What a file may hold at most.

    Returns:
        The limits as text by mandate; none where its limit is empty.

    >>> read_mandates(b"mandate,limit\\ncareful,A <= 30%\\ncareful,B >= 5%\\nfree,\\n")
    {'careful': ('A <= 30%', 'B >= 5%'), 'free': ()}
    """
    table = load_table(source, name=name, limits=limits)
    said = next((one for one in table.columns if words.says(one.name, LIMIT)), None)
    label = next((one for one in table.columns if one is not said and one.filled.any()), None)
    if said is None or label is None:
        raise UnreadableFile(
            f"{table.file} has no limits by mandate; give a column mandate and a column limit, "
            "with a row for each limit: careful, sector:Technology <= 30%."
        )
    found: dict[str, tuple[str, ...]] = {}
    for mandate, limit in zip(label.strings.to_pylist(), said.strings.to_pylist(), strict=True):
        if mandate:
            found[mandate] = found.get(mandate, ()) + ((limit,) if limit else ())
    return found
