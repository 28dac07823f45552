"""The seam to sandboxes: what an engine can build, start and promise, whichever program stands behind it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self, runtime_checkable

from datasmith.docker.below import Hidden
from datasmith.process import KEPT_BYTES, Said

WORKDIR = "/workspace/repo"
"""Where the repository's tree lies in every sandbox."""
ENV_PREFIX = "/opt/env"
"""The Python environment (a venv) in every sandbox."""
CACHE_DIR = "/workspace/cache"
"""Where files prepared before timing lie (asv's setup_cache); read-only once a container is frozen."""
SANDBOX_USER = 1000
"""Numeric uid and gid of everything that runs in a sandbox."""

TierKind = Literal["base", "env", "pr"]
Network = Literal["none", "build"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one sandbox may use. `cpus` are core numbers, empty for all; sizes are MiB."""

    memory_mb: int = 4096
    pids: int = 512
    disk_mb: int = 4096
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitReport:
    """How each promise of a sandbox is kept here: promise -> mechanism, or None where it cannot be given.

    Keys: network, root (read-only), user, capabilities, new_privileges, memory, pids, cpus, disk, cpu_counter.
    """

    kept_by: Mapping[str, str | None]

    @property
    def missing(self) -> tuple[str, ...]:
        """The promises that this engine cannot keep on this machine."""
        return tuple(sorted(name for name, mechanism in self.kept_by.items() if mechanism is None))


@dataclass(frozen=True, slots=True)
class Mount:
    """A host file or directory shown, always read-only, inside a sandbox."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class ImageRef:
    """A built image: the engine's own name for it, and the digest that identifies its content ("sha256:<hex>")."""

    engine: str
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Tier:
    """One layer to build on top of a parent: its files, and the scripts to run, in order.

    The scripts and files are laid at `/build` (read-only for bubblewrap); the scripts run there as root of the
    sandbox with `args` as environment. The same parent, files, scripts and args always give the same layer, so an
    engine may reuse it. `network` is "build" only where packages are downloaded; package code of the repository
    is only ever run with "none".

    docker and podman build with `dockerfile`, or with our own for the kind where it is empty; an engine that runs no
    Dockerfile runs the scripts instead, says so in the log, and refuses a tier that has none. `aliases` are more names
    of the image, which the newest build takes over; they are no part of what a layer is. `base`, name@sha256:…, is what
    a base tier was built on before, and is built on again by an engine that fetches images: see `cli_base.Starts`.

    kind "base": operating system (args: FC_APT_PACKAGES, space separated); "env": the Python environment at
    ENV_PREFIX (args: FC_PYTHON, version like "3.11"; files: lock.txt); "pr": the tree at WORKDIR, built and sealed
    (files: repo.tar, which is unpacked at WORKDIR before the scripts run).
    """

    kind: TierKind
    name: str
    scripts: tuple[str, ...]
    files: Mapping[str, bytes | Path]
    args: Mapping[str, str] = field(default_factory=dict)
    network: Network = "none"
    timeout_s: float = 3600.0
    dockerfile: str = ""
    aliases: tuple[str, ...] = ()
    base: str = ""


@dataclass(frozen=True, slots=True)
class ExecResult(Said):
    """How one command inside a container ended.

    `wall_s` and `cpu_s` are seconds seen from outside the container; `cpu_s` is user plus system time of everything
    the command started, None where the engine cannot tell. A command that ran into its time limit has
    `timed_out` set, and all its processes are gone. `arrivals`: of its standard output, how many bytes had come, and
    after how many seconds.
    """

    rc: int
    stdout: bytes
    stderr: bytes
    wall_s: float
    cpu_s: float | None
    timed_out: bool
    arrivals: tuple[tuple[int, float], ...] = ()


class Container(Protocol):
    """One running sandbox: no network, not root, no capabilities, its own /tmp and HOME."""

    @property
    def image(self) -> ImageRef:
        """The image it was started from."""

    @property
    def frozen(self) -> bool:
        """True where nothing but /tmp and HOME can be written, and those start empty at each command."""

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
        """Run one command to its end; a non-zero exit code and a time-out are values.

        Standard input ends behind `stdin`; with an `answer` it stays open until the first line has come on standard
        output, and that is given then, and not before.

        The environment is a fixed, clean one (PATH with ENV_PREFIX/bin first, HOME, TZ=UTC, LANG=C.UTF-8,
        PYTHONHASHSEED=0, one thread for OMP/MKL/OPENBLAS) plus `env`. No process outlives the call. `cpus` pins
        the command for this call. `kept_bytes`: of each output, its beginning and its end.

        Raises:
            EngineUnavailable: the engine is gone; says nothing about the command.
        """

    def read_file(self, path: str, *, max_bytes: int = 50_000_000) -> bytes:
        """The content of a regular file; links are not followed out of the sandbox.

        Raises:
            FileNotFoundError: there is no such regular file.
            ContainerError: it is larger than `max_bytes`.
        """

    def write_file(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Create or replace a file, with its parent directories, readable by the sandbox's user.

        Raises:
            ContainerError: the container is frozen, or the path leads through a link.
        """

    def freeze(self) -> "Container":
        """A read-only container in the state this one is in now; this one is stopped.

        What was written under WORKDIR, CACHE_DIR and ENV_PREFIX stays; /tmp and HOME do not.
        """

    def stop(self) -> None:
        """Kill what runs and delete what this container alone holds; a second call does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class Joinable(Protocol):
    """A container that a person can work in."""

    def terminal(self, argv: Sequence[str]) -> int:
        """Run one command, a shell for example, with our terminal joined to one of its own; returns its exit code.

        The environment is that of `Container.exec`, and the command's processes end with it.

        Raises:
            ConfigError: there is no terminal.
            EngineUnavailable: the engine is gone.
        """


class ContainerEngine(Protocol):
    """Builds images and starts sandboxes."""

    @property
    def name(self) -> str:
        """docker, podman or bubblewrap."""

    @property
    def runs_dockerfiles(self) -> bool:
        """Whether tiers are built by their Dockerfiles; else their scripts are run."""

    def check(self) -> None:
        """Return where the engine can be used now.

        Raises:
            EngineUnavailable: says what is missing and what to do about it.
        """

    def limits(self) -> LimitReport:
        """Which promises are kept here, and by what."""

    def pythons(self) -> tuple[str, ...]:
        """Versions ("3.11") of the interpreters an env tier can be built with here, ascending."""

    def build(self, parent: ImageRef | None, tier: Tier, *, log: Path, limits: Limits | None = None) -> ImageRef:
        """Build `tier` on `parent` (None for the base tier), or find it built already; output is appended to `log`.

        Raises:
            BuildFailed: a script failed or ran into the tier's time limit.
            DiskFull: a script says that its disk is full; says nothing about the tier.
            EngineUnavailable: the engine is gone; says nothing about the tier.
        """

    def start(
        self,
        image: ImageRef,
        *,
        limits: Limits | None = None,
        mounts: Sequence[Mount] = (),
        writable_env: bool = False,
        places: Sequence[str] = (),
    ) -> Container:
        """Start a sandbox without network. `writable_env` makes ENV_PREFIX writable too (needed to rebuild).

        `places` are more directories (absolute, of one part, as in "/logs") that start empty, can be written, and keep
        what is written from command to command; a frozen container has none of it.
        """

    def inspect(self, reference: str) -> ImageRef | None:
        """The image with this name or digest, or None where this engine does not hold it."""

    def base_of(self, image: ImageRef) -> str:
        """The operating system that the image's tiers stand on, by its digest: debian:12@sha256:1f2e.

        Raises:
            ContainerError: this engine does not hold the image.
        """

    def below(self, image: ImageRef) -> Iterator[Hidden]:
        """What whoever pulls the image can read, and no sandbox of it shows.

        That is what its configuration says, and the files that its upper layers replace or take away.

        Raises:
            ContainerError: this engine does not hold the image, or it cannot be read.
            EngineUnavailable: the engine is gone.
        """

    def export(self, image: ImageRef, path: str, target: Path) -> None:
        """Write the directory `path` of the image's file system to `target` on the host as an uncompressed tar.

        The tar is data from a sandbox: never unpack it without a filter.
        """

    def push(self, image: ImageRef, reference: str) -> str:
        """Publish the image under `reference`; returns the digest the registry gave.

        Raises:
            PublishError: it did not arrive, or this engine has no registry.
        """
