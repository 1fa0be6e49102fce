"""The store: one database in which workspaces, runs, files and checkpoints are kept.

SQLite in the user's data folder, or PostgreSQL where `IMOP_STORE` names one.
"""

from imop_app.database.connection import Database, database, note
from imop_app.database.place import Place

__all__ = ["Database", "Place", "database", "note"]
