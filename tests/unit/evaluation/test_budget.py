"""--max-cost: what counts, what does not, and what is said."""

from pathlib import Path

import pytest

from datasmith.agents.coding.base import AgentResult
from datasmith.docker.engine import Container
from datasmith.errors import ConfigError
from datasmith.evaluation.budget import CostLimit
from datasmith.evaluation.outcome import AgentFacts
from datasmith.evaluation.run import check_cost
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.evaluation.whole_files import write_record
from datasmith.tasks.task import Task

KEYS = tuple(TrialKey("a_b_1", "claude", number) for number in range(1, 6))


def worked(folder: RunFolder, number: int, cost: float | None) -> None:
    """Trial `number` has ended its work."""
    write_record(folder.trial(KEYS[number]) / "trajectory.json", AgentFacts(wall_s=1.0, cost_usd=cost))


def test_without_a_limit_everything_may_begin(tmp_path: Path) -> None:
    """And there is nothing to say."""
    folder = RunFolder(tmp_path)
    worked(folder, 0, 100.0)
    cost = CostLimit(None, folder, KEYS)
    assert cost.allows()
    assert cost.told == cost.doubt == ""


def test_the_limit_is_reached_by_known_costs_alone(tmp_path: Path) -> None:
    """Whoever wrote them; one of unknown cost is counted as that, never as 0 or as money."""
    folder = RunFolder(tmp_path)
    cost = CostLimit(2.0, folder, KEYS)
    worked(folder, 0, 0.5)
    worked(folder, 1, None)
    worked(folder, 2, 1.0)
    assert cost.allows()
    assert cost.told == ""
    assert cost.doubt == ("--max-cost 2: 1 of 3 trials are of unknown cost and were not counted; the others cost $1.50")
    worked(folder, 3, 0.5)
    assert not cost.allows()
    assert cost.told == (
        "--max-cost 2: trials for $2.00, and 1 of unknown cost; 1 were not begun (to go on: --max-cost 4)"
    )
    worked(folder, 4, 0.5)
    assert cost.told == ""


def test_what_an_outage_ended_was_paid_for(tmp_path: Path) -> None:
    """Both tries count, the trial is still to be begun again, and that is said where there is no money for it."""
    folder = RunFolder(tmp_path)
    cost = CostLimit(4.0, folder, KEYS[:1])
    first = AgentFacts(wall_s=1.0, cost_usd=3.0, input_tokens=10, outage="503")
    write_record(folder.trial(KEYS[0]) / "trajectory.json", first)
    assert cost.allows()
    again = AgentFacts(wall_s=1.0, cost_usd=3.5, input_tokens=7, outage="503").after(first)
    assert (again.cost_usd, again.input_tokens, again.output_tokens) == (6.5, 17, None)
    write_record(folder.trial(KEYS[0]) / "trajectory.json", again)
    assert not cost.allows()
    assert "trials for $6.50; 1 ended in an outage and were not begun again (to go on" in cost.told


def test_a_model_that_was_never_reached_cost_nothing() -> None:
    """What is not known of a try in which nothing was asked does not make the next one's cost unknown."""
    fine = AgentFacts(wall_s=1.0, cost_usd=2.0)
    assert fine.after(AgentFacts(wall_s=1.0, outage="refused")) == fine == fine.after(None)


def test_a_limit_of_nothing_begins_nothing(tmp_path: Path) -> None:
    """`--max-cost 0` grades what is there."""
    assert not CostLimit(0.0, RunFolder(tmp_path), KEYS).allows()


class Mute:
    """An agent whose model nobody has a price for, or somebody has."""

    name = "mute"

    def __init__(self, *, tells_cost: bool) -> None:
        self.tells_cost = tells_cost

    def solve(self, task: Task, container: Container, *, timeout_s: float) -> AgentResult:
        """Not to be called."""
        raise AssertionError


def test_a_limit_that_nobody_can_keep_is_refused() -> None:
    """Before the run, in one line; without a limit, and for agents whose cost will be known, nothing is said."""
    check_cost(2.0, [Mute(tells_cost=True)])
    check_cost(None, [Mute(tells_cost=False)])
    with pytest.raises(ConfigError, match=r"--max-cost 2: nobody says what mute costs \(example: FC_PRICES=") as caught:
        check_cost(2.0, [Mute(tells_cost=True), Mute(tells_cost=False)])
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"FC_PRICES=.*; without: --no-max-cost\)$"):
        check_cost(2.0, [Mute(tells_cost=False)], "; without: --no-max-cost")
