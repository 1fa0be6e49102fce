"""Where the store is: a file in the user's data folder, or the address of a PostgreSQL."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from imop_app.home import data_folder
from imop_engine.errors import InvalidInput

VARIABLE: Final = "IMOP_STORE"
FILE: Final = "studio.db"
SQLITE: Final = "sqlite:///"
POSTGRES: Final = re.compile(r"postgres(?:ql)?(?:\+psycopg)?://")


@dataclass(frozen=True)
class Place:
    """Where the store is, and where this computer keeps copies of what it opened.

    Args:
        url: Of the database, as SQLAlchemy takes it; it may hold a password and is never shown.
        home: The user's data folder.
    """

    url: str
    home: Path

    @classmethod
    def chosen(cls) -> Place:
        """As the environment says; a file in the data folder where it says nothing."""
        return cls.of(os.environ.get(VARIABLE, "").strip(), data_folder())

    @classmethod
    def of(cls, given: str, home: Path) -> Place:
        """The place that an address names.

        Args:
            given: `postgresql://user:password@host/name`, `sqlite:////folder/file.db`, or nothing.
            home: The user's data folder.
        """
        home = home.absolute()
        if not given:
            return cls(f"{SQLITE}{home / FILE}", home)
        if POSTGRES.match(given):
            return cls(POSTGRES.sub("postgresql+psycopg://", given, count=1), home)
        if given.startswith(SQLITE) and len(given) > len(SQLITE):
            path = Path(given.removeprefix(SQLITE)).expanduser().absolute()
            return cls(f"{SQLITE}{path}", home)
        raise InvalidInput(
            f"{VARIABLE} begins with {given.split(':', maxsplit=1)[0][:20]!r}; give "
            "postgresql://user:password@host/name or sqlite:////folder/file.db, or leave it out "
            f"to keep everything in {home / FILE}."
        )

    @property
    def file(self) -> Path | None:
        """The file of SQLite; None where the store is a PostgreSQL."""
        is_file = self.url.startswith(SQLITE)
        return Path(self.url.removeprefix(SQLITE)) if is_file else None

    @property
    def copies(self) -> Path:
        """Where opened runs and files lie as files, for whoever reads files."""
        return self.home / "copies"

    @property
    def said(self) -> str:
        """The place as it is named in sentences, without a password.

        >>> Place.of("postgresql://anna:secret@db/imop", Path("/home")).said
        'PostgreSQL imop on db'
        """
        if self.file is not None:
            return str(self.file)
        parts = urlsplit(self.url)
        name, host = parts.path.strip("/") or "postgres", parts.hostname or "this computer"
        return f"PostgreSQL {name} on {host}"
