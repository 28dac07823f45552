"""The status of a window, on real stores."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import anyio
import pytest

from datasmith.runners.base import Outcome
from datasmith.runners.status import SHORTEST, SILENT_AFTER, WorkerState, nearest, per_minute, status
from datasmith.storage.base import Row, Store
from tests.conformance.stores import open_store
from tests.unit.runners.numbers import NOW, WINDOW, Numbers, entered, squared, with_lease


def progress(worker: str, stage: int, state: str, completed: int, *, began_s: float, seen_s: float) -> Row:
    """A row of runner_progress: times are seconds before NOW."""
    return {
        "runner_id": f"{stage}:{WINDOW}:{worker}",
        "name": "x",
        "window": WINDOW,
        "stage": stage,
        "worker": worker,
        "total": 10,
        "completed": completed,
        "passed": completed,
        "refused": 0,
        "failed": 0,
        "state": state,
        "started_at": before(began_s),
        "updated_at": before(seen_s),
    }


def before(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.fixture(params=["memory", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with open_store(request.param, tmp_path) as opened:
        yield opened


def test_an_unknown_window_is_empty(store: Store) -> None:
    """Six stages of nothing, the second with two kinds of items; nobody at work."""
    found = status(store, "2020-01-01..2020-02-01", NOW)
    assert [(stage.stage, stage.known, stage.per_minute, stage.oldest) for stage in found.stages] == [
        (number, 0, None, None) for number in (1, 2, 2, 3, 4, 5, 6)
    ]
    assert (found.failures, found.workers) == ((), ())


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("2019-12-31", "1234"),
        ("2020-02-02", "1234"),
        ("2020-04-02", "3456"),
        ("2026-01-01", "3456"),
    ],
)
def test_the_nearest_windows_are_those_around(store: Store, asked: str, near: str) -> None:
    """Four by date, at either end of what is known, too."""
    ends = "..2020-12-01"
    for month in range(1, 7):
        store.enter(f"2020-0{month}-01{ends}", 1, [("a/b", "repository")], NOW)
    assert nearest(store, f"{asked}{ends}") == [f"2020-0{month}-01{ends}" for month in near]


def fill(store: Store) -> None:
    """Stage 3: one passed, four failed, three waiting, two of these under leases; another window beside it."""
    items = [f"a/b:{number}" for number in range(8)]
    store.enter(WINDOW, 3, [(item, "pull_request") for item in items[:7]], before(500))
    store.enter(WINDOW, 3, [(items[7], "pull_request")], before(900))
    store.enter("2020-01-01..2020-02-01", 3, [("a/b:0", "pull_request")], before(9000))
    leased = store.claim(WINDOW, 3, "h-1", 5, 60, before(100))
    store.finish(leased[0], "passed", "", before(90))
    for item in leased[1:4]:
        store.finish(item, "failed", "ValueError: [red]x" if item is leased[1] else "TypeError: y", before(80))
    store.claim(WINDOW, 3, "h-2", 1, 60, before(50))
    store.record(WINDOW, 1, [("a/b", "repository", "failed", "NotFound: gone")], before(3))
    store.upsert(
        "runner_progress",
        [
            progress("h-1", 3, "running", 4, began_s=120, seen_s=1),
            progress("h-2", 3, "running", 60, began_s=600, seen_s=SILENT_AFTER.total_seconds() + 1),
            progress("h-0", 3, "stopped", 50, began_s=4000, seen_s=3400),
            progress("h-0", 2, "finished", 30, began_s=4060, seen_s=4000),
        ],
    )


def test_counts_speed_oldest_failures_and_workers(store: Store) -> None:
    """What is stored is what is told, of this window only; looking changes nothing."""
    fill(store)
    rows = store.stage_items(WINDOW)
    found = status(store, WINDOW, NOW)
    first, second, pull_requests, third, *_ = found.stages
    assert (third.pending, third.leased, third.passed, third.refused, third.failed) == (2, 2, 1, 0, 3)
    assert (third.oldest, third.oldest_age_s, third.known) == ("a/b:7", 900.0, 8)
    assert third.per_minute == pytest.approx(2.0) and second.per_minute == pytest.approx(30.0)
    assert (first.failed, first.kind, pull_requests.known, pull_requests.per_minute) == (1, "repository", 0, None)
    assert found.failures == ((3, "TypeError: y", 2), (1, "NotFound: gone", 1), (3, "ValueError: [red]x", 1))
    assert [(one.worker, one.state, one.holding, one.completed) for one in found.workers] == [
        ("h-1", "running", 1, 4),
        ("h-2", "silent", 1, 60),
    ]
    assert rows == store.stage_items(WINDOW)


def test_the_speed_is_that_of_who_runs_now_or_of_the_last_run() -> None:
    """Workers at work are added up; a run that took no time says nothing."""
    running = [progress(f"h-{n}", 3, "running", 10, began_s=60, seen_s=1) for n in (1, 2)]
    ended = progress("h-3", 3, "finished", 100, began_s=120, seen_s=60)
    assert per_minute([ended, *running], NOW) == pytest.approx(20.0)
    assert per_minute([progress("h-4", 3, "finished", 1, began_s=999, seen_s=500), ended], NOW) == pytest.approx(100.0)
    assert per_minute([progress("h-5", 3, "finished", 1, began_s=5, seen_s=5)], NOW) is None
    idle = progress("h-6", 3, "finished", 0, began_s=400, seen_s=399)
    assert per_minute([idle], NOW) is None and per_minute([ended, idle], NOW) == per_minute([ended], NOW)
    assert per_minute([], NOW) is None


def test_a_moment_has_no_speed() -> None:
    """Ten items of a tenth of a second are not 6,000 a minute; an earlier run that took a minute still counts."""
    least = SHORTEST.total_seconds()
    moment = progress("h-1", 3, "finished", 10, began_s=5.1, seen_s=5)
    begun = progress("h-2", 3, "running", 10, began_s=least - 0.1, seen_s=1)
    long = progress("h-3", 3, "running", 10, began_s=least, seen_s=1)
    assert per_minute([moment], NOW) is None and per_minute([begun], NOW) is None
    assert per_minute([begun, long], NOW) == per_minute([long], NOW) == pytest.approx(600 / least)
    ended = progress("h-4", 3, "finished", 20, began_s=100 + least, seen_s=100)
    assert per_minute([ended, moment], NOW) == pytest.approx(1200 / least)


def test_an_item_that_moved_is_not_the_oldest(store: Store) -> None:
    """Age counts from the last change of an undecided item; names decide between equals."""
    store.enter(WINDOW, 4, [("a/b:2", "pull_request"), ("a/b:1", "pull_request")], before(10))
    assert store.oldest(WINDOW, 4) == ("a/b:1", before(10))
    (leased,) = store.claim(WINDOW, 4, "w", 1, 60, before(5))
    assert leased.item == "a/b:1" and store.oldest(WINDOW, 4) == ("a/b:2", before(10))
    assert store.oldest(WINDOW, 5) is None


def test_a_worker_whose_items_take_long_is_not_silent(store: Store) -> None:
    """It says that it lives when it renews their leases, not only when one ends."""
    seen: list[WorkerState] = []

    async def long(number: int) -> Outcome[int]:
        await anyio.sleep(1.0)
        (run,) = store.select("runner_progress")
        assert isinstance(run["started_at"], datetime)
        seen.extend(
            at.state for at in status(store, WINDOW, run["started_at"] + SILENT_AFTER + timedelta(seconds=0.05)).workers
        )
        return squared(number)

    anyio.run(Numbers(entered(store, 1), long, with_lease(1.5)).run_stage)
    assert seen == ["running"]


def test_the_second_stage_has_two_kinds_of_items(store: Store) -> None:
    """Repositories are worked on, pull requests decided there: neither is added to the other."""
    store.enter(WINDOW, 2, [("a/b", "repository"), ("a/c", "repository")], before(100))
    store.record(WINDOW, 2, [("a/d", "repository", "passed", "")], before(50))
    store.record(WINDOW, 2, [(f"a/d:{n}", "pull_request", "passed", "") for n in range(5)], before(50))
    store.record(WINDOW, 2, [("a/d:9", "pull_request", "refused", "no code")], before(50))
    store.claim(WINDOW, 2, "h-1", 1, 60, before(20))
    (mine, theirs) = [stage for stage in status(store, WINDOW, NOW).stages if stage.stage == 2]
    assert (mine.kind, mine.pending, mine.leased, mine.passed, mine.known) == ("repository", 1, 1, 1, 3)
    assert (mine.oldest, mine.oldest_age_s) == ("a/c", 100.0)
    assert (theirs.kind, theirs.passed, theirs.refused, theirs.known) == ("pull_request", 5, 1, 6)
    assert (theirs.oldest, theirs.oldest_age_s) == (None, None)
    store.record(WINDOW, 1, [(f"a/{name}", "repository", "failed", "gone") for name in "cd"], before(10))
    (mine, theirs) = [stage for stage in status(store, WINDOW, NOW).stages if stage.stage == 2]
    assert (mine.pending, mine.leased, mine.passed, mine.oldest) == (0, 1, 0, "a/b")
    assert (theirs.passed, theirs.refused, theirs.known) == (5, 1, 6)
