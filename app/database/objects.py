"""Contents by their digest: the same content is kept once and never changes.

In pieces, so that no database meets a value that is too large for it, in the transaction of what
refers to them. Whoever calls has the turn `TURN`, so that nothing is dropped that another has just
found there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from imop_app.database.tables import INPUTS, OBJECTS, PIECES, RUN_FILES

TURN: Final = "objects"
PIECE: Final = 4_000_000  # bytes


class Changed(ValueError):
    """A content is gone, or is not what was kept."""


def put(connection: Connection, content: bytes) -> str:
    """Keep a content; returns its digest.

    Args:
        connection: Of a transaction that has the turn.
        content: Any bytes.
    """
    digest = hashlib.sha256(content).hexdigest()
    there = connection.execute(sa.select(OBJECTS.c.bytes).where(OBJECTS.c.digest == digest))
    if there.scalar() is not None:
        if _is_whole(connection, digest):
            return digest
        connection.execute(sa.delete(PIECES).where(PIECES.c.digest == digest))
        connection.execute(
            sa.update(OBJECTS).where(OBJECTS.c.digest == digest).values(bytes=len(content))
        )
    else:
        connection.execute(sa.insert(OBJECTS).values(digest=digest, bytes=len(content)))
    for number, start in enumerate(range(0, len(content), PIECE)):
        piece = content[start : start + PIECE]
        connection.execute(sa.insert(PIECES).values(digest=digest, number=number, content=piece))
    return digest


def get(connection: Connection, digest: str) -> bytes:
    """A content; `Changed` where it is gone or is not what was kept.

    Args:
        connection: To the store.
        digest: What names it.
    """
    chosen = sa.select(PIECES.c.content).where(PIECES.c.digest == digest).order_by(PIECES.c.number)
    content = b"".join(bytes(row.content) for row in connection.execute(chosen))
    known = connection.execute(sa.select(OBJECTS.c.bytes).where(OBJECTS.c.digest == digest))
    if known.scalar() is None or hashlib.sha256(content).hexdigest() != digest:
        raise Changed(digest)
    return content


def drop_unused(connection: Connection, digests: Iterable[str]) -> None:
    """Let go of contents that nothing refers to any more.

    Args:
        connection: Of a transaction that has the turn.
        digests: Those that may be such.
    """
    for digest in sorted(set(digests)):
        used = sa.union_all(
            sa.select(RUN_FILES.c.digest).where(RUN_FILES.c.digest == digest),
            sa.select(INPUTS.c.digest).where(INPUTS.c.digest == digest),
        ).limit(1)
        if connection.execute(used).first() is None:
            connection.execute(sa.delete(PIECES).where(PIECES.c.digest == digest))
            connection.execute(sa.delete(OBJECTS).where(OBJECTS.c.digest == digest))


def _is_whole(connection: Connection, digest: str) -> bool:
    try:
        get(connection, digest)
    except Changed:
        return False
    return True
