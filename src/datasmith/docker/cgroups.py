"""Limits and counters of the kernel's control groups, as far as this user may use them."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from datasmith import process
from datasmith.docker.engine import Limits
from datasmith.errors import ContainerError

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
"""Where the kernel tells which groups a process is in."""
_V1_SHARED = ("cpu,cpuacct",)
"""Mounts of several controllers, where each has no link of its own."""
_V1_CONTROLLERS = ("memory", "pids", "cpuacct", "cpuset")
_V2_CONTROLLERS = ("memory", "pids", "cpuset")
_PER_COMMAND = ("v2", "cpuacct", "cpuset")
_JOIN = 'echo $$ >"$1"'


@dataclass(frozen=True, slots=True)
class Group:
    """One control group (or one for each controller on version 1); empty where none can be made."""

    directories: Mapping[str, Path] = field(default_factory=dict)

    def entry_files(self) -> tuple[Path, ...]:
        """Files that a process writes its pid into to join."""
        return tuple(dict.fromkeys(path / "cgroup.procs" for path in self.directories.values()))

    @contextmanager
    def command(self, cpus: Sequence[int]) -> Iterator["Group"]:
        """A group inside this one for a single command, to count and to pin what it starts; gone afterwards.

        Memory and processes are limited by the outer group alone: a memory group for each command would stay in
        the kernel for as long as a page of its files does.

        Raises:
            ContainerError: there are no such cores.
        """
        name = f"command-{os.urandom(6).hex()}"
        own = {kind: path / name for kind, path in self.directories.items() if kind in _PER_COMMAND}
        outer = {} if "v2" in own else {kind: path for kind, path in self.directories.items() if kind not in own}
        made = Group(own)
        try:
            for path in own.values():
                path.mkdir()
            _pin(own, cpus)
            yield CommandGroup(own, outer)
        finally:
            made.remove()

    def cpu_seconds(self) -> float | None:
        """User plus system time that the group's processes have used so far; None where nobody counts.

        A container that is stopped while a command runs takes the command's group with it: nobody counts then either.
        """
        try:
            if "cpuacct" in self.directories:
                return int((self.directories["cpuacct"] / "cpuacct.usage").read_text()) / 1e9
            if "v2" in self.directories:
                stat = dict(line.split() for line in (self.directories["v2"] / "cpu.stat").read_text().splitlines())
                return int(stat["usage_usec"]) / 1e6
        except FileNotFoundError:
            return None
        return None

    def pids(self) -> frozenset[int]:
        """What runs in the group now, and in its subgroups."""
        files = [place / "cgroup.procs" for place in self._places()]
        return frozenset(int(word) for file in files for word in _words(file))

    def empty(self, patience_s: float = 30.0) -> bool:
        """Kill what is left in the group and wait for it to be gone; False where something stays."""
        deadline = time.monotonic() + patience_s
        while pids := self.pids():
            for pid in pids:
                _kill(pid)
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    def remove(self) -> None:
        """Empty and delete the group and its subgroups; a second call does nothing."""
        self.empty()
        for place in self._places():
            _remove_directory(place)

    def _places(self) -> list[Path]:
        """The directories of the group and its subgroups, the innermost first; one that goes meanwhile is left out."""
        tops = dict.fromkeys(self.directories.values())
        return [Path(place) for top in tops for place, _, _ in os.walk(top, topdown=False)]


@dataclass(frozen=True, slots=True)
class CommandGroup(Group):
    """The group of one command; `outer` are those of its container that a process has to join beside it."""

    outer: Mapping[str, Path] = field(default_factory=dict)

    def entry_files(self) -> tuple[Path, ...]:
        """Files that a process writes its pid into to join."""
        both = [*self.outer.values(), *self.directories.values()]
        return tuple(dict.fromkeys(path / "cgroup.procs" for path in both))


def group_of(pid: int, identity: str) -> Group | None:
    """The group that an engine on this machine made for the container `identity`, whose first process is `pid`.

    None where it cannot be seen, or the process is another one: the engine may run on another machine.
    """
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    found: dict[str, Path] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        parts = Path(path).parts[1:]
        depth = next((at for at, part in enumerate(parts, 1) if identity in part), 0)
        for controller in controllers.split(",") if depth else ():
            name = controller or "v2"
            found[name] = ROOT.joinpath("" if name == "v2" else name, *parts[:depth])
    wanted = ("v2",) if (ROOT / "cgroup.controllers").exists() else ("cpuacct", "pids")
    seen = {name: found[name] for name in wanted if name in found and (found[name] / "cgroup.procs").exists()}
    return Group(seen) if seen else None


def _pin(directories: Mapping[str, Path], cpus: Sequence[int]) -> None:
    """Restrict a command's group to these cores (all of its parent's for none)."""
    path = directories.get("cpuset") or directories.get("v2")
    if path is None or not (path / "cpuset.cpus").exists():
        return
    whole = path.parent
    try:
        if "cpuset" in directories:  # on version 1 a new group has no memory nodes and no cores at all
            (path / "cpuset.mems").write_text((whole / "cpuset.mems").read_text())
        if cpus or "cpuset" in directories:
            chosen = ",".join(map(str, cpus)) or (whole / "cpuset.cpus").read_text()
            (path / "cpuset.cpus").write_text(chosen)
    except OSError as error:
        raise ContainerError(f"a command cannot be pinned to the cores {list(cpus)}: {error.strerror}") from error


def _words(file: Path) -> list[str]:
    """Words of a listing; empty where its group is gone, or is one that lists threads only."""
    try:
        return file.read_text().split()
    except OSError:
        return []


def _kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return


def _remove_directory(path: Path) -> None:
    """Delete an empty group; the kernel may need a moment after its last process."""
    for _ in range(1000):
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.002)
        else:
            return


def _joinable(group: Path) -> bool:
    """Whether a process of ours may move itself into a group."""
    return process.run(["/bin/sh", "-c", _JOIN, "sh", group / "cgroup.procs"], timeout=10).ok


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Which hierarchies can be used: version 1 controllers by name, or "v2"; empty for none."""

    parents: Mapping[str, Path]

    @classmethod
    def probe(
        cls,
        root: Path = ROOT,
        own: Path = OWN,
        joinable: Callable[[Path], bool] = _joinable,
    ) -> "Cgroups":
        """Find, by trying, below which groups this process may make groups with limits and move children there."""
        places = _own_places(own)
        if (root / "cgroup.controllers").exists():
            found = _delegated(root, places.get("", "/"), joinable)
            return cls({"v2": found} if found else {})
        candidates = {name: _v1_parent(root / name, places.get(name, "/")) for name in _V1_CONTROLLERS}
        return cls({name: path for name, path in candidates.items() if path and _usable({name: path}, joinable)})

    def kept_by(self) -> dict[str, str | None]:
        """The promises about memory, pids, cpus and cpu_counter: mechanism, or None."""
        if "v2" in self.parents:
            pins = "cpuset" in _words(self.parents["v2"] / "cgroup.subtree_control")
            kept = dict.fromkeys(("memory", "pids", "cpu_counter"), "cgroup v2")
            return {**kept, "cpus": "cgroup v2 cpuset" if pins else None}
        v1 = {"memory": "memory", "pids": "pids", "cpus": "cpuset", "cpu_counter": "cpuacct"}
        return {promise: f"cgroup v1 {name}" if name in self.parents else None for promise, name in v1.items()}

    def make(self, limits: Limits, name: str | None = None) -> Group:
        """A new group with these limits.

        Raises:
            ContainerError: the kernel does not take a limit.
        """
        called = f"fc-{name or os.urandom(8).hex()}"
        made = Group({controller: parent / called for controller, parent in self.parents.items()})
        try:
            for controller, path in made.directories.items():
                path.mkdir(exist_ok=True)
                _limit(controller, path, limits)
        except OSError as error:
            made.remove()
            raise ContainerError(f"cannot set the limits {limits}: {error}") from error
        return made

    def remove(self, name: str) -> None:
        """Delete the group that a process which is gone has left behind."""
        Group({controller: parent / f"fc-{name}" for controller, parent in self.parents.items()}).remove()


def own_groups(controller: str, root: Path = ROOT, own: Path = OWN) -> list[Path]:
    """Our own group of a controller, and those around it that can be seen here.

    Raises:
        OSError: the kernel does not tell.
    """
    is_v2 = (root / "cgroup.controllers").exists()
    mounts = [root] if is_v2 else [root / name for name in (controller, *_V1_SHARED) if (root / name).exists()]
    top = next(iter(mounts), root)
    place = _own_places(own).get("" if is_v2 else controller, "/").strip("/")
    group = top if ".." in place.split("/") else top / place
    return [path for path in (group, *group.parents) if path.is_relative_to(top)]


def _limit(controller: str, path: Path, limits: Limits) -> None:
    for file, value in _settings(controller, limits).items():
        if (path / file).exists():
            (path / file).write_text(value)
    parent = path.parent
    if controller == "cpuset":
        for file in ("cpuset.mems", "cpuset.cpus"):
            (path / file).write_text((parent / file).read_text())
    handed = path / "cgroup.subtree_control"
    if controller == "v2" and handed.exists() and "cpuset" in _words(parent / handed.name):
        handed.write_text("+cpuset")


def _settings(controller: str, limits: Limits) -> dict[str, str]:
    memory = str(limits.memory_mb * 1024 * 1024)
    return {
        "memory": {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
        "pids": {"pids.max": str(limits.pids)},
        "v2": {"memory.max": memory, "memory.swap.max": "0", "pids.max": str(limits.pids)},
    }.get(controller, {})


def _own_places(listing: Path) -> dict[str, str]:
    """Controller ("" for version 2) -> path of our own group."""
    found: dict[str, str] = {}
    for line in listing.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _v1_parent(hierarchy: Path, own: str) -> Path | None:
    """Our own group, where it can be seen here, so that its limits hold too; else the top of the hierarchy."""
    for path in (hierarchy / own.strip("/"), hierarchy):
        if (path / "cgroup.procs").exists() and os.access(path, os.W_OK):
            return path
    return None


def _delegated(root: Path, own: str, joinable: Callable[[Path], bool]) -> Path | None:
    """The nearest group from our own upwards whose children can have limits on memory and processes.

    A group that holds processes cannot hand controllers to its children (but for the real top), so our own group is
    rarely the one: it is the slice above it, if that was delegated to us.
    """
    own_path = root / own.strip("/")
    for path in (own_path, *own_path.parents):
        if not path.is_relative_to(root):
            return None
        if os.access(path, os.W_OK) and _handed_down(path) and _usable({"v2": path}, joinable):
            return path
    return None


def _handed_down(path: Path) -> bool:
    """Hand the controllers to the children of a group, as far as it has them; False where that does not do."""
    file = path / "cgroup.subtree_control"
    for name in set(_V2_CONTROLLERS) & set(_words(path / "cgroup.controllers")) - set(_words(file)):
        try:
            file.write_text(f"+{name}")
        except OSError:
            continue
    return {"memory", "pids"} <= set(_words(file))


def _usable(parents: Mapping[str, Path], joinable: Callable[[Path], bool]) -> bool:
    """Whether a group can be made with limits, joined and removed again."""
    try:
        made = Cgroups(parents).make(Limits())
    except ContainerError:
        return False
    with_command = False
    try:
        with made.command(()) as group:
            with_command = all(joinable(file.parent) for file in group.entry_files())
    except (OSError, ContainerError):
        return False
    finally:
        made.remove()
    return with_command
