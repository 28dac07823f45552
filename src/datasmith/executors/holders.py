"""Who holds a lock file, as this machine's kernel says: nothing has to be written that could be out of date."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from datasmith.printable import cut, one_line
from datasmith.redact import redact

MOST_WORDS = 80
"""Characters of a command that are shown."""


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The process that holds a lock; `command` is empty where it cannot be read."""

    pid: int
    command: str
    since: datetime

    def __str__(self) -> str:
        """In words, with the time as it is at this place."""
        what = f" ({self.command})" if self.command else ""
        return f"process {self.pid}{what} since {self.since.astimezone():%Y-%m-%d %H:%M}"


def lock_holder(path: Path, proc: Path = Path("/proc")) -> LockHolder | None:
    """Who holds flock(2) on a file; `path` was last touched when the lock was taken.

    None where nobody does, or the kernel does not say: the process is of another container, or the file system counts
    its files otherwise.
    """
    try:
        facts, table = path.stat(), (proc / "locks").read_text()
        place = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
        # 1: FLOCK  ADVISORY  WRITE 31232 fe:00:2547727 0 EOF
        rows = (line.split() for line in table.splitlines())
        pid = next((int(row[4]) for row in rows if row[1] == "FLOCK" and row[5] == place), 0)
    except (OSError, IndexError, ValueError):
        return None
    if pid <= 0:
        return None
    return LockHolder(pid, _command(proc / str(pid)), datetime.fromtimestamp(facts.st_mtime, UTC))


def _command(process: Path) -> str:
    """The words of a process on one line, its program without the directory, and without secrets."""
    try:
        words = (process / "cmdline").read_bytes()
    except OSError:  # the kernel may hide what other users do
        return ""
    program, *others = words.rstrip(b"\0").decode("utf-8", "replace").split("\0")
    if others and Path(program).name.startswith("python") and Path(others[0]).is_absolute():  # a script's interpreter
        program, *others = others
    line = one_line(redact(" ".join([Path(program).name, *others])))
    return cut(line, MOST_WORDS)
