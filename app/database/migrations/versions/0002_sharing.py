"""Runs are shared with others, and sessions that were ended stay ended."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "shares",
        sa.Column("run", sa.String(64), nullable=False),
        sa.Column("address", sa.String(320), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("run", "address", name="pk_shares"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_shares_run"),
    )
    op.create_index("ix_shares_address", "shares", ["address"])
    op.create_table(
        "ended_sessions",
        sa.Column("session", sa.String(64), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("session", name="pk_ended_sessions"),
    )
