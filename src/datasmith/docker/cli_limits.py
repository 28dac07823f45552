"""What a docker or podman daemon says about the limits that it can keep."""

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
