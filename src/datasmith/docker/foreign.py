"""Images of Dockerfiles that are not ours, on docker or podman: built as they say, and run without a network."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from datasmith.docker.cli_build import LABEL
from datasmith.docker.cli_command import Cli, bind_words
from datasmith.docker.cli_container import USER, CliContainer, start_keeper
from datasmith.docker.cli_credentials import no_credentials
from datasmith.docker.cli_limits import own_ulimits
from datasmith.docker.cli_lost import lost_in_build
from datasmith.docker.cli_owner import OWNER_LABEL, owner, sweep
from datasmith.docker.engine import WORKDIR, ExecResult, ImageRef, Limits, Mount
from datasmith.docker.outages import not_built
from datasmith.errors import ContainerError, EngineUnavailable
from datasmith.process import KEPT_BYTES

_ROOT = "0:0"
_KEPT_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER")
"""What root needs of its capabilities to work on files of an image whose owners we did not choose."""
_START_S = 600.0
_STEP = re.compile(r"^#\d+ \[\s*([A-Za-z0-9_.-]+) +\d+/\d+\]", re.MULTILINE)
_OLD_STEP = re.compile(r"^(?:Step \d+/\d+ : )?FROM \S+ [Aa][Ss] ([A-Za-z0-9_.-]+)", re.MULTILINE)
_NO_REGISTRY = re.compile(
    r"dial tcp|i/o timeout|TLS handshake timeout|no such host|toomanyrequests|network is unreachable"
    r"|unexpected status(?: code)? .*5\d\d|Client\.Timeout|connection refused"
)
_RAN = re.compile(r"^(?:#\d+ \[[^\]]*\] RUN |Step \d+/\d+ : RUN )", re.MULTILINE)


def failed_step(output: str) -> str:
    """The stage of a Dockerfile that a build was in at its end (`env`, `pkg`); `build` where it names none."""
    found = _STEP.findall(output) or _OLD_STEP.findall(output)
    return found[-1] if found else "build"


class ForeignImages:
    """Builds and starts images of any Dockerfile.

    A build has the network (older Dockerfiles download in every step), nothing of ours but its own directory and the
    given arguments, and no secret: not even the user's logins at registries. A container has no network, and runs as
    root of the image with three of its capabilities: the image's files belong to whomever its Dockerfile said.
    """

    def __init__(self, program: str, *, network: str, limits: Limits, environment: Mapping[str, str]) -> None:
        """`environment` is what the program needs to find its daemon (DOCKER_HOST, XDG_RUNTIME_DIR)."""
        self._cli = Cli(program, environment)
        self._network = network
        self._limits = limits

    @property
    def name(self) -> str:
        """Docker or podman."""
        return self._cli.program

    @property
    def limits(self) -> Limits:
        """What one of its sandboxes may use."""
        return self._limits

    def check(self) -> None:
        """Return where the program can be used now.

        Raises:
            EngineUnavailable: it cannot.
        """
        done = self._cli.run(["version"], timeout=30)
        if not done.ok:
            raise EngineUnavailable(str(self._cli.failure(done)))
        sweep(self._cli)

    def build(self, directory: Path, name: str, *, arguments: Mapping[str, str], log: Path, timeout: float) -> ImageRef:
        """Build `directory`'s Dockerfile to its last stage; output is appended to `log`.

        Raises:
            BuildFailed: the Dockerfile does not build, or not in time; `stage` is the one of its stages that failed.
            DiskFull: it says that its disk is.
            EngineUnavailable: the daemon, or the registry of the image that it starts from, does not answer.
        """
        words: list[str | Path] = ["build", "--network", self._network, "--tag", name, "--label", LABEL]
        for key, value in sorted(arguments.items()):
            words += ["--build-arg", f"{key}={value}"]
        if self._cli.builder.get("DOCKER_BUILDKIT") == "0":
            words.append("--force-rm")
        with no_credentials(self._cli) as shown:
            done = self._cli.run([*words, directory], timeout=timeout, log=log, env={**self._cli.builder, **shown})
        if done.ok:
            return ImageRef(self.name, name, self._cli.ask(["image", "inspect", "--format", "{{.ID}}", name]))
        lost = lost_in_build(self._cli, done)
        if lost:
            raise lost
        output = done.text + done.error_text
        if not _RAN.search(output) and (refused := _NO_REGISTRY.search(output)):
            raise EngineUnavailable(f"{self.name} cannot fetch the image that the Dockerfile starts from: {refused[0]}")
        raise not_built(failed_step(output), done.rc, output, late_s=timeout if done.timed_out else None)

    def start(self, image: ImageRef, *, mounts: Sequence[Mount]) -> "ForeignContainer":
        """A container of the image; its own entry point is not run, but its variables and its directory hold."""
        memory = f"{self._limits.memory_mb}m"
        tmpfs = f"rw,exec,nosuid,nodev,mode=1777,size={self._limits.disk_mb}m"
        words = ["--network", "none", "--hostname", "sandbox", "--workdir", "/", "--user", USER]
        words += ["--cap-drop", "ALL", *(f"--cap-add={name}" for name in _KEPT_CAPABILITIES)]
        words += ["--security-opt", "no-new-privileges", "--ipc", "private", "--pids-limit", str(self._limits.pids)]
        words += ["--memory", memory, "--memory-swap", memory, "--tmpfs", f"/tmp:{tmpfs}", "--shm-size", "256m"]
        words += ["--tmpfs", f"/home/agent:{tmpfs}", *own_ulimits(self.name), "--ulimit", "core=0"]
        words += ["--log-driver", "none"]
        words += ["--label", LABEL, "--label", f"{OWNER_LABEL}={owner()}"]
        words += [word for mount in mounts for word in ("--mount", bind_words(mount))]
        config = self._config(image)
        identity = start_keeper(self._cli, words, image.digest, timeout=_START_S)
        return ForeignContainer(self._cli, image, identity, self._limits, config)

    def _config(self, image: ImageRef) -> "_Config":
        said = self._cli.json(["image", "inspect", "--format", "{{json .Config}}", image.digest])
        if not isinstance(said, dict):
            raise ContainerError(f"{self.name} says nothing about {image.name}: {json.dumps(said)[:100]}")
        variables = said.get("Env") or []
        pairs = [str(line).partition("=") for line in variables] if isinstance(variables, list) else []
        return _Config({name: value for name, _, value in pairs}, str(said.get("WorkingDir") or "/"))

    def remove(self, image: ImageRef) -> None:
        """Take the image's name away, and its layers where nothing else needs them; they stay in the build's cache."""
        self._cli.run(["rmi", "--force", image.name])


class _Config:
    """What an image says about the commands in it: variables and a working directory."""

    def __init__(self, variables: Mapping[str, str], directory: str) -> None:
        self.variables = variables
        self.directory = directory


class ForeignContainer(CliContainer):
    """A container whose commands run as the image's root, with the image's variables, where the image says.

    What keeps it alive belongs to another user: without its capabilities root cannot kill that.
    """

    def __init__(self, cli: Cli, image: ImageRef, identity: str, limits: Limits, config: _Config) -> None:
        super().__init__(cli, image, identity, limits=limits, refreeze=None, user=_ROOT)
        self._config = config

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
        kept_bytes: int = KEPT_BYTES,
    ) -> ExecResult:
        """See Container; WORKDIR stands for the image's own working directory."""
        where = self._config.directory if cwd == WORKDIR else cwd
        given = {"HOME": "/root", **self._config.variables, **(env or {})}
        return super().exec(
            argv,
            timeout=timeout,
            env=given,
            cwd=where,
            stdin=stdin,
            answer=answer,
            cpus=cpus,
            kept_bytes=kept_bytes,
        )
