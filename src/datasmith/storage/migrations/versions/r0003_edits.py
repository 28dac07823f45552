"""When the text of a pull request was last changed."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None
written = "20261122050000"


def upgrade() -> None:
    """Add the column."""
    op.add_column("pull_requests", sa.Column("edited_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("pull_requests", "edited_at")
