"""The ledger's statements: who works on which item, who may finish it, and where it goes next.

Every function runs inside the caller's transaction. On SQLite that transaction holds the write lock from its start;
on PostgreSQL the rows are locked, and rows that another claimant holds are skipped.
"""

import heapq
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Text,
    and_,
    any_,
    bindparam,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    true,
    update,
)

from datasmith.storage.base import (
    FINAL_STATES,
    STAGES,
    Entry,
    FunnelRow,
    ItemKind,
    ItemState,
    Row,
    StageItem,
    Verdict,
)
from datasmith.storage.schema import clean_text, stage_items
from datasmith.storage.statements import insert_into

_C = stage_items.c
_COLUMNS = (_C.window, _C.stage, _C.item, _C.kind, _C.state, _C.reason, _C.attempts, _C.fence)
_THIS = (_C.window == bindparam("b_window"), _C.stage == bindparam("b_stage"), _C.item == bindparam("b_item"))
_EARLIER = stage_items.alias("earlier").c
# Numbers of stages, not a range of them: a row is then found by its primary key.
_BEFORE = _EARLIER.stage.in_([_C.stage - back for back in range(1, len(STAGES))])
_HAS_COME = ~exists().where(_EARLIER.window == _C.window, _BEFORE, _EARLIER.item == _C.item, _EARLIER.state != "passed")
"""True for the items that are at their stage: every earlier one that knows them has let them pass."""
_ITEMS = select(*_COLUMNS).where(_C.window == bindparam("b_window")).order_by(_C.stage, _C.item)
_TOLD = (_C.stage, _C.state, _C.reason)
_FUNNEL = (
    select(*_TOLD, func.count())
    .where(_C.window == bindparam("b_window"), _C.kind == "pull_request", _HAS_COME)
    .group_by(*_TOLD)
    .order_by(*_TOLD)
)
Key = tuple[str, int, str]


def enter(connection: Connection, window: str, entries: Iterable[Entry], now: datetime) -> int:
    """Add items that are not known yet; returns how many."""
    alike: dict[tuple[int, ItemKind, ItemState, str], list[str]] = defaultdict(list)
    for entry in entries:
        alike[entry.stage, entry.kind, entry.state, entry.reason].append(clean_text(entry.item))
    entered = 0
    for (stage, kind, state, reason), names in sorted(alike.items()):
        row = _fresh(window, Entry(stage, "", kind, state, reason), now)
        del row["item"]
        columns = [literal(value, _C[name].type) for name, value in row.items()]
        fresh = select(*columns, _names(connection, sorted(names)))
        fresh = fresh.where(true())  # without WHERE, SQLite takes ON CONFLICT for a join's ON
        statement = insert_into(connection, stage_items).from_select([*row, "item"], fresh).on_conflict_do_nothing()
        entered += connection.execute(statement, execution_options={"preserve_rowcount": True}).rowcount
    return entered


def record(connection: Connection, window: str, entries: Iterable[Entry], now: datetime) -> None:
    """Write states, whatever was known before; a lease on such an item is void from now on."""
    entries = _in_order(entries)
    if not entries:
        return
    statement = insert_into(connection, stage_items)
    replaced = {name: statement.excluded[name] for name in ("kind", "state", "reason", "lease_until", "updated_at")}
    statement = statement.on_conflict_do_update(
        index_elements=["window", "stage", "item"], set_={**replaced, "fence": _C.fence + 1}
    )
    connection.execute(statement, [_fresh(window, entry, now) for entry in entries])
    _withdraw(connection, [((window, entry.stage, clean_text(entry.item)), entry.state) for entry in entries])


def amend(connection: Connection, rows: Sequence[StageItem], state: ItemState, reason: str, now: datetime) -> int:
    """Write a state over rows whose state and fence are still those that were read; returns how many were."""
    read: dict[tuple[str, int], dict[str, StageItem]] = defaultdict(dict)
    for row in rows:
        read[row.window, row.stage][row.item] = row
    amended = 0
    for (window, stage), known in sorted(read.items()):
        found = _named(connection, window, stage, list(known), true())
        same = [row.item for row in found if (row.state, row.fence) == (known[row.item].state, known[row.item].fence)]
        if not same:
            continue
        told = {"state": state, "reason": clean_text(reason), "lease_until": None, "updated_at": now}
        _set(connection, (window, stage), same, **told, fence=_C.fence + 1)
        _withdraw(connection, [((window, stage, item), state) for item in same])
        amended += len(same)
    return amended


def claim(
    connection: Connection,
    stage_of: tuple[str, int],
    worker: str,
    n: int,
    lease_s: float,
    now: datetime,
    *,
    repositories: Collection[str] | None = None,
) -> list[StageItem]:
    """Lease the first `n` items, by name, that are pending or whose lease has run out; of `repositories` alone."""
    ours = and_(_HAS_COME, _is_of(connection, repositories))
    waiting = _first(connection, stage_of, and_(_C.state == "pending", ours), n)
    abandoned = _first(connection, stage_of, and_(_C.state == "leased", _C.lease_until <= now, ours), n)
    chosen = list(heapq.merge(waiting, abandoned, key=lambda row: row.item))[:n]
    return _lease(connection, stage_of, chosen, worker, lease_s, now)


def take(
    connection: Connection,
    stage_of: tuple[str, int],
    items: Sequence[tuple[str, ItemKind]],
    worker: str,
    lease_s: float,
    now: datetime,
) -> list[StageItem]:
    """Lease just these items in their order, whatever their state, but not those under another worker's lease."""
    if not items:
        return []
    window, stage = stage_of
    enter(connection, window, [Entry(stage, item, kind) for item, kind in items], now)
    free = or_(_C.state != "leased", _C.worker == worker, _C.lease_until <= now)
    names = [clean_text(item) for item, _ in items]
    rows = {row.item: row for row in _named(connection, window, stage, names, free)}
    chosen = [rows[name] for name in dict.fromkeys(names) if name in rows]
    return _lease(connection, stage_of, chosen, worker, lease_s, now)


def finish(connection: Connection, verdicts: Sequence[Verdict], now: datetime) -> list[bool]:
    """Set states where the lease still holds, and put what follows from them into the ledger; True where it held."""
    fences = _held_fences(connection, verdicts)
    held = [fences.pop(_key(verdict.item), None) == verdict.item.fence for verdict in verdicts]
    ended = [verdict for verdict, holds in zip(verdicts, held, strict=True) if holds]
    if not ended:
        return held
    alike: dict[tuple[str, int, str, str], list[str]] = defaultdict(list)
    for verdict in ended:
        window, stage, item = _key(verdict.item)
        alike[window, stage, verdict.state, clean_text(verdict.reason)].append(item)
    for (window, stage, state, reason), names in alike.items():
        _set(connection, (window, stage), names, state=state, reason=reason, lease_until=None, updated_at=now)
    _withdraw(connection, [(_key(verdict.item), verdict.state) for verdict in ended])
    for window in {verdict.item.window for verdict in ended}:
        entries = [entry for verdict in ended if verdict.item.window == window for entry in verdict.entries]
        enter(connection, window, [entry for entry in entries if entry.state not in FINAL_STATES], now)
        _reopen(connection, window, [entry for entry in entries if entry.anew], now)
        record(connection, window, [entry for entry in entries if entry.state in FINAL_STATES], now)
    return held


def renew(connection: Connection, items: Sequence[StageItem], lease_s: float, now: datetime) -> int:
    """Let leases that still hold end later; returns how many did."""
    if not items:
        return 0
    statement = update(stage_items).where(*_THIS, _C.fence == bindparam("b_fence"), _C.state == "leased")
    statement = statement.values(lease_until=now + timedelta(seconds=lease_s))
    return connection.execute(statement, [_bound(item) | {"b_fence": item.fence} for item in items]).rowcount


def reopen(connection: Connection, stage_of: tuple[str, int], states: Sequence[ItemState], now: datetime) -> int:
    """Make every item in one of `states` pending again; returns how many."""
    window, stage = stage_of
    statement = update(stage_items).where(_C.window == window, _C.stage == stage, _C.state.in_(states))
    return connection.execute(statement.values(state="pending", lease_until=None, updated_at=now)).rowcount


def items(connection: Connection, window: str, stage: int | None) -> list[StageItem]:
    """Every row of a window, or of one of its stages."""
    statement = _ITEMS if stage is None else _ITEMS.where(_C.stage == stage)
    return [StageItem(*row) for row in connection.execute(statement, {"b_window": window})]


def count(
    connection: Connection, window: str, stage: int, *, repositories: Collection[str] | None = None
) -> dict[ItemState, int]:
    """Items by state, of `repositories` alone; states that nothing is in are 0."""
    where = (_C.window == window, _C.stage == stage, _HAS_COME, _is_of(connection, repositories))
    statement = select(_C.state, func.count()).where(*where).group_by(_C.state)
    found = {row[0]: row[1] for row in connection.execute(statement)}
    states: tuple[ItemState, ...] = ("pending", "leased", *FINAL_STATES)
    return {state: found.get(state, 0) for state in states}


def oldest(connection: Connection, window: str, stage: int) -> tuple[str, datetime] | None:
    """The undecided item that was last written longest ago, and when."""
    open_now = (_C.window == window, _C.stage == stage, _C.state.in_(("pending", "leased")), _HAS_COME)
    found = connection.execute(
        select(_C.item, _C.updated_at).where(*open_now).order_by(_C.updated_at, _C.item).limit(1)
    )
    row = found.first()
    return (row.item, row.updated_at) if row else None


def windows(connection: Connection) -> list[str]:
    """Every window that has a row, by code point."""
    return list(connection.execute(select(_C.window).distinct().order_by(_C.window)).scalars())


def funnel(connection: Connection, window: str) -> list[FunnelRow]:
    """Counts of pull requests by stage, state and reason."""
    rows = connection.execute(_FUNNEL, {"b_window": window})
    return [FunnelRow(stage, state, reason, number) for stage, state, reason, number in rows]


def _key(item: StageItem) -> Key:
    return item.window, item.stage, item.item


def _bound(item: StageItem) -> dict[str, str | int]:
    return {"b_window": item.window, "b_stage": item.stage, "b_item": item.item}


def _fresh(window: str, entry: Entry, now: datetime) -> Row:
    return {
        "window": clean_text(window),
        "stage": entry.stage,
        "item": clean_text(entry.item),
        "kind": entry.kind,
        "state": entry.state,
        "reason": clean_text(entry.reason),
        "attempts": 0,
        "fence": 0,
        "worker": None,
        "lease_until": None,
        "updated_at": now,
    }


def _first(connection: Connection, stage_of: tuple[str, int], free: ColumnElement[bool], n: int) -> list[StageItem]:
    window, stage = stage_of
    statement = select(*_COLUMNS).where(_C.window == window, _C.stage == stage, free).order_by(_C.item).limit(n)
    return [StageItem(*row) for row in connection.execute(statement.with_for_update(skip_locked=True))]


def _named(
    connection: Connection, window: str, stage: int, names: Sequence[str], condition: ColumnElement[bool]
) -> Iterator[StageItem]:
    if not names:
        return
    where = (_C.window == window, _C.stage == stage, _is_among(connection, names), condition)
    # Everybody locks rows in this order: then nobody waits for somebody who waits for them.
    for row in connection.execute(select(*_COLUMNS).where(*where).order_by(_C.item).with_for_update()):
        yield StageItem(*row)


def _lease(
    connection: Connection,
    stage_of: tuple[str, int],
    free: Sequence[StageItem],
    worker: str,
    lease_s: float,
    now: datetime,
) -> list[StageItem]:
    """Write the lease into rows that this transaction has locked."""
    if not free:
        return []
    _set(
        connection,
        stage_of,
        [item.item for item in free],
        state="leased",
        worker=clean_text(worker),
        lease_until=now + timedelta(seconds=lease_s),
        fence=_C.fence + 1,
        attempts=_C.attempts + 1,
        updated_at=now,
    )
    return [replace(item, state="leased", attempts=item.attempts + 1, fence=item.fence + 1) for item in free]


def _set(
    connection: Connection,
    stage_of: tuple[str, int],
    names: Sequence[str],
    **columns: str | datetime | ColumnElement[int] | None,
) -> None:
    """Set the same columns on every named item of a stage."""
    window, stage = stage_of
    where = (_C.window == window, _C.stage == stage, _is_among(connection, names))
    connection.execute(update(stage_items).where(*where).values(**columns))


def _held_fences(connection: Connection, verdicts: Sequence[Verdict]) -> dict[Key, int]:
    """The newest fence of those items that are under a lease now."""
    names: dict[tuple[str, int], list[str]] = defaultdict(list)
    for verdict in verdicts:
        names[verdict.item.window, verdict.item.stage].append(verdict.item.item)
    return {
        (window, stage, row.item): row.fence
        for (window, stage), wanted in names.items()
        for row in _named(connection, window, stage, wanted, _C.state == "leased")
    }


def _withdraw(connection: Connection, ended: Iterable[tuple[Key, ItemState]]) -> None:
    """Take items that were refused out of the stages after it: what is known there came from an answer taken back.

    A failure is no answer. What is known there stays, and counts again when the item has passed (`_HAS_COME`).
    """
    refused: dict[tuple[str, int], list[str]] = defaultdict(list)
    for (window, stage, item), state in ended:
        if state == "refused":
            refused[window, stage].append(item)
    for (window, stage), names in refused.items():
        later = [number for number in STAGES if number > stage]
        where = (_C.window == window, _C.stage.in_(later), _is_among(connection, names))
        connection.execute(delete(stage_items).where(*where))


def _reopen(connection: Connection, window: str, entries: Iterable[Entry], now: datetime) -> None:
    """Let items wait again that are decided at the stages of these entries."""
    names: dict[int, list[str]] = defaultdict(list)
    for entry in entries:
        names[entry.stage].append(clean_text(entry.item))
    for stage, wanted in names.items():
        ended = list(_named(connection, window, stage, wanted, _C.state.in_(FINAL_STATES)))
        amend(connection, ended, "pending", "", now)


def _in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Everybody locks rows in this order: then nobody waits for somebody who waits for them."""
    return sorted(entries, key=lambda entry: (entry.stage, clean_text(entry.item)))


def _is_among(connection: Connection, names: Sequence[str]) -> ColumnElement[bool]:
    """True for the items with these names.

    PostgreSQL is told between which names they lie: where it knows no statistics yet, it would read the whole stage.
    """
    if connection.dialect.name == "postgresql":
        among = _C.item == any_(literal(names, ARRAY(Text)))
        return and_(_C.item >= min(names), _C.item <= max(names), among)
    return _C.item.in_(select(_names(connection, names)))


def _is_of(connection: Connection, repositories: Collection[str] | None) -> ColumnElement[bool]:
    """True for the items of these repositories ("owner/repo", what stands before an item's colon); None is any."""
    if repositories is None:
        return true()
    names = sorted(map(clean_text, repositories))
    if connection.dialect.name == "postgresql":
        return func.split_part(_C.item, ":", 1) == any_(literal(names, ARRAY(Text)))
    repository = func.substr(_C.item, 1, func.instr(_C.item.concat(":"), ":") - 1)
    return repository.in_(select(_names(connection, names)))


def _names(connection: Connection, names: Sequence[str]) -> ColumnElement[str]:
    """The names as a column of rows, in one parameter however many there are."""
    if connection.dialect.name == "postgresql":
        return func.unnest(literal(names, ARRAY(Text))).column_valued("name")
    return func.json_each(json.dumps(names)).table_valued("value").c.value
