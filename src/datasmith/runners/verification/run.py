"""Verify many folders: find them, leave out what has its verdict, work side by side, and believe no file in them."""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from datasmith import process
from datasmith.errors import (
    ConfigError,
    ContainerError,
    DiskFull,
    EngineUnavailable,
    IndexUnavailable,
    InvalidTask,
    StoreUnavailable,
)
from datasmith.runners.disk import needing_room
from datasmith.runners.verification.base import Generation, Step, Stopped, failed
from datasmith.runners.verification.verdict import (
    SUCCESS,
    Failed,
    Verdict,
    Verdicts,
    Verified,
    clear,
    inputs_digest,
    lay_down,
)
from datasmith.tasks.legacy import PROFILE, RECORD
from datasmith.tasks.plain import is_task_folder

DEEPEST = 4
"""Levels below a root at which folders are looked for."""
Kind = Literal["task", "legacy"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one folder: its verdict, or (where there is none) why; `forged`: it claimed a success of its own."""

    folder: Path
    verdict: Verdict | None
    held: str = ""
    known: bool = False
    forged: bool = False


def kind_of(folder: Path) -> Kind | None:
    """Which generation a directory belongs to, by the files that it must have; None for any other directory."""
    if is_task_folder(folder):
        return "task"
    return "legacy" if (folder / RECORD).is_file() or (folder / PROFILE).is_file() else None


def find_folders(place: Path) -> tuple[tuple[Path, Kind], ...]:
    """The folder itself, or those below it, in order; links and hidden directories are not followed.

    Raises:
        ConfigError: there is none.
    """
    found: list[tuple[Path, Kind]] = []
    pending = [(place, 0)] if place.is_dir() else []
    while pending:
        at, depth = pending.pop()
        kind = kind_of(at)
        if kind:
            found.append((at, kind))
        elif depth < DEEPEST:
            below = (path for path in at.iterdir() if path.is_dir() and not path.is_symlink())
            pending += [(path, depth + 1) for path in below if not path.name.startswith(".")]
    if not found:
        example = "example: --task work/dataset/tasks, or one of the folders in it"
        raise ConfigError(f"--task {place}: no task folder is there or below ({example})")
    return tuple(sorted(found))


@dataclass(frozen=True)
class Verification:
    """One run over folders; `generations` opens the way to verify each kind when it is first needed."""

    generations: Callable[[Kind], Generation]
    verdicts: Verdicts
    logs: Path
    force: bool = False
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(
        self,
        folders: Sequence[tuple[Path, Kind]],
        *,
        workers: int,
        progress: Callable[[int, int, str], None] = lambda _done, _total, _note: None,
    ) -> tuple[Judged, ...]:
        """All folders, `workers` at a time; results in the order of the folders.

        `progress` gets how many are done (-1: as before), of how many, and what is under way. Ctrl-C ends all of them
        without a verdict; an engine's outage, or a full disk, leaves a folder without one.
        """
        bar = _Bar(len(folders), progress)
        with ThreadPoolExecutor(workers) as pool:
            running = [pool.submit(self._one, folder, kind, bar) for folder, kind in folders]
            try:
                wait(running, return_when=FIRST_EXCEPTION)
            finally:
                self._end(pool, running)
        return tuple(future.result() for future in running)

    def _end(self, pool: ThreadPoolExecutor, running: Sequence["Future[Judged]"]) -> None:
        if any(not future.done() for future in running):
            self.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            process.kill_descendants()

    def _one(self, folder: Path, kind: Kind, bar: "_Bar") -> Judged:
        try:
            judged = self._judged(folder, kind, Step(lambda what: bar.note(f"{folder.name}: {what}"), self.stop))
        except (EngineUnavailable, IndexUnavailable, DiskFull, StoreUnavailable) as error:
            if self.stop.is_set():
                raise Stopped(folder.name) from error
            judged = Judged(folder, None, held=str(error))
        bar.done()
        return judged

    def _judged(self, folder: Path, kind: Kind, step: Step) -> Judged:
        step("look")
        generation = self.generations(kind)
        try:
            known = None if self.force else self.verdicts.known(inputs_digest(folder), generation.conditions)
        except InvalidTask:
            known = None
        forged = os.path.lexists(folder / SUCCESS) and not self.verdicts.wrote(folder)
        if known:
            lay_down(folder, known)
            return Judged(folder, known, known=True, forged=forged)
        clear(folder)
        with needing_room(self.logs), tempfile.TemporaryDirectory(prefix="fc-verify-") as place:
            verdict = self._reached(folder, generation, Path(place, folder.resolve().name), step)
        step("note")
        self.verdicts.keep(verdict)
        lay_down(folder, verdict)
        return Judged(folder, verdict, forged=forged)

    def _reached(self, folder: Path, generation: Generation, copy: Path, step: Step) -> Verdict:
        """The verdict on a private copy: what changes the folder meanwhile changes nothing here."""
        started = time.monotonic()
        try:
            inputs = inputs_digest(folder, copy)
        except InvalidTask as error:
            # Nothing of it can be named by a digest, so nothing is remembered either: it is refused again at once.
            return Verdict(
                inputs="",
                engine=generation.engine,
                conditions=generation.conditions,
                judged_at=self.now(),
                seconds=0.0,
                found=failed("parse", str(error)),
            )
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{inputs.removeprefix('sha256:')[:20]}.build.log"
        found = self._found(generation, copy, log, step)
        seconds = round(time.monotonic() - started, 3)
        return Verdict(
            inputs=inputs,
            engine=generation.engine,
            conditions=generation.conditions,
            judged_at=self.now(),
            seconds=seconds,
            found=found,
        )

    def _found(self, generation: Generation, copy: Path, log: Path, step: Step) -> Verified | Failed:
        try:
            return generation.verify(copy, log=log, step=step)
        except InvalidTask as error:
            return failed("parse", str(error))
        except ConfigError as error:
            # Of a setting here: another day it is another one, and nothing is remembered.
            return failed("unknown", str(error))
        except (EngineUnavailable, DiskFull):
            raise
        except ContainerError as error:
            # What the disk or the machine refuses says nothing about the folder; neither does what has no known cause,
            # which is shown and not remembered.
            if isinstance(error.__cause__, OSError) or self.stop.is_set():
                raise EngineUnavailable(str(error)) from error
            return failed("unknown", str(error))


class _Bar:
    """Counts what is done, for a progress that is called by one thread at a time."""

    def __init__(self, total: int, progress: Callable[[int, int, str], None]) -> None:
        self._total = total
        self._progress = progress
        self._lock = threading.Lock()
        self._done = 0

    def note(self, what: str) -> None:
        """This is under way."""
        with self._lock:
            self._progress(-1, self._total, what)

    def done(self) -> None:
        """One more is done."""
        with self._lock:
            self._done += 1
            self._progress(self._done, self._total, "")
