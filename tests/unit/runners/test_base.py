"""The loop every stage shares."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest
from anyio import to_thread

from datasmith.errors import EngineUnavailable, ForgeUnavailable, ModelUnavailable, StoreUnavailable
from datasmith.runners.base import Outcome, default_worker
from datasmith.runners.loop import RunOptions
from datasmith.storage.base import Entry, StageItem, utc_now
from datasmith.storage.sql import SqlStore
from tests.unit.runners.numbers import OPTIONS, WINDOW, Numbers, entered, squared, with_lease


@pytest.fixture
def store() -> Iterator[SqlStore]:
    with SqlStore() as opened:
        opened.migrate()
        yield opened


def states(store: SqlStore, stage: int = 3) -> dict[str, str]:
    return {item.item: item.state for item in store.stage_items(WINDOW, stage)}


async def by_remainder(number: int) -> Outcome[int]:
    """Thirds: passed, refused, broken."""
    if number % 3 == 1:
        return Outcome("refused", f"{number} is odd")
    if number % 3 == 2:
        raise KeyError(f"no {number}\nat all")
    return squared(number)


async def always(number: int) -> Outcome[int]:
    return squared(number)


def test_every_item_ends_in_one_state_and_none_stops_the_others(store: SqlStore) -> None:
    """Passed, refused and failed items are counted, kept with their reasons, and add up."""
    summary = anyio.run(Numbers(entered(store, 90), by_remainder).run_stage)
    assert (summary.entered, summary.passed, summary.refused, summary.failed, summary.pending) == (90, 30, 30, 30, 0)
    assert not summary.all_failed
    reasons = {item.item: (item.state, item.reason) for item in store.stage_items(WINDOW, 3)}
    assert reasons["a/b:1"] == ("refused", "1 is odd")
    assert reasons["a/b:2"] == ("failed", "KeyError: 'no 2\\nat all'")


def test_what_passed_waits_at_the_next_stage_with_its_rows_stored(store: SqlStore) -> None:
    """Rows and next stage come with the state; what did not pass leaves nothing."""
    anyio.run(Numbers(entered(store, 9), by_remainder).run_stage)
    assert states(store, 4) == {"a/b:0": "pending", "a/b:3": "pending", "a/b:6": "pending"}
    assert {row["sha"]: row["log"] for row in store.select("packages")} == {"0": "0", "3": "9", "6": "36"}


def test_a_failure_is_kept_with_its_traceback(store: SqlStore) -> None:
    """The line that raised can be found afterwards."""
    anyio.run(Numbers(entered(store, 3), by_remainder).run_stage)
    (row,) = store.select("runner_failures")
    assert (row["item"], row["stage"], row["window"]) == ("a/b:2", 3, WINDOW)
    assert "in by_remainder" in str(row["traceback"])


def test_a_stage_in_which_everything_fails_shows_it(store: SqlStore) -> None:
    """No answer at all is a broken stage; no items at all is not."""

    async def broken(number: int) -> Outcome[int]:
        raise ValueError(number)

    assert not anyio.run(Numbers(store, broken).run_stage).all_failed
    assert anyio.run(Numbers(entered(store, 3), broken).run_stage).all_failed


def test_a_second_run_does_nothing_again(store: SqlStore) -> None:
    """Ended items are not begun again, failed ones neither unless they are reopened."""
    begun = []

    async def note(number: int) -> Outcome[int]:
        begun.append(number)
        return await by_remainder(number)

    anyio.run(Numbers(entered(store, 6), note).run_stage)
    anyio.run(Numbers(store, note).run_stage)
    assert len(begun) == 6
    store.reopen(WINDOW, 3, ["failed"], utc_now())
    assert anyio.run(Numbers(store, note).run_stage).failed == 2


def test_no_more_than_the_bound_are_under_way(store: SqlStore) -> None:
    """The bound is reached, and never passed."""
    under_way: list[int] = []
    most = []

    async def work(number: int) -> Outcome[int]:
        under_way.append(number)
        most.append(len(under_way))
        await anyio.sleep(0.002)
        under_way.remove(number)
        return squared(number)

    anyio.run(Numbers(entered(store, 100), work).run_stage)
    assert max(most) == OPTIONS.n_concurrent


def test_long_items_are_not_claimed_in_advance(store: SqlStore) -> None:
    """While the first items of a stage run, everything else is free for other workers."""
    seen = []

    async def look(number: int) -> Outcome[int]:
        await anyio.sleep(0.05)
        seen.append(store.count(WINDOW, 3)["leased"])
        return squared(number)

    anyio.run(Numbers(entered(store, 8), look).run_stage)
    assert max(seen[:4]) <= OPTIONS.n_concurrent


def test_quick_items_go_on_while_more_are_claimed(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one slot claims before the last items are used up costs the other slots no time."""
    ended: list[int] = []
    went_on: list[int] = []
    claim = store.claim

    async def quick(number: int) -> Outcome[int]:
        await anyio.sleep(0.001)
        ended.append(number)
        return squared(number)

    def slow_claim(*given: Any, **named: Any) -> list[StageItem]:
        before, deadline = len(ended), time.monotonic() + 0.3
        while len(ended) < before + 50 and time.monotonic() < deadline:
            time.sleep(0.001)
        went_on.append(len(ended) - before)
        return claim(*given, **named)

    monkeypatch.setattr(store, "claim", slow_claim)
    summary = anyio.run(Numbers(entered(store, 2000), quick).run_stage)
    assert summary.passed == len(ended) == len(set(ended)) == 2000
    assert max(went_on) >= 50


def test_results_of_given_items_come_in_their_order(store: SqlStore) -> None:
    """None for a failure and for a refusal without a result; an item that is given twice is processed once."""
    begun = []

    async def note(number: int) -> Outcome[int]:
        begun.append(number)
        return await by_remainder(number)

    assert anyio.run(Numbers(store, note).run, [6, 1, 2, 3, 6]) == [36, None, None, 9, 36]
    assert sorted(begun) == [1, 2, 3, 6]
    assert states(store) == {"a/b:1": "refused", "a/b:2": "failed", "a/b:3": "passed", "a/b:6": "passed"}


def test_given_items_are_processed_whatever_the_ledger_says(store: SqlStore) -> None:
    """Whoever asks for an item wants its result; another worker's item is left alone."""
    store.record(WINDOW, 3, [("a/b:2", "pull_request", "refused", "earlier")], utc_now())
    store.take(WINDOW, 3, [("a/b:3", "pull_request")], "other", 60, utc_now())
    store.enter(WINDOW, 3, [("a/b:9", "pull_request")], utc_now())
    assert anyio.run(Numbers(store, always).run, [2, 3, 4]) == [4, None, 16]
    assert states(store) == {"a/b:2": "passed", "a/b:3": "leased", "a/b:4": "passed", "a/b:9": "pending"}


def test_pending_only_looks(store: SqlStore) -> None:
    """What a dry run shows: the items that wait, still waiting."""
    store.record(WINDOW, 3, [("a/b:0", "pull_request", "passed", "")], utc_now())
    assert anyio.run(Numbers(entered(store, 3), always).pending) == [1, 2]
    assert states(store)["a/b:1"] == "pending"


@pytest.mark.parametrize("error", [EngineUnavailable, ForgeUnavailable, ModelUnavailable, StoreUnavailable])
@pytest.mark.parametrize("grouped", [False, True])
def test_an_outage_that_lasts_stops_the_stage_and_decides_nothing(
    store: SqlStore, error: type[Exception], grouped: bool
) -> None:
    """The error itself is raised; every item that has no answer is pending, with the reason where it was met."""

    async def gone(number: int) -> Outcome[int]:
        if number != 0:
            raise ExceptionGroup("two", [error("gone"), error("gone")]) if grouped else error("gone")
        return squared(number)

    with pytest.raises(error, match="gone"):
        anyio.run(Numbers(entered(store, 50), gone).run_stage)
    assert store.count(WINDOW, 3) == {"pending": 49, "leased": 0, "passed": 1, "refused": 0, "failed": 0}
    reasons = {item.reason for item in store.stage_items(WINDOW, 3)}
    assert reasons == {"", f"{error.__name__}: gone"}
    assert store.select("runner_failures") == []


def test_an_outage_that_passes_costs_nothing(store: SqlStore) -> None:
    """The item waits as long as stated, tries again, and its answer counts."""
    slept: list[float] = []
    tries: dict[int, int] = {}

    async def at_third_try(number: int) -> Outcome[int]:
        tries[number] = tries.get(number, 0) + 1
        if tries[number] < 3:
            raise EngineUnavailable("not yet")
        return squared(number)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    options = replace(OPTIONS, outage_pauses_s=(1.0, 10.0), sleep=sleep)
    assert anyio.run(Numbers(entered(store, 5), at_third_try, options).run_stage).passed == 5
    assert sorted(slept) == [1.0] * 5 + [10.0] * 5


def test_cancelling_gives_back_what_is_under_way(store: SqlStore) -> None:
    """What ended before stays ended; the rest waits, says why, and a later run does it."""

    async def slow_from_two(number: int) -> Outcome[int]:
        await anyio.sleep(60 if str(number) >= "2" else 0)
        return squared(number)

    async def go() -> None:
        runner = Numbers(entered(store, 30), slow_from_two)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(runner.run_stage)
                while store.count(WINDOW, 3)["passed"] < 12:  # noqa: ASYNC110 - the ledger sets no event
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()

    anyio.run(go)
    assert store.count(WINDOW, 3) == {"pending": 18, "leased": 0, "passed": 12, "refused": 0, "failed": 0}
    assert {item.reason for item in store.stage_items(WINDOW, 3) if item.attempts and item.state == "pending"} == {
        "interrupted"
    }
    assert anyio.run(Numbers(store, always).run_stage).passed == 18


@pytest.mark.parametrize("outage", [False, True])
def test_what_a_killed_program_seemed_to_say_is_no_answer(store: SqlStore, outage: bool) -> None:
    """On Ctrl-C and on an outage the items' programs are ended; a thread that then returns a verdict is not heard."""
    killed = threading.Event()

    async def build(number: int) -> Outcome[int]:
        if outage and number == 0:
            await anyio.sleep(0.05)
            raise EngineUnavailable("gone")
        assert await to_thread.run_sync(killed.wait, 20)
        if number == 1:
            raise ValueError("the build was killed")
        return Outcome("refused", "the build was killed")

    options = replace(OPTIONS, outage_pauses_s=(), stop_children=killed.set)

    async def go() -> None:
        with anyio.move_on_after(None if outage else 0.2):
            await Numbers(entered(store, 8), build, options).run_stage()

    if outage:
        with pytest.raises(EngineUnavailable):
            anyio.run(go)
    else:
        anyio.run(go)
    assert set(states(store).values()) == {"pending"}


def test_children_are_left_alone_where_nothing_stops(store: SqlStore) -> None:
    """An ordinary end kills nobody."""
    calls: list[None] = []
    options = replace(OPTIONS, stop_children=lambda: calls.append(None))
    anyio.run(Numbers(entered(store, 9), by_remainder, options).run_stage)
    assert calls == []


def test_leases_of_long_items_are_kept(store: SqlStore) -> None:
    """An item that takes ten times its lease is not given to anybody else meanwhile."""
    stolen: list[StageItem] = []

    async def long(number: int) -> Outcome[int]:
        for _ in range(20):
            await anyio.sleep(0.05)
            stolen.extend(await to_thread.run_sync(store.claim, WINDOW, 3, "thief", 9, 60.0, utc_now()))
        return squared(number)

    assert anyio.run(Numbers(entered(store, 2), long, with_lease(0.3)).run_stage).passed == 2
    assert stolen == []


def test_an_answer_after_a_lost_lease_is_dropped(store: SqlStore) -> None:
    """Whoever was paused past its lease changes nothing: neither the state nor rows."""

    async def overtaken(number: int) -> Outcome[int]:
        later = utc_now() + timedelta(days=1)
        (item,) = store.claim(WINDOW, 3, "thief", 1, 60, later)
        store.finish(item, "refused", "by the thief", later)
        return squared(number)

    summary = anyio.run(Numbers(entered(store, 1), overtaken).run_stage)
    assert (summary.passed, states(store), store.select("packages")) == (0, {"a/b:0": "refused"}, [])


def test_a_row_that_the_store_refuses_fails_its_item_alone(store: SqlStore) -> None:
    """The others of the same batch are stored."""

    async def one_bad_row(number: int) -> Outcome[int]:
        return Outcome("passed", rows=(("packages", {"owner": "a"}),)) if number == 3 else squared(number)

    runner = Numbers(entered(store, 20), one_bad_row)
    assert anyio.run(runner.run, list(range(20)))[3] is None
    failed = [item for item in store.stage_items(WINDOW, 3) if item.state != "passed"]
    assert [(item.item, item.state) for item in failed] == [("a/b:3", "failed")]
    assert "needs 'repo'" in failed[0].reason


def test_blocking_items_do_not_starve_the_ledger(store: SqlStore) -> None:
    """More waiting threads than the default pool holds: leases are still renewed, and answers written."""

    async def block(number: int) -> Outcome[int]:
        await to_thread.run_sync(threading.Event().wait, 0.02)
        return squared(number)

    options = replace(OPTIONS, n_concurrent=60)
    assert anyio.run(Numbers(entered(store, 120), block, options).run_stage).passed == 120


def test_progress_is_told_and_kept(store: SqlStore) -> None:
    """The total at once, then a call for each item that ended; the row in the database says the same at the end."""
    told: list[tuple[int, int, str]] = []
    options = replace(OPTIONS, progress=lambda *words: told.append(words))
    anyio.run(Numbers(entered(store, 9), by_remainder, options).run_stage)
    assert [(done, total) for done, total, _ in told] == [(n, 9) for n in range(10)]
    assert [note for _, _, note in told[:1]] == [""]
    assert {note for _, _, note in told[1:]} == {f"{item} {state}" for item, state in states(store).items()}
    (row,) = store.select("runner_progress")
    assert row["runner_id"] == f"classify_prs:{WINDOW}:one"
    assert [row[name] for name in ("total", "completed", "passed", "refused", "failed")] == [9, 9, 3, 3, 3]
    assert row["state"] == "finished"


def test_a_stopped_run_says_so(store: SqlStore) -> None:
    """The progress row of a run that an outage ended is not left as running."""

    async def gone(number: int) -> Outcome[int]:
        raise ForgeUnavailable("gone")

    with pytest.raises(ForgeUnavailable):
        anyio.run(Numbers(entered(store, 3), gone).run_stage)
    assert [row["state"] for row in store.select("runner_progress")] == ["stopped"]


@pytest.mark.parametrize(
    ("stage", "item", "kind", "following"),
    [(1, "a/b", "repository", 2), (2, "a/b", "repository", None), (2, "a/b:1", "pull_request", 3),
     (4, "a/b:1", "pull_request", 5), (5, "a/b:1", "pull_request", 6), (6, "a/b:1", "pull_request", None)],
)  # fmt: skip
def test_items_go_to_the_stage_that_follows(
    store: SqlStore, stage: int, item: str, kind: str, following: int | None
) -> None:
    """Repositories end with stage 2, pull requests with stage 6; only what takes hours is not decided anew there."""

    class Elsewhere(Numbers):
        pass

    Elsewhere.stage = stage
    leased = StageItem(WINDOW, stage, item, kind, "leased", "", 1, 1)  # type: ignore[arg-type]
    entries = Elsewhere(store, always).next_entries(leased)
    assert entries == (() if following is None else (Entry(following, item, leased.kind, anew=following != 5),))


def test_a_refusal_needs_a_reason() -> None:
    """Nothing leaves the funnel without one."""
    with pytest.raises(ValueError, match="reason"):
        Outcome("refused")


def test_two_processes_have_two_names() -> None:
    """The default worker is the host and the process."""
    host, _, process = default_worker().rpartition("-")
    assert host
    assert process.isdecimal()
    assert RunOptions(worker="x").now().tzinfo is not None
