"""Where a window stands now: counts, speed, what waits longest, what failed and who is at work; only reads."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from datasmith.runners.loop import LEASE_S
from datasmith.storage.base import STAGES, ItemKind, Row, Store, Value

NEAREST = 4
"""So many windows are named where nothing is known of the one that was asked for."""
SHORTEST = timedelta(minutes=1)
"""A speed in items a minute rests on a minute at least: ten items that took a moment are no thousands a minute."""
SILENT_AFTER = timedelta(seconds=LEASE_S)
"""A worker notes its progress whenever it renews its leases; one that has not for so long was killed, or is stuck."""

LAST_OF_REPOSITORIES = 2
"""Stages 1 and 2 work by repository; stage 2 decides on pull requests, too."""

WorkerState = Literal["running", "silent", "finished", "stopped"]


@dataclass(frozen=True, slots=True)
class StageStatus:
    """Items of one kind at one stage, by state; stage 2 has both kinds.

    `per_minute` counts what the stage works on: of the workers that run now, else of the last run; None where unknown,
    and where nothing ran for long enough (SHORTEST).
    """

    stage: int
    name: str
    kind: ItemKind
    pending: int
    leased: int
    passed: int
    refused: int
    failed: int
    per_minute: float | None
    oldest: str | None
    oldest_age_s: float | None

    @property
    def known(self) -> int:
        """All of these items."""
        return self.pending + self.leased + self.passed + self.refused + self.failed


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """One worker ("host-pid") at its last stage; `holding` items are under its lease now."""

    worker: str
    stage: int
    state: WorkerState
    holding: int
    completed: int
    total: int
    seen: datetime


@dataclass(frozen=True, slots=True)
class Status:
    """A window at a moment; `failures` are (stage, reason, count), the most frequent first."""

    window: str
    at: datetime
    stages: tuple[StageStatus, ...]
    failures: tuple[tuple[int, str, int], ...]
    workers: tuple[WorkerStatus, ...]

    @property
    def is_known(self) -> bool:
        """True where the ledger has an item of the window."""
        return any(stage.known for stage in self.stages)


def status(store: Store, window: str, now: datetime) -> Status:
    """Read the state of a window."""
    runs = store.select("runner_progress", {"window": window}, ["updated_at"])
    held = Counter(str(row["worker"]) for row in store.select("stage_items", {"window": window, "state": "leased"}))
    return Status(
        window=window,
        at=now,
        stages=tuple(row for stage in STAGES for row in _stage(store, window, stage, runs, now)),
        failures=_failures(store, window),
        workers=_workers(runs, held, now),
    )


def nearest(store: Store, window: str) -> list[str]:
    """Of the windows that the store knows those that begin nearest to one that it does not, in order."""

    def days_off(known: str) -> int:
        return abs((date.fromisoformat(known[:10]) - date.fromisoformat(window[:10])).days)

    return sorted(sorted(store.windows(), key=days_off)[:NEAREST])


def _stage(store: Store, window: str, stage: int, runs: Sequence[Row], now: datetime) -> list[StageStatus]:
    """A row for each kind of item that the stage has; the few repositories are counted one by one."""
    counts = Counter[str](store.count(window, stage))
    speed = per_minute([row for row in runs if row["stage"] == stage], now)
    rows: list[StageStatus] = []
    if stage <= LAST_OF_REPOSITORIES:
        found = _repositories(store, window, stage)
        ours = Counter(str(row["state"]) for row in found)
        waiting = [row for row in found if row["state"] in {"pending", "leased"}]
        oldest = min(((_time(row["updated_at"]), str(row["item"])) for row in waiting), default=None)
        rows.append(_row(stage, "repository", ours, oldest, now, speed))
        counts -= ours
    if stage >= LAST_OF_REPOSITORIES:
        waits = store.oldest(window, stage) if counts["pending"] + counts["leased"] else None
        oldest = (waits[1], waits[0]) if waits else None
        rows.append(_row(stage, "pull_request", counts, oldest, now, None if rows else speed))
    return rows


def _repositories(store: Store, window: str, stage: int) -> list[Row]:
    """The rows of repositories at a stage by time, without those that have not passed the one before (again)."""
    rows = store.select("stage_items", {"window": window, "kind": "repository"}, ["updated_at"])
    held = {row["item"] for row in rows if _number(row["stage"]) < stage and row["state"] != "passed"}
    return [row for row in rows if row["stage"] == stage and row["item"] not in held]


def _row(
    stage: int,
    kind: ItemKind,
    counts: Counter[str],
    oldest: tuple[datetime, str] | None,
    now: datetime,
    speed: float | None,
) -> StageStatus:
    return StageStatus(
        stage=stage,
        name=STAGES[stage],
        kind=kind,
        pending=counts["pending"],
        leased=counts["leased"],
        passed=counts["passed"],
        refused=counts["refused"],
        failed=counts["failed"],
        per_minute=speed,
        oldest=oldest[1] if oldest else None,
        oldest_age_s=(now - oldest[0]).total_seconds() if oldest else None,
    )


def per_minute(runs: Sequence[Row], now: datetime) -> float | None:
    """Items a minute of the workers that run now, together; else of the run that ended last and did any.

    `runs` are by time. What ran for less than SHORTEST has no speed: None where that is all there is.
    """
    running = [row for row in runs if state_of(row, now) == "running"]
    if running:
        known = [speed for row in running if (speed := _speed(row, now)) is not None]
    else:
        ended = [_speed(row, _time(row["updated_at"])) for row in runs if _number(row["completed"])]
        known = [speed for speed in ended if speed is not None][-1:]
    return sum(known) if known else None


def _speed(run: Row, until: datetime) -> float | None:
    """Items a minute; None of a span that is shorter than SHORTEST."""
    span = until - _time(run["started_at"])
    return _number(run["completed"]) / (span / timedelta(minutes=1)) if span >= SHORTEST else None


def state_of(run: Row, now: datetime) -> WorkerState:
    """What a worker does: as it says, unless it has said nothing for long."""
    if run["state"] == "running":
        return "silent" if now - _time(run["updated_at"]) > SILENT_AFTER else "running"
    return "finished" if run["state"] == "finished" else "stopped"


def _workers(runs: Sequence[Row], held: Counter[str], now: datetime) -> tuple[WorkerStatus, ...]:
    """Those that run or hold items; of each its newest row."""
    newest = {str(row["worker"]): row for row in runs}
    found = [
        WorkerStatus(
            worker=worker,
            stage=_number(row["stage"]),
            state=state_of(row, now),
            holding=held[worker],
            completed=_number(row["completed"]),
            total=_number(row["total"]),
            seen=_time(row["updated_at"]),
        )
        for worker, row in sorted(newest.items())
    ]
    return tuple(worker for worker in found if worker.holding or worker.state in {"running", "silent"})


def _failures(store: Store, window: str) -> tuple[tuple[int, str, int], ...]:
    told: Counter[tuple[int, str]] = Counter()
    for row in store.funnel(window):
        if row.state == "failed":
            told[row.stage, row.reason] += row.count
    for item in store.select("stage_items", {"window": window, "state": "failed", "kind": "repository"}):
        told[_number(item["stage"]), str(item["reason"])] += 1
    return tuple(sorted(((*key, number) for key, number in told.items()), key=lambda row: (-row[2], row[0], row[1])))


def _time(value: Value) -> datetime:
    assert isinstance(value, datetime)
    return value


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0
