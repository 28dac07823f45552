"""Times that cannot have been measured twice: found, told, and of one agent's attempts counted once."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.evaluation.board import Board, Scored
from datasmith.evaluation.compare import compare_sides
from datasmith.evaluation.gather import gather
from datasmith.evaluation.outcome import Outcome
from datasmith.evaluation.records import TrialRecord
from datasmith.evaluation.rows import TrialRow, trial_rows
from datasmith.evaluation.run_folder import RunFolder, TrialKey, read_measurements, write_measurements
from datasmith.evaluation.whole_files import write_record
from datasmith.metrics.integrity import Duplicate
from datasmith.workloads.base import agent_arm
from tests.unit.evaluation.sample_run import SampleRun
from tests.unit.evaluation.test_findings import TASKS, run_of


def test_a_copy_is_found(tmp_path: Path) -> None:
    """A run whose second agent has the first one's files is told, on the board and in the comparison."""
    folder = run_of(tmp_path / "copied", {"gpt-5": 1.2, "honest": 1.2}, [0, 1])
    for number in (0, 1):
        source, target = (TrialKey(TASKS[number], f"command-{name}", 1) for name in ("gpt-5", "honest"))
        record = folder.read_trial(source)
        assert record is not None
        copied = TrialRecord.model_validate(record.model_dump() | {"agent": target.agent})
        write_record(folder.trial(target) / "trial.json", copied)
        theirs = read_measurements(folder.trial(source) / "measurements.jsonl")
        mine = [replace(launch, arm=agent_arm(target.label)) for launch in theirs]
        write_measurements(folder.trial(target) / "measurements.jsonl", mine)
    (found,) = compare_sides((folder, "command-gpt-5"), (folder, "command-honest"), "floor")
    assert found.duplicate is not None
    assert (found.duplicate.equal, found.duplicate.complete) == (2, True)


def test_a_copied_run_adds_no_attempts_unseen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Under another id its trials look like further attempts, but two never take the same times: that is told."""
    folder = run_of(tmp_path / "mine", {"gpt-5": 1.2}, [0, 1])
    assert gather([folder], "floor").board.duplicates == ()
    shutil.copytree(folder.root, tmp_path / "another")
    path = tmp_path / "another/run.json"
    path.write_text(path.read_text().replace('"mine"', '"another"'))
    found = gather([folder, RunFolder(tmp_path / "another")], "floor").board.duplicates
    assert found == (Duplicate("command-gpt-5", "command-gpt-5", 2, 2),)
    assert run_app(app, ["findings", str(folder.root), str(tmp_path / "another")]) == 0
    told = (
        "warning: two attempts of command-gpt-5 have equal times on 2 of 2 tasks: one is a copy of the other, counted"
    )
    assert f"{told} once" in capsys.readouterr().out


def test_a_copied_attempt_counts_once(tmp_path: Path) -> None:
    """A run beside its copy has the numbers of the run: n, means, intervals, pass@k, cost and rank."""
    folder = run_of(tmp_path / "mine", {"gpt-5": 1.2, "honest": 1.1}, [0, 1])
    shutil.copytree(folder.root, tmp_path / "another")
    path = tmp_path / "another/run.json"
    path.write_text(path.read_text().replace('"mine"', '"another"'))
    alone = gather([folder], "floor").board
    both = gather([folder, RunFolder(tmp_path / "another")], "floor").board
    assert both.agents == alone.agents
    assert [agent.n_trials for agent in both.agents] == [2, 2]
    assert len(both.duplicates) == 2


def failing(root: Path) -> SampleRun:
    """One agent on two tasks: what it hands in breaks the tests of one, and on the other it runs out of time."""
    run = SampleRun(root, TASKS[:2], ["gpt-5"])
    outcomes: list[Outcome] = ["failed_tests", "agent_timeout"]
    for task, outcome in zip(TASKS, outcomes, strict=False):
        run.trial(run.session(task, {"m.time_a": 1.4}), "command-gpt-5", outcome)
    return run


def copied(folder: RunFolder, target: Path) -> RunFolder:
    """The same files under another id."""
    shutil.copytree(folder.root, target)
    path = target / "run.json"
    path.write_text(path.read_text().replace(f'"{folder.root.name}"', f'"{target.name}"'))
    return RunFolder(target)


def test_a_failed_attempt_that_was_copied_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing was measured of it, but no agent works for the same time twice; the line tells of it as well."""
    folder = failing(tmp_path / "mine").folder
    another = copied(folder, tmp_path / "another")
    alone, both = (gather(folders, "floor").board for folders in ([folder], [folder, another]))
    assert both.agents == alone.agents
    assert both.agents[0].outcomes == {"failed_tests": 1, "agent_timeout": 1}
    assert both.duplicates == (Duplicate("command-gpt-5", "command-gpt-5", 2, 2),)
    assert run_app(app, ["findings", str(folder.root), str(another.root)]) == 0
    assert "two attempts of command-gpt-5 have equal times on 2 of 2 tasks" in capsys.readouterr().out


@pytest.mark.parametrize("wall_s", [0.0, 12.75])
def test_a_second_failure_is_an_attempt(tmp_path: Path, wall_s: float) -> None:
    """It took another time than the first; and where no time was noted, nothing says that it is a copy."""
    folder = failing(tmp_path / "mine").folder
    another = copied(folder, tmp_path / "another")
    for place in (folder, another):
        for record in place.trials():
            took = wall_s if place is another or not wall_s else record.wall_s
            path = place.trial(TrialKey.of(record)) / "trial.json"
            write_record(path, record.model_copy(update={"wall_s": took}))
    found = gather([folder, another], "floor").board
    assert (found.agents[0].n_trials, found.duplicates) == (4, ())


def test_two_agents_that_look_like_copies_both_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody knows which one is the copy: both are ranked, and the line says so."""
    folder = run_of(tmp_path / "mine", {"gpt-5": 1.2, "honest": 1.2}, [0])
    first, second = (TrialKey(TASKS[0], f"command-{name}", 1) for name in ("gpt-5", "honest"))
    record = folder.read_trial(first)
    assert record is not None
    write_record(folder.trial(second) / "trial.json", record.model_copy(update={"agent": second.agent}))
    launches = read_measurements(folder.trial(first) / "measurements.jsonl")
    mine = [replace(launch, arm=agent_arm(second.label)) for launch in launches]
    write_measurements(folder.trial(second) / "measurements.jsonl", mine)
    assert run_app(app, ["report", str(folder.root)]) == 0
    told = "command-gpt-5 and command-honest have equal times on 1 of 1 tasks: one is a copy of the other, both count"
    assert told in capsys.readouterr().out
    assert [agent.n_scored for agent in gather([folder], "floor").board.agents] == [1, 1]


def refuted(row: TrialRow, attempt: int, claims: list[float]) -> TrialRow:
    """The trial as another attempt, all claims of which were refuted: each workload's ratio is 1."""
    ratios = row.record.ratios
    assert ratios is not None
    workloads = [
        each.model_copy(update={"ratio": 1.0, "repeated": claim})
        for each, claim in zip(ratios.workloads, claims, strict=True)
    ]
    told = ratios.model_copy(update={"workloads": tuple(workloads), "speedup": 1.0})
    return replace(row, record=row.record.model_copy(update={"ratios": told, "attempt": attempt}))


def test_refuted_claims_are_no_copies(tmp_path: Path) -> None:
    """What counts instead of them is 1 exactly, for everyone; what was measured in the rounds tells trials apart."""
    folder = run_of(tmp_path / "mine", {"gpt-5": 1.2}, [0])
    run = folder.read_run()
    assert run is not None
    (row,) = trial_rows(folder, run.config, "floor")
    assert row.record.ratios is not None
    claims = [[3.0 + each / 100 + number for number, _ in enumerate(row.record.ratios.workloads)] for each in range(3)]
    first, second, other = (
        Scored(name, refuted(row, attempt, told), ())
        for (name, attempt), told in zip([("a", 1), ("a", 2), ("b", 1)], claims, strict=True)
    )
    found = Board(("a", "b"), [first, second, other], seed=0)
    assert (found.duplicates, found.agents[0].n_trials) == ((), 2)
    again = Board(("a", "b"), [first, replace(second, row=refuted(row, 2, claims[0])), other], seed=0)
    assert (again.duplicates, again.agents[0].n_trials) == ((Duplicate("a", "a", 1, 1),), 1)
