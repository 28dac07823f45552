"""What makes two runs one; tasks side by side: a core each, and one failure stops all."""

import re
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from datasmith.errors import ConfigError, TrialError
from datasmith.evaluation.config import AgentEntry, RunConfig
from datasmith.evaluation.placing import own_core, side_by_side
from datasmith.evaluation.records import RunRecord
from datasmith.evaluation.request import RunRequest, request_of, too_few_rounds
from datasmith.evaluation.run import RunObserver, _limited, _start, run_evaluation
from datasmith.evaluation.run_folder import RunFolder
from datasmith.evaluation.trial import Stopped, StopToken
from datasmith.evaluation.whole_files import write_record
from datasmith.executors.cores import CoreSet, usable_cores
from datasmith.misfits import LONGEST
from datasmith.printable import cut
from datasmith.settings import Settings
from datasmith.tasks.certificate import Machine
from datasmith.tasks.dataset import Dataset
from datasmith.tasks.task import Task
from tests.unit.evaluation.sample_run import MACHINE, NOW, config_of, sample_run
from tests.unit.tasks.samples import sample_task

TASKS = cast(list[Task], [f"task {number}" for number in range(8)])
"""The scheduler never looks into a task."""


@pytest.mark.parametrize("name", ["", "--", "-x", "a/b", "a b", "läufe", ".hidden", "x" * 101])
def test_a_run_has_a_name_or_none_is_given(name: str) -> None:
    """What a name is made of is told before anything is read; an empty one is the unset variable of a script."""
    request = RunRequest("no such tasks", (), (), directory=Path(), runs_dir=Path("runs"), run_id=name)
    with pytest.raises(ConfigError) as caught:
        run_evaluation(request, Settings(), cast(RunObserver, None))
    assert str(caught.value).startswith(f"--run-id {cut(name, LONGEST)!r}: must be 1 to 100 of the characters a-z, ")
    assert str(caught.value).endswith("begin with a letter or digit (example: --run-id my-run.1)")


def test_at_most_so_many_tasks_at_once() -> None:
    """Every task gets its turn, and no more than asked for are under way."""
    held: set[str] = set()
    most = 0
    seen: list[str] = []
    lock = threading.Lock()

    def one(task: Task) -> None:
        nonlocal most
        with lock:
            held.add(str(task))
            seen.append(str(task))
            most = max(most, len(held))
        time.sleep(0.01)
        with lock:
            held.discard(str(task))

    side_by_side(TASKS, one, 2, StopToken())
    assert most == 2
    assert sorted(seen) == sorted(str(task) for task in TASKS)


def test_the_first_failure_stops_the_others_and_is_the_one_told() -> None:
    """Threads that were told to stop are not mistaken for what went wrong."""
    stop = StopToken()

    def one(task: Task) -> None:
        if str(task) == "task 1":
            raise TrialError("cannot write x: No space left on device")
        while True:
            stop.check()
            time.sleep(0.005)

    with pytest.raises(TrialError, match="No space left"):
        side_by_side(TASKS, one, 2, stop)


def test_a_stop_token_raises_once_set() -> None:
    """And not before."""
    stop = StopToken()
    stop.check()
    stop.set()
    with pytest.raises(Stopped):
        stop.check()


def test_work_whose_lease_is_lost_is_stopped_alone() -> None:
    """The token of one task says so; the run goes on. Where the run is stopped, every task's token says it."""
    stop = StopToken()
    held = [True]
    mine, other = stop.under(lambda: bool(held)), stop.under(lambda: True)
    mine.check()
    held.clear()
    with pytest.raises(Stopped):
        mine.check()
    assert not mine.is_set
    stop.check()
    other.check()
    stop.set()
    with pytest.raises(Stopped):
        other.check()


NAMES = ("a_b_1", "a_b_2", "a_b_3")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Three folders with a file each."""
    for name in NAMES:
        (tmp_path / "tasks" / name).mkdir(parents=True)
        (tmp_path / "tasks" / name / "task.toml").write_text(name)
    return Dataset("tasks", "local", {name: tmp_path / "tasks" / name for name in NAMES})


def started(place: Path, dataset: Dataset, *names: str, machine: Machine = MACHINE) -> None:
    """A run of these tasks begins in `place`, or goes on there."""
    entry = AgentEntry(agent="nop", model="none")
    config = RunConfig(dataset="tasks", release="local", task_ids=names, agents=(entry,), engine="docker")
    place.mkdir(exist_ok=True)
    request = RunRequest(str(place.parent / "tasks"), (), (), directory=Path(), runs_dir=place.parent)
    _start(RunFolder(place), config, dataset, machine, request)


def test_other_tasks_are_another_configuration(tmp_path: Path, dataset: Dataset) -> None:
    """A run that exists is called that; tasks that it never had are not said to have changed; it says what to do."""
    started(tmp_path / "r", dataset, "a_b_1", "a_b_2")
    started(tmp_path / "r", dataset, "a_b_1", "a_b_2")
    with pytest.raises(ConfigError) as caught:
        started(tmp_path / "r", dataset, "a_b_2", "a_b_3")
    said = str(caught.value)
    assert said.startswith("run r: it exists with another configuration: task_ids: ")
    assert "files changed" not in said and "fc-eval run --run-id r-2" in said


def test_a_run_goes_on_where_it_was_begun(tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is still to be measured belongs beside the rest; where all is there, any machine shows it."""
    started(tmp_path / "r", dataset, "a_b_1")
    other = MACHINE.model_copy(update={"cores": 1, "kernel": "6.2"})
    with pytest.raises(ConfigError) as caught:
        started(tmp_path / "r", dataset, "a_b_1", machine=other)
    said = str(caught.value)
    assert "configuration: machine.cores: 2 -> 1; machine.kernel: 6.1 -> 6.2 (" in said
    assert "(to go on with it, it needs the machine, with the cores (taskset), that it was started with; " in said
    monkeypatch.setattr(RunFolder, "is_complete", lambda *_: True)
    started(tmp_path / "r", dataset, "a_b_1", machine=other)


def test_changed_files_are_told_by_their_task(tmp_path: Path, dataset: Dataset) -> None:
    """With the same configuration, the tasks whose files are not those of the first time."""
    started(tmp_path / "r", dataset, "a_b_1", "a_b_2")
    (dataset.folders["a_b_2"] / "task.toml").write_text("other")
    with pytest.raises(ConfigError, match=r"configuration: task a_b_2: its files changed \("):
        started(tmp_path / "r", dataset, "a_b_1", "a_b_2")


def test_a_run_goes_on_from_anywhere(tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows the directory of its tasks; where that is gone, the dataset's name has to do."""
    started(tmp_path / "r", dataset, "a_b_1")
    monkeypatch.chdir(tmp_path / "r")
    assert request_of(RunFolder(tmp_path / "r")).tasks_at == str(tmp_path / "tasks")
    (tmp_path / "tasks").rename(tmp_path / "elsewhere")
    assert request_of(RunFolder(tmp_path / "r")).tasks_at == ""


def test_a_resumed_run_is_asked_for_all_that_it_was_configured_with(tmp_path: Path) -> None:
    """Every field of RunConfig, none of them at its default: a field that does not come back makes resuming fail."""
    config = config_of(
        ["a_b_1"], ["good"], release="0" * 40, n_attempts=2, seed=7, timeout_s=11.0, precise=True, max_rounds=8,
        test_timeout_s=12.0, benchmark_timeout_s=13.0, select="impacted",
    )  # fmt: skip
    fields = RunConfig.model_fields
    assert [name for name, field in fields.items() if getattr(config, name) == field.default] == []
    run = RunRecord(run_id="mine", config=config, tool_version="0.1.0", machine=MACHINE, created_at=NOW)
    write_record(tmp_path / "mine" / "run.json", run)
    request = request_of(RunFolder(tmp_path / "mine"))
    asked = {name: getattr(request, {"agents": "entries"}.get(name, name)) for name in fields}
    assert asked == {name: getattr(config, name) for name in fields}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"dataset": "nowhere"},
            r"run\.json: config\.dataset nowhere: not a .*resume \S*/läufe --dataset work/dataset/",
        ),
        ({"engine": "chroot"}, r"run\.json: config\.engine: there is no engine 'chroot' \(example: bubblewrap\)"),
        ({"agents": ["nop", "nobody"]}, r"run\.json: config\.agents: entry 2 of 2: agent 'nobody' is not known"),
        ({"task_ids": ["x_y_1"], "dataset": "tasks"}, r"run\.json: config\.task_ids: 'x_y_1' matches no task of tasks"),
    ],
)
def test_what_does_not_hold_of_a_kept_run_names_its_entry(
    tmp_path: Path, change: dict[str, object], says: str, monkeypatch: pytest.MonkeyPatch, dataset: Dataset
) -> None:
    """Not a flag that nobody gave, though its folder was renamed; and it says what to give."""
    assert dataset.folders
    monkeypatch.chdir(tmp_path)
    facts = {"task_ids": ["a_b_1"], "agents": ["nop"], **change}
    agents = [AgentEntry(agent=name, model="none") for name in cast(list[str], facts.pop("agents"))]
    config = config_of(cast(list[str], facts.pop("task_ids")), ["nop"]).model_copy(
        update={**facts, "agents": tuple(agents)}
    )
    run = RunRecord(run_id="r", config=config, tool_version="0", machine=MACHINE, created_at=NOW)
    write_record(tmp_path / "läufe" / "run.json", run)
    settings = Settings(cache_dir=tmp_path, datasets_file=tmp_path / "none.json")
    with pytest.raises(ConfigError, match=says) as caught:
        run_evaluation(request_of(RunFolder(tmp_path / "läufe")), settings, cast(RunObserver, None))
    assert not re.match("--|-a", str(caught.value))


def test_too_few_rounds_are_told_before_anything_is_measured() -> None:
    """With a number that is enough for the task with the most workloads; nothing where it is, or where it is open."""
    few, many = (sample_task(workloads=tuple(f"m.time_{n}" for n in range(count))) for count in (1, 5))
    asked = RunRequest("tasks", (), (), directory=Path(), runs_dir=Path("runs"), max_rounds=6)
    assert too_few_rounds(asked, [few]) == ""
    told = too_few_rounds(asked, [few, many])
    assert told.startswith("--max-rounds 6: ") and " 5 workloads " in told
    assert told.endswith("in less than 8 rounds (example: --max-rounds 8)")
    for enough in (replace(asked, max_rounds=8), replace(asked, max_rounds=None), replace(asked, select="impacted")):
        assert too_few_rounds(enough, [few, many]) == ""


def test_who_goes_on_keeps_the_limit_of_the_cost(tmp_path: Path) -> None:
    """The one that was last given holds and is told; a command that gives none has none."""
    folder, notes = sample_run(tmp_path / "mine").folder, list[str]()
    again = request_of(folder)

    def holds(request: RunRequest) -> float | None:
        return _limited(request, folder, notes.append).max_cost_usd

    assert holds(again) is None
    assert holds(replace(again, max_cost_usd=2.0)) == holds(again) == 2.0
    assert holds(replace(again, max_cost_usd=9.0)) == holds(again) == 9.0
    assert holds(replace(again, keeps_limit=False)) is holds(again) is None
    said = "--max-cost {} holds, as it was last given for this run (--no-max-cost takes it away)"
    assert notes == [said.format(limit) for limit in (2, 9)]


def test_who_measures_waits_for_a_core(tmp_path: Path) -> None:
    """Beside another command that holds all of them; it says so once, and goes on when one is free."""
    settings = Settings(cache_dir=tmp_path, bench_cores=str(usable_cores()[-1]))
    waits, said, got = threading.Event(), list[str](), list[CoreSet]()

    def say(text: str) -> None:
        said.append(text)
        waits.set()

    def work() -> None:
        with own_core(settings, say) as cores:
            got.append(cores)

    worker = threading.Thread(target=work)
    with own_core(settings, said.append) as held:
        worker.start()
        assert waits.wait(30.0) and not got
    worker.join(30.0)
    assert got == [held] == [(usable_cores()[-1],)]
    assert len(said) == 1
    assert said[0].startswith("waits for a free core to measure on: core ")
