"""The door to subprocess: values out, nothing left running, nothing leaked in."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from datasmith import process
from datasmith.errors import StoreUnavailable
from datasmith.process import clean_environment, run

STOPPED_COMMAND = """
import sys, threading, time
from pathlib import Path
from datasmith.process import kill_descendants, run
note = Path(sys.argv[1])
ended = []
worker = threading.Thread(target=lambda: ended.append(run(["sh", "-c", f"echo $$ > {note}; sleep 60"]).rc))
worker.start()
while not (note.exists() and note.read_text().strip()):
    time.sleep(0.02)
kill_descendants()
worker.join()
print(ended[0])
"""
"""A command that is stopped while a child of its works: prints how the child ended."""

CLEARING_COMMAND = """
import sys, threading, time
from pathlib import Path
from datasmith.docker.trees import remove_tree
from datasmith.process import kill_descendants
slow = Path(sys.argv[1])
worker = threading.Thread(target=remove_tree, args=(slow,))
worker.start()
while worker.is_alive():
    kill_descendants()
    time.sleep(0.05)
print(slow.exists())
"""
"""A command that is stopped while it deletes a directory: prints whether that is still there."""

BUSY_COMMAND = """
import threading, time
from datasmith.process import kill_descendants, run
until = time.monotonic() + 2
def begin():
    while time.monotonic() < until:
        run(["sh", "-c", "(true; true) & (true; true) & wait"])
threads = [threading.Thread(target=begin) for _ in range(3)]
for thread in threads:
    thread.start()
while time.monotonic() < until:
    kill_descendants()
for thread in threads:
    thread.join()
print("done")
"""
"""Processes that begin and end while they are looked for."""


def alive(pid: int) -> bool:
    """True while a process runs; one that ended and was not collected yet does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid: int, within_s: float = 5.0) -> bool:
    """True once the process has ended."""
    deadline = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def test_a_failure_is_a_value() -> None:
    """A non-zero exit code comes back with both streams, and raises nothing."""
    done = run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.rc, done.text, done.error_text, done.ok, done.timed_out) == (3, "out\n", "err\n", False, False)


def test_a_signal_is_a_negative_exit_code() -> None:
    """A child that a signal ended is told from one that exited."""
    assert run(["sh", "-c", "kill -9 $$"]).rc == -9


def test_a_missing_program_is_a_surprise() -> None:
    """The caller must have meant another program: this is an exception."""
    with pytest.raises(FileNotFoundError):
        run(["no-such-program-anywhere"])


def test_a_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    """After the limit the child is gone, and so is what it started in the background."""
    note = tmp_path / "pid"
    done = run(["sh", "-c", f"sleep 60 & echo $! > {note}; wait"], timeout=0.5)
    assert done.timed_out and not done.ok and done.wall_s < 10
    assert gone(int(note.read_text()))


def test_nothing_outlives_a_child_that_ended_well(tmp_path: Path) -> None:
    """A background process that keeps the pipes open neither blocks the call nor survives it."""
    note = tmp_path / "pid"
    done = run(["sh", "-c", f"sleep 60 & echo $! > {note}; echo done"], timeout=30)
    assert done.ok and done.text == "done\n" and done.wall_s < 10
    assert gone(int(note.read_text()))


def test_an_exception_here_ends_the_child_too(tmp_path: Path) -> None:
    """Where the call itself fails, as with an unwritable log, no child is left."""
    note = tmp_path / "pid"
    script = f"echo $$ > {note}; while :; do echo x; sleep 0.05; done"
    with pytest.raises(OSError, match="No space left"):
        run(["sh", "-c", script], log=Path("/dev/full"), timeout=30)
    assert gone(int(note.read_text()))


def test_nothing_is_started_without_its_log(tmp_path: Path) -> None:
    """A log that cannot be opened is named, is no missing program, and no child has begun."""
    note, log = tmp_path / "note", tmp_path / "nowhere/child.log"
    with pytest.raises(StoreUnavailable, match=f"cannot write the log {log}: No such file"):
        run(["sh", "-c", f"echo begun > {note}; sleep 60; true"], log=log, timeout=30)
    left = subprocess.run(["pgrep", "-f", str(note)], capture_output=True, check=False).stdout
    assert (left, note.exists()) == (b"", False)


def test_what_clears_up_comes_to_its_end_when_a_command_is_stopped(tmp_path: Path) -> None:
    """Its directories are deleted by a program, which is not killed with the others, however long it takes."""
    (tmp_path / "left/deep").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/rm").write_text(f'#!/bin/sh\nsleep 0.5\nexec {shutil.which("rm")} "$@"\n')
    (tmp_path / "bin/rm").chmod(0o755)
    slow = clean_environment({"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})
    done = run([sys.executable, "-c", CLEARING_COMMAND, tmp_path / "left"], timeout=60, env=slow)
    assert (done.text, done.error_text) == ("False\n", "")


def test_secrets_do_not_reach_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only allow-listed variables are passed on, and what the caller adds."""
    monkeypatch.setenv("GH_TOKEN", "ghp_secret")
    printed = run(["env"]).text
    assert "ghp_secret" not in printed and "PATH=" in printed
    assert "ADDED=1" in run(["env"], env=clean_environment({"ADDED": "1"})).text
    assert run(["/usr/bin/env"], env={"ONLY": "this"}).text == "ONLY=this\n"


def test_large_input_and_output_do_not_block() -> None:
    """Megabytes go in and come out at once, though neither side can hold them in a pipe."""
    data = os.urandom(3_000_000)
    done = run(["cat"], stdin=data, timeout=60, kept_bytes=10_000_000)
    assert done.stdout == data


ASKING = """
import os, select
print("said", os.read(0, 100) if {fed} else b"", select.select([0], [], [], 0.2)[0], flush=True)
print(os.read(0, 100), os.read(0, 100))
"""


@pytest.mark.parametrize("fed", [b"", b"fed"])
def test_an_answer_is_given_to_the_first_line_and_not_before(fed: bytes) -> None:
    """Before it there is what was fed, and nothing more; behind the answer standard input ends."""
    words = [sys.executable, "-c", ASKING.format(fed=bool(fed))]
    assert run(words, stdin=fed, answer=b"late", timeout=20).text == f"said {fed!r} []\nb'late' b''\n"


def test_who_asks_nothing_is_not_answered() -> None:
    """One that ends at once is fine, and one that waits without a word runs into its limit."""
    assert run(["true"], answer=b"late", timeout=20).ok
    assert run([sys.executable, "-c", "import sys; sys.stdin.read()"], answer=b"late", timeout=0.5).timed_out


def test_a_child_that_does_not_read_its_input_is_fine() -> None:
    """A closed pipe is the child's right."""
    assert run(["true"], stdin=b"x" * 1_000_000, timeout=30).ok


def test_of_too_much_output_beginning_and_end_are_kept() -> None:
    """A log of any size costs bounded memory, and says how much is missing."""
    done = run(["sh", "-c", "echo first; head -c 5000000 /dev/zero; echo last"], kept_bytes=10_000)
    assert done.stdout.startswith(b"first\n") and done.stdout.endswith(b"last\n")
    assert len(done.stdout) < 11_000 and b"bytes left out" in done.stdout


def test_the_log_gets_everything(tmp_path: Path) -> None:
    """Both streams are appended to the log, whatever is kept in memory."""
    log = tmp_path / "log"
    log.write_text("before\n")
    run(["sh", "-c", "head -c 300000 /dev/zero; echo err >&2"], log=log, kept_bytes=100)
    data = log.read_bytes()
    assert data.startswith(b"before\n") and b"err\n" in data and data.count(b"\0") == 300_000


def test_a_log_does_not_fill_the_disk(tmp_path: Path) -> None:
    """It ends with a note; the child goes on, and what is kept of its output is still its end."""
    done = run(["sh", "-c", "yes | head -c 100000; echo end"], log=tmp_path / "log", log_bytes=1000)
    assert done.ok and done.text.endswith("end\n")
    assert (tmp_path / "log").stat().st_size < 1100 and "left out" in (tmp_path / "log").read_text()


def test_it_is_known_when_output_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each read how many bytes there were by then, in order and within the child's time; of so many at most."""
    words = ["sh", "-c", "for part in 1 2 3; do echo $part; sleep 0.1; done"]
    done = run(words)
    sizes, times = zip(*done.arrivals, strict=True)
    assert sizes == (2, 4, 6)
    assert 0 < times[0] < times[1] < times[2] < done.wall_s
    assert times[2] - times[0] > 0.2
    monkeypatch.setattr(process, "MOST_ARRIVALS", 1)
    assert run(words).arrivals[0][0] == 2 and len(run(words).arrivals) == 1


def test_times_are_the_childs_own() -> None:
    """Wall time counts sleeping, cpu time counts working."""
    asleep = run(["sleep", "0.3"])
    assert asleep.wall_s >= 0.3 and asleep.cpu_s < 0.2
    busy = run(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"])
    assert busy.cpu_s > 0.01


def test_the_working_directory_is_the_callers(tmp_path: Path) -> None:
    """`cwd` is where the child starts."""
    assert run(["pwd", "-P"], cwd=tmp_path).text.strip() == str(tmp_path.resolve())


def test_descendants_that_end_while_they_are_looked_for_hide_nothing(tmp_path: Path) -> None:
    """A process that is gone between two looks is none that could not be ended."""
    script = tmp_path / "busy.py"
    script.write_text(BUSY_COMMAND)
    done = run([sys.executable, script], timeout=60)
    assert (done.text, done.error_text) == ("done\n", "")


def test_descendants_can_be_ended_together(tmp_path: Path) -> None:
    """What still runs when a command is stopped is found and killed, in sessions of its own too."""
    note = tmp_path / "pid"
    program = tmp_path / "stopped.py"
    program.write_text(STOPPED_COMMAND)
    begun = time.monotonic()
    done = run([sys.executable, program, note], timeout=60)
    assert done.ok and done.text == "-9\n" and time.monotonic() - begun < 30
    assert gone(int(note.read_text()))
