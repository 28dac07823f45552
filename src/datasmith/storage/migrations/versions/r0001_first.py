"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None
written = "20261101000000"

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create every table."""
    _build_attempts()
    _candidate_containers()
    _certificates()
    _hook_cache()
    _packages()
    _pr_contexts()
    _pull_requests()
    _repositories()
    _runner_failures()
    _runner_progress()
    _stage_items()


def downgrade() -> None:
    """Drop every table."""
    op.drop_table("stage_items")
    op.drop_table("runner_progress")
    op.drop_table("runner_failures")
    op.drop_table("repositories")
    op.drop_table("pull_requests")
    op.drop_table("pr_contexts")
    op.drop_table("packages")
    op.drop_table("hook_cache")
    op.drop_table("certificates")
    op.drop_table("candidate_containers")
    op.drop_table("build_attempts")


def _build_attempts() -> None:
    op.create_table(
        "build_attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text()),
        sa.Column("repo", sa.Text()),
        sa.Column("sha", sa.Text()),
        sa.Column("issue_number", sa.Integer()),
        sa.Column("attempt", sa.Integer()),
        sa.Column("engine", sa.Text()),
        sa.Column("strategy", sa.Text()),
        sa.Column("stage", sa.Text()),
        sa.Column("ok", sa.Boolean()),
        sa.Column("rc", sa.Integer()),
        sa.Column("reason", sa.Text()),
        sa.Column("stdout", sa.Text()),
        sa.Column("stderr", sa.Text()),
        sa.Column("duration_s", sa.Float()),
        sa.Column("context_hash", sa.Text()),
        sa.Column("context", sa.JSON()),
        sa.Column("created_at", _TIME),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("build_attempts_by_commit", "build_attempts", ["owner", "repo", "sha"], unique=False)


def _candidate_containers() -> None:
    op.create_table(
        "candidate_containers",
        sa.Column("owner", _KEY, nullable=False),
        sa.Column("repo", _KEY, nullable=False),
        sa.Column("sha", _KEY, nullable=False),
        sa.Column("issue_number", sa.Integer()),
        sa.Column("engine", sa.Text()),
        sa.Column("image_name", sa.Text()),
        sa.Column("image_digest", sa.Text()),
        sa.Column("context_hash", sa.Text()),
        sa.Column("context", sa.JSON()),
        sa.Column("verification", sa.JSON()),
        sa.Column("sealed", sa.Boolean()),
        sa.Column("created_at", _TIME),
        sa.PrimaryKeyConstraint("owner", "repo", "sha"),
    )


def _certificates() -> None:
    op.create_table(
        "certificates",
        sa.Column("task_id", _KEY, nullable=False),
        sa.Column("image_digest", _KEY, nullable=False),
        sa.Column("machine", _KEY, nullable=False),
        sa.Column("issued_at", _TIME, nullable=False),
        sa.Column("status", sa.Text()),
        sa.Column("reason", sa.Text()),
        sa.Column("certificate", sa.JSON()),
        sa.CheckConstraint("status IN ('valid', 'fragile', 'withdrawn', 'refused')", name="certificates_status"),
        sa.PrimaryKeyConstraint("task_id", "image_digest", "machine", "issued_at"),
    )


def _hook_cache() -> None:
    op.create_table(
        "hook_cache",
        sa.Column("entity_key", _KEY, nullable=False),
        sa.Column("hook_name", _KEY, nullable=False),
        sa.Column("args_hash", _KEY, nullable=False),
        sa.Column("value", sa.JSON()),
        sa.Column("created_at", _TIME),
        sa.PrimaryKeyConstraint("entity_key", "hook_name", "args_hash"),
    )


def _packages() -> None:
    op.create_table(
        "packages",
        sa.Column("owner", _KEY, nullable=False),
        sa.Column("repo", _KEY, nullable=False),
        sa.Column("sha", _KEY, nullable=False),
        sa.Column("python_version", sa.Text()),
        sa.Column("strategy", sa.Text()),
        sa.Column("cutoff", _TIME),
        sa.Column("pins", sa.JSON()),
        sa.Column("resolution", sa.JSON()),
        sa.Column("log", sa.Text()),
        sa.Column("created_at", _TIME),
        sa.PrimaryKeyConstraint("owner", "repo", "sha"),
    )


def _pr_contexts() -> None:
    op.create_table(
        "pr_contexts",
        sa.Column("owner", _KEY, nullable=False),
        sa.Column("repo", _KEY, nullable=False),
        sa.Column("issue_number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("links", sa.JSON()),
        sa.Column("context", sa.JSON()),
        sa.Column("final_md", sa.Text()),
        sa.Column("created_at", _TIME),
        sa.PrimaryKeyConstraint("owner", "repo", "issue_number"),
    )


def _pull_requests() -> None:
    op.create_table(
        "pull_requests",
        sa.Column("owner", _KEY, nullable=False),
        sa.Column("repo", _KEY, nullable=False),
        sa.Column("issue_number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("title", sa.Text()),
        sa.Column("body", sa.Text()),
        sa.Column("author", sa.Text()),
        sa.Column("labels", sa.JSON()),
        sa.Column("created_at", _TIME),
        sa.Column("merged_at", _TIME),
        sa.Column("base_sha", sa.Text()),
        sa.Column("merge_commit_sha", sa.Text()),
        sa.Column("patch", sa.Text()),
        sa.Column("files", sa.JSON()),
        sa.Column("is_performance_commit", sa.Boolean()),
        sa.Column("classification", sa.Text()),
        sa.Column("difficulty", sa.Text()),
        sa.Column("reason", sa.Text()),
        sa.Column("confidence", sa.Float()),
        sa.Column("classified_by", sa.Text()),
        sa.Column("resolution", sa.JSON()),
        sa.Column("task_id", sa.Text()),
        sa.Column("container_name", sa.Text()),
        sa.Column("image_name", sa.Text()),
        sa.Column("image_digest", sa.Text()),
        sa.Column("final_md", sa.Text()),
        sa.Column("certificate_status", sa.Text()),
        sa.Column("dataset", sa.Text()),
        sa.Column("published_at", _TIME),
        sa.Column("updated_at", _TIME),
        sa.PrimaryKeyConstraint("owner", "repo", "issue_number"),
    )


def _repositories() -> None:
    op.create_table(
        "repositories",
        sa.Column("owner", _KEY, nullable=False),
        sa.Column("repo", _KEY, nullable=False),
        sa.Column("stars", sa.Integer()),
        sa.Column("description", sa.Text()),
        sa.Column("language", sa.Text()),
        sa.Column("topics", sa.JSON()),
        sa.Column("licence", sa.Text()),
        sa.Column("asv_config", sa.Text()),
        sa.Column("head_sha", sa.Text()),
        sa.Column("updated_at", _TIME),
        sa.PrimaryKeyConstraint("owner", "repo"),
    )


def _runner_failures() -> None:
    op.create_table(
        "runner_failures",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("runner_id", sa.Text()),
        sa.Column("window", sa.Text()),
        sa.Column("stage", sa.Integer()),
        sa.Column("item", sa.Text()),
        sa.Column("reason", sa.Text()),
        sa.Column("traceback", sa.Text()),
        sa.Column("failed_at", _TIME),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("runner_failures_by_item", "runner_failures", ["window", "stage", "item"], unique=False)


def _runner_progress() -> None:
    op.create_table(
        "runner_progress",
        sa.Column("runner_id", _KEY, nullable=False),
        sa.Column("name", sa.Text()),
        sa.Column("window", sa.Text()),
        sa.Column("stage", sa.Integer()),
        sa.Column("worker", sa.Text()),
        sa.Column("total", sa.Integer()),
        sa.Column("completed", sa.Integer()),
        sa.Column("passed", sa.Integer()),
        sa.Column("refused", sa.Integer()),
        sa.Column("failed", sa.Integer()),
        sa.Column("state", sa.Text()),
        sa.Column("started_at", _TIME),
        sa.Column("updated_at", _TIME),
        sa.CheckConstraint("state IN ('running', 'finished', 'stopped')", name="runner_progress_state"),
        sa.PrimaryKeyConstraint("runner_id"),
    )


def _stage_items() -> None:
    op.create_table(
        "stage_items",
        sa.Column("window", _KEY, nullable=False),
        sa.Column("stage", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("item", _KEY, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text()),
        sa.Column("lease_until", _TIME),
        sa.Column("updated_at", _TIME, nullable=False),
        sa.CheckConstraint("(state = 'leased') = (lease_until IS NOT NULL)", name="stage_items_lease"),
        sa.CheckConstraint("kind IN ('repository', 'pull_request')", name="stage_items_kind"),
        sa.CheckConstraint("state IN ('pending', 'leased', 'passed', 'refused', 'failed')", name="stage_items_state"),
        sa.CheckConstraint("state NOT IN ('refused', 'failed') OR reason <> ''", name="stage_items_has_reason"),
        sa.CheckConstraint("stage BETWEEN 1 AND 6", name="stage_items_stage"),
        sa.PrimaryKeyConstraint("window", "stage", "item"),
    )
    op.create_index("stage_items_by_state", "stage_items", ["window", "stage", "state", "item"], unique=False)
