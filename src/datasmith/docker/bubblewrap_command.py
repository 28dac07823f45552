"""The words that start one command in a sandbox of its own namespaces."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from datasmith.docker.bubblewrap_python import prefix_of
from datasmith.docker.bubblewrap_root import Root
from datasmith.docker.engine import SANDBOX_USER, Limits, Mount
from datasmith.docker.environment import CLEAN_ENVIRONMENT, HOME
from datasmith.docker.overlay import Overlay, mounting

NAMESPACES = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--as-pid-1",
    "--cap-drop",
    "ALL",
    "--uid",
    str(SANDBOX_USER),
    "--gid",
    str(SANDBOX_USER),
    "--hostname",
    "sandbox",
)
"""No namespace is shared, none can be made inside; the user is nobody outside of it."""
JOIN_FAILED = 96
ORPHANED = 97
_OUTER = (
    'eval "exec $1>$2"; { ulimit -c 0; ulimit -f "$3"; [ "$4" = 0 ] || ulimit -d "$4"; } 2>/dev/null; n=$5; shift 5;'
    f' while [ "$n" -gt 0 ]; do echo $$ >"$1" || exit {JOIN_FAILED}; shift; n=$((n - 1)); done; exec "$@"'
)
"""The lifeline, limits of the process and its children, then the control groups, then the command."""
_INNER = (
    f'{{ eval "echo >&$1" || exit {ORPHANED}; eval "exec $1>&-"; }} 2>/dev/null; cd -- "$2" || exit 126; shift 2;'
    ' "$@"; code=$?; while kill -9 -1 2>/dev/null; do /bin/true; done; exit $code'
)
"""Process 1 of a sandbox. Nothing inside can kill it; what the command leaves running it kills and waits for, so that
its cpu time is counted; the kernel would kill it uncounted.

It begins nothing when nobody holds the other end of the lifeline any more. bwrap asks the kernel to die with the
process that started it when half of its work is done, and nobody tells it of a death before; from here on it is told.
"""


def bare(bwrap: str) -> list[str]:
    """Words that start a program in a sandbox that shows what programs need, and nothing else.

    Binds of all of "/" would show others, as Docker, mount and unmount parts meanwhile.
    """
    places = [word for path in ("/usr", "/bin", "/lib", "/lib64") for word in ("--ro-bind-try", path, path)]
    return [bwrap, *NAMESPACES, *places]


@dataclass(frozen=True, slots=True)
class Layout:
    """What a sandbox shows: a root, writable and fixed directories by target, and an interpreter's installation.

    One of the writable directories may be the place of an `overlay`: from outside nothing is read or written there.
    """

    root: Root
    writable: Mapping[str, Path]
    python: Path | None = None
    fixed: Mapping[str, Path] = field(default_factory=dict)
    overlay: Overlay | None = None

    @property
    def shown(self) -> Mapping[str, Path]:
        """All directories by target."""
        return {**self.fixed, **self.writable}

    def also(self, target: str, source: Path) -> "Layout":
        """With one more writable directory."""
        return replace(self, writable={**self.writable, target: source})

    def frozen(self) -> "Layout":
        """With nothing writable."""
        return replace(self, writable={}, fixed=self.shown)

    def words(self) -> list[str]:
        """Words of bwrap for the directories."""
        words: list[str] = []
        if self.python and not self.python.is_relative_to("/usr"):
            prefix = str(prefix_of(self.python))
            words += ["--ro-bind", prefix, prefix]
        for option, shown in (("--ro-bind", self.fixed), ("--bind", self.writable)):
            for target, source in shown.items():
                words += [option, str(source.absolute()), target]
        return words


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Everything about the sandboxes of one container that stays the same from command to command.

    `process_limit` is set by the process itself (RLIMIT_NPROC) where no control group counts; `data_limit` likewise
    (RLIMIT_DATA, bytes of private memory of each process), which stops accidents, not intent.
    """

    layout: Layout
    limits: Limits
    mounts: tuple[Mount, ...]
    network: bool = False
    ca_bundle: Path | None = None
    process_limit: bool = False
    data_limit: bool = False

    def words(
        self,
        bwrap: str,
        argv: Sequence[str],
        *,
        cwd: str,
        entry_files: Sequence[Path] = (),
        pinned: Sequence[int] = (),
        status_fd: int,
        environment_fd: int,
        filter_fd: int | None = None,
        lifeline: Path,
        terminal: bool = False,
    ) -> list[str]:
        """The complete argument list; `pinned` cores are set by taskset, which a program can undo without a filter.

        `lifeline` is a pipe that is read by whoever waits for the command, and by nobody when that one is gone.
        From `filter_fd` bwrap reads that, see `core_filter`, and from `environment_fd` `environment_words`: a command
        line is shown to everybody on the machine.
        With `terminal` the command keeps its terminal, which then must be one that leads to nobody else's.
        """
        entries = [str(path) for path in entry_files]
        file_blocks = (self.limits.disk_mb + 1) * 2048  # of 512 bytes; /tmp is full before a file in it is too large
        data_kib = self.limits.memory_mb * 1024 if self.data_limit else 0
        digit = str(min(set(range(3, 10)) - {status_fd, environment_fd, filter_fd}))
        words = ["/bin/sh", "-c", _OUTER, "sh", digit, str(lifeline)]
        words += [str(file_blocks), str(data_kib), str(len(entries)), *entries]
        words += ["taskset", "-c", ",".join(map(str, pinned))] if pinned else []
        words += mounting(self.layout.overlay) if self.layout.overlay else []
        namespaces = [word for word in NAMESPACES if not (terminal and word == "--new-session")]
        words += [bwrap, *namespaces, "--json-status-fd", str(status_fd), *self._places(), "--clearenv"]
        words += ["--seccomp", str(filter_fd)] if filter_fd is not None else []
        words += ["--args", str(environment_fd)]
        words += ["--", "/bin/sh", "-c", _INNER, "sh", digit, cwd]
        words += ["/usr/bin/prlimit", f"--nproc={self.limits.pids}", "--"] if self.process_limit else []
        return [*words, *argv]

    def _places(self) -> list[str]:
        size = str(min(self.limits.disk_mb, self.limits.memory_mb) * 1024 * 1024)
        words = ["--share-net"] if self.network else []
        words += self.layout.root.words(network=self.network, ca_bundle=self.ca_bundle)
        words += ["--proc", "/proc", "--dev", "/dev"]
        for target in ("/dev/shm", "/tmp", HOME):
            words += ["--size", size, "--tmpfs", target]
        words += self.layout.words()
        for mount in self.mounts:
            words += ["--ro-bind", str(mount.source.absolute()), mount.target]
        # Started by root, the sandbox's user is the host's root to the file modes of /proc/sys, and owns its files.
        return [*words, "--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"]


def environment_words(env: Mapping[str, str]) -> bytes:
    """The sandbox's whole environment as bwrap reads it from a file: words that each end in a zero byte."""
    words = [("--setenv", name, value) for name, value in {**CLEAN_ENVIRONMENT, **env}.items()]
    return b"".join(os.fsencode(word) + b"\0" for three in words for word in three)
