"""Who tells nothing in launches between marks does not choose by that which of them count."""

from collections.abc import Callable

import pytest

from datasmith.docker.engine import ExecResult
from datasmith.workloads.base import BASE
from datasmith.workloads.fresh import MOST_PAIRS
from datasmith.workloads.measure import Measured

from .simulated import Request, SimulatedContainer
from .test_clocked import clocked_launches
from .test_fresh import AGENT, about, run, stored
from .test_two_speeds import speeds

NOTHING = ExecResult(1, b"", b"no memory", 0.1, 0.1, timed_out=False)


def failing(fails: Callable[[int], bool], kind: str = "clocked") -> Callable[[Request], ExecResult | None]:
    """A reply that tells nothing in these launches of a kind, counted from 1."""
    asked: list[Request] = []

    def reply(request: Request) -> ExecResult | None:
        fresh = request["fresh"]
        if not (isinstance(fresh, dict) and fresh["kind"] == kind):
            return None
        asked.append(request)
        return NOTHING if fails(len(asked)) else None

    return reply


def state(measured: Measured) -> str:
    """What is said of the agent's values."""
    return measured.outputs[AGENT][0].state


@pytest.mark.parametrize("first", range(1, 6))
def test_who_fails_from_some_launch_on_has_no_speed_up(first: int) -> None:
    """Its last launches would be the first four, of which none is certain: its whole claim counted."""
    hides = SimulatedContainer(about(1e-4, 4), unstopped_s=9e-4, reply=failing(lambda number: number >= first))
    assert state(run(hides)) == "differs"


def test_who_fails_now_and_then_has_no_speed_up() -> None:
    """Never twice on the same inputs: three times in all are no accident."""
    hides = SimulatedContainer(about(1e-4, 4), unstopped_s=9e-4, reply=failing(lambda number: number % 2 == 1))
    assert state(run(hides)) == "differs"


def test_who_fails_now_and_then_by_single_calls_has_no_speed_up() -> None:
    """The same, where it would choose which of these count."""
    caches = stored()
    caches.reply = failing(lambda number: number % 2 == 1, "looked")
    assert state(run(caches)) == "differs"


def test_once_may_be_anybodys_fault() -> None:
    """It is asked the same again; what it hides is seen as if nothing had been, and who hides nothing is believed."""
    hides, honest = (
        run(SimulatedContainer(about(1e-4, 4), unstopped_s=hidden_s, reply=failing(lambda number: number == 1)))
        for hidden_s in (9e-4, 0.0)
    )
    assert (state(hides), state(honest)) == ("equal", "equal")
    ratios = [measured.summaries[AGENT].workloads[0].ratio for measured in (hides, honest)]
    assert ratios == [pytest.approx(1, rel=0.05), pytest.approx(10, rel=0.05)]


@pytest.mark.parametrize("seed", range(5))
def test_who_fails_where_the_core_is_slow_does_not_choose(seed: int) -> None:
    """It looks at a loop of its own first: what is left would be launches in which base was slow, and it was fast."""
    pace = speeds(seed, 0.5)
    at = [1.0]

    def slower() -> float:
        at[0] = pace()
        return at[0]

    hides = SimulatedContainer(
        about(1e-4, 4), unstopped_s=9e-4, slower=slower, reply=failing(lambda _number: at[0] > 1.3)
    )
    base = SimulatedContainer(about(1e-3, 1), slower=speeds(seed + 50, 0.5))
    measured = run(hides, base=base)
    (row,) = measured.summaries[AGENT].workloads
    assert state(measured) == "differs" or row.ratio is None or row.ratio < 1.5


@pytest.mark.parametrize("fails", [lambda number: number == 3, lambda number: number % 3 == 0])
def test_where_base_fails_the_arm_is_asked_as_often(fails: Callable[[int], bool]) -> None:
    """It takes nothing from what is asked of the arm, and nobody is accused."""
    shaken = SimulatedContainer(about(1e-4, 4), unstopped_s=9e-4, sets_up_s=1e-3, slower=speeds(1, 0.5))
    base = SimulatedContainer(about(1e-3, 1), sets_up_s=1e-3, slower=speeds(2, 0.5), reply=failing(fails))
    measured = run(shaken, base=base)
    assert state(measured) == "equal"
    assert clocked_launches(measured, AGENT) == clocked_launches(measured, BASE) <= MOST_PAIRS
    assert (measured.summaries[AGENT].workloads[0].ratio or 0.0) < 1.5


def test_an_arm_that_fails_where_base_does_not_tell_again_is_not_accused() -> None:
    """What base cannot be asked twice says nothing of anybody."""
    late = SimulatedContainer(about(1e-3, 1), reply=failing(lambda number: number % 2 == 0))
    measured = run(SimulatedContainer(about(1e-4, 4), reply=failing(lambda number: number < 3)), base=late)
    assert state(measured) == "equal"
