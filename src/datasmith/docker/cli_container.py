"""One docker or podman container: kept by a process of its own, entered by one `exec` for each command."""

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from types import TracebackType
from typing import Self

from datasmith import process
from datasmith.docker.cgroups import Group, group_of
from datasmith.docker.cli_build import KEY_LABEL
from datasmith.docker.cli_command import Cli
from datasmith.docker.engine import SANDBOX_USER, WORKDIR, ExecResult, ImageRef, Limits
from datasmith.docker.environment import CLEAN_ENVIRONMENT, ENV_GROUP
from datasmith.errors import ContainerError, EngineUnavailable
from datasmith.printable import ending

USER = f"{SANDBOX_USER}:{SANDBOX_USER}"
ENV_WRITER = f"{SANDBOX_USER}:{ENV_GROUP}"
"""Who runs commands where the environment may be changed: it belongs to root and this group."""
DELETE = ("rm", "--force", "--volumes")
"""Deletes the containers whose names or ids follow."""
_NOT_A_FILE = 44
_FILE_TIMEOUT_S = 120.0
_FILE_SLACK = 1_000
_COMMIT_TIMEOUT_S = 600.0
_KILL_PATIENCE_S = 2.0
_START_PATIENCE_S = 10.0
_KEEPERS = 2
"""Process 1, and the sleep that it waits for (container_keep.sh)."""
_PLAIN_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[^/\0]+)+")


def program_text(name: str) -> str:
    """The text of a script that runs inside a container."""
    return files("datasmith.docker").joinpath("templates", name).read_text()


def start_keeper(cli: Cli, words: Sequence[str], image: str, *, timeout: float) -> str:
    """Run a container of `image` that stays, with these words of `run`; returns the container's id.

    We give it a name: what a daemon that goes away has made of it by then is deleted by that.
    """
    cli.delete_left()
    name = f"fc-{secrets.token_hex(16)}"
    # Process 1 heeds no SIGTERM: podman's rm, and a daemon that ends, would wait ten seconds before they kill it.
    kept = ["--stop-timeout", "0", "--entrypoint", "/bin/sh", image, "-c", program_text("container_keep.sh")]
    try:
        return cli.ask(["run", "--detach", "--name", name, *words, *kept], timeout=timeout).splitlines()[-1]
    except BaseException:
        cli.delete((*DELETE, name))
        raise


class CliContainer:
    """Container on the command line of docker or podman.

    `cpu_s` holds what the engine itself spends inside the container to start a command, some 30 ms.
    """

    def __init__(
        self,
        cli: Cli,
        image: ImageRef,
        identity: str,
        *,
        limits: Limits,
        refreeze: Callable[[str], "CliContainer"] | None,
        user: str = USER,
        leftovers: Sequence[Sequence[str]] = (),
    ) -> None:
        """`refreeze` starts a read-only container of an image id, and is None for one that is read-only itself.

        `user` runs the commands; `leftovers` are commands of the program that delete what remains.
        """
        self._cli = cli
        self._image = image
        self._id = identity
        self._user = user
        self._limits = limits
        self._refreeze = refreeze
        self._leftovers = tuple(leftovers)
        self._stopped = False
        self._group: Group | None = None
        self._keepers: frozenset[int] = frozenset()
        try:
            self._look_at_processes()
        except BaseException:
            self.stop()
            raise

    def _look_at_processes(self) -> None:
        """Remember what runs in the container while no command does."""
        first = int(self._cli.ask(["inspect", "--format", "{{.State.Pid}}", self._id]))
        self._group = group_of(first, self._id)
        self._keepers = frozenset()
        deadline = time.monotonic() + _START_PATIENCE_S
        while self._group and len(self._keepers) < _KEEPERS:
            self._keepers = self._group.pids()
            if time.monotonic() > deadline:
                raise EngineUnavailable(f"the container of {self._image.name} did not start")
            time.sleep(0.002)

    @property
    def image(self) -> ImageRef:
        """See Container."""
        return self._image

    @property
    def frozen(self) -> bool:
        """See Container."""
        return self._refreeze is None

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
    ) -> ExecResult:
        """See Container."""
        return self._exec(
            argv,
            timeout=timeout,
            env=env or {},
            cwd=cwd,
            stdin=stdin,
            answer=answer,
            cpus=cpus,
            kept_bytes=kept_bytes,
        )

    def _exec(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        stdin: bytes = b"",
        answer: bytes = b"",
        cpus: Sequence[int] = (),
        kept_bytes: int = process.KEPT_BYTES,
    ) -> ExecResult:
        if self._stopped:
            raise ContainerError(f"the container of {self._image.name} is stopped")
        mark = f"fc-{secrets.token_hex(16)};"
        cores = ",".join(str(core) for core in tuple(cpus) or self._limits.cpus)
        settings = [f"{name}={value}" for name, value in {**CLEAN_ENVIRONMENT, **(env or {})}.items()]
        words = ["exec", *(["-i"] if stdin or answer else []), "--user", self._user, "--workdir", cwd, self._id]
        words += [
            "/usr/bin/env",
            "-i",
            *settings,
            "/bin/sh",
            "-c",
            program_text("container_exec.sh"),
            "sh",
            mark,
            cores,
        ]
        before = self._cpu_seconds()
        done = self._cli.run([*words, *argv], timeout=timeout, stdin=stdin, answer=answer, kept_bytes=kept_bytes)
        started = mark.encode() in done.stderr
        if not done.timed_out and (done.rc or not started):
            # First of all: to end what a daemon that went away has left would start the container again.
            self._must_have_run(done, started=started)
        same = self._end_processes(sure=started or not done.timed_out)
        after = self._cpu_seconds() if same else None
        stderr = done.stderr.replace(mark.encode(), b"", 1)
        cpu = None if before is None or after is None else after - before
        return ExecResult(done.rc, done.stdout, stderr, done.wall_s, cpu, done.timed_out, done.arrivals)

    def terminal(self, argv: Sequence[str]) -> int:
        """See Joinable."""
        if self._stopped:
            raise ContainerError(f"the container of {self._image.name} is stopped")
        settings = [f"{name}={value}" for name, value in {**CLEAN_ENVIRONMENT, "TERM": "xterm"}.items()]
        words = ["exec", "-it", "--user", self._user, "--workdir", WORKDIR, self._id]
        rc = self._cli.attach([*words, "/usr/bin/env", "-i", *settings, *argv])
        self._end_processes(sure=True)
        return rc

    def _cpu_seconds(self) -> float | None:
        return self._group.cpu_seconds() if self._group else None

    def _must_have_run(self, done: process.Completed, *, started: bool) -> None:
        """Tell a command that failed from a container or a daemon that did: by the mark, which no command can know.

        What a command prints is not looked at: it may look like a message of the daemon.
        """
        state = self._cli.run(["inspect", "--format", "{{.State.Running}}", self._id])
        if not state.ok and self._cli.unreachable(state):
            raise self._cli.failure(state)
        said = ending(done.error_text, 300)
        if state.text.strip() != "true":
            raise EngineUnavailable(f"the container of {self._image.name} is gone: {said}")
        if not started:
            raise ContainerError(f"{self._cli.program} did not start the command: {said}")

    def _end_processes(self, *, sure: bool) -> bool:
        """Leave nothing running; False where only starting the container again did that.

        Where it is not `sure` that the command has started it may start yet, and nothing less prevents that.
        """
        if sure and not self._survivors():
            return True
        if sure:
            self._cli.run(["exec", "--user", self._user, self._id, "/bin/sh", "-c", "kill -9 -1"], timeout=10)
            if self._gone_within(_KILL_PATIENCE_S):
                return True
        self._cli.ask(["restart", "--time", "0", self._id])
        self._look_at_processes()
        return False

    def _survivors(self) -> frozenset[int]:
        if self._group:
            return self._group.pids() - self._keepers
        # The engine runs on another machine: it is asked instead of the kernel.
        done = self._cli.run(["top", self._id, "-eo", "pid,uid"])
        rows = [line.split() for line in done.text.splitlines()[1:]]
        return frozenset(int(row[0]) for row in rows if len(row) == 2 and row[1] == str(SANDBOX_USER))

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self._survivors():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def read_file(self, path: str, *, max_bytes: int = 50_000_000) -> bytes:
        """See Container; a path that leads through a link is no regular file."""
        if not _PLAIN_PATH.fullmatch(path):
            raise FileNotFoundError(f"{path} is not an absolute, plain path")
        argv = ["/bin/sh", "-c", program_text("container_read.sh"), "sh", path, str(max_bytes + 1)]
        done = self._exec(argv, timeout=_FILE_TIMEOUT_S, kept_bytes=2 * (max_bytes + _FILE_SLACK))
        if done.rc == _NOT_A_FILE:
            raise FileNotFoundError(f"{path} is not a regular file of this sandbox")
        if not done.ok:
            raise ContainerError(f"cannot read {path}: {done.error_text.strip()[:300]}")
        if len(done.stdout) > max_bytes:
            raise ContainerError(f"{path} is larger than {max_bytes} bytes")
        return done.stdout

    def write_file(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """See Container."""
        if self.frozen:
            raise ContainerError(f"cannot write {path}: the container is frozen")
        if not _PLAIN_PATH.fullmatch(path):
            raise ContainerError(f"cannot write {path}: it is not an absolute, plain path")
        argv = ["/bin/sh", "-c", program_text("container_write.sh"), "sh", path, f"{mode:o}"]
        done = self._exec(argv, timeout=_FILE_TIMEOUT_S, stdin=data)
        if done.rc == _NOT_A_FILE:
            raise ContainerError(f"cannot write {path}: a link or a directory is in the way")
        if not done.ok:
            raise ContainerError(f"cannot write {path}: {done.error_text.strip()[:300]}")

    def freeze(self) -> "CliContainer":
        """See Container."""
        if self._stopped or self._refreeze is None:
            raise ContainerError(f"the container of {self._image.name} is stopped or frozen already")
        committed = self._cli.ask(["commit", "--change", f"LABEL {KEY_LABEL}=", self._id], timeout=_COMMIT_TIMEOUT_S)
        frozen = self._refreeze(committed)
        try:
            self.stop()
        except BaseException:
            with suppress(ContainerError):
                frozen.stop()
            raise
        return frozen

    def stop(self) -> None:
        """See Container."""
        if self._stopped:
            return
        self._stopped = True
        failed = self._cli.delete((*DELETE, self._id), *self._leftovers)
        if failed:
            raise failed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
