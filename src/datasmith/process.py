"""The only door to subprocess: an argument list goes in, a Completed comes out, nothing is left running."""

import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

from datasmith.errors import ConfigError, StoreUnavailable
from datasmith.redact import redact

PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE")
"""What a child sees of our environment unless the caller gives another one: never a secret."""

CLEARS_UP: Mapping[str, str] = MappingProxyType({"FC_CLEARS_UP": "1"})
"""To be put into the environment of a program that deletes what others leave: `kill_descendants` lets it go on."""

TIMED_OUT = 124
"""Exit code that stands for a command which ran into its time limit, as timeout(1) has it."""
LOG_BYTES = 50_000_000
"""By default at most this much of one child's output goes to its log."""
LINE_BYTES = 65_536
"""What has no end of line after so many bytes goes to the log as it is so far."""
KEPT_BYTES = 2_000_000
"""At most this much of each output stream is kept: the beginning and the end."""
MOST_ARRIVALS = 1000
"""Of so many reads it is noted when they came."""


class Said:
    """What every ended command says, wherever it ran."""

    __slots__ = ()
    rc: int
    stdout: bytes
    stderr: bytes
    timed_out: bool

    @property
    def ok(self) -> bool:
        """True where the command ended by itself with exit code 0."""
        return self.rc == 0 and not self.timed_out

    @property
    def text(self) -> str:
        """Standard output as text; undecodable bytes are replaced."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """Standard error as text; undecodable bytes are replaced."""
        return self.stderr.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Completed(Said):
    """How a child process ended.

    `rc` is negative where a signal ended it; `wall_s` and `cpu_s` are seconds, `cpu_s` being user plus system
    time of the child and of all its descendants that were waited for. `arrivals`: of standard output, how many bytes
    had come, and when, in seconds since the start; of the first MOST_ARRIVALS reads.
    """

    argv: tuple[str, ...]
    rc: int
    stdout: bytes
    stderr: bytes
    wall_s: float
    cpu_s: float
    timed_out: bool
    arrivals: tuple[tuple[int, float], ...] = ()


class _Kept:
    """A bounded copy of a stream: first half of the allowance, then a sliding last half; and when the parts came."""

    def __init__(self, allowance: int) -> None:
        self.arrivals: list[tuple[int, float]] = []
        self._size = 0
        self._half = max(1, allowance // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if len(self.arrivals) < MOST_ARRIVALS:
            self.arrivals.append((self._size, time.monotonic()))
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:] if room > 0 else chunk
        extra = len(self._tail) - self._half
        if extra > 0:
            del self._tail[:extra]
            self._dropped += extra

    @property
    def has_line(self) -> bool:
        """Whether a whole line has come, not longer than what is kept of a beginning."""
        return b"\n" in self._head

    def value(self) -> bytes:
        note = b"\n[... %d bytes left out ...]\n" % self._dropped if self._dropped else b""
        return bytes(self._head) + note + bytes(self._tail)


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The allow-listed part of our own environment, plus `extra`."""
    kept = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    return kept | dict(extra or {})


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    stdin: bytes = b"",
    answer: bytes = b"",
    log: Path | None = None,
    log_bytes: int = LOG_BYTES,
    log_is_text: bool = True,
    kept_bytes: int = KEPT_BYTES,
    pass_fds: Sequence[int] = (),
) -> Completed:
    """Run one program to its end and return how it ended; a non-zero exit code is a value, not an exception.

    `env` is the child's complete environment (default: `clean_environment()`). `answer` comes behind `stdin` once the
    first line is on standard output. After `timeout` seconds, and on any exception here (Ctrl-C included), the child's
    whole process group is killed. `log` gets both streams appended, as they come, `log_bytes` of them at most: what
    mined code prints must not fill the disk. No secret gets into it, by its form, unless `log_is_text` is False.

    Raises:
        FileNotFoundError: the program does not exist.
        StoreUnavailable: the log cannot be opened; nothing was started.
    """
    words = tuple(str(word) for word in argv)
    with ExitStack() as opened:
        taker = _Log(opened.enter_context(_opened(log)), log_bytes, log_is_text) if log else None
        started = time.monotonic()
        child = subprocess.Popen(
            words,
            cwd=cwd,
            env=dict(env) if env is not None else clean_environment(),
            stdin=subprocess.PIPE if stdin or answer else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=tuple(pass_fds),
        )
        try:
            streams = _Streams(child, (stdin, answer), kept_bytes, taker)
            timed_out = not streams.follow(child.pid, None if timeout is None else started + timeout)
            kill_group(child.pid)
            out, err = streams.rest()
            arrivals = tuple((size, at - started) for size, at in streams.arrivals)
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            kill_group(child.pid)
            child.wait()
            raise
        finally:
            for stream in filter(None, (child.stdin, child.stdout, child.stderr)):
                stream.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - started
    return Completed(words, child.returncode, out, err, wall, usage.ru_utime + usage.ru_stime, timed_out, arrivals)


def _opened(log: Path) -> IO[bytes]:
    try:
        return log.open("ab")
    except OSError as error:
        raise StoreUnavailable(f"cannot write the log {log}: {error.strerror}") from error


def attach(argv: Sequence[str | Path], *, env: Mapping[str, str], pass_fds: Sequence[int] = ()) -> int:
    """Run one program on a new terminal, with ours joined to it, until it ends; returns its exit code.

    It has no way to our own terminal, and types into its own. Ctrl-C reaches it, also where we were begun to ignore it.

    Raises:
        ConfigError: standard input or output is no terminal.
    """
    import pty  # nobody else needs it

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("there is no terminal to join: give a command instead (example: --command 'git status')")
    columns, lines = map(str, os.get_terminal_size(sys.stdout.fileno()))
    for descriptor in pass_fds:
        os.set_inheritable(descriptor, True)
    sized = ("/bin/sh", "-c", 'stty rows "$1" cols "$2"; shift 2; exec "$@"', "sh", lines, columns)
    words = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in env.items()), *sized, *map(str, argv)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler) or signal.SIG_DFL  # None: not one of Python's
    try:
        return os.waitstatus_to_exitcode(pty.spawn(words))
    finally:
        signal.signal(signal.SIGINT, before)


class _Streams:
    """The three pipes of a child: feeds one, at once and after its first line, and drains two."""

    def __init__(
        self, child: "subprocess.Popen[bytes]", fed: tuple[bytes, bytes], kept_bytes: int, log: "_Log | None"
    ) -> None:
        assert child.stdout and child.stderr
        stdin, self._answer = fed
        self._outputs = {stream.fileno(): _Kept(kept_bytes) for stream in (child.stdout, child.stderr)}
        self._said = self._outputs[child.stdout.fileno()]
        self._input = child.stdin
        self._waiting = memoryview(stdin)
        self._log = log
        self._selector = selectors.DefaultSelector()
        for descriptor in self._outputs:
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ)
        if self._input:
            os.set_blocking(self._input.fileno(), False)
            self._selector.register(self._input.fileno(), selectors.EVENT_WRITE)

    def follow(self, pid: int, deadline: float | None) -> bool:
        """Serve the pipes until the process has ended (True) or the deadline has passed (False)."""
        ended = os.pidfd_open(pid)
        self._selector.register(ended, selectors.EVENT_READ)
        try:
            while deadline is None or time.monotonic() < deadline:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                ready = {key.fd for key, _ in self._selector.select(left)}
                self._serve(ready)
                if ended in ready:
                    return True
            return False
        finally:
            self._selector.close()
            os.close(ended)

    def _serve(self, ready: set[int]) -> None:
        for descriptor in ready & self._outputs.keys():
            if not _drain(descriptor, self._outputs[descriptor], self._log):
                self._selector.unregister(descriptor)
        if self._input and self._input.fileno() in ready:
            self._waiting = _feed(self._input.fileno(), self._waiting)
            if not self._waiting:
                self._selector.unregister(self._input.fileno())
                if not self._answer:
                    self._input.close()
                    self._input = None
        if self._input and self._answer and self._said.has_line:
            if not self._waiting:
                self._selector.register(self._input.fileno(), selectors.EVENT_WRITE)
            self._waiting, self._answer = memoryview(bytes(self._waiting) + self._answer), b""

    @property
    def arrivals(self) -> list[tuple[int, float]]:
        """How many bytes of standard output had come, and when."""
        return self._said.arrivals

    def rest(self) -> tuple[bytes, bytes]:
        """What was kept of (stdout, stderr), with what still waits in the pipes."""
        for descriptor, kept in self._outputs.items():
            _drain(descriptor, kept, self._log)
        if self._log:
            self._log.finish()
        out, err = self._outputs.values()
        return out.value(), err.value()


class _Log:
    """A log file that takes so much of a child's output, line by line and without secrets, and then a note."""

    def __init__(self, file: IO[bytes], size: int, is_text: bool) -> None:
        self._file = file
        self._left = size
        self._is_text = is_text
        self._begun: dict[int, bytes] = {}

    def add(self, chunk: bytes, stream: int) -> None:
        """Write what is complete; a token that comes in two parts must be seen whole."""
        if self._left <= 0:
            return
        if not self._is_text:
            self._write(chunk)
            return
        waiting = self._begun.pop(stream, b"") + chunk
        end = max(waiting.rfind(b"\n"), waiting.rfind(b"\r")) + 1
        key = waiting.rfind(b"-----BEGIN")
        if key >= 0 and b"-----END" not in waiting[key:]:
            end = min(end, key)
        if len(waiting) - end > LINE_BYTES:
            end = len(waiting)
        self._begun[stream] = waiting[end:]
        self._write(_without_secrets(waiting[:end]))

    def finish(self) -> None:
        """Write what has no end of line."""
        for rest in self._begun.values():
            self._write(_without_secrets(rest))
        self._begun.clear()

    def _write(self, text: bytes) -> None:
        if self._left <= 0:
            return
        self._file.write(text[: self._left])
        self._left -= len(text)
        if self._left <= 0:
            self._file.write(b"\n[the rest of the output is left out]\n")
        self._file.flush()


def _without_secrets(text: bytes) -> bytes:
    return redact(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _drain(descriptor: int, kept: _Kept, log: _Log | None) -> bool:
    """Take what is there to read now; False once the other end is closed."""
    for _ in range(64):
        try:
            chunk = os.read(descriptor, 65536)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        kept.add(chunk)
        if log:
            log.add(chunk, descriptor)
    return True


def _feed(descriptor: int, waiting: memoryview) -> memoryview:
    """Write what the child takes now; an empty view once everything is written or the child does not read."""
    try:
        return waiting[os.write(descriptor, waiting[:65536]) :]
    except BlockingIOError:
        return waiting
    except BrokenPipeError:
        return memoryview(b"")


def kill_group(pid: int) -> None:
    """Kill every process of the group that `pid` leads; one that is gone already is fine."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def kill_descendants() -> None:
    """Kill every process that descends from this one, as a stopped command does; those that clear up come to an end."""
    pending = [os.getpid()]
    while pending:
        children = [child for child in _children(pending.pop()) if not _clears_up(child)]
        pending += children
        for child in children:
            kill_group(child)


def _clears_up(pid: int) -> bool:
    with suppress(OSError):
        given = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return all(f"{name}={value}".encode() in given for name, value in CLEARS_UP.items())
    return False


def _children(pid: int) -> list[int]:
    """The processes that the threads of `pid` began; none of a process or thread that is gone by now."""
    found: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, (thread / "children").read_text().split())
    return found


def find_uv() -> Path:
    """The uv program: the one installed with this package, else the one on the PATH.

    Raises:
        ConfigError: there is none.
    """
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if not found:
        raise ConfigError("uv is not installed (example: pip install uv)")
    return Path(found)


def uv_version(uv: Path) -> str:
    """What uv calls itself: "0.8.3"; "unknown" where it does not say."""
    words = run([uv, "--version"], timeout=60).text.split()
    return words[1] if len(words) > 1 else "unknown"
