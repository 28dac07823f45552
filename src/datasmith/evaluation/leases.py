"""Who is at work on a task of a run: one holder at a time, over processes and machines, as files of the run folder.

A lease is a numbered file; the highest number holds. Its numbers only grow, so whoever was paused and finds a higher
one knows that the task is no longer its own. Ages are differences between times that the file server gave, so the
clocks of machines do not have to agree.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname
from typing import Self

from pydantic import BaseModel, ConfigDict

from datasmith.errors import StoreUnavailable
from datasmith.evaluation.run_folder import read_record

LEASE_S = 60.0
"""A holder that was not heard of for so long has lost its task."""
BEATS = 6
"""How often in that time a holder says that it is there."""


class Holder(BaseModel):
    """A process, told apart from every other: `place` is a machine since its start, and its name space of processes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    place: str
    host: str
    pid: int
    started: str

    @classmethod
    def me(cls) -> Self:
        """This process."""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        place = f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
        return cls(place=place, host=gethostname(), pid=os.getpid(), started=_started(os.getpid()) or "")

    def is_gone(self, seen_from: "Holder") -> bool:
        """True where this process is known to have ended; of other machines nothing is known."""
        return self.place == seen_from.place and _started(self.pid) != self.started


class LeaseRecord(BaseModel):
    """A lease's file; how old the file is says when its holder was last heard of."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    holder: Holder
    ended: bool


class Lease:
    """The right to work on one task, until it is released or somebody else has a newer one."""

    def __init__(self, path: Path, number: int, me: Holder) -> None:
        self._path = path
        self._number = number
        self._me = me

    def holds(self) -> bool:
        """True as long as nobody has taken the task over."""
        newest = _newest(self._path.parent)
        return newest is not None and newest[0] == self._number

    def renew(self) -> None:
        """Say that we are there."""
        os.utime(self._path)

    def release(self) -> None:
        """Give the task back; its number stays taken."""
        draft = _draft(self._path.parent, self._me, ended=True)
        draft.replace(self._path)

    @contextmanager
    def kept(self, lease_s: float = LEASE_S) -> Iterator[None]:
        """Renew it during the body, and release it after that; a body that is killed leaves it to run out."""
        over = threading.Event()
        beat = threading.Thread(target=self._beat, args=(over, lease_s / BEATS), daemon=True)
        beat.start()
        try:
            yield
        finally:
            over.set()
            beat.join()
            if self.holds():
                self.release()

    def _beat(self, over: threading.Event, every_s: float) -> None:
        while not over.wait(every_s):
            with suppress(OSError):  # a file server that hiccups: what is not said now is said at the next beat
                self.renew()


def claim(directory: Path, me: Holder, *, lease_s: float = LEASE_S) -> Lease | None:
    """The lease of the task whose leases lie in `directory`; None where a holder that lives has it.

    Raises:
        StoreUnavailable: the directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        draft = _draft(directory, me, ended=False)
        try:
            number = _free_number(directory, draft.stat().st_mtime, me, lease_s)
            path = directory / f"{number:06d}.json"
            return Lease(path, number, me) if number and _linked(draft, path) else None
        finally:
            draft.unlink()
    except OSError as error:
        raise StoreUnavailable(f"cannot write {directory}: {error.strerror}") from error


def _free_number(directory: Path, now: float, me: Holder, lease_s: float) -> int:
    """The number of the next lease; 0 where somebody who lives holds the newest one."""
    newest = _newest(directory)
    if newest is None:
        return 1
    return newest[0] + 1 if _is_free(newest[1], now, me, lease_s) else 0


def _linked(draft: Path, path: Path) -> bool:
    """Make the lease, whole and only where there is none of its number: two who ask at once cannot both have it."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    return True


def holder_of(directory: Path) -> Holder | None:
    """Who has the newest lease and has not given it back."""
    newest = _newest(directory)
    return _read(newest[1]) if newest else None


def _draft(directory: Path, me: Holder, *, ended: bool) -> Path:
    draft = directory / f".{os.urandom(8).hex()}.draft"
    draft.write_text(LeaseRecord(holder=me, ended=ended).model_dump_json())
    return draft


def _newest(directory: Path) -> tuple[int, Path] | None:
    found = [path for path in directory.glob("*.json") if path.stem.isdigit()]
    return max((int(path.stem), path) for path in found) if found else None


def _is_free(path: Path, now: float, me: Holder, lease_s: float) -> bool:
    """True where the lease was given back, has run out, or its process has ended."""
    holder = _read(path)
    return holder is None or holder.is_gone(me) or now - path.stat().st_mtime > lease_s


def _read(path: Path) -> Holder | None:
    """The holder of a lease; None where it gave the lease back."""
    found = read_record(path, LeaseRecord)
    return None if found is None or found.ended else found.holder


def _started(pid: int) -> str | None:
    """When a process started, in clock ticks since the boot; None where there is none, or only what is left of one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else fields[18]
