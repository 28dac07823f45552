"""A verdict on a folder: bound to what the folder held, remembered where no sandbox can write, shown in the folder."""

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from datasmith.errors import InvalidTask, StoreUnavailable

SUCCESS = "verification_success.json"
FAILURE = "failure.json"
TAIL = 4000
"""Characters kept of an output's end."""
MOST_BYTES = 5_000_000_000
MOST_FILES = 100_000
_RULES = "fc-verdict-3"
"""Goes into every digest: verdicts by other rules are no verdicts."""
_OURS = frozenset({SUCCESS, FAILURE, f".{SUCCESS}", f".{FAILURE}"})
_PUBLISHED = frozenset({"published.json", "sbom.cdx.json", "statement.intoto.json"})
"""What publishing lays beside a task's files: it changes nothing that is built or run."""

Stage = Literal["parse", "build", "tests", "measure", "unknown"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Failed(_Frozen):
    """failure.json: at which stage, with which exit code, why, and the ends of what was printed.

    `step` is the stage of a Dockerfile, or the script, that failed; `return_code` is -1 where none ended by itself.
    """

    stage: Stage
    return_code: int
    error_message: str
    stdout: str = ""
    stderr: str = ""
    step: str = ""


class Verified(_Frozen):
    """verification_success.json: what was seen. `tests_failed` are those that fail in the untouched tree, too."""

    image_digest: str
    tests_passed: int
    tests_failed: int
    benchmarks: int


class Verdict(_Frozen):
    """One folder's verdict, with the digest of the files that it was reached from, and under which conditions."""

    inputs: str
    engine: str
    conditions: str = ""
    """Engine, limits of time and of the sandbox, see `base.conditions`."""
    judged_at: datetime
    seconds: float
    found: Verified | Failed

    @property
    def ok(self) -> bool:
        """True where the folder is verified."""
        return isinstance(self.found, Verified)

    @property
    def lasts(self) -> bool:
        """False where it holds for this once only: no digest names the files, or the machine failed, not the folder."""
        return bool(self.inputs) and not (isinstance(self.found, Failed) and self.found.stage == "unknown")

    def shown(self) -> tuple[str, str]:
        """Name and text of the file that is laid into the folder."""
        about = self.model_dump(mode="json", exclude={"found"})
        text = json.dumps({**self.found.model_dump(mode="json"), **about}, indent=1, ensure_ascii=False)
        return (SUCCESS if self.ok else FAILURE), f"{text}\n"


def inputs_digest(folder: Path, copy_to: Path | None = None) -> str:
    """sha256:<hex> over the folder's name, and names, executable bits and contents of all its files but verdicts.

    The files are copied where asked. The name counts because a task says its own: renamed, a folder is another one.

    Raises:
        InvalidTask: it holds a link, or something that is neither file nor directory, or more than a task can need.
        StoreUnavailable: a file of it may not be read, which says nothing of what it holds.
    """
    try:
        return _digest(folder, copy_to)
    except PermissionError as error:
        raise StoreUnavailable(f"{error.filename} cannot be read: {error.strerror}") from error


def _digest(folder: Path, copy_to: Path | None) -> str:
    whole = hashlib.sha256(f"{_RULES}\0{folder.resolve().name}\0".encode("utf-8", "surrogateescape"))
    held = 0
    if copy_to:
        copy_to.mkdir(parents=True)
    for number, (relative, path, status) in enumerate(_entries(folder)):
        held += status.st_size
        if held > MOST_BYTES or number >= MOST_FILES:
            raise InvalidTask([f"{folder.name}: holds more than {MOST_BYTES} bytes or {MOST_FILES} files"])
        target = copy_to / relative if copy_to else None
        if stat.S_ISDIR(status.st_mode):
            if target:
                target.mkdir()
            continue
        if not stat.S_ISREG(status.st_mode):
            raise InvalidTask([f"{folder.name}: {relative} is a link or no plain file"])
        content = _hash(path, target)
        mode = "x" if status.st_mode & stat.S_IXUSR else "-"
        whole.update(f"{relative}\0{mode}\0{content}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}"


def _entries(folder: Path) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Everything below a folder by its relative name, directories before what they hold."""
    pending = [folder]
    while pending:
        directory = pending.pop()
        for path in sorted(directory.iterdir(), key=lambda path: os.fsencode(path.name)):
            if directory == folder and path.name in _OURS | _PUBLISHED:
                continue
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode):
                pending.append(path)
            yield path.relative_to(folder).as_posix(), path, status


def _hash(path: Path, target: Path | None) -> str:
    """The hash of a file, which is copied in the same reading."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as source:
        if target is None:
            return hashlib.file_digest(source, "sha256").hexdigest()
        mode = 0o755 if os.fstat(descriptor).st_mode & stat.S_IXUSR else 0o644
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as copy:
            return _copied(source, copy)


def _copied(source: IO[bytes], copy: IO[bytes]) -> str:
    found = hashlib.sha256()
    while part := source.read(1 << 20):
        found.update(part)
        copy.write(part)
    return found.hexdigest()


class Verdicts:
    """All verdicts that were reached here, by the digest of the inputs and the conditions.

    What lies in a folder is for its reader: it is written, and never read back. An agent that works in a folder can
    write there what it likes, this directory is not shown to any sandbox.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def known(self, inputs: str, conditions: str) -> Verdict | None:
        """The verdict on these inputs under these conditions, if one was reached; an unreadable one counts as none."""
        try:
            found = Verdict.model_validate_json(self._place(inputs, conditions).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return found if found.lasts and (found.inputs, found.conditions) == (inputs, conditions) else None

    def wrote(self, folder: Path) -> bool:
        """Whether the success that lies in a folder says what a verdict of ours said, whenever that was reached."""
        try:
            said = json.loads((folder / SUCCESS).read_text("utf-8"))
            known = self.known(said["inputs"], said["conditions"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return False
        return known is not None and _undated(json.loads(known.shown()[1])) == _undated(said)

    def keep(self, verdict: Verdict) -> None:
        """Remember a verdict that lasts; it appears whole or not at all."""
        if not verdict.lasts:
            return
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(self._place(verdict.inputs, verdict.conditions), verdict.model_dump_json(indent=1) + "\n")

    def _place(self, inputs: str, conditions: str) -> Path:
        name = hashlib.sha256(f"{inputs}\0{conditions}".encode()).hexdigest()
        return self._root / f"{name}.json"


def _undated(said: dict[str, object]) -> dict[str, object]:
    """Without what differs where the same is found once more."""
    return {name: value for name, value in said.items() if name not in {"judged_at", "seconds"}}


def lay_down(folder: Path, verdict: Verdict) -> None:
    """Write the verdict's file into its folder, and take away the other one."""
    name, text = verdict.shown()
    clear(folder, but=name)
    _write(folder / name, text)


def clear(folder: Path, but: str = "") -> None:
    """Take away verdicts that lie in a folder, whoever wrote them."""
    for name in _OURS - {but}:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _write(target: Path, text: str) -> None:
    draft = target.with_name(f".{target.name}")
    with suppress(IsADirectoryError):
        draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    draft.rename(target)
