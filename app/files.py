"""Files that were given to a workspace, by the digest of their content.

The same file is kept once and never changes. They lie in the store; whoever reads files reads a
copy of them in the data folder.
"""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from imop_app import access, quota
from imop_app.database import database, objects
from imop_app.database.tables import INPUTS
from imop_app.settings import StoredFile
from imop_engine import disk
from imop_engine.errors import CannotWrite

DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class FileBox:
    """The files of a workspace.

    Args:
        workspace: Its id; no other workspace's files are ever read.
        owner: Whose it is; "" on a computer without login.
    """

    workspace: str
    owner: str = ""

    def put(self, name: str, content: bytes) -> StoredFile:
        """Keep a file and return what names it from now on."""
        access.require(self.owner)
        stored = StoredFile(Path(name).name or "file", hashlib.sha256(content).hexdigest())
        if self._content(stored) == content:
            return stored
        if reason := quota.no_room_for(len(content)):
            raise CannotWrite(reason)
        with database().writing(objects.TURN) as connection:
            objects.put(connection, content)
            row = {"workspace": self.workspace, "digest": stored.digest}
            known = sa.select(INPUTS.c.given).filter_by(**row)
            if connection.execute(known).first() is None:
                connection.execute(sa.insert(INPUTS).values(**row, given=time.time()))
        return stored

    def get(self, stored: StoredFile) -> bytes:
        """The content of a kept file; FileNotFoundError where it is gone or was changed."""
        content = self._content(stored)
        if content is None:
            raise FileNotFoundError(stored.name)
        return content

    def path(self, stored: StoredFile) -> Path:
        """A copy of a kept file; FileNotFoundError where it is gone or was changed."""
        self._require_given(stored)
        path = database().place.copies / "files" / stored.digest
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != stored.digest:
            disk.write_whole(path, self.get(stored))
        return path

    def _require_given(self, stored: StoredFile) -> None:
        if not self._was_given(stored):
            raise FileNotFoundError(stored.name)

    def _was_given(self, stored: StoredFile) -> bool:
        access.require(self.owner)
        if DIGEST.fullmatch(stored.digest) is None:
            return False
        row = sa.select(INPUTS.c.given).filter_by(workspace=self.workspace, digest=stored.digest)
        with database().reading() as connection:
            return connection.execute(row).first() is not None

    def _content(self, stored: StoredFile) -> bytes | None:
        if not self._was_given(stored):
            return None
        with database().reading() as connection:
            try:
                return objects.get(connection, stored.digest)
            except objects.Changed:
                return None
