"""The machine class a measurement was taken on, as the kernel tells it."""

import hashlib
import os
import platform
from pathlib import Path

from datasmith.tasks.certificate import Machine


def this_machine(proc: Path = Path("/proc"), sys_dmi: Path = Path("/sys/class/dmi/id")) -> Machine:
    """Read CPU model and flags, cores, memory, kernel and whether this is a virtual machine (None: not known)."""
    fields = cpu_fields(_text(proc / "cpuinfo"))
    flags = " ".join(sorted(fields.get("flags", fields.get("Features", "")).split()))
    return Machine(
        cpu_model=fields.get("model name", fields.get("Model", platform.machine() or "unknown")),
        cpu_flags_sha256=hashlib.sha256(flags.encode()).hexdigest(),
        cores=len(os.sched_getaffinity(0)),
        memory_mb=memory_mb(_text(proc / "meminfo")),
        kernel=platform.release(),
        virtualised=_virtualised(flags.split(), _text(sys_dmi / "sys_vendor")),
    )


def cpu_fields(cpuinfo: str) -> dict[str, str]:
    """The fields of the first processor in the text of /proc/cpuinfo."""
    first = cpuinfo.split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def memory_mb(meminfo: str) -> int:
    """MemTotal of the text of /proc/meminfo in MiB, 0 where it is not told."""
    for line in meminfo.splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) // 1024
    return 0


def _virtualised(flags: list[str], vendor: str) -> bool | None:
    if "hypervisor" in flags:
        return True
    if not flags and not vendor:
        return None
    return any(name in vendor for name in ("QEMU", "VMware", "Amazon EC2", "Google", "Microsoft", "Xen", "KVM"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
