"""The seam to the database: rows in, rows out, parameters always bound."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from datasmith.storage.window_lock import Holder

Value = str | int | float | bool | bytes | datetime | None | list["Value"] | dict[str, "Value"]
Row = dict[str, Value]

ItemKind = Literal["repository", "pull_request"]
ItemState = Literal["pending", "leased", "passed", "refused", "failed"]
STAGES = {
    1: "scrape_repos",
    2: "scrape_commits",
    3: "classify_prs",
    4: "resolve_packages",
    5: "synthesize_images",
    6: "publish",
}
"""Number and name of each stage of the ledger, in order."""

FINAL_STATES: tuple[ItemState, ...] = ("passed", "refused", "failed")


def utc_now() -> datetime:
    """The wall clock, as every moment in a store is: aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class StageItem:
    """One row of the ledger: an item ("owner/repo" or "owner/repo:n") at a stage (1-6) of a window.

    refused: a decision, with its reason. failed: something broke; a later run may try again.
    `fence` grows with every claim; only the newest claimant may finish the item.
    """

    window: str
    stage: int
    item: str
    kind: ItemKind
    state: ItemState
    reason: str
    attempts: int
    fence: int


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """How many items of a stage are in a state for one reason."""

    stage: int
    state: ItemState
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An item to be put into a stage: as pending (one known there keeps its state), or decided at once.

    `anew`: where a verdict brings it, one that is decided there waits again; what it rested on has been made anew.
    """

    stage: int
    item: str
    kind: ItemKind
    state: ItemState = "pending"
    reason: str = ""
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one leased item ended, and what is written together with that, or not at all.

    `rows` are (table, row) pairs to upsert; `entries` go into the ledger of the same window.
    """

    item: StageItem
    state: ItemState
    reason: str
    rows: tuple[tuple[str, Mapping[str, Value]], ...] = ()
    entries: tuple[Entry, ...] = ()


Operator = Literal["eq", "gt", "gte", "lt", "lte", "in", "is", "like", "ilike"]
Action = Literal["select", "insert", "upsert", "update", "delete"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one column; `negated` turns it round. Where the column is missing, both are false, but for `is`."""

    column: str
    operator: Operator
    value: Value
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """One column to order by; where missing values go follows from the direction (last, or first if `desc`)."""

    column: str
    desc: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One question or change, as datasmith.storage.table builds it; no columns means all of them.

    `rows` are what is inserted or upserted; for an update the one row holds the new values. `conflict` are the
    columns by which an upsert recognises a row (none: the primary key). `count` asks how many rows there are without
    `limit` and `offset`.
    """

    table: str
    action: Action = "select"
    columns: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    count: bool = False
    rows: tuple[Mapping[str, Value], ...] = ()
    conflict: tuple[str, ...] = ()
    keep: bool = False
    """An upsert leaves rows that exist as they are."""


class Store(Protocol):
    """A database with the tables of docs/reference/database.md."""

    def migrate(self) -> None:
        """Bring the schema up to this version; a second call changes nothing.

        Raises:
            StoreUnavailable: the database cannot be opened or written; names the file or URL (without password).
        """

    def check(self) -> None:
        """Raises SchemaMismatch or StoreUnavailable where the store cannot be used as it is."""

    def upsert(self, table: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Insert rows, replacing the named columns of those whose primary key exists; one transaction."""

    def select(self, table: str, where: Mapping[str, Value] | None = None, order: Sequence[str] = ()) -> list[Row]:
        """Rows whose columns equal `where` (None matches NULL), in the given order of columns."""

    def query(self, query: Query) -> tuple[list[Row], int | None]:
        """Answer a query in one transaction: rows (of a change: those changed, as they are now; deleted: were).

        The number is how many rows fit the conditions, where the query asks for it.

        Raises:
            StoreError: a table or column is unknown, a value does not fit its column, a change has no condition.
        """

    # The ledger: every call is one transaction; times are aware UTC and given by the caller.

    def enter(self, window: str, stage: int, items: Sequence[tuple[str, ItemKind]], now: datetime) -> int:
        """Add items as pending; those known already keep their state. Returns how many were new."""

    def record(
        self, window: str, stage: int, items: Sequence[tuple[str, ItemKind, ItemState, str]], now: datetime
    ) -> None:
        """Write states at once, for what is decided in bulk (also: to be decided again); known items are replaced."""

    def amend(self, rows: Sequence[StageItem], state: ItemState, reason: str, now: datetime) -> int:
        """Write a state over those of `rows` that are still as they were read; returns how many were.

        As `record`, but what somebody else has taken up or decided meanwhile stays theirs.
        """

    def claim(
        self,
        window: str,
        stage: int,
        worker: str,
        n: int,
        lease_s: float,
        now: datetime,
        *,
        repositories: Collection[str] | None = None,
    ) -> list[StageItem]:
        """Lease up to `n` items that are pending, or whose lease ran out; ordered by item.

        Only those of `repositories` ("owner/repo"), where they are given, and none that has not passed an earlier
        stage which knows it.
        """

    def finish(self, item: StageItem, state: ItemState, reason: str, now: datetime) -> bool:
        """Set a final state (or pending, to give the lease back); False where the lease went to somebody else."""

    def finish_many(self, verdicts: Sequence[Verdict], now: datetime) -> list[bool]:
        """As `finish` for each, in one transaction, with the rows and entries of those whose lease still holds.

        A refused item leaves the later stages too: what they knew came from an answer that is taken back. One that
        failed is held back: later stages keep its rows, but neither give them out nor count them until it has passed.
        """

    def renew(self, items: Sequence[StageItem], lease_s: float, now: datetime) -> int:
        """Let the leases of `items` end `lease_s` seconds from `now`; returns how many still held."""

    def take(
        self, window: str, stage: int, items: Sequence[tuple[str, ItemKind]], worker: str, lease_s: float, now: datetime
    ) -> list[StageItem]:
        """Lease just these, entering new ones and taking up ended ones again; not those leased by somebody else."""

    def count(self, window: str, stage: int, *, repositories: Collection[str] | None = None) -> dict[ItemState, int]:
        """How many items of a stage are in each state (0 included); of `repositories`, where they are given.

        As for `claim`, one that has not passed an earlier stage is not there yet; nor is it for `oldest` and `funnel`.
        """

    def oldest(self, window: str, stage: int) -> tuple[str, datetime] | None:
        """Of the items that are not decided, the one that has not moved for longest, and since when."""

    def hold(self, window: str, me: "Holder", *, join: bool) -> "AbstractContextManager[None]":
        """Keep other machines' runs off a window while the body runs; with `join`, only those that did not join.

        Raises WindowTaken. A database that machines cannot share keeps nobody off: the data directory's lock does.
        """

    def reopen(self, window: str, stage: int, states: Sequence[ItemState], now: datetime) -> int:
        """Make items in `states` (of leased: all of them) pending again; returns how many."""

    def stage_items(self, window: str, stage: int | None = None) -> list[StageItem]:
        """Rows of the ledger, ordered by stage and item."""

    def windows(self) -> list[str]:
        """The windows that the ledger knows something of, in order."""

    def funnel(self, window: str) -> list[FunnelRow]:
        """Counts by stage, state and reason of the pull requests of a window."""

    def close(self) -> None:
        """Give the connection back."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
