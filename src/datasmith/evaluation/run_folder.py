"""The run folder: where everything that a run saw is written, and all that a report or a regrade reads."""

import contextlib
import fcntl
import os
import shlex
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from datasmith.errors import FULL, ConfigError, StoreUnavailable, TrialError, naming
from datasmith.evaluation.config import RunConfig
from datasmith.evaluation.outcome import AgentFacts, OutputFacts, TestFacts, named
from datasmith.evaluation.records import RunLimit, RunLock, RunRecord, SessionRecord, TrialRecord
from datasmith.evaluation.whole_files import disk, move, write_bytes
from datasmith.misfits import misfit
from datasmith.tasks.drafts import alone
from datasmith.workloads.base import Measurement, agent_arm

Record = TypeVar("Record", bound=BaseModel)
ARMS = "_arms"
"""Beside the agents' folders: the measurements that all agents of a task share. No agent's name starts with `_`."""
_LEASES = "leases"
FIRST_RUN = "fc-eval run begins one (example: fc-eval run -d work/dataset/tasks -a nop)"
"""Where runs come from, for who has none."""
TIMED = ("measurements.jsonl", "outputs.json")
"""Files that lie beside a trial only where a session has timed it."""
_MEASUREMENT = TypeAdapter(Measurement)
_MEASUREMENTS = TypeAdapter(tuple[Measurement, ...])
GRADED_AGAIN = "delete the trial.json beside it, and fc-eval runs resume RUN grades the trial again"
"""What helps where a file is damaged that is of one trial."""
PATCH_AGAIN = "bring it back from a copy; else delete its folder, and fc-eval runs resume RUN asks the agent again"
"""... where it is what the agent handed in."""
MEASURED_AGAIN = "delete its folder and each trial.json of the task, and fc-eval runs resume RUN measures them again"
"""... and where it is of a session."""
_ADVICE = {
    "run.json": "it says what was run: bring it back from a copy, or begin another run with --run-id NAME",
    "run.lock": "bring it back from a copy; else delete it: the run can be reported then, and not be gone on with",
    "limit.json": "delete it, and say again what the run may cost: fc-eval runs resume RUN --max-cost USD",
    "trial.json": "delete it, and fc-eval runs resume RUN makes it anew",
    "trajectory.json": "delete it and the trial.json beside it, and fc-eval runs resume RUN asks the agent again",
    **dict.fromkeys(("tests.json", *TIMED), GRADED_AGAIN),
    "task.json": "delete it and a trial.json of its task, and fc-eval runs resume RUN writes both anew",
}
_OF_LEASE = "delete it where nobody is at work on the run"


@dataclass(frozen=True, slots=True)
class TrialKey:
    """One attempt of one agent at one task; attempts count from 1."""

    task_id: str
    agent: str
    attempt: int

    @classmethod
    def of(cls, record: TrialRecord) -> "TrialKey":
        """The trial that a record is of."""
        return cls(record.task_id, record.agent, record.attempt)

    @property
    def label(self) -> str:
        """The name of its arm, without the `agent:`."""
        return f"{self.agent}#{self.attempt}"


class RunFolder:
    """Reads and writes one run's files; each is replaced whole, by a rename."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._threads = threading.Lock()

    @property
    def report(self) -> Path:
        """The HTML page."""
        return self.root / "report.html"

    def trial(self, key: TrialKey) -> Path:
        """The folder of one trial."""
        return self.root / "trials" / key.task_id / key.agent / str(key.attempt)

    def session(self, task_id: str, number: int) -> Path:
        """The folder of one measurement session of a task."""
        return self.root / "trials" / task_id / ARMS / str(number)

    def timed(self, key: TrialKey, number: int) -> Path:
        """Where a session keeps what it timed of a trial until `put_in_place`."""
        return self.session(key.task_id, number) / key.label

    def put_in_place(self, trials: Sequence[TrialKey]) -> None:
        """Move what sessions timed of these trials to them: all that is done after session.json was written.

        Who goes on does it for who was stopped in between. What lies beside a trial without an end is deleted where no
        session says that it timed it.

        Raises:
            TrialError: a session is none.
            StoreUnavailable: one cannot be read, or a file cannot be moved.
        """
        sessions = {task_id: self.sessions(task_id) for task_id in {key.task_id for key in trials}}
        for key in trials:
            ours = [n for n, session in sessions[key.task_id].items() if agent_arm(key.label) in session.agents]
            for name in TIMED:
                for number in ours:
                    move(self.timed(key, number) / name, self.trial(key) / name)
                if not ours and not self.is_complete(key):
                    (self.trial(key) / name).unlink(missing_ok=True)

    def task_facts(self, task_id: str) -> Path:
        """task.json, beside the task's sessions."""
        return self.root / "trials" / task_id / ARMS / "task.json"

    def is_complete(self, key: TrialKey) -> bool:
        """True where the trial needs no further work; an outage says nothing about it, so that is tried again."""
        record = self.read_trial(key)
        return record is not None and record.is_complete

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out of this folder during the body.

        Raises:
            ConfigError: another process works on the run, or there can be no such folder.
            StoreUnavailable: the folder cannot be written.
        """
        with naming("--runs-dir", self.root.parent, "runs"):
            self.root.mkdir(parents=True, exist_ok=True)
        file = self.root / ".in-use"
        try:
            descriptor = os.open(file, os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            copy = f"cp -r {self.root} /tmp/{self.root.resolve().name}"
            advice = "" if error.errno in FULL else f": work on a copy of the run (example: {copy})"
            raise StoreUnavailable(f"cannot write {file}: {error.strerror}{advice}") from error
        try:
            self._take(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _take(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            look = f"fc-eval runs status {shlex.quote(str(self.root))}"
            raise ConfigError(f"run {self.root.name}: another process is at work on it (example: {look})") from error

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Be the only one, of all threads, processes and machines, who changes a file that the run's tasks share."""
        with self._threads, alone(self.root / ".shared"):
            yield

    def leases(self, task_id: str) -> Path:
        """Where it is written who works on a task."""
        return self.root / "trials" / task_id / ARMS / _LEASES

    def read_run(self) -> RunRecord | None:
        """run.json, or None where the run has not started."""
        return read_record(self.root / "run.json", RunRecord)

    def read_lock(self) -> RunLock:
        """run.lock, empty where there is none."""
        return read_record(self.root / "run.lock", RunLock) or RunLock(tasks={})

    def unlocked(self) -> str:
        """That run.lock does not say of tasks of run.json which ones, of that name, they were; empty where it does."""
        run = self.read_run()
        tasks = sorted(set(run.config.task_ids) - self.read_lock().tasks.keys()) if run else []
        return f"run.lock does not say which tasks these were: {named(tasks)}" if tasks else ""

    def read_limit(self) -> RunLimit:
        """limit.json, without a limit where there is none."""
        return read_record(self.root / "limit.json", RunLimit) or RunLimit()

    def read_session(self, task_id: str, number: int) -> SessionRecord | None:
        """session.json; a session that has none was interrupted.

        Raises:
            TrialError: it cannot be read, or lies where another one belongs.
        """
        path = self.session(task_id, number) / "session.json"
        record = read_record(path, SessionRecord)
        if record is not None and (record.task_id, record.session) != (task_id, number):
            raise TrialError(f"{path}: is the record of another session, {record.session} of {record.task_id}"[:300])
        return record

    def sessions(self, task_id: str) -> dict[int, SessionRecord]:
        """All sessions of a task that came to their end, by number."""
        found = ((number, self.read_session(task_id, number)) for number in range(1, self.next_session(task_id)))
        return {number: session for number, session in found if session is not None}

    def session_of(self, trial: TrialRecord) -> SessionRecord | None:
        """The session that a trial is compared within; None where it names none.

        Raises:
            TrialError: it names one that is not there.
        """
        if trial.session is None:
            return None
        session = self.read_session(trial.task_id, trial.session)
        if session is None:
            raise TrialError(
                f"{self.session(trial.task_id, trial.session)}: session.json is missing ({MEASURED_AGAIN})"
            )
        return session

    def read_trial(self, key: TrialKey) -> TrialRecord | None:
        """trial.json, or None where the trial is not complete."""
        return read_record(self.trial(key) / "trial.json", TrialRecord)

    def read_facts(self, key: TrialKey) -> AgentFacts | None:
        """trajectory.json: written last of the agent's files, so it exists exactly where the agent's work is over."""
        return read_record(self.trial(key) / "trajectory.json", AgentFacts)

    def read_outputs(self, key: TrialKey) -> OutputFacts | None:
        """outputs.json; None where outputs were not compared."""
        return read_record(self.trial(key) / "outputs.json", OutputFacts)

    def read_tests(self, key: TrialKey) -> TestFacts | None:
        """tests.json, or None where the tests were not run."""
        return read_record(self.trial(key) / "tests.json", TestFacts)

    def read_patch(self, key: TrialKey) -> str:
        """patch.diff as text; bytes that are not UTF-8 come back as they were when it is encoded again.

        Raises:
            TrialError: there is none; an empty patch is an empty file.
        """
        path = self.trial(key) / "patch.diff"
        if not path.is_file():
            raise TrialError(f"{self.trial(key)}: patch.diff is missing ({PATCH_AGAIN})")
        with disk(f"cannot read {path}"):
            return path.read_bytes().decode("utf-8", "surrogateescape")

    def next_session(self, task_id: str) -> int:
        """The number of the session to come; the remains of an interrupted one are not reused."""
        present = (self.root / "trials" / task_id / ARMS).glob("*")
        return max((int(path.name) for path in present if path.name.isdigit()), default=0) + 1

    def trials(self, *, but: Iterable[TrialKey] = ()) -> tuple[TrialRecord, ...]:
        """All trials that have an end, ordered by task, agent and attempt. `but`: these are not read.

        Raises:
            TrialError: one cannot be read, or lies where another one belongs.
        """
        found = []
        known = {self.trial(key) / "trial.json" for key in but}
        for path in self.root.glob("trials/*/*/*/trial.json"):
            record = None if path in known else read_record(path, TrialRecord)
            if record is None:
                continue
            if path.parent != self.trial(TrialKey.of(record)):
                raise TrialError(f"{path}: is the record of another trial, {record.agent} at {record.task_id}"[:300])
            found.append(record)
        return tuple(sorted(found, key=lambda record: (record.task_id, record.agent, record.attempt)))

    def strays(self, config: RunConfig) -> tuple[str, ...]:
        """Names of the trials that lie here and are none of this configuration."""
        known = {self.trial(key) / "trial.json" for key in keys(config.task_ids, config.labels, config.n_attempts)}
        here = (path for path in self.root.glob("trials/*/*/*/trial.json") if path not in known)
        return tuple(sorted("{} {}#{}".format(*path.parts[-4:-1]) for path in here))


def read_record(path: Path, kind: type[Record]) -> Record | None:
    """The record in a JSON file, or None where there is no such file.

    Raises:
        TrialError: what is in the file is no record of this kind.
        StoreUnavailable: the file is there and cannot be read.
    """
    try:
        with disk(f"cannot read {path}"):
            return kind.model_validate_json(path.read_bytes()) if _is_there(path) else None
    except ValidationError as error:
        raise TrialError(f"{path}: cannot be read: {misfit(error)}{_advice(path)}") from error


def _advice(path: Path) -> str:
    """What helps where a file is damaged, in brackets; empty where that is not known."""
    said = _ADVICE.get(path.name, "")
    if path.parent.name == _LEASES:
        said = _OF_LEASE
    elif path.parent.parent.name == ARMS:
        said = MEASURED_AGAIN
    return f" ({said})" if said else ""


def _is_there(path: Path) -> bool:
    """Also where it is a link that leads nowhere: only a name that nothing has is none."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def write_measurements(path: Path, launches: Iterable[Measurement]) -> None:
    """Write launches as measurements.jsonl, one a line."""
    write_bytes(path, b"".join(_MEASUREMENT.dump_json(launch) + b"\n" for launch in launches))


def read_measurements(path: Path) -> tuple[Measurement, ...]:
    """Read measurements.jsonl; no such file means no launches.

    Raises:
        TrialError: a line is none; names it.
        StoreUnavailable: the file cannot be read.
    """
    with disk(f"cannot read {path}"):
        lines = path.read_bytes().splitlines() if path.exists() else []
    with contextlib.suppress(ValidationError):
        found = _MEASUREMENTS.validate_json(b"[%s]" % b",".join(lines))
        if len(found) == len(lines) and all(line[:1] + line[-1:] == b"{}" for line in lines):
            return found
    launches = []
    for number, line in enumerate(lines, 1):
        try:
            launches.append(_MEASUREMENT.validate_json(line))
        except ValidationError as error:
            raise TrialError(f"{path}: line {number} is no measurement: {misfit(error)}{_advice(path)}") from error
    return tuple(launches)


def open_run(runs_dir: Path, reference: str) -> RunFolder:
    """The folder of a run, given as a path or by its id under `runs_dir`.

    Raises:
        ConfigError: there is no such run; names those that are there, or says where runs come from.
    """
    for root in (Path(reference), runs_dir / reference):
        if (root / "run.json").is_file():
            return RunFolder(root)
        if root.is_file():
            run = root.parent if root.name == "run.json" else runs_dir / "my-run"
            raise ConfigError(f"RUN {reference}: is a file, and a run is a directory (example: {run})")
    places = (Path(reference), Path(reference).parent, runs_dir) if Path(reference).name != reference else (runs_dir,)
    known = next(filter(None, (sorted(path.parent for path in place.glob("*/run.json")) for place in places)), [])
    if not known:
        raise ConfigError(f"RUN {reference}: no run.json there, and no run in --runs-dir {runs_dir}: {FIRST_RUN}")
    there = ", ".join(path.name for path in known)
    raise ConfigError(f"RUN {reference}: no run.json there (known: {there}; example: {known[0]})")


def keys(task_ids: Sequence[str], labels: Sequence[str], n_attempts: int) -> tuple[TrialKey, ...]:
    """All trials of a run, task by task."""
    attempts = range(1, n_attempts + 1)
    return tuple(TrialKey(task, agent, attempt) for task in task_ids for agent in labels for attempt in attempts)
