"""One bubblewrap sandbox: a set of directories, and a fresh set of namespaces for every command."""

import json
import os
import select
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from datasmith import process
from datasmith.docker import bubblewrap_files
from datasmith.docker.bubblewrap_command import Sandbox, environment_words
from datasmith.docker.bubblewrap_slots import Slot
from datasmith.docker.cgroups import Cgroups, Group
from datasmith.docker.engine import WORKDIR, ExecResult, ImageRef
from datasmith.docker.seccomp import core_filter
from datasmith.errors import ContainerError, EngineUnavailable

_DEATH_PATIENCE_S = 10.0


@contextmanager
def _readable(data: bytes) -> Iterator[int]:
    """A file descriptor from which the data can be read; it lies in memory only."""
    descriptor = os.memfd_create("fc-words")
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _given(*descriptors: int | None) -> tuple[int, ...]:
    return tuple(descriptor for descriptor in descriptors if descriptor is not None)


class BubblewrapContainer:
    """Container on bubblewrap; its directories lie in `slot`, which is released when it stops."""

    def __init__(self, image: ImageRef, sandbox: Sandbox, cgroups: Cgroups, slot: Slot) -> None:
        self._image = image
        self._sandbox = sandbox
        self._cgroups = cgroups
        self._slot = slot
        self._pins = cgroups.kept_by()["cpus"] is not None
        self._group: Group | None = cgroups.make(sandbox.limits, slot.name)
        self._running: set[_Status] = set()

    @property
    def image(self) -> ImageRef:
        """See Container."""
        return self._image

    @property
    def frozen(self) -> bool:
        """See Container."""
        return not self._sandbox.layout.writable

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        env: Mapping[str, str] | None = None,
        cwd: str = WORKDIR,
        stdin: bytes = b"",
        answer: bytes = b"",
        cpus: Sequence[int] = (),
        kept_bytes: int = process.KEPT_BYTES,
        log: Path | None = None,
    ) -> ExecResult:
        """See Container; `log` gets the output appended as it comes.

        Raises:
            EngineUnavailable: bubblewrap itself did not get as far as to start the command.
            ContainerError: the container is stopped, or there are no such cores.
        """
        with self._command(argv, env or {}, cwd, tuple(cpus)) as command:
            done = process.run(
                command.words,
                timeout=timeout,
                stdin=stdin,
                answer=answer,
                kept_bytes=kept_bytes,
                log=log,
                env={"PATH": os.defpath},
                pass_fds=command.descriptors,
            )
            command.status.wait_for_death()
            if not command.group.empty():
                raise EngineUnavailable(f"a process of {self._image.name} cannot be killed")
            cpu = command.group.cpu_seconds()
            started = command.status.started
        if not started and not done.timed_out and done.rc > 0:
            raise EngineUnavailable(f"bubblewrap did not start: {done.error_text.strip()[-300:]}")
        rc = done.rc if done.rc >= 0 else 128 - done.rc
        used = done.cpu_s if cpu is None else cpu
        return ExecResult(rc, done.stdout, done.stderr, done.wall_s, used, done.timed_out, done.arrivals)

    def _filter(self, chosen: Sequence[int]) -> AbstractContextManager[int | None]:
        """What keeps a command on its cores where no control group does, to be read from a file descriptor."""
        program = core_filter() if chosen and not self._pins else None
        return nullcontext() if program is None else _readable(program)

    def terminal(self, argv: Sequence[str]) -> int:
        """See Joinable."""
        with self._command(argv, {"TERM": "xterm"}, WORKDIR, terminal=True) as command:
            rc = process.attach(command.words, env={"PATH": os.defpath}, pass_fds=command.descriptors)
            command.status.wait_for_death()
        return rc

    @contextmanager
    def _command(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        cpus: tuple[int, ...] = (),
        *,
        terminal: bool = False,
    ) -> Iterator["_Command"]:
        """What starts a command in a control group of its own, which lives as long as this context."""
        whole = self._live()
        chosen = cpus or self._sandbox.limits.cpus
        with (
            whole.command(chosen) as group,
            _Status(self._running) as status,
            _readable(environment_words(env)) as environment,
            self._filter(chosen) as cores,
        ):
            words = self._sandbox.words(
                _bwrap(),
                argv,
                cwd=cwd,
                entry_files=group.entry_files(),
                pinned=() if self._pins else chosen,
                status_fd=status.writer,
                environment_fd=environment,
                filter_fd=cores,
                lifeline=status.lifeline,
                terminal=terminal,
            )
            yield _Command(words, _given(status.writer, environment, cores), group, status)

    def read_file(self, path: str, *, max_bytes: int = 50_000_000) -> bytes:
        """See Container; a path through any link is no regular file here."""
        self._live()
        return bubblewrap_files.read(self._sandbox.layout.shown, path, max_bytes)

    def write_file(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """See Container."""
        self._live()
        if self.frozen:
            raise ContainerError(f"cannot write {path}: the container is frozen")
        bubblewrap_files.write(self._sandbox.layout.writable, path, data, mode)

    def freeze(self) -> "BubblewrapContainer":
        """See Container; the same directories, from now on shown read-only."""
        group, self._group = self._live(), None
        sandbox = replace(self._sandbox, layout=self._sandbox.layout.frozen())
        try:
            group.remove()
            return BubblewrapContainer(self._image, sandbox, self._cgroups, self._slot)
        except BaseException:
            self._slot.release()
            raise

    def stop(self) -> None:
        """See Container."""
        group, self._group = self._group, None  # Whoever is still at work is refused first, and killed then.
        if group is None:
            return
        try:
            for status in tuple(self._running):
                status.kill()
            group.remove()
        finally:
            self._slot.release()

    def _live(self) -> Group:
        if self._group is None:
            raise ContainerError(f"the container of {self._image.name} is stopped")
        return self._group

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _bwrap() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise EngineUnavailable("bubblewrap is gone (apt-get install bubblewrap, or use --engine docker)")
    return found


@dataclass(frozen=True, slots=True)
class _Command:
    """What a command is started with, and what tells of it."""

    words: Sequence[str]
    descriptors: tuple[int, ...]
    group: Group
    status: "_Status"


class _Status:
    """What bubblewrap itself tells, in a file that no process in the sandbox has; and whether anybody listens.

    A pipe would kill a bwrap that is told to speak after our death, between the two processes that it is made of: the
    second one would wait for the first for good.
    """

    def __init__(self, running: "set[_Status]") -> None:
        self.writer = os.memfd_create("fc-status")
        self._listens, self._listened = os.pipe()
        self._running = running

    def __enter__(self) -> Self:
        self._running.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._running.discard(self)
        for descriptor in (self.writer, self._listens, self._listened):
            os.close(descriptor)

    @property
    def lifeline(self) -> Path:
        """Where a process of ours opens the pipe that has no reader when we are gone."""
        return Path(f"/proc/{os.getpid()}/fd/{self._listened}")

    @property
    def started(self) -> bool:
        """Whether the command was started, and ended by itself."""
        return "exit-code" in self._said()

    def wait_for_death(self) -> None:
        """Return when process 1 of the sandbox is gone, and with it every other."""
        first = self._first()
        if first is not None:
            watched = select.poll()
            watched.register(first, select.POLLIN)
            watched.poll(_DEATH_PATIENCE_S * 1000)
            os.close(first)

    def kill(self) -> None:
        """Kill process 1 of the sandbox, and with it every other."""
        first = self._first()
        if first is not None:
            signal.pidfd_send_signal(first, signal.SIGKILL)
            os.close(first)

    def _first(self) -> int | None:
        """A descriptor of process 1 of the sandbox; None where there is none, or none any more."""
        try:
            return os.pidfd_open(self._said()["child-pid"])
        except (KeyError, ProcessLookupError):
            return None

    def _said(self) -> dict[str, int]:
        """All that was told in whole lines."""
        lines = os.pread(self.writer, 65536, 0).decode().split("\n")[:-1]
        return {name: value for line in lines for name, value in json.loads(line).items()}
