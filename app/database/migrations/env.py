"""What Alembic runs: the steps, in the transaction that was begun for them."""

from alembic import context

from imop_app.database.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,  # SQLite changes a table by making it anew
    transaction_per_migration=False,
)
context.run_migrations()
