"""How the tables of the store came to be as they are, one step after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

# The last step; a store that says so is up to date, and Alembic is not even loaded.
HEAD: Final = "0002"
TABLE: Final = "alembic_version"


def upgrade(connection: Any, revision: str = "head") -> None:
    """Take all steps that a store has not taken yet, within the transaction of a connection.

    Args:
        connection: To the store.
        revision: The last step to take.
    """
    from alembic import command

    configuration = _configuration()
    configuration.attributes["connection"] = connection
    command.upgrade(configuration, revision)


def known() -> frozenset[str]:
    """The names of all steps."""
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(_configuration())
    return frozenset(step.revision for step in script.walk_revisions())


def _configuration() -> Any:
    from alembic.config import Config

    configuration = Config()
    folder = str(Path(__file__).parent).replace("%", "%%")
    configuration.set_main_option("script_location", folder)
    configuration.set_main_option("path_separator", "os")
    return configuration
