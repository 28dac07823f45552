"""What of a task folder can be seen to be wrong without running it."""

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Set
from pathlib import Path

from datasmith.docker.archive import MOST_BYTES
from datasmith.docker.context import LOCK, SCRIPTS
from datasmith.errors import ContainerError, InvalidTask
from datasmith.printable import printable
from datasmith.tar_members import DAMAGE, members, open_tar, what_is_wrong
from datasmith.tasks.folder import (
    CERTIFICATE,
    EXPERT_PATCH,
    PROVENANCE,
    REBUILD,
    RUNNER,
    SOURCE,
    SUITE,
    TEMPLATES,
    is_own_file,
    read_task,
    unread,
)
from datasmith.tasks.gitdiff import MalformedDiff, parse_diff
from datasmith.tasks.ids import task_id
from datasmith.tasks.leaks import leaks
from datasmith.tasks.suite import patch_digest
from datasmith.tasks.task import Task

MOST_RUNNER = 50_000_000
"""Bytes that the archive of asv_runner holds at most, unpacked; it holds some hundred thousand."""
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def check_task(folder: Path) -> tuple[str, ...]:
    """Every problem of a task folder that can be seen without running it; empty where there is none."""
    told: tuple[str, ...] = ()
    task = None
    try:
        task = read_task(folder)
    except InvalidTask as error:
        told = error.problems
    return (*told, *(f"{folder.name}: {problem}" for problem in _problems(folder, task)))


def _problems(folder: Path, task: Task | None) -> Iterator[str]:
    """What is wrong beside what hindered reading the task, up to what the system does not let us read."""
    try:
        yield from _content_problems(folder, task)
        if task:
            yield from _record_problems(folder, task)
            yield from _file_problems(folder, task)
            yield from _certificate_problems(task)
            yield from (f"instruction.md names the solution ({word!r})" for word in leaks(task))
    except OSError as error:
        yield unread(error)


def _content_problems(folder: Path, task: Task | None) -> Iterator[str]:
    """What is wrong with the links, archives and the provenance of a folder, whatever its record says."""
    yield from (f"{path.relative_to(folder)} is a link" for path in sorted(folder.rglob("*")) if path.is_symlink())
    if is_own_file(folder, SOURCE):
        yield from _archive_problems(folder, task)
    runner = f"tests/{RUNNER}"
    if is_own_file(folder, runner) and (folder / runner).stat().st_size and not _is_whole_zip(folder / runner):
        yield f"{runner}: cannot be read: it is no zip archive, or a damaged one"
    if is_own_file(folder, PROVENANCE) and not _is_object(folder / PROVENANCE):
        yield f"{PROVENANCE} cannot be read as a JSON object"


def _is_whole_zip(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            held = sum(member.file_size for member in archive.infolist())
            return held <= MOST_RUNNER and archive.testzip() is None
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):  # RuntimeError: a password is asked for
        return False


def _is_object(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_text("utf-8")), dict)
    except (OSError, ValueError, RecursionError):
        return False


def misnamed(task_id: str) -> str:
    """What is wrong with a folder of this task that has another name."""
    return f"task_id is {task_id}, and the folder must have that name, too"


def _record_problems(folder: Path, task: Task) -> list[str]:
    """What the record itself gets wrong."""
    suite = task.benchmark_dir.split("/")
    rules = (
        (task.task_id == folder.resolve().name, misnamed(task.task_id)),
        (
            task.task_id == task_id(task.owner, task.repo, task.pr_number),
            f"task_id does not follow from {task.repository}#{task.pr_number}",
        ),
        (_SHA.fullmatch(task.base_commit), f"base_commit {task.base_commit[:80]!r} is no full commit id"),
        (_SHA.fullmatch(task.merge_commit), f"merge_commit {task.merge_commit[:80]!r} is no full commit id"),
        (task.base_commit != task.merge_commit, "base_commit is the merge commit"),
        (task.instruction.strip(), "instruction.md is empty"),
        (task.workloads, "no workloads"),
        (len(set(task.workloads)) == len(task.workloads), "a workload is named twice"),
        (task.passing_tests, "no passing tests"),
        (any("{junit}" in word for word in task.test_command), "the test command writes no report ({junit})"),
        (suite[0] and ".." not in suite, f"benchmark_dir {task.benchmark_dir[:80]!r} leads out of the tree"),
    )
    return [problem for holds, problem in rules if not holds]


def _file_problems(folder: Path, task: Task) -> list[str]:
    """What is wrong with the files around the record."""
    found = [f"environment/{name} is missing" for name in SCRIPTS if name not in task.build.files]
    found += _incomplete(folder, task)
    told = [*task.build.files.items(), ("task.toml", "\n".join(task.build.build_args.values()))]
    found += [f"environment: {name} names the merge commit" for name, text in told if task.merge_commit in text]
    found += patch_problems(task)
    if task.suite and patch_digest(task.suite_patch) != task.suite.digest:
        found.append(f"{SUITE} is another one than its record says")
    return found


def _incomplete(folder: Path, task: Task) -> list[str]:
    """What is missing or empty of the files that every folder has, and what of the grader's copies is not base's."""
    shipped = [f"{place}/{name}" for place, names in TEMPLATES.items() for name in names]
    built = ["environment/Dockerfile", *(f"environment/{name}" for name in SCRIPTS if name in task.build.files)]
    rebuilt = ["tests/rebuild.sh"] if task.compiled and REBUILD in task.build.files else []
    named = [*shipped, f"tests/{RUNNER}", *rebuilt, *built]
    found = [f"{name} is missing" for name in named if not is_own_file(folder, name)]
    found += [f"{name} is empty" for name in named if is_own_file(folder, name) and not (folder / name).stat().st_size]
    others = {f"environment/{name}": text for name, text in task.build.files.items() if name != LOCK}
    found += [f"{name} is empty" for name, text in others.items() if not text and name not in named]
    if (folder / CERTIFICATE).exists() and not is_own_file(folder, CERTIFICATE):
        found.append(f"{CERTIFICATE} is no plain file")
    return found


def patch_problems(task: Task) -> list[str]:
    """Why the expert's patch cannot be measured, as far as its text says so."""
    try:
        return [] if parse_diff(task.expert_patch) else [f"{EXPERT_PATCH} changes nothing"]
    except MalformedDiff as error:
        return [f"{EXPERT_PATCH} is not a git diff: {error}"]


def _archive_problems(folder: Path, task: Task | None) -> Iterator[str]:
    """What is wrong with the tree at base; read to its end, since a copy that broke off begins as a whole one."""
    held: set[str] = set()
    try:
        with open_tar(folder / SOURCE) as tar:
            held.update(member.name.removeprefix("./").rstrip("/") for member in members(tar, MOST_BYTES))
    except (*DAMAGE, ContainerError) as error:
        yield f"{SOURCE}: cannot be read: {what_is_wrong(error)}"
        return
    if not held - {"", "."}:
        yield f"{SOURCE} holds nothing"
    elif task:
        yield from _foreign(task, held)


def _foreign(task: Task, held: Set[str]) -> Iterator[str]:
    """Files that the expert's patch changes, and the tree at base does not have."""
    try:
        changed = [change.paths[0] for change in parse_diff(task.expert_patch) if not change.new]
    except MalformedDiff:
        return
    for path in changed:
        if path not in held:
            yield f"{EXPERT_PATCH} changes {printable(path)}, which is not in {SOURCE}"


def _certificate_problems(task: Task) -> list[str]:
    certificate = task.certificate
    if certificate is None:
        return []
    found = [] if certificate.task_id == task.task_id else [f"the certificate is that of {certificate.task_id}"]
    if task.image_digest not in (certificate.image_digest, certificate.rebuilt_from):
        found.append("the certificate is that of another image")
    return found
