"""The tables of the store as they are now; how they came to be so is in `migrations`.

Statements of the app are made from these. A test compares them with what the migrations make.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

METADATA: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)
# A number that counts by itself: SQLite does that only for this kind.
COUNTED: Final = BigInteger().with_variant(Integer, "sqlite")

# Moments are seconds since the epoch. `content` is JSON with a digest of it (home.sealed).
WORKSPACES: Final = Table(
    "workspaces",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("owner", String(320), nullable=False, index=True),  # "": of nobody who logged in
    Column("changed", Double, nullable=False),
    Column("content", Text, nullable=False),
)
OBJECTS: Final = Table(
    "objects",
    METADATA,
    Column("digest", String(64), primary_key=True),  # SHA-256 of what its pieces hold together
    Column("bytes", BigInteger, nullable=False),
)
PIECES: Final = Table(
    "pieces",
    METADATA,
    Column("digest", String(64), ForeignKey("objects.digest"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
INPUTS: Final = Table(  # files that were given to a workspace
    "inputs",
    METADATA,
    Column("workspace", String(64), primary_key=True),  # which may not be saved yet
    Column("digest", String(64), ForeignKey("objects.digest"), primary_key=True, index=True),
    Column("given", Double, nullable=False),
)
RUNS: Final = Table(
    "runs",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("workspace", String(64), nullable=False, index=True),
    Column("owner", String(320), nullable=False, index=True),
    Column("bytes", BigInteger, nullable=False),  # of its files together
    Column("content", Text, nullable=False),  # its record
)
RUN_FILES: Final = Table(
    "run_files",
    METADATA,
    Column("run", String(64), ForeignKey("runs.id"), primary_key=True),
    Column("path", String(200), primary_key=True),
    Column("digest", String(64), ForeignKey("objects.digest"), nullable=False, index=True),
)
UNDER_WAY: Final = Table(  # the run of a workspace that has begun
    "under_way",
    METADATA,
    Column("workspace", String(64), primary_key=True),
    Column("run", String(64), nullable=False),
    Column("server", String(200), nullable=False),  # the process that follows it
    Column("seen", Double, nullable=False),  # when that process last said that it does
    Column("content", Text, nullable=False),
)
CHECKPOINTS: Final = Table(
    "checkpoints",
    METADATA,
    Column("workspace", String(64), primary_key=True),
    Column("run", String(64), nullable=False),
    Column("saved", Double, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
DAMAGED: Final = Table(  # what was found damaged, kept for whoever wants to mend it
    "damaged",
    METADATA,
    Column("number", COUNTED, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("about", String(200), nullable=False),
    Column("content", Text, nullable=False),
)
AUDIT: Final = Table(  # who did what, and when; nothing is ever taken out
    "audit",
    METADATA,
    Column("number", COUNTED, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("who", String(320), nullable=False),
    Column("what", String(40), nullable=False),
    Column("about", String(64), nullable=False),
    Column("detail", Text, nullable=False),
)
SHARES: Final = Table(  # who else may open a run
    "shares",
    METADATA,
    Column("run", String(64), ForeignKey("runs.id"), primary_key=True),
    Column("address", String(320), primary_key=True, index=True),
    Column("at", Double, nullable=False),
)
ENDED_SESSIONS: Final = Table(  # logins that were ended before their time
    "ended_sessions",
    METADATA,
    Column("session", String(64), primary_key=True),
    Column("at", Double, nullable=False),
)
