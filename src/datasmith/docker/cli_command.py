"""The docker or podman command line: arguments in, an answer out, and a daemon that is gone told from a refusal."""

import csv
import functools
import io
import json
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from datasmith import process
from datasmith.docker.engine import Mount
from datasmith.errors import ContainerError, EngineUnavailable
from datasmith.printable import ending

_GONE = (
    "cannot connect to the",
    "error during connect",
    "failed to connect to the docker api",
    "permission denied while trying to connect",
    "connection reset by peer",
    "unexpected eof",
    "is the docker daemon running",
    "unable to connect to podman",
)
_NOT_THERE = (
    "no such image",
    "no such object",
    "no such container",
    "image not known",
    "invalid reference",
    "must be lowercase",
)
"""What docker and podman say of a name that stands for nothing they hold, or that none can have."""
_START = {"docker": "start it with `systemctl start docker`, be in its group"}
_INSTALL = {"docker": "docker.io", "podman": "podman"}
_SHORT_S = 120.0
_FIRST_CLIENT_WITHOUT_BUILDKIT_OF_ITS_OWN = 23


class Cli:
    """One program with a fixed environment: nothing of ours but what it needs to reach its daemon."""

    def __init__(self, program: str, environment: Mapping[str, str]) -> None:
        self._program = program
        self._environment = process.clean_environment(environment)
        self._left: deque[tuple[Sequence[str], ...]] = deque()

    @property
    def program(self) -> str:
        """Which program: docker or podman."""
        return self._program

    @property
    def environment(self) -> Mapping[str, str]:
        """What every command of it gets."""
        return self._environment

    def run(
        self,
        words: Sequence[str | Path],
        *,
        timeout: float = _SHORT_S,
        stdin: bytes = b"",
        answer: bytes = b"",
        log: Path | None = None,
        log_bytes: int = process.LOG_BYTES,
        log_is_text: bool = True,
        kept_bytes: int = process.KEPT_BYTES,
        env: Mapping[str, str] | None = None,
    ) -> process.Completed:
        """Run one command, whatever becomes of it.

        Raises:
            EngineUnavailable: the program is not installed.
        """
        try:
            return process.run(
                [self._program, *words],
                timeout=timeout,
                stdin=stdin,
                answer=answer,
                log=log,
                log_bytes=log_bytes,
                log_is_text=log_is_text,
                kept_bytes=kept_bytes,
                env={**self._environment, **(env or {})},
            )
        except FileNotFoundError as error:
            package = _INSTALL.get(self._program, self._program)
            raise EngineUnavailable(
                f"{self._program} is not installed (apt-get install {package}, or use --engine bubblewrap)"
            ) from error

    def attach(self, words: Sequence[str]) -> int:
        """Run one command with our terminal joined to it; its exit code."""
        return process.attach([self._program, *words], env=self._environment)

    def ask(self, words: Sequence[str | Path], *, timeout: float = _SHORT_S) -> str:
        """The trimmed answer of a command that has to succeed.

        Raises:
            EngineUnavailable: the daemon does not answer.
            ContainerError: it answered, and refused.
        """
        done = self.run(words, timeout=timeout)
        if not done.ok:
            raise self.failure(done)
        return done.text.strip()

    def json(self, words: Sequence[str]) -> object:
        """As `ask`, for a command that answers with one JSON value; None where it says that there is no such thing.

        Raises:
            EngineUnavailable, ContainerError: see `ask`; whatever else it says is no answer.
        """
        done = self.run(words)
        if not done.ok:
            said = done.error_text.lower()
            if not self.unreachable(done) and any(sign in said for sign in _NOT_THERE):
                return None
            raise self.failure(done)
        found: object = json.loads(done.text)
        return found

    def digest(self, reference: str) -> str | None:
        """sha256:… of the image with this name or digest; None where there is none."""
        found = self.json(["image", "inspect", "--format", "{{json .ID}}", reference])
        if not isinstance(found, str):
            return None
        return found if found.startswith("sha256:") else f"sha256:{found}"

    def delete(self, *commands: Sequence[str]) -> ContainerError | None:
        """Run commands that delete something, in their order; what to raise where one fails.

        Where nobody answers, `delete_left` begins with it again; that there is no such thing is no failure.
        """
        for number, words in enumerate(commands):
            done = self.run(words, env=process.CLEARS_UP)
            if not done.ok and "no such" not in done.error_text.lower():
                if self.unreachable(done):
                    self._left.append(commands[number:])
                return self.failure(done)
        return None

    def delete_left(self) -> None:
        """Delete what could not be deleted because nobody answered; while nobody does, it is left once more."""
        with suppress(IndexError):
            while not isinstance(self.delete(*self._left.popleft()), EngineUnavailable):
                pass

    @functools.cached_property
    def builder(self) -> Mapping[str, str]:
        """What makes `build` use BuildKit where the client has it, by buildx or of its own; else the older one."""
        if self._program != "docker":
            return {}
        version = self.ask(["version", "--format", "{{.Client.Version}}"])
        own = int(version.split(".")[0]) < _FIRST_CLIENT_WITHOUT_BUILDKIT_OF_ITS_OWN
        return {"DOCKER_BUILDKIT": "1" if own or self.run(["buildx", "version"]).ok else "0"}

    def unreachable(self, done: process.Completed) -> bool:
        """True where a command failed because nothing answered it."""
        said = done.error_text.lower()
        return done.timed_out or any(sign in said for sign in _GONE)

    def failure(self, done: process.Completed) -> ContainerError:
        """What to raise for a command of ours that failed."""
        said = ending(done.error_text, 300)
        asked = " ".join(done.argv[:2])
        if not self.unreachable(done):
            return ContainerError(f"{asked} failed with exit code {done.rc}: {said}")
        what = "did not answer in time" if done.timed_out else f"does not answer: {said}"
        start = _START.get(self._program, f"see what `{self._program} info` says")
        return EngineUnavailable(f"{self._program} {what} ({start}, or use --engine bubblewrap)")


def bind_words(mount: Mount) -> str:
    """The words of --mount, which are one line of comma-separated values."""
    line = io.StringIO()
    words = ["type=bind", f"src={mount.source.absolute()}", f"dst={mount.target}", "readonly"]
    csv.writer(line, lineterminator="").writerow(words)
    return line.getvalue()
