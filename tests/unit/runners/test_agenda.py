"""What a run takes up, and what it leaves alone."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasmith.runners.agenda import ENDS, NONE_IMPACTED, SAMPLED_OUT, SCREENED, Terms, Until, abandoned, agenda
from datasmith.storage.base import ItemKind, ItemState, StageItem

FINAL = ("failed", "passed", "refused")


def row(item: str, state: ItemState, stage: int = 3, reason: str = "") -> StageItem:
    kind: ItemKind = "pull_request" if ":" in item else "repository"
    return StageItem("w", stage, item, kind, state, reason, 1, 1)


def rows(stage: int) -> list[StageItem]:
    """One item in each state."""
    states: tuple[ItemState, ...] = ("failed", "leased", "passed", "pending", "refused")
    name = "o/{}" if stage <= 2 else "o/r:{}"
    return [row(name.format(number), state, stage) for number, state in enumerate(states)]


def states(found: Sequence[StageItem]) -> tuple[str, ...]:
    return tuple(sorted(item.state for item in found))


@pytest.mark.parametrize("stage", range(1, 7))
@pytest.mark.parametrize("force", [False, True])
def test_resume_keeps_what_is_decided(stage: int, force: bool) -> None:
    """Only failures are tried again; `force` repeats stage 5, and nothing else."""
    found = agenda(stage, rows(stage), Terms(resume=True, force=force))
    assert states(found.again) == (FINAL if force and stage == 5 else ("failed",))


@pytest.mark.parametrize(
    ("stage", "expected"), [(1, FINAL), (2, FINAL), (3, FINAL), (4, FINAL), (5, ("failed",)), (6, FINAL)]
)
def test_a_plain_run_decides_again_what_is_cheap(stage: int, expected: tuple[str, ...]) -> None:
    """Stage 5 keeps what hours of measuring have decided."""
    found = agenda(stage, rows(stage), Terms())
    assert states(found.again) == expected
    assert (found.to_do, found.known) == (2 + len(expected), 5)


def test_a_first_run_is_the_same_with_resume() -> None:
    """Where nothing is decided yet, the flag means nothing."""
    waiting = [row(f"o/r:{number}", "pending") for number in range(4)]
    assert agenda(3, waiting, Terms(resume=True)) == agenda(3, waiting, Terms())


def test_stages_of_repositories_leave_pull_requests_alone() -> None:
    """At stage 2 a pull request's row is an answer of its repository's, never work."""
    found = agenda(2, [row("o/r", "passed", 2), row("o/r:1", "passed", 2), row("o/r:2", "refused", 2)], Terms())
    assert [item.item for item in found.again] == ["o/r"]
    assert found.known == 1


def test_repositories_that_were_not_given_keep_their_answers() -> None:
    """A run over one clone does not undo what a run over another has found; similar names do not matter."""
    known = [row("o/r:1", "refused"), row("o/rr:1", "refused"), row("p/r:1", "failed")]
    found = agenda(3, known, Terms(repositories=frozenset({"o/r"})))
    assert [item.item for item in found.again] == ["o/r:1"]


def sample(names: Sequence[str], most: int, seed: int = 0) -> set[str]:
    """The waiting pull requests that are not left out."""
    found = agenda(5, [row(name, "pending", 5) for name in names], Terms(tasks_per_repo=most, seed=seed))
    assert found.to_do == len(names) - len(found.left_out)
    return set(names) - {item.item for item in found.left_out}


@given(st.sets(st.integers(1, 99), min_size=1, max_size=30), st.integers(1, 9), st.integers(0, 3), st.randoms())
def test_a_sample_is_drawn_by_the_seed_alone(numbers: set[int], most: int, seed: int, random: object) -> None:
    """Its size is right, the order of rows does not matter, and a larger sample holds a smaller one."""
    names = [f"{owner}/r:{number}" for owner in "ab" for number in numbers]
    chosen = sample(names, most, seed)
    for owner in "ab":
        assert sum(name.startswith(owner) for name in chosen) == min(most, len(numbers))
    assert sample(names[::-1], most, seed) == chosen
    assert chosen <= sample(names, most + 1, seed)


def test_another_seed_draws_another_sample() -> None:
    """Over several seeds at least."""
    names = [f"o/r:{number}" for number in range(30)]
    assert len({frozenset(sample(names, 3, seed)) for seed in range(5)}) == 5


def test_what_was_left_out_gets_a_new_chance() -> None:
    """Without the limit all of them come back, also with resume; a real refusal does not."""
    out = row("o/r:1", "refused", 5, f"{SAMPLED_OUT} (--tasks-per-repo 1, --seed 0)")
    known = [out, row("o/r:2", "refused", 5, "too slow"), row("o/r:3", "passed", 5)]
    found = agenda(5, known, Terms(resume=True))
    assert [item.item for item in found.again] == ["o/r:1"]
    assert (found.left_out, found.to_do) == ((), 1)


def test_what_is_decided_is_never_left_out() -> None:
    """The sample counts decided pull requests, and refuses only waiting ones."""
    known = [row(f"o/r:{number}", "passed" if number % 2 else "pending", 5) for number in range(10)]
    found = agenda(5, known, Terms(tasks_per_repo=1))
    assert all(item.state == "pending" for item in found.left_out)
    assert len(found.left_out) in {4, 5} and "--tasks-per-repo 1, --seed 0" in found.reason


def test_what_was_not_taken_far_enough_is_taken_up_again() -> None:
    """Where more is asked for than before, and only in the sample: the others keep what they have shown."""
    names = [f"o/r:{number}" for number in range(9)]
    built = [row(name, "refused", 5, f"{ENDS['built']}: 3 workloads") for name in names]
    real = row("o/r:99", "refused", 5, "does not build")
    expected: tuple[tuple[Until, int], ...] = (("built", 0), ("verified", 9), ("measured", 9))
    for until, taken in expected:
        found = agenda(5, [*built, real], Terms(resume=True, until=until))
        assert (len(found.again), found.to_do) == (taken, taken)
    found = agenda(5, built, Terms(resume=True, until="measured", tasks_per_repo=2))
    assert {item.item for item in found.again} == sample(names, 2)
    assert (found.left_out, found.to_do) == ((), 2)


def test_the_leases_of_a_dead_process_are_known() -> None:
    """Only those of this host, and not of a process that lives; a worker's name may have any form."""
    workers = {"a": "host-1", "b": "host-2", "c": "other-1", "d": "my-host-1", "e": "nobody", "f": None}
    leased = [{"item": item, "worker": worker} for item, worker in workers.items()]
    assert abandoned(leased, "host", lambda pid: pid == 2) == ["a"]
    assert abandoned(leased, "my-host", lambda _: False) == ["d"]


def test_what_no_selected_workload_runs_is_decided_again_for_all_of_them() -> None:
    """It says nothing about the whole suite; with the same choice it stays."""
    refused = row("o/r:1", "refused", 5, f"{NONE_IMPACTED} (3 workloads)")
    assert agenda(5, [refused], Terms(resume=True)).again == (refused,)
    assert agenda(5, [refused], Terms(resume=True, select="impacted")).again == ()


def test_what_rests_on_a_screening_is_decided_again_without_one() -> None:
    """It says nothing about the workloads that were left out; with a screening again it stays."""
    refused = row("o/r:1", "refused", 5, f"{SCREENED} (20 of 535 workloads): no workload changed")
    assert agenda(5, [refused], Terms(resume=True)).again == (refused,)
    assert agenda(5, [refused], Terms(resume=True, most_workloads=20)).again == ()
