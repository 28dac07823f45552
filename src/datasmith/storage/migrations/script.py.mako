"""${message}."""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None
written = "${create_date.strftime("%Y%m%d%H%M%S")}"


def upgrade() -> None:
    """${message}."""
    ${upgrades if upgrades else "raise NotImplementedError"}


def downgrade() -> None:
    """Undo it."""
    ${downgrades if downgrades else "raise NotImplementedError"}
