"""What a docker or podman daemon says about the limits that it can keep, and those that a container is given."""

import resource
from collections.abc import Mapping


def kept_by(info: object, *, local: bool) -> dict[str, str | None]:
    """Promise -> mechanism, from the JSON of `docker info` or `podman info`; `local`: the daemon is on this machine."""
    said = info if isinstance(info, Mapping) else {}
    host = said.get("host")
    found = _podman(host) if isinstance(host, Mapping) else _docker(said)
    memory, pids, cpus, version = found
    return {
        "network": "network namespace with loopback only",
        "root": "read-only root file system once frozen",
        "user": "uid 1000",
        "capabilities": "all dropped",
        "new_privileges": "no-new-privileges",
        "memory": f"cgroup v{version}" if memory else None,
        "pids": f"cgroup v{version}" if pids else None,
        "cpus": "cpuset, and taskset for each command" if cpus else None,
        "disk": None,
        "cpu_counter": f"cgroup v{version}, read on the host" if local and version else None,
    }


def _docker(said: Mapping[object, object]) -> tuple[bool, bool, bool, str]:
    keys = ("MemoryLimit", "PidsLimit", "CPUSet")
    memory, pids, cpus = (said.get(key) is True for key in keys)
    return memory, pids, cpus, str(said.get("CgroupVersion") or "")


def _podman(host: Mapping[object, object]) -> tuple[bool, bool, bool, str]:
    controllers = host.get("cgroupControllers")
    held = set(controllers) if isinstance(controllers, list) else set()
    version = str(host.get("cgroupVersion", "")).removeprefix("v")
    return "memory" in held, "pids" in held, "cpuset" in held, version


_MOST = {"nofile": (resource.RLIMIT_NOFILE, 1_048_576), "nproc": (resource.RLIMIT_NPROC, 32_768)}
"""What podman asks for itself, or leaves to its children."""


def own_ulimits(program: str) -> list[str]:
    """Words for what a container's processes may have open and run: with podman no more than we may ourselves.

    It adds defaults of its own to any limit that is given, which the kernel refuses where they are above ours and we
    may not raise them, as in a virtual machine or a container.
    """
    if program != "podman":
        return []
    words = []
    for name, (kind, most) in _MOST.items():
        hard = resource.getrlimit(kind)[1]
        value = most if hard == resource.RLIM_INFINITY else min(hard, most)
        words += ["--ulimit", f"{name}={value}:{value}"]
    return words
