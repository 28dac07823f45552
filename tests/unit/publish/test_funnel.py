"""The funnel: every pull request once, and counts that say so."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from datasmith.publish.funnel import StageCount, funnel
from datasmith.storage.base import STAGES, ItemState, StageItem

STATES: tuple[ItemState, ...] = ("pending", "leased", "passed", "refused", "failed")
FIRST = 2


def row(stage: int, item: str, state: ItemState, reason: str = "") -> StageItem:
    """A row of a pull request; refusals and failures have a reason."""
    told = reason or ("because" if state in {"refused", "failed"} else "")
    return StageItem("w", stage, item, "pull_request", state, told, 1, 1)


def path(item: str, last: int, state: ItemState) -> list[StageItem]:
    """The rows of a pull request that passed up to the stage before `last`, and is in `state` there."""
    return [*(row(stage, item, "passed") for stage in range(FIRST, last)), row(last, item, state)]


ends = st.lists(
    st.tuples(st.integers(FIRST, 6), st.sampled_from(STATES)).filter(lambda end: end[0] == 6 or end[1] != "passed"),
    max_size=12,
)


@given(ends)
def test_counts_add_up_to_what_came_in(found: list[tuple[int, ItemState]]) -> None:
    """Every pull request is counted in one final place, and stage by stage nothing is lost."""
    rows = [row for number, end in enumerate(found) for row in path(f"o/r:{number}", *end)]
    result = funnel("w", rows)
    assert result.breaches == ()
    stopped = sum(count.refused + count.failed + count.waiting for count in result.stages)
    done = sum(count.passed for count in result.stages if count.stage == max(STAGES))
    assert stopped + done == len(found)
    assert sum(number for count in result.stages for *_, number in count.reasons) == sum(
        state in {"refused", "failed"} for _, state in found
    )


@given(ends, st.integers(FIRST, 6), st.sampled_from(["pending", "failed"]))
def test_a_run_that_did_not_decide_again_adds_up(found: list[tuple[int, ItemState]], at: int, state: ItemState) -> None:
    """What waits at a stage again, or fails there, is counted there, whatever later stages remember of it."""
    rows = [row for number, end in enumerate(found) for row in path(f"o/r:{number}", *end)]
    again = [replace(row, state=state) if row.stage == at else row for row in rows]
    result = funnel("w", again)
    assert result.breaches == ()
    assert all(count.stage <= at for count in result.stages)


def test_a_lost_pull_request_is_a_breach() -> None:
    """One that passed and is nowhere afterwards, and one that appears out of nothing."""
    assert funnel("w", [row(2, "o/r:1", "passed")]).breaches == ("stage 3: 0 entered, 1 passed stage 2",)
    skipped = [row(2, "o/r:1", "passed"), row(4, "o/r:1", "pending")]
    assert any(text.startswith("stage 3: 0 entered") for text in funnel("w", skipped).breaches)
    assert funnel("w", [*path("o/r:1", 3, "refused"), row(3, "o/r:2", "refused")]).breaches


def test_a_count_that_does_not_add_up_is_a_breach() -> None:
    """The sum is checked, not assumed."""
    assert not StageCount(2, 3, 1, 1, 0, 0, (), ()).adds_up
    assert StageCount(2, 3, 1, 1, 0, 1, (), ()).adds_up


def test_repositories_are_not_counted() -> None:
    """The funnel is one of pull requests."""
    repository = StageItem("w", 1, "o/r", "repository", "passed", "", 1, 1)
    assert funnel("w", [repository, replace(repository, stage=2)]).stages == ()


def test_reasons_come_by_number() -> None:
    """Failures first by the alphabet, then the most frequent."""
    rows = [row(2, f"o/r:{n}", "refused", "docs" if n else "CI") for n in range(3)] + [
        row(2, "o/r:9", "failed", "boom")
    ]
    assert funnel("w", rows).stages[0].reasons == (
        ("failed", "boom", 1),
        ("refused", "docs", 2),
        ("refused", "CI", 1),
    )
    assert funnel("w", rows).stages[0].ended == (
        ("failed", "boom", "o/r:9"),
        ("refused", "docs", "o/r:1"),
        ("refused", "docs", "o/r:2"),
        ("refused", "CI", "o/r:0"),
    )
