"""Who holds a lock file."""

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

from datasmith.executors.holders import lock_holder


def test_the_holder_of_a_lock_is_named(tmp_path: Path) -> None:
    """Its number, its command, and since when: the time at which the file was touched; nobody before and after."""
    path = tmp_path / "lock"
    path.touch()
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert lock_holder(path) is None
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.utime(path, (1_000_000_000, 1_000_000_000))
        holder = lock_holder(path)
    assert holder is not None
    assert (holder.pid, holder.since) == (os.getpid(), datetime.fromtimestamp(1_000_000_000, UTC))
    program = Path(Path("/proc/self/cmdline").read_bytes().split(b"\0")[0].decode()).name
    assert holder.command.startswith(program) or "pytest" in holder.command
    assert lock_holder(path) is None


def test_a_command_is_told_in_one_short_line_without_secrets(tmp_path: Path) -> None:
    """A script's interpreter and its directory say nothing; a line break, a token and a long list say too much."""
    proc, path = tmp_path / "proc", tmp_path / "lock"
    path.touch()
    (proc / "77").mkdir(parents=True)
    facts = path.stat()
    place = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    (proc / "locks").write_text(
        f"1: POSIX  ADVISORY  READ 5 {place} 0 EOF\n2: FLOCK  ADVISORY  WRITE 77 {place} 0 EOF\n"
    )
    words = ["/venv/bin/python3", "/venv/bin/fc-eval", "run", "--token\n", "ghp_" + "a1" * 15, *["-t"] * 40]
    (proc / "77" / "cmdline").write_bytes("\0".join(words).encode() + b"\0")
    holder = lock_holder(path, proc)
    assert holder is not None
    assert holder.command.startswith("fc-eval run --token *** -t -t")
    assert (len(holder.command), holder.command[-1]) == (80, "…")


def test_where_the_kernel_does_not_say_nobody_is_named(tmp_path: Path) -> None:
    """No table of locks, or another container's process; one whose command is hidden is still a number."""
    proc, path = tmp_path / "proc", tmp_path / "lock"
    path.touch()
    proc.mkdir()
    assert lock_holder(path, proc) is None
    facts = path.stat()
    place = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    for pid in (0, -1, 88):
        (proc / "locks").write_text(f"1: FLOCK  ADVISORY  WRITE {pid} {place} 0 EOF\n")
        assert str(lock_holder(path, proc)).startswith("process 88 since 20" if pid == 88 else "None")
