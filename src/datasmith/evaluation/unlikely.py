"""What a run folder says that cannot be so, and that no regrade looks at: it only asks whether records follow."""

import math
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from datasmith.evaluation.overview import RunState
from datasmith.evaluation.records import TaskFacts
from datasmith.evaluation.run_folder import RunFolder, read_measurements, read_record
from datasmith.tasks.task import Task
from datasmith.workloads.launch import CLOCK_TOLERANCE_S

_OF_A_TRIAL = frozenset(
    {"agent.log", "patch.diff", "trajectory.json", "tests.json", "outputs.json", "measurements.jsonl", "trial.json"}
)
_OF_A_SESSION = frozenset({"measurements.jsonl", "session.json"})
_OF_A_RUN = frozenset({"run.json", "run.lock"})


def is_of_a_run(name: str) -> bool:
    """Whether a report or a regrade reads the file at this path of a run, or a reader of its submission wants it."""
    match PurePosixPath(name).parts:
        case (top,):
            return top in _OF_A_RUN
        case ("trials", _, "_arms", last):
            return last == "task.json"
        case ("trials", _, "_arms", number, last):
            return number.isdigit() and last in _OF_A_SESSION
        case ("trials", _, _, number, last):
            return number.isdigit() and last in _OF_A_TRIAL
    return False


def beyond_the_clock(folder: RunFolder, names: Sequence[str]) -> list[str]:
    """The measurements.jsonl in which a launch's calls took longer than the launch by the clock outside."""
    return [name for name in names if name.endswith(".jsonl") and any(_too_long(folder, name))]


def _too_long(folder: RunFolder, name: str) -> Iterator[bool]:
    # What is timed on other inputs is kept as a difference to what it stands beside.
    for launch in read_measurements(folder.root / name):
        called = math.fsum(launch.samples) * launch.number
        yield launch.round >= 0 and called > launch.wall_s + CLOCK_TOLERANCE_S


def unlike(folder: RunFolder, state: RunState, task: Task) -> Iterator[str]:
    """What a run says of a task otherwise than the task itself: its facts, its tests and its image."""
    facts = read_record(folder.task_facts(task.task_id), TaskFacts)
    if facts is not None and facts != TaskFacts.of(task):
        yield "task.json"
    rebuilt = folder.read_lock().rebuilt.get(task.task_id) == task.image_digest
    digests = {session.image_digest for session in folder.sessions(task.task_id).values()}
    if not rebuilt and not digests <= {task.image_digest}:
        yield "image"
    passing = frozenset(task.passing_tests)
    for key in state.states:
        tests = folder.read_tests(key) if key.task_id == task.task_id else None
        if tests is not None and (tests.expected != len(task.passing_tests) or not passing.issuperset(tests.failed)):
            yield f"tests of {key.label}"
