"""What a glance at many workloads makes of what two arms say."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from datasmith.docker.engine import Container, ExecResult
from datasmith.workloads.base import BASE, EXPERT, Workload
from datasmith.workloads.glance import AT_ONCE, LONGEST_IMPORT_S, LONGEST_S, Glance, glances

Said = Mapping[str, object]


class Arm:
    """Says the next of `replies` for all workloads of a question; `asked` is shared, in the order of questions."""

    def __init__(self, name: str, replies: Sequence[Said], asked: list[tuple[str, int]]) -> None:
        self.name, self.replies, self.asked = name, list(replies), asked
        self.cpus: Sequence[int] = ()

    def exec(self, argv: Sequence[str], *, cpus: Sequence[int] = (), **_: object) -> ExecResult:
        """One process that looks at some workloads."""
        self.entries = entries = json.loads(argv[-1])["entries"]
        self.asked.append((self.name, len(entries)))
        self.cpus = cpus
        said = {"replies": [self.replies[0 if len(self.replies) == 1 else len(self.asked) % 2]] * len(entries)}
        return ExecResult(0, json.dumps(said).encode(), b"", 1.0, None, timed_out=False)


def look(base: Sequence[Said], other: Sequence[Said], workloads: int = 1) -> tuple[list[Glance], list[tuple[str, int]]]:
    asked: list[tuple[str, int]] = []
    one, two = cast(Container, Arm(BASE, base, asked)), cast(Container, Arm(EXPERT, other, asked))
    many = [Workload(f"m.time_{number}", "time") for number in range(workloads)]
    return glances(one, two, many, "benchmarks", cpu=1, say=lambda *_: None), asked


def test_the_fastest_of_two_looks_counts() -> None:
    """Drift of the machine does not make one arm the later one: base is first and last."""
    seen, asked = look([{"seconds": 2.0}, {"seconds": 3.0}], [{"seconds": 9.0}, {"seconds": 1.0}])
    assert seen == [Glance("m.time_0", 2.0, 1.0)]
    assert seen[0].effect == pytest.approx(math.log(2))
    assert [arm for arm, _ in asked] == [BASE, EXPERT, EXPERT, BASE]


@pytest.mark.parametrize(
    "said",
    [
        {"failed": "MemoryError"}, {}, {"seconds": None}, {"seconds": "1"}, {"seconds": 0.0}, {"seconds": -1.0},
        {"seconds": math.inf}, {"seconds": math.nan}, {"seconds": True},
    ],
)  # fmt: skip
def test_what_is_no_time_is_none(said: Said) -> None:
    """Missing is not zero: the ranking puts it where it belongs."""
    (only_other,), _ = look([{"seconds": 1.0}], [said])
    assert (only_other.other, only_other.effect) == (None, math.inf)
    (only_base,), _ = look([said], [{"seconds": 1.0}])
    assert (only_base.base, only_base.seen) == (None, False)
    assert math.isnan(only_base.effect)


def test_one_failure_of_two_is_none() -> None:
    """The second look may have been the one in peace."""
    (seen,), _ = look([{"seconds": 1.0}], [{"failed": "timed out"}, {"seconds": 4.0}])
    assert (seen.other, seen.reason) == (4.0, "timed out")


LATE = {"failed": "not done after 5 s", "late": True}


@pytest.mark.parametrize(
    ("base", "other", "asked", "effect"),
    [
        (LATE, LATE, [BASE, EXPERT], None),
        (LATE, {"seconds": 1.0}, [BASE, EXPERT, EXPERT], math.log(LONGEST_S)),
        ({"seconds": 1.0}, LATE, [BASE, EXPERT, BASE], math.log(LONGEST_S)),
    ],
)
def test_nobody_waits_twice_for_the_same_arm(base: Said, other: Said, asked: list[str], effect: float | None) -> None:
    """What takes minutes in one arm and a second in the other is what a screening is there to find."""
    (seen,), said = look([base], [other])
    assert [arm for arm, _ in said] == asked
    assert seen.seen is (effect is not None)
    assert seen.effect == pytest.approx(effect or 0.0)
    assert seen.reason == LATE["failed"]


def test_what_is_dear_to_import_is_no_effect() -> None:
    """Nobody imports it twice, and where one arm is quicker at that it is not ranked by it."""
    dear = {"failed": "its module took 40 s to import, as it does in each launch", "dear": "m"}
    for base, other, asked in ((dear, dear, 1), (dear, {"seconds": 1.0}, 1), ({"seconds": 1.0}, dear, 2)):
        (seen,), said = look([base], [other])
        assert (seen.seen, seen.reason, len(said)) == (False, dear["failed"], asked)
    seen_of_many, said = look([dear], [dear], workloads=2 * AT_ONCE)
    assert len(said) == 1 and {one.reason for one in seen_of_many} == {dear["failed"]}


def test_each_has_as_long_as_is_waited_for_at_most() -> None:
    """A suite may allow itself minutes for a call; what is asked of the sandbox says that there are none."""
    arm = Arm(BASE, [{"seconds": 1.0}], [])
    both = cast(Container, arm)
    glances(both, both, [Workload("m.time_x", "time", timeout_s=300.0)], "benchmarks", cpu=1, say=lambda *_: None)
    (asked,) = arm.entries
    assert (asked["longest_s"], asked["longest_import_s"], asked["limit_s"]) == (LONGEST_S, LONGEST_IMPORT_S, 310.0)


def test_many_workloads_are_looked_at_in_several_processes() -> None:
    """Each of them in both arms, and all come back in the suite's order."""
    seen, asked = look([{"seconds": 1.0}], [{"seconds": 1.0}], workloads=AT_ONCE + 3)
    assert [glance.workload for glance in seen] == [f"m.time_{number}" for number in range(AT_ONCE + 3)]
    assert [number for _, number in asked] == [AT_ONCE] * 4 + [3] * 4


def test_who_has_seen_enough_ends_it() -> None:
    """After the first of several processes; what was not looked at is not among what was seen."""
    asked: list[tuple[str, int]] = []
    both = cast(Container, Arm(BASE, [{"seconds": 1.0}], asked))
    many = [Workload(f"m.time_{number}", "time") for number in range(3 * AT_ONCE)]
    seen = glances(both, both, many, "b", cpu=1, say=lambda *_: None, enough=lambda: len(asked) >= 2)
    assert [glance.workload for glance in seen] == [workload.id for workload in many[:AT_ONCE]]


def test_it_keeps_to_the_core_that_is_measured_on() -> None:
    """The other cores may be someone else's."""
    arm = Arm(BASE, [{"seconds": 1.0}], [])
    both = cast(Container, arm)
    glances(both, both, [Workload("m.time_x", "time")], "benchmarks", cpu=1, say=lambda *_: None)
    assert tuple(arm.cpus) == (1,)
