"""A submission: one file with all that a run's scores follow from, and the check that they do follow."""

import gzip
import hashlib
import io
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict

from datasmith.docker.archive import unpack
from datasmith.errors import (
    FULL,
    ConfigError,
    ContainerError,
    StoreUnavailable,
    TrialError,
    naming,
    refuse_directory,
    said_by,
)
from datasmith.evaluation.outcome import named
from datasmith.evaluation.overview import RunState, run_state
from datasmith.evaluation.regrade import regrade_run
from datasmith.evaluation.run_folder import RunFolder, read_record
from datasmith.evaluation.unlikely import beyond_the_clock, is_of_a_run, unlike
from datasmith.redact import redact
from datasmith.tar_members import DAMAGE, open_tar
from datasmith.tasks.dataset import LOCAL, Dataset
from datasmith.tasks.folder import read_task, task_digest

MANIFEST = "manifest.json"
_EXAMPLE = "fc-eval submit RUN writes one; example: --check my-run.submission.tar.gz"


class Manifest(BaseModel):
    """manifest.json: sha256 of every other file by its path."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    run_id: str
    tool_version: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Checked:
    """What a submission is: its run, how far it is, and what does not hold; nothing where it may be accepted."""

    state: RunState
    digest: str
    problems: tuple[str, ...]


def write_submission(folder: RunFolder, target: Path) -> Checked:
    """Pack a complete run into `target`, a gzipped tar; the same run always gives the same bytes.

    Raises:
        TrialError: the run is not complete, its records do not follow from its raw files, or a file holds what has
            the form of a secret; names each. Nothing is written.
        ConfigError: `target` cannot be written, or is something else than a submission.
    """
    refuse_directory("--to", target, "my-run.tar.gz")
    if target.exists() and not _is_of(target, folder.root):
        raise ConfigError(
            f"--to {target}: is there already, and is no submission of this run (example: --to other.tar.gz)"
        )
    names = sorted(_belonging(folder.root))
    links = sorted(path.relative_to(folder.root).as_posix() for path in folder.root.rglob("*") if path.is_symlink())
    found = [f"a link, where a run has files: {named(links)}"] if links else _check(folder, names)
    if found:
        raise TrialError(f"{folder.root.name} cannot be submitted: {'; '.join(found)}")
    state = run_state(folder)
    digests = {name: hashlib.sha256((folder.root / name).read_bytes()).hexdigest() for name in names}
    manifest = Manifest(run_id=state.run.run_id, tool_version=state.run.tool_version, files=digests)
    data = _packed(folder.root, names, manifest)
    draft = target.with_name(f".{target.name}.draft")
    with naming("--to", target, "my-run.tar.gz"):
        try:
            draft.write_bytes(data)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    return Checked(state, hashlib.sha256(data).hexdigest(), ())


def check_submission(file: Path, dataset: Dataset | None = None) -> Checked:
    """Read a submission and compute every score anew from its raw files, in a place of its own.

    With a `dataset` its tasks are held against the real ones.

    Raises:
        TrialError: it is no submission, or damaged: nothing of it can be believed.
        StoreUnavailable: there is no room to unpack it.
    """
    with _unpacked(file) as root:
        manifest = read_record(root / MANIFEST, Manifest)
        if manifest is None:
            raise TrialError(f"{file}: no submission: {MANIFEST} is missing ({_EXAMPLE})")
        names = sorted(_files(root) - {MANIFEST})
        problems = [*_odd(file), *_unlike(root, names, manifest)]
        folder = RunFolder(root)
        if not problems:
            problems = _check(folder, names)
        if dataset is not None:
            problems += _other_tasks(folder, dataset)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        return Checked(run_state(folder), digest, tuple(problems))


def _check(folder: RunFolder, names: Sequence[str]) -> list[str]:
    """What speaks against a run: not complete, not following from its raw files, or secrets in it."""
    state = run_state(folder)
    left = [f"{key.task_id} {key.label}" for key in state.states if key in state.unfinished]
    problems = [f"not complete: {named(left)}"] if left else []
    ids, locked = set(state.run.config.task_ids), folder.read_lock().tasks.keys()
    unlocked, dropped = folder.unlocked(), sorted(locked - ids)
    problems += [unlocked] if unlocked else []
    problems += [f"run.json lacks tasks of run.lock: {named(dropped)}"] if dropped else []
    strays = sorted({PurePosixPath(name).parts[1] for name in names if name.startswith("trials/")} - ids)
    problems += [f"trials of tasks that run.json does not name: {named(strays)}"] if strays else []
    silent = [f"{key.task_id} {key.label}" for key in state.states if _lacks_log(folder.trial(key))]
    problems += [f"agent.log is missing: {named(silent)}"] if silent else []
    problems += [f"run.json: {name[:80]!r} is no task's id" for name in state.run.config.task_ids if not _is_name(name)]
    problems += [f"does not belong to a run: {name}" for name in names if not is_of_a_run(name)]
    changed = _changed(folder, names) if not problems else []
    problems += [f"its records do not follow from its raw files: {named(changed)}"] if changed else []
    absurd = beyond_the_clock(folder, names)
    problems += [f"calls that took longer than their launch: {named(absurd)}"] if absurd else []
    secret = [name for name in names if _has_secret(folder.root / name)]
    problems += [f"holds what looks like a secret: {named(secret)}"] if secret else []
    return problems


def _lacks_log(trial: Path) -> bool:
    """Whether an agent has worked, and its log is gone."""
    return (trial / "trajectory.json").exists() and not (trial / "agent.log").exists()


def _changed(folder: RunFolder, names: Sequence[str]) -> Sequence[str]:
    """What grading a copy of the run again changes."""
    with tempfile.TemporaryDirectory(prefix="fc-submission-") as scratch:
        for name in names:
            place = Path(scratch) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder.root / name, place)
        before = _records(Path(scratch))
        try:
            regraded = regrade_run(RunFolder(Path(scratch)))
        except (TrialError, StoreUnavailable) as error:
            return [str(error).replace(scratch, folder.root.name)]
        sessions = [name for name, text in _records(Path(scratch)).items() if before[name] != text]
        return regraded or sessions


def _records(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("session.json"))}


def _has_secret(path: Path) -> bool:
    text = path.read_bytes().decode("utf-8", "replace")
    return redact(text) != text


def _belonging(root: Path) -> Iterator[str]:
    return (name for name in _files(root) if is_of_a_run(name))


def _files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and not path.is_symlink()}


def _is_name(task_id: str) -> bool:
    """False for what leads out of the run's folder."""
    return "/" not in task_id and task_id not in {"", ".", ".."}


def _is_of(path: Path, root: Path) -> bool:
    """Whether a file is a submission of the run in `root`, whose run.json is written once."""
    if not path.is_file():
        return False
    try:
        with open_tar(path) as archive:
            there = archive.extractfile("run.json") if {MANIFEST, "run.json"} <= set(archive.getnames()) else None
            return there is not None and there.read() == (root / "run.json").read_bytes()
    except (OSError, *DAMAGE):
        return False


def _packed(root: Path, names: Sequence[str], manifest: Manifest) -> bytes:
    whole = io.BytesIO()
    with (
        gzip.GzipFile(filename="", fileobj=whole, mode="wb", mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w") as tar,
    ):
        for name in (MANIFEST, *names):
            data = manifest.model_dump_json(indent=1).encode() if name == MANIFEST else (root / name).read_bytes()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return whole.getvalue()


@contextmanager
def _unpacked(file: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fc-submission-") as scratch:
        root = Path(scratch) / "run"
        root.mkdir()
        try:
            unpack(file, root, links=False)
        except (ContainerError, OSError) as error:
            if isinstance(error, OSError) and error.errno in FULL:
                raise StoreUnavailable(f"TMPDIR {scratch}: {error.strerror}, for {file}") from error
            said = said_by(error).removeprefix(f"{file}: ")
            raise TrialError(f"{file}: no submission: {said} ({_EXAMPLE})") from error
        yield root


def _odd(file: Path) -> list[str]:
    """That an archive has more than files: what was not unpacked nobody has looked at."""
    with open_tar(file) as archive:
        odd = sorted(member.name for member in archive if not member.isreg() and not member.isdir())
    return [f"a link or a device, where a run has files: {named(odd)}"] if odd else []


def _unlike(root: Path, names: Sequence[str], manifest: Manifest) -> list[str]:
    """What the manifest says otherwise."""
    found = {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in names}
    wrong = sorted(name for name in found.keys() | manifest.files.keys() if found.get(name) != manifest.files.get(name))
    return [f"not as {MANIFEST} says: {named(wrong)}"] if wrong else []


def _other_tasks(folder: RunFolder, dataset: Dataset) -> list[str]:
    """What of it is not the dataset's: its release; its tasks' files, expert's patches, workloads, tests and images."""
    state = run_state(folder)
    wrong: list[str] = []
    for task_id, digest in sorted(folder.read_lock().tasks.items()):
        where = dataset.folders.get(task_id)
        if where is None or task_digest(where) != digest:
            wrong.append(task_id)
            continue
        wrong += [f"{task_id} ({what})" for what in unlike(folder, state, read_task(where))]
    problems = [f"other tasks than those of {dataset.name}: {named(wrong)}"] if wrong else []
    release = state.run.config.release
    names = {name for name in (release, dataset.release) if name != LOCAL and not re.fullmatch("[0-9a-f]{40}", name)}
    if len(names) > 1:
        problems.append(f"run.json says release {release[:80]!r}, and {dataset.name} is {dataset.release}")
    return problems
