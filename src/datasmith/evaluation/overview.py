"""How far runs are: the state of every trial, from the run folder's files alone."""

import fcntl
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from datasmith.counted import counted
from datasmith.errors import ConfigError, DatasmithError, StoreUnavailable, TrialError
from datasmith.evaluation.outcome import AgentFacts, Outcome, before_tests
from datasmith.evaluation.records import RunRecord, TrialRecord
from datasmith.evaluation.run_folder import FIRST_RUN, RunFolder, TrialKey, keys
from datasmith.tasks.policy import GuardVerdict

PENDING = "pending"
"""Not begun."""
WORKED = "to be graded"
"""The agent has handed in, and its patch is not graded yet."""


@dataclass(frozen=True, slots=True)
class RunState:
    """A run and its trials; a state is an outcome, PENDING or WORKED. Costs are USD; unknown ones are counted.

    An agent that broke down has its outcome before anything is graded; `unfinished` are the trials that need more work.
    """

    name: str
    """Of its folder: what a run is found by, also where the folder was copied or renamed."""
    run: RunRecord
    states: Mapping[TrialKey, str]
    unfinished: frozenset[TrialKey]
    best: Mapping[str, float]
    """Label of an agent -> its best task speedup."""
    cost_usd: float
    cost_unknown: int
    in_use: bool

    @property
    def n_complete(self) -> int:
        """Trials that need no further work."""
        return len(self.states) - len(self.unfinished)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many trials are in each state."""
        return dict(sorted(Counter(self.states.values()).items()))


def run_state(folder: RunFolder) -> RunState:
    """How far one run is.

    Raises:
        TrialError: a file of the run cannot be read, or there is no run.json.
    """
    run = folder.read_run()
    if run is None:
        raise TrialError(f"{folder.root}: run.json is missing")
    config = run.config
    folder.read_lock()  # where this or a session is damaged, nobody can go on with the run: that is told here
    for task_id in config.task_ids:
        folder.sessions(task_id)
    everything = keys(config.task_ids, config.labels, config.n_attempts)
    best: dict[str, float] = {}
    costs: list[float | None] = []
    states: dict[TrialKey, str] = {}
    unfinished = set(everything)
    for key in everything:
        facts, trial = folder.read_facts(key), folder.read_trial(key)
        if facts is not None:
            costs.append(facts.cost_usd)
        if trial is None:
            states[key] = _worked(folder, key, facts) if facts else PENDING
            continue
        states[key] = trial.outcome
        if trial.is_complete:
            unfinished.remove(key)
        if trial.ratios and trial.ratios.speedup and trial.outcome == _MEASURED:
            best[key.agent] = max(best.get(key.agent, 0.0), trial.ratios.speedup)
    known = [cost for cost in costs if cost is not None]
    name = folder.root.resolve().name
    return RunState(name, run, states, frozenset(unfinished), best, sum(known), len(costs) - len(known), in_use(folder))


_MEASURED: Outcome = "measured"


def _worked(folder: RunFolder, key: TrialKey, facts: AgentFacts) -> str:
    """The state of a trial whose agent's work is over, from what it handed in."""
    ending = before_tests(facts, folder.read_patch(key), GuardVerdict(()))
    return ending.outcome if ending else WORKED


def lost_to_outage(trials: Sequence[TrialRecord]) -> str:
    """Why none of these trials is complete, where outages ended them all; empty where one is, or there is none."""
    if not trials or any(trial.is_complete for trial in trials):
        return ""
    lost = f"no trial is complete: {counted(len(trials), 'trial')} ended as infra_error"
    return f"{lost}: {trials[0].reason} (the same command tries again)"


def in_use(folder: RunFolder) -> bool:
    """Whether a process is at work on the run."""
    try:
        descriptor = os.open(folder.root / ".in-use", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_run(path: Path) -> bool:
    """Whether a directory is a run's folder, also where run.json was lost.

    Raises:
        StoreUnavailable: it may not be looked into.
    """
    if not os.access(path, os.R_OK | os.X_OK):
        raise StoreUnavailable(f"{path} may not be read (example: chmod u+rx {path})")
    return any((path / name).exists() for name in ("run.json", "run.lock", "trials"))


def all_runs(runs_dir: Path) -> tuple[list[RunState], dict[str, DatasmithError]]:
    """The runs below a directory, oldest first, and what is wrong with folders that cannot be read, by their names.

    Raises:
        ConfigError: there is no such directory.
    """
    if not runs_dir.is_dir():
        if runs_dir.exists():
            raise ConfigError(f"--runs-dir {runs_dir}: is a file (example: --runs-dir runs)")
        raise ConfigError(f"--runs-dir {runs_dir}: no such directory, so there is no run: {FIRST_RUN}")
    found: list[RunState] = []
    problems: dict[str, DatasmithError] = {}
    for path in sorted(each for each in runs_dir.iterdir() if each.is_dir()):
        try:
            if _is_run(path):
                found.append(run_state(RunFolder(path)))
        except (TrialError, StoreUnavailable) as error:
            problems[path.name] = error
    return sorted(found, key=lambda state: state.run.created_at), problems
