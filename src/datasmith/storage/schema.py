"""The tables: what is remembered, and which states the database itself refuses."""

import math
import re
from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
)

from datasmith.errors import StoreError
from datasmith.printable import cut
from datasmith.storage.base import Value

REVISION = "0004"
"""The newest migration: the schema that this version reads and writes."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text with NUL and lone surrogates, which databases refuse, as U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def clean(value: Value) -> Value:
    """`clean_text` on every text of a value, keys included.

    Raises:
        StoreError: a number is not finite, or too long; databases disagree on what that is.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise StoreError(f"{value} cannot be stored: a number must be finite, a missing one is None")
    if isinstance(value, int) and value.bit_length() > LONGEST_INT:
        raise StoreError(f"a number of {value.bit_length()} bits cannot be stored: {LONGEST_INT} are the most")
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list | tuple):
        return [clean(part) for part in value]
    if isinstance(value, dict):
        return {clean_text(_json_key(key)): clean(part) for key, part in value.items()}
    return value


def _json_key(key: object) -> str:
    if not isinstance(key, str):
        raise StoreError(f"{key!r:.40} cannot be a key of JSON: it must be a text")
    return key


def _is_json(value: object) -> bool:
    """True where JSON can say a value that `clean` gave back."""
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    return value is None or isinstance(value, str | int | float)


class UtcTime(TypeDecorator[datetime]):
    """A moment: aware going in, aware UTC coming out, on databases without time zones too."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a naive time: its moment is unknown."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value.isoformat()} has no time zone (example: 2026-02-01T00:00:00+00:00)")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        """The stored moment as UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


_FITS: dict[type, tuple[tuple[type, ...], str]] = {
    Text: ((str,), "a text"),
    Integer: ((int,), "a whole number"),
    Float: ((int, float), "a number"),
    Boolean: ((bool,), "true or false"),
    UtcTime: ((datetime, str), "a time"),
}
"""The Python types that a column takes; JSON takes anything that JSON can say."""

LONGEST_INT = 10_000
"""Bits of a whole number in JSON: Python does not write, or read, many more."""

LONGEST_KEY = 850
"""Bytes of a text in a key: PostgreSQL keeps three of them, and not many more, in one entry of an index."""

_WHOLE = range(-(2**31), 2**31)
"""Whole numbers that every database takes."""


def fit(column: Column[Value], value: Value) -> Value:
    """The value as this column stores it, or compares with it, on every database.

    Text is cleaned; a time may be an ISO 8601 text (UTC where it names no zone).

    Raises:
        StoreError: the value is of another type, or out of range; databases disagree on what that means.
    """
    try:
        value = clean(value)
        if isinstance(column.type, JSON) and not _is_json(value):
            raise StoreError(f"{column.table.name}.{column.name} takes what JSON can say, not {_shortly(value)}")
    except RecursionError as error:
        raise StoreError(f"{column.table.name}.{column.name}: nested too deeply to be stored") from error
    if value is None or isinstance(column.type, JSON):
        return value
    kinds, words = _FITS[type(column.type)]
    wrong = not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)
    if wrong or (isinstance(column.type, Integer) and value not in _WHOLE):
        raise StoreError(f"{column.table.name}.{column.name} takes {words}, not {_shortly(value)}")
    if isinstance(value, int) and isinstance(column.type, Float):
        return _as_float(column, value)
    if isinstance(value, str) and isinstance(column.type, UtcTime):
        return _moment(column, value)
    if isinstance(value, str) and column.primary_key and len(value.encode()) > LONGEST_KEY:
        raise StoreError(f"{column.table.name}.{column.name} is a key: {len(value)} characters are too many for it")
    return value


def _as_float(column: Column[Value], value: int) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise StoreError(f"{column.table.name}.{column.name}: {_shortly(value)} is too large") from error


def _moment(column: Column[Value], text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        example = "2026-02-01 or 2026-02-01T00:00:00Z"
        raise StoreError(f"{column.table.name}.{column.name} takes a time, not {text[:40]!r} ({example})") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _shortly(value: Value) -> str:
    shown = repr(value)
    return cut(shown, 40)


def _key(name: str) -> Column[str]:
    """A text column of a primary key, ordered by code point on every database."""
    return Column(name, Text().with_variant(Text(collation="C"), "postgresql"), primary_key=True)


def _text(*names: str) -> list[Column[str]]:
    return [Column(name, Text) for name in names]


def _times(*names: str) -> list[Column[datetime]]:
    return [Column(name, UtcTime) for name in names]


def _json(*names: str) -> list[Column[Value]]:
    return [Column(name, JSON(none_as_null=True)) for name in names]


_STATUSES = "('valid', 'fragile', 'withdrawn', 'refused')"
"""Of certificates: see tasks.certificate."""

metadata = MetaData()

repositories = Table(
    "repositories",
    metadata,
    _key("owner"),
    _key("repo"),
    Column("stars", Integer),
    *_text("description", "language"),
    *_json("topics"),
    *_text("licence", "asv_config", "head_sha"),
    *_times("updated_at"),
)

pull_requests = Table(
    "pull_requests",
    metadata,
    _key("owner"),
    _key("repo"),
    Column("issue_number", Integer, primary_key=True, autoincrement=False),
    *_text("title", "body", "author"),
    *_json("labels"),
    *_times("created_at", "merged_at"),
    *_text("base_sha", "merge_commit_sha", "patch"),
    *_json("files"),
    Column("is_performance_commit", Boolean),
    *_text("classification", "difficulty", "reason"),
    Column("confidence", Float),
    *_text("classified_by"),
    *_json("resolution"),
    *_text("task_id", "container_name", "image_name", "image_digest", "final_md", "certificate_status", "dataset"),
    *_times("published_at", "updated_at"),
    *_text("licence"),
    *_times("edited_at"),
    CheckConstraint("confidence BETWEEN 0 AND 100", name="pull_requests_confidence"),
    CheckConstraint(f"certificate_status IN {_STATUSES}", name="pull_requests_certificate_status"),
)

hook_cache = Table(
    "hook_cache",
    metadata,
    _key("entity_key"),
    _key("hook_name"),
    _key("args_hash"),
    *_json("value"),
    *_times("created_at"),
)

build_attempts = Table(
    "build_attempts",
    metadata,
    Column("id", Integer, primary_key=True),
    *_text("owner", "repo", "sha"),
    Column("issue_number", Integer),
    Column("attempt", Integer),
    *_text("engine", "strategy", "stage"),
    Column("ok", Boolean),
    Column("rc", Integer),
    *_text("reason", "stdout", "stderr"),
    Column("duration_s", Float),
    *_text("context_hash"),
    *_json("context"),
    *_times("created_at"),
    *_text("tier", "recipe", "model", "script"),
    Column("cost_usd", Float),
    Index("build_attempts_by_commit", "owner", "repo", "sha"),
)

candidate_containers = Table(
    "candidate_containers",
    metadata,
    _key("owner"),
    _key("repo"),
    _key("sha"),
    Column("issue_number", Integer),
    *_text("engine", "image_name", "image_digest", "context_hash"),
    *_json("context", "verification"),
    Column("sealed", Boolean),
    *_times("created_at"),
)

packages = Table(
    "packages",
    metadata,
    _key("owner"),
    _key("repo"),
    _key("sha"),
    *_text("python_version", "strategy"),
    *_times("cutoff"),
    *_json("pins", "resolution"),
    *_text("log"),
    *_times("created_at"),
)

pr_contexts = Table(
    "pr_contexts",
    metadata,
    _key("owner"),
    _key("repo"),
    Column("issue_number", Integer, primary_key=True, autoincrement=False),
    *_json("links", "context"),
    *_text("final_md"),
    *_times("created_at"),
)

runner_progress = Table(
    "runner_progress",
    metadata,
    _key("runner_id"),
    *_text("name", "window"),
    Column("stage", Integer),
    *_text("worker"),
    Column("total", Integer),
    Column("completed", Integer),
    Column("passed", Integer),
    Column("refused", Integer),
    Column("failed", Integer),
    Column("state", Text),
    *_times("started_at", "updated_at"),
    CheckConstraint("stage BETWEEN 1 AND 6", name="runner_progress_stage"),
    CheckConstraint("state IN ('running', 'finished', 'stopped')", name="runner_progress_state"),
)

runner_failures = Table(
    "runner_failures",
    metadata,
    Column("id", Integer, primary_key=True),
    *_text("runner_id", "window"),
    Column("stage", Integer),
    *_text("item", "reason", "traceback"),
    *_times("failed_at"),
    CheckConstraint("stage BETWEEN 1 AND 6", name="runner_failures_stage"),
    Index("runner_failures_by_item", "window", "stage", "item"),
)

stage_items = Table(
    "stage_items",
    metadata,
    _key("window"),
    Column("stage", Integer, primary_key=True, autoincrement=False),
    _key("item"),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    *_text("worker"),
    *_times("lease_until"),
    Column("updated_at", UtcTime, nullable=False),
    CheckConstraint("attempts >= 0 AND fence >= 0", name="stage_items_counters"),
    CheckConstraint("stage BETWEEN 1 AND 6", name="stage_items_stage"),
    CheckConstraint("kind IN ('repository', 'pull_request')", name="stage_items_kind"),
    CheckConstraint("state IN ('pending', 'leased', 'passed', 'refused', 'failed')", name="stage_items_state"),
    CheckConstraint("state NOT IN ('refused', 'failed') OR reason <> ''", name="stage_items_has_reason"),
    CheckConstraint("(state = 'leased') = (lease_until IS NOT NULL)", name="stage_items_lease"),
    Index("stage_items_by_state", "window", "stage", "state", "item"),
)

certificates = Table(
    "certificates",
    metadata,
    _key("task_id"),
    _key("image_digest"),
    _key("machine"),
    Column("issued_at", UtcTime, primary_key=True),
    *_text("status", "reason"),
    *_json("certificate"),
    CheckConstraint(f"status IN {_STATUSES}", name="certificates_status"),
)
