"""How a build was tried, by whom, and what that cost."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None
written = "20261122080000"

_TEXTS = ("tier", "recipe", "model", "script")


def upgrade() -> None:
    """Add the columns."""
    for name in _TEXTS:
        op.add_column("build_attempts", sa.Column(name, sa.Text()))
    op.add_column("build_attempts", sa.Column("cost_usd", sa.Float()))


def downgrade() -> None:
    """Take them away."""
    for name in ("cost_usd", *_TEXTS):
        op.drop_column("build_attempts", name)
