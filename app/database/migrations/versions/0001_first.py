"""The first version of the store."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

COUNTED = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "workspaces",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("owner", sa.String(320), nullable=False),
        sa.Column("changed", sa.Double, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workspaces"),
    )
    op.create_index("ix_workspaces_owner", "workspaces", ["owner"])
    _objects()
    _runs()
    _under_way()
    op.create_table(
        "damaged",
        sa.Column("number", COUNTED, autoincrement=True, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("about", sa.String(200), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_damaged"),
    )
    op.create_table(
        "audit",
        sa.Column("number", COUNTED, autoincrement=True, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("who", sa.String(320), nullable=False),
        sa.Column("what", sa.String(40), nullable=False),
        sa.Column("about", sa.String(64), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )


def _objects() -> None:
    op.create_table(
        "objects",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_objects"),
    )
    op.create_table(
        "pieces",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("digest", "number", name="pk_pieces"),
        sa.ForeignKeyConstraint(["digest"], ["objects.digest"], name="fk_pieces_digest"),
    )
    op.create_table(
        "inputs",
        sa.Column("workspace", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("given", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("workspace", "digest", name="pk_inputs"),
        sa.ForeignKeyConstraint(["digest"], ["objects.digest"], name="fk_inputs_digest"),
    )
    op.create_index("ix_inputs_digest", "inputs", ["digest"])


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("workspace", sa.String(64), nullable=False),
        sa.Column("owner", sa.String(320), nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_workspace", "runs", ["workspace"])
    op.create_index("ix_runs_owner", "runs", ["owner"])
    op.create_table(
        "run_files",
        sa.Column("run", sa.String(64), nullable=False),
        sa.Column("path", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("run", "path", name="pk_run_files"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_run_files_run"),
        sa.ForeignKeyConstraint(["digest"], ["objects.digest"], name="fk_run_files_digest"),
    )
    op.create_index("ix_run_files_digest", "run_files", ["digest"])


def _under_way() -> None:
    op.create_table(
        "under_way",
        sa.Column("workspace", sa.String(64), nullable=False),
        sa.Column("run", sa.String(64), nullable=False),
        sa.Column("server", sa.String(200), nullable=False),
        sa.Column("seen", sa.Double, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("workspace", name="pk_under_way"),
    )
    op.create_table(
        "checkpoints",
        sa.Column("workspace", sa.String(64), nullable=False),
        sa.Column("run", sa.String(64), nullable=False),
        sa.Column("saved", sa.Double, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("workspace", name="pk_checkpoints"),
    )
