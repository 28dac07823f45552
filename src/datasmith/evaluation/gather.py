"""Several runs as one board: the same agent in two runs is one configuration, with the attempts of both."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from datasmith.errors import ConfigError
from datasmith.evaluation.board import Board, Scored
from datasmith.evaluation.config import AgentEntry
from datasmith.evaluation.records import RunRecord, TaskFacts
from datasmith.evaluation.rows import Rounds, TrialRow, sessions_of, trial_rows
from datasmith.evaluation.run_folder import RunFolder, read_record
from datasmith.evaluation.selection import scope
from datasmith.metrics.score import FailurePolicy
from datasmith.tasks.certificate import Machine

ALIKE = (
    "dataset",
    "release",
    "timeout_s",
    "test_timeout_s",
    "benchmark_timeout_s",
    "precise",
    "max_rounds",
    "select",
    "engine",
)
"""Settings of a run that are told where they differ between runs: agents had other limits, or were timed otherwise."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The runs' trials on one board; `entries` is what each configuration was started with.

    names: what each run is called. facts: of each task that has a trial, where a run knows them. machines: where a
    configuration was measured on a task. unlike: tasks that are left out, as their files or the workloads that were
    measured are not the same in all runs. differing: settings that are not the same in all runs, with their values.
    scopes: the label of each run whose scores are not over whole suites.
    """

    runs: tuple[RunRecord, ...]
    names: tuple[str, ...]
    policy: FailurePolicy
    board: Board
    entries: Mapping[str, AgentEntry]
    facts: Mapping[str, TaskFacts]
    machines: Mapping[tuple[str, str], frozenset[Machine]]
    unlike: tuple[str, ...]
    differing: tuple[str, ...]
    scopes: Mapping[str, str]

    @property
    def n_tasks(self) -> int:
        """How many tasks the runs are of, whether they have a trial yet or not."""
        return len({task for run in self.runs for task in run.config.task_ids} - {*self.unlike})

    @property
    def one_machine(self) -> bool:
        """True where everything was measured on the same machine."""
        return len(frozenset[Machine]().union(*self.machines.values())) <= 1


def gather(
    folders: Sequence[RunFolder],
    policy: FailurePolicy,
    *,
    apart: bool = False,
    only: Sequence[Collection[str]] | None = None,
) -> Gathered:
    """Read run folders; `apart` makes the same agent of two runs two configurations.

    `only` names, for each folder, the agents that are looked at. A task whose files differ between runs is two tasks
    with one name: it is left out. So is one of which they measured other workloads: their means are of other things.

    Raises:
        ConfigError: a folder is given twice, or there is no run.json.
        TrialError: a file of a run cannot be read.
    """
    runs = tuple(_run(folder) for folder in folders)
    names = _run_names(folders, runs)
    called = _configurations(runs, names, apart)
    unlike = _unlike(folders) | _measured_unlike(folders, runs)
    trials: list[Scored] = []
    used: dict[str, AgentEntry] = {}
    facts: dict[str, TaskFacts] = {}
    machines: dict[tuple[str, str], frozenset[Machine]] = {}
    scopes: dict[str, str] = {}
    for at, (folder, run) in enumerate(zip(folders, runs, strict=True)):
        wanted = run.config.labels if only is None else only[at]
        labels = {label: called[at, label] for label in run.config.labels if label in wanted}
        used |= {called[at, label]: entry for label, entry in _entries(run).items() if label in labels}
        rows = [row for row in trial_rows(folder, run.config, policy) if row.record.task_id not in unlike]
        rounds = Rounds(folder, policy)
        for row in rows:
            if row.record.agent in labels:
                name = labels[row.record.agent]
                trials.append(Scored(name, row, rounds.of(row)))
                where = (name, row.record.task_id)
                machines[where] = machines.get(where, frozenset()) | _machines(row, run)
        if label := scope(sessions_of(rows)):
            scopes[names[at]] = label
        _note_facts(facts, folder, {row.record.task_id for row in rows})
    board = Board(tuple(used), trials, seed=runs[0].config.seed)
    return Gathered(runs, names, policy, board, used, facts, machines, tuple(sorted(unlike)), _differing(runs), scopes)


def _run(folder: RunFolder) -> RunRecord:
    run = folder.read_run()
    if run is None:
        raise ConfigError(f"RUN {folder.root}: no run.json there (example: runs/my-run)")
    return run


def _run_names(folders: Sequence[RunFolder], runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """The runs' ids; their folders where two have one id."""
    places = [folder.root.resolve() for folder in folders]
    again = next((folder.root for at, folder in enumerate(folders) if places[at] in places[:at]), None)
    if again is not None:
        raise ConfigError(f"RUN {again}: is given twice (example: runs/first runs/second)")
    ids = [run.run_id for run in runs]
    return tuple(name if ids.count(name) == 1 else str(folder.root) for name, folder in zip(ids, folders, strict=True))


def _entries(run: RunRecord) -> dict[str, AgentEntry]:
    return dict(zip(run.config.labels, run.config.agents, strict=True))


def _configurations(runs: Sequence[RunRecord], names: Sequence[str], apart: bool) -> dict[tuple[int, str], str]:
    """(place of the run, label) -> the configuration's name: the label, after its run where labels mean two things."""
    entries: dict[str, list[AgentEntry]] = {}
    for run in runs:
        for label, entry in _entries(run).items():
            entries.setdefault(label, []).append(entry)
    clear = {label for label, found in entries.items() if not apart and all(entry == found[0] for entry in found)}
    return {
        (at, label): label if label in clear else f"{names[at]}:{label}"
        for at, run in enumerate(runs)
        for label in run.config.labels
    }


def _unlike(folders: Sequence[RunFolder]) -> set[str]:
    """Tasks of which two runs say that their files were others."""
    digests: dict[str, set[str]] = {}
    for folder in folders:
        for task, digest in folder.read_lock().tasks.items():
            digests.setdefault(task, set()).add(digest)
    return {task for task, found in digests.items() if len(found) > 1}


def _measured_unlike(folders: Sequence[RunFolder], runs: Sequence[RunRecord]) -> set[str]:
    """Tasks of which two runs measured other workloads; only those that chose among them can."""
    if all(run.config.select == "all" for run in runs):
        return set()
    measured: dict[str, set[frozenset[str]]] = {}
    for folder, run in zip(folders, runs, strict=True):
        for task in run.config.task_ids:
            names = _measured(folder, task)
            if names:
                measured.setdefault(task, set()).add(names)
    return {task for task, found in measured.items() if len(found) > 1}


def _measured(folder: RunFolder, task: str) -> frozenset[str]:
    """The workloads of all sessions of a task: those that were selected, else all that the task has."""
    facts = read_record(folder.task_facts(task), TaskFacts)
    whole = facts.workloads if facts else ()
    sessions = folder.sessions(task).values()
    return frozenset(name for each in sessions for name in (each.selection.selected if each.selection else whole))


def _differing(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    found = []
    for name in ALIKE:
        values = dict.fromkeys(json.dumps(getattr(run.config, name)) for run in runs)
        if len(values) > 1:
            found.append(f"{name} {' and '.join(values)}")
    return tuple(found)


def _machines(row: TrialRow, run: RunRecord) -> frozenset[Machine]:
    """Where a trial was timed: older sessions do not say, and are of the machine that the run began on."""
    return frozenset([row.session.machine or run.machine] if row.session else [])


def _note_facts(facts: dict[str, TaskFacts], folder: RunFolder, tasks: Iterable[str]) -> None:
    """Keep what is known of a task; each field is that of the first run that knows it."""
    for task in sorted(tasks):
        found = read_record(folder.task_facts(task), TaskFacts)
        if found is not None:
            known = facts[task].model_dump(exclude_none=True) if task in facts else {}
            facts[task] = found.model_copy(update=known)
