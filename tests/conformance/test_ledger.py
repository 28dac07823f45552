"""What every Store promises: the ledger."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from datasmith.errors import StoreError
from datasmith.storage.base import Entry, ItemKind, ItemState, StageItem, Store, Verdict
from tests.conformance.stores import open_store

NOW = datetime(2026, 2, 3, tzinfo=UTC)
LATER = NOW + timedelta(seconds=61)
PR: ItemKind = "pull_request"
windows = (f"window {number}" for number in count())


@pytest.fixture(scope="module", params=["file", "memory", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(request.param, tmp_path_factory.mktemp("store")) as opened:
        yield opened


@pytest.fixture
def window() -> str:
    """A window that no other test uses."""
    return next(windows)


def states(store: Store, window: str, stage: int = 3) -> dict[str, str]:
    return {item.item: item.state for item in store.stage_items(window, stage)}


def claimed(store: Store, window: str, *names: str, worker: str = "one") -> list[StageItem]:
    """Items of stage 3, entered and leased for a minute."""
    store.enter(window, 3, [(name, PR) for name in names], NOW)
    return store.claim(window, 3, worker, len(names), 60, NOW)


def test_entering_counts_what_is_new(store: Store, window: str) -> None:
    """An item that is known keeps its state."""
    assert store.enter(window, 3, [("a/b:1", PR), ("a/b:2", PR)], NOW) == 2
    store.record(window, 3, [("a/b:1", PR, "passed", "")], NOW)
    assert store.enter(window, 3, [("a/b:1", PR), ("a/b:3", PR), ("a/b:3", PR)], NOW) == 1
    assert states(store, window) == {"a/b:1": "passed", "a/b:2": "pending", "a/b:3": "pending"}


def test_entering_nothing_is_allowed(store: Store, window: str) -> None:
    """Empty work is no error anywhere."""
    assert store.enter(window, 3, [], NOW) == 0
    store.record(window, 3, [], NOW)
    assert store.finish_many([], NOW) == []
    assert store.renew([], 60, NOW) == 0
    assert store.take(window, 3, [], "one", 60, NOW) == []
    store.upsert("packages", [])
    assert store.stage_items(window) == []


def test_a_claim_takes_the_first_by_name(store: Store, window: str) -> None:
    """Names are ordered by code point, on every database."""
    store.enter(window, 3, [(name, PR) for name in ("b/b:1", "a/b:10", "B/b:1", "a/b:9")], NOW)
    first = store.claim(window, 3, "one", 3, 60, NOW)
    assert [item.item for item in first] == ["B/b:1", "a/b:10", "a/b:9"]
    assert {(item.state, item.attempts, item.fence) for item in first} == {("leased", 1, 1)}
    assert [item.item for item in store.claim(window, 3, "two", 3, 60, NOW)] == ["b/b:1"]
    assert store.claim(window, 3, "three", 3, 60, NOW) == []


def test_claims_keep_to_their_stage_and_window(store: Store, window: str) -> None:
    """A claim never touches another stage's or window's items."""
    store.enter(window, 3, [("a/b:1", PR)], NOW)
    assert store.claim(window, 4, "one", 9, 60, NOW) == []
    assert store.claim(window + "!", 3, "one", 9, 60, NOW) == []


def test_a_claim_keeps_to_the_repositories_it_is_given(store: Store, window: str) -> None:
    """Of waiting and of abandoned items; similar names and case do not matter, and none given means all."""
    names = ["a/b", "a/b:1", "a/b:2", "a/bb:1", "A/b:1", "c/d:1"]
    claimed(store, window, "a/b:2", "c/d:1")
    store.enter(window, 3, [(name, PR) for name in names], NOW)
    assert store.claim(window, 3, "two", 9, 60, LATER, repositories=[]) == []
    first = store.claim(window, 3, "two", 2, 60, LATER, repositories=["a/b", "x/y"])
    assert [item.item for item in first] == ["a/b", "a/b:1"]
    assert [item.item for item in store.claim(window, 3, "two", 9, 60, LATER, repositories={"a/b"})] == ["a/b:2"]
    assert store.count(window, 3, repositories={"a/b"})["leased"] == 3
    assert store.count(window, 3, repositories={"c/d"})["leased"] == 1
    assert not any(store.count(window, 3, repositories=[]).values())
    assert [item.item for item in store.claim(window, 3, "two", 9, 60, LATER)] == ["A/b:1", "a/bb:1", "c/d:1"]


def test_a_lease_that_ran_out_can_be_claimed(store: Store, window: str) -> None:
    """Waiting and abandoned items are claimed together, ordered by name; the old claimant can finish no more."""
    old, _ = claimed(store, window, "a/b:1", "a/b:3")
    store.enter(window, 3, [("a/b:2", PR)], NOW)
    new = store.claim(window, 3, "two", 2, 60, NOW + timedelta(seconds=60))
    assert [(item.item, item.fence, item.attempts) for item in new] == [("a/b:1", 2, 2), ("a/b:2", 1, 1)]
    assert store.finish(old, "refused", "too late", LATER) is False
    assert store.finish(new[0], "passed", "", LATER) is True
    assert states(store, window)["a/b:1"] == "passed"


def test_a_lease_that_ran_out_unclaimed_still_counts(store: Store, window: str) -> None:
    """Work that took longer than its lease is not thrown away where nobody else began it."""
    (item,) = claimed(store, window, "a/b:1")
    assert store.finish(item, "passed", "", NOW + timedelta(days=1)) is True


def test_an_item_ends_once(store: Store, window: str) -> None:
    """The same claimant's second answer changes nothing, in one batch or two."""
    (item,) = claimed(store, window, "a/b:1")
    twice = [Verdict(item, "passed", ""), Verdict(item, "refused", "changed my mind")]
    assert store.finish_many(twice, NOW) == [True, False]
    assert store.finish(item, "refused", "changed my mind", NOW) is False
    assert states(store, window) == {"a/b:1": "passed"}


def test_a_lease_can_be_given_back(store: Store, window: str) -> None:
    """Pending again, with the reason; claimable at once."""
    (item,) = claimed(store, window, "a/b:1")
    assert store.finish(item, "pending", "interrupted", NOW) is True
    assert [(row.state, row.reason) for row in store.stage_items(window)] == [("pending", "interrupted")]
    assert store.claim(window, 3, "two", 1, 60, NOW)[0].fence == 2


def test_a_renewed_lease_is_not_claimable(store: Store, window: str) -> None:
    """Only leases that hold are renewed."""
    first, second = claimed(store, window, "a/b:1", "a/b:2")
    store.finish(second, "passed", "", NOW)
    assert store.renew([first, second], 600, NOW) == 1
    assert store.claim(window, 3, "two", 9, 60, LATER) == []


def test_rows_are_stored_with_the_answer_or_not_at_all(store: Store, window: str) -> None:
    """A claimant that lost its lease leaves no rows and no entries behind."""
    (old,) = claimed(store, window, "a/b:1")
    (new,) = store.claim(window, 3, "two", 1, 60, LATER)
    for item, holds in ((old, False), (new, True)):
        row = ("packages", {"owner": window, "repo": "b", "sha": f"{item.fence}"})
        verdict = Verdict(item, "passed", "", (row,), (Entry(4, item.item, PR),))
        assert store.finish_many([verdict], LATER) == [holds]
    assert [row["sha"] for row in store.select("packages", {"owner": window})] == ["2"]
    assert states(store, window, 4) == {"a/b:1": "pending"}


def test_what_passed_anew_is_decided_anew_where_its_entry_says_so(store: Store, window: str) -> None:
    """Whatever had been decided there; what is under a lease stays its holder's, and other entries change nothing."""
    names = [f"a/b:{number}" for number in range(5)]
    ended: list[ItemState] = ["passed", "refused", "failed"]
    store.record(window, 4, [(name, PR, state, "so") for name, state in zip(names, ended, strict=False)], NOW)
    store.take(window, 4, [(names[3], PR)], "two", 60, NOW)
    for anew in (False, True):
        taken = store.take(window, 3, [(name, PR) for name in names], "one", 60, NOW)
        verdicts = [Verdict(item, "passed", "", (), (Entry(4, item.item, PR, anew=anew),)) for item in taken]
        assert store.finish_many(verdicts, LATER) == [True] * 5
        expected = ["pending"] * 3 if anew else ended
        assert list(states(store, window, 4).values()) == [*expected, "leased", "pending"]


def test_a_row_that_is_refused_takes_the_answer_with_it(store: Store, window: str) -> None:
    """The transaction is one: the item is still leased afterwards."""
    (item,) = claimed(store, window, "a/b:1")
    with pytest.raises(StoreError):
        store.finish_many([Verdict(item, "passed", "", (("packages", {"owner": "a"}),))], NOW)
    assert states(store, window) == {"a/b:1": "leased"}


def test_a_verdict_can_decide_other_items(store: Store, window: str) -> None:
    """A repository's pull requests are entered or decided together with the repository."""
    store.enter(window, 2, [("a/b", "repository")], NOW)
    (item,) = store.claim(window, 2, "one", 1, 60, NOW)
    entries = (Entry(2, "a/b:1", PR, "passed"), Entry(3, "a/b:1", PR), Entry(2, "a/b:2", PR, "refused", "docs only"))
    assert store.finish_many([Verdict(item, "passed", "", (), entries)], NOW) == [True]
    assert states(store, window, 2) == {"a/b": "passed", "a/b:1": "passed", "a/b:2": "refused"}
    assert states(store, window, 3) == {"a/b:1": "pending"}


def test_what_is_refused_leaves_the_later_stages(store: Store, window: str) -> None:
    """When a decision is taken back, the funnel still adds up."""
    store.enter(window, 4, [("a/b:1", PR), ("a/b:2", PR)], NOW)
    store.record(window, 5, [("a/b:1", PR, "passed", "")], NOW)
    (item,) = claimed(store, window, "a/b:1")
    store.finish(item, "refused", "on second thoughts", NOW)
    assert (states(store, window, 4), states(store, window, 5)) == ({"a/b:2": "pending"}, {})
    store.record(window, 3, [("a/b:2", PR, "refused", "the same")], NOW)
    assert states(store, window, 4) == {}


def test_a_failure_keeps_what_later_stages_have_found(store: Store, window: str) -> None:
    """It is no answer: until the item has passed again, they neither give it out nor count it; then it is as it was."""
    (item,) = claimed(store, window, "a/b:1")
    store.record(window, 4, [("a/b:1", PR, "passed", "")], NOW)
    store.record(window, 5, [("a/b:1", PR, "failed", "broke"), ("a/b:2", PR, "passed", "")], NOW)
    store.enter(window, 6, [("a/b:1", PR), ("a/b:2", PR)], NOW)
    store.finish(item, "failed", "DiskFull: no space left", NOW)
    assert states(store, window, 5) == {"a/b:1": "failed", "a/b:2": "passed"}
    rows = [(row.stage, row.state, row.count) for row in store.funnel(window)]
    assert rows == [(3, "failed", 1), (5, "passed", 1), (6, "pending", 1)]
    assert (store.count(window, 5)["failed"], store.count(window, 6)["pending"]) == (0, 1)
    assert store.oldest(window, 6) == ("a/b:2", NOW)
    assert [row.item for row in store.claim(window, 6, "one", 9, 60, NOW)] == ["a/b:2"]
    (again,) = store.take(window, 3, [("a/b:1", PR)], "one", 60, NOW)
    store.record(window, 5, [("a/b:1", PR, "passed", "")], NOW)
    assert store.claim(window, 6, "one", 9, 60, NOW) == []
    store.finish(again, "passed", "", NOW)
    assert [row.item for row in store.claim(window, 6, "one", 9, 60, NOW)] == ["a/b:1"]


@pytest.mark.parametrize("state", ["refused", "failed"])
def test_nothing_leaves_without_a_reason(store: Store, window: str, state: ItemState) -> None:
    """The database itself refuses it."""
    (item,) = claimed(store, window, "a/b:1")
    with pytest.raises(StoreError):
        store.finish(item, state, "", NOW)
    with pytest.raises(StoreError):
        store.record(window, 3, [("a/b:1", PR, state, "")], NOW)


def test_only_rows_that_are_as_they_were_read_are_amended(store: Store, window: str) -> None:
    """One that was taken up, or has ended again, since then stays its claimant's."""
    names = ["a/b:1", "a/b:2", "a/b:3", "a/b:4"]
    store.record(window, 3, [(name, PR, "failed", "busy") for name in names], NOW)
    store.enter(window, 4, [("a/b:4", PR)], NOW)
    read = store.stage_items(window, 3)
    assert store.amend(read[:2], "pending", "", NOW) == 2
    first, second = store.claim(window, 3, "one", 2, 60, NOW)
    store.finish(second, "failed", "busy", NOW)
    assert store.amend(read[:3], "pending", "", NOW) == 1
    assert states(store, window) == {"a/b:1": "leased", "a/b:2": "failed", "a/b:3": "pending", "a/b:4": "failed"}
    assert store.renew([first], 60, NOW) == 1 and store.finish(first, "passed", "", NOW)
    assert store.amend([read[3]], "refused", "not this one", LATER) == 1
    assert store.stage_items(window, 3)[3].reason == "not this one"
    assert states(store, window, 4) == {}
    assert store.amend([], "pending", "", NOW) == store.amend(read, "pending", "", NOW) == 0


def test_a_recorded_state_replaces_any_other(store: Store, window: str) -> None:
    """Also one under a lease, whose holder can finish it no more."""
    (item,) = claimed(store, window, "a/b:1")
    store.record(window, 3, [("a/b:1", PR, "refused", "first"), ("a/b:2", PR, "passed", "")], NOW)
    store.record(window, 3, [("a/b:1", PR, "refused", "second")], NOW)
    assert store.finish(item, "passed", "", NOW) is False
    assert [(row.state, row.reason) for row in store.stage_items(window)] == [("refused", "second"), ("passed", "")]


def test_a_lease_that_was_taken_back_and_given_anew_has_another_fence(store: Store, window: str) -> None:
    """Its first holder can neither renew nor finish it."""
    (old,) = claimed(store, window, "a/b:1")
    store.record(window, 3, [("a/b:1", PR, "pending", "")], NOW)
    (new,) = store.claim(window, 3, "two", 1, 60, NOW)
    assert new.fence > old.fence
    assert store.renew([old], 600, NOW) == 0
    assert (store.finish(old, "passed", "", NOW), store.finish(new, "passed", "", NOW)) == (False, True)


def test_who_works_on_what_since_when_is_in_the_table(store: Store, window: str) -> None:
    """The worker and the end of its lease while there is one; the last change always."""
    first, *_ = claimed(store, window, "a/b:1", "a/b:2", "a/b:3")
    store.finish(first, "passed", "", LATER)
    store.record(window, 3, [("a/b:2", PR, "failed", "broke")], LATER)
    rows = store.select("stage_items", {"window": window})
    assert [(row["lease_until"], row["updated_at"]) for row in rows] == [
        (None, LATER),
        (None, LATER),
        (NOW + timedelta(seconds=60), NOW),
    ]
    assert {row["worker"] for row in rows} == {"one"}
    assert store.reopen(window, 3, ["leased"], LATER) == 1
    assert store.select("stage_items", {"window": window, "item": "a/b:3"})[0]["updated_at"] == LATER


def test_a_batch_may_hold_several_windows_and_stages(store: Store, window: str) -> None:
    """Each verdict touches its own item, and what follows goes into its own window."""
    other = f"{window} and another"
    (mine,) = claimed(store, window, "a/b:1")
    (theirs,) = claimed(store, other, "a/b:1")
    store.enter(window, 4, [("a/b:1", PR), ("a/b:2", PR)], NOW)
    (later,) = store.take(window, 4, [("a/b:2", PR)], "one", 60, NOW)
    verdicts = [
        Verdict(mine, "passed", "", (), (Entry(5, "a/b:1", PR),)),
        Verdict(theirs, "refused", "no"),
        Verdict(later, "passed", ""),
    ]
    assert store.finish_many(verdicts, NOW) == [True, True, True]
    assert [(row.stage, row.item, row.state) for row in store.stage_items(window)] == [
        (3, "a/b:1", "passed"),
        (4, "a/b:1", "pending"),
        (4, "a/b:2", "passed"),
        (5, "a/b:1", "pending"),
    ]
    assert states(store, other) == {"a/b:1": "refused"}


def test_given_items_are_taken_whatever_their_state(store: Store, window: str) -> None:
    """In the given order, new and ended ones alike, but not those in another worker's hands."""
    claimed(store, window, "a/b:1")
    store.record(window, 3, [("a/b:2", PR, "refused", "no")], NOW)
    wanted = [("a/b:3", PR), ("a/b:2", PR), ("a/b:1", PR), ("a/b:3", PR)]
    taken = store.take(window, 3, wanted, "two", 60, NOW)
    assert [(item.item, item.state) for item in taken] == [("a/b:3", "leased"), ("a/b:2", "leased")]
    assert [item.item for item in store.take(window, 3, wanted, "one", 60, NOW)] == ["a/b:1"]
    assert len(store.take(window, 3, wanted, "three", 60, NOW + timedelta(seconds=60))) == 3


def test_states_can_be_reopened(store: Store, window: str) -> None:
    """Failed items, or leases of a process that is gone; the old holder can finish no more."""
    leased, failed, passed = claimed(store, window, "a/b:1", "a/b:2", "a/b:3")
    store.finish(failed, "failed", "broke", NOW)
    store.finish(passed, "passed", "", NOW)
    assert store.reopen(window, 3, ["failed", "leased"], NOW) == 2
    assert store.finish(leased, "passed", "", NOW) is False
    assert store.count(window, 3) == {"pending": 2, "leased": 0, "passed": 1, "refused": 0, "failed": 0}


def test_the_funnel_counts_pull_requests(store: Store, window: str) -> None:
    """By stage, state and reason; repositories are not in it."""
    store.record(window, 2, [("a/b", "repository", "passed", "")], NOW)
    store.record(window, 2, [(f"a/b:{n}", PR, "refused", "docs only") for n in range(3)], NOW)
    store.enter(window, 3, [("a/b:7", PR)], NOW)
    rows = [(row.stage, row.state, row.reason, row.count) for row in store.funnel(window)]
    assert rows == [(2, "refused", "docs only", 3), (3, "pending", "", 1)]


def test_many_names_fit(store: Store, window: str) -> None:
    """2,500 items go through every call at once."""
    names = [f"a/b:{n:04}" for n in range(2500)]
    items = claimed(store, window, *names)
    assert [item.item for item in items] == names
    assert store.renew(items, 60, NOW) == 2500
    assert all(store.finish_many([Verdict(item, "refused", "no") for item in items], NOW))
    assert len(store.take(window, 3, [(name, PR) for name in names], "one", 60, NOW)) == 2500


def test_threads_share_a_store(store: Store, window: str) -> None:
    """Eight threads claim and finish 200 items: each is claimed once, and each answer is taken once."""
    store.enter(window, 3, [(f"a/b:{n:03}", PR) for n in range(200)], NOW)

    def work(worker: int) -> list[str]:
        done = []
        while items := store.claim(window, 3, f"{worker}", 7, 60, NOW):
            done += [item.item for item in items if store.finish(item, "passed", "", NOW)]
        return done

    with ThreadPoolExecutor(8) as pool:
        done = [name for names in pool.map(work, range(8)) for name in names]
    assert sorted(done) == [f"a/b:{n:03}" for n in range(200)]


def test_windows_are_those_that_have_an_item(store: Store, window: str) -> None:
    """In order, each once, of any stage and state; asking for one makes none."""
    before = store.windows()
    assert store.stage_items(window) == [] and window not in before
    store.record(window, 1, [("a/b", "repository", "passed", "")], NOW)
    store.enter(window, 3, [("a/b:1", PR), ("a/b:2", PR)], NOW)
    assert store.windows() == sorted([*before, window])
