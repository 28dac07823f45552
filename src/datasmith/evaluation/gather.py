"""Several runs as one board: the same agent in two runs is one configuration, with the attempts of both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from datasmith.errors import ConfigError
from datasmith.evaluation.board import Board, Scored
from datasmith.evaluation.config import AgentEntry
from datasmith.evaluation.records import RunRecord, TaskFacts
from datasmith.evaluation.rows import rounds_of, trial_rows
from datasmith.evaluation.run_folder import RunFolder, read_record
from datasmith.metrics.score import FailurePolicy


@dataclass(frozen=True, slots=True)
class Gathered:
    """The runs' trials on one board; `entries` is what each configuration was started with.

    facts: of each task that has a trial, where a run knows them.
    """

    runs: tuple[RunRecord, ...]
    policy: FailurePolicy
    board: Board
    entries: Mapping[str, AgentEntry]
    facts: Mapping[str, TaskFacts]

    @property
    def one_machine(self) -> bool:
        """True where all runs were measured on the same machine."""
        return all(run.machine == self.runs[0].machine for run in self.runs)


def gather(
    folders: Sequence[RunFolder],
    policy: FailurePolicy,
    *,
    apart: bool = False,
    only: Mapping[str, Sequence[str]] | None = None,
) -> Gathered:
    """Read run folders; `apart` makes the same agent of two runs two configurations.

    `only` names, for a run's id, the agents that are looked at.

    Raises:
        ConfigError: two runs have one id, or there is no run.json.
        TrialError: a file of a run cannot be read.
    """
    runs = tuple(_run(folder) for folder in folders)
    ids = [run.run_id for run in runs]
    if len(set(ids)) < len(ids):
        raise ConfigError(f"RUN: two runs have one id: {', '.join(ids)} (example: runs/first runs/second)")
    names = _names(runs, apart)
    trials: list[Scored] = []
    used: dict[str, AgentEntry] = {}
    facts: dict[str, TaskFacts] = {}
    for folder, run in zip(folders, runs, strict=True):
        wanted = set(run.config.labels if only is None else only.get(run.run_id, ()))
        labels = {label: names[run.run_id, label] for label in run.config.labels if label in wanted}
        used |= {names[run.run_id, label]: entry for label, entry in _entries(run).items() if label in labels}
        rows = trial_rows(folder, run.config, policy)
        trials += [
            Scored(labels[row.record.agent], row, rounds_of(folder, row, policy))
            for row in rows
            if row.record.agent in labels
        ]
        _note_facts(facts, folder, {row.record.task_id for row in rows})
    return Gathered(runs, policy, Board(tuple(used), trials, seed=runs[0].config.seed), used, facts)


def _run(folder: RunFolder) -> RunRecord:
    run = folder.read_run()
    if run is None:
        raise ConfigError(f"RUN {folder.root}: no run.json there (example: runs/my-run)")
    return run


def _entries(run: RunRecord) -> dict[str, AgentEntry]:
    return dict(zip(run.config.labels, run.config.agents, strict=True))


def _names(runs: Sequence[RunRecord], apart: bool) -> dict[tuple[str, str], str]:
    """(run, label) -> the configuration's name: the label, with the run before it where labels mean two things."""
    entries: dict[str, list[AgentEntry]] = {}
    for run in runs:
        for label, entry in _entries(run).items():
            entries.setdefault(label, []).append(entry)
    clear = {label for label, found in entries.items() if not apart and all(entry == found[0] for entry in found)}
    return {
        (run.run_id, label): label if label in clear else f"{run.run_id}:{label}"
        for run in runs
        for label in run.config.labels
    }


def _note_facts(facts: dict[str, TaskFacts], folder: RunFolder, tasks: Iterable[str]) -> None:
    """Keep what is known of a task; a later run that knows its category or date stands in for one that does not."""
    for task in sorted(tasks):
        found = read_record(folder.task_facts(task), TaskFacts)
        if found is not None and (task not in facts or facts[task].merged_at is None):
            facts[task] = found
