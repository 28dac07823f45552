"""The licence of a task, more rules that the database keeps, and row level security on Supabase."""

from typing import Literal

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None
written = "20261122000000"

_STATUSES = "('valid', 'fragile', 'withdrawn', 'refused')"
_RULES = [
    ("pull_requests", "pull_requests_certificate_status", f"certificate_status IN {_STATUSES}"),
    ("pull_requests", "pull_requests_confidence", "confidence BETWEEN 0 AND 100"),
    ("runner_failures", "runner_failures_stage", "stage BETWEEN 1 AND 6"),
    ("runner_progress", "runner_progress_stage", "stage BETWEEN 1 AND 6"),
    ("stage_items", "stage_items_counters", "attempts >= 0 AND fence >= 0"),
]
_OLDER = {
    "runner_progress": [("runner_progress_state", "state IN ('running', 'finished', 'stopped')")],
    "stage_items": [
        ("stage_items_lease", "(state = 'leased') = (lease_until IS NOT NULL)"),
        ("stage_items_kind", "kind IN ('repository', 'pull_request')"),
        ("stage_items_state", "state IN ('pending', 'leased', 'passed', 'refused', 'failed')"),
        ("stage_items_has_reason", "state NOT IN ('refused', 'failed') OR reason <> ''"),
        ("stage_items_stage", "stage BETWEEN 1 AND 6"),
    ],
}
"""Rules that these tables have already: SQLite makes a table anew to change it, and would lose them."""
_TABLES = [
    "alembic_version", "build_attempts", "candidate_containers", "certificates", "hook_cache", "packages",
    "pr_contexts", "pull_requests", "repositories", "runner_failures", "runner_progress", "stage_items",
]  # fmt: skip


def upgrade() -> None:
    """Add them; on Supabase (it has a role `anon`) only the owner and `service_role` may see rows."""
    for table in sorted({table for table, _, _ in _RULES}):
        with op.batch_alter_table(table, table_args=_older(table)) as batch:
            if table == "pull_requests":
                batch.add_column(sa.Column("licence", sa.Text()))
            for name, text in ((name, text) for where, name, text in _RULES if where == table):
                batch.create_check_constraint(name, sa.text(text))
    _on_supabase("ENABLE")


def downgrade() -> None:
    """Take them away."""
    _on_supabase("DISABLE")
    for table in sorted({table for table, _, _ in _RULES}):
        with op.batch_alter_table(table, table_args=_older(table), recreate=_recreate()) as batch:
            if table == "pull_requests":
                batch.drop_column("licence")
            for name in (name for where, name, _ in _RULES if where == table and not _on_sqlite()):
                batch.drop_constraint(name, type_="check")


def _older(table: str) -> tuple[sa.CheckConstraint, ...]:
    return tuple(sa.CheckConstraint(text, name=name) for name, text in _OLDER.get(table, []))


def _on_sqlite() -> bool:
    return op.get_context().dialect.name == "sqlite"


def _recreate() -> Literal["always", "auto"]:
    """Making a table anew on SQLite drops the rules that are not named: that is all a downgrade needs."""
    return "always" if _on_sqlite() else "auto"


def _on_supabase(word: str) -> None:
    if op.get_context().dialect.name != "postgresql":
        return
    changes = "\n".join(f"    ALTER TABLE {table} {word} ROW LEVEL SECURITY;" for table in _TABLES)
    op.execute(
        f"DO $$\nBEGIN\n  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'anon') THEN\n{changes}\n  END IF;\nEND\n$$"
    )
