"""The host guard: whether the core was ours while a launch ran, and what the host was like over a whole measurement."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from datasmith.docker.cgroups import own_groups
from datasmith.tasks.certificate import HostFacts

TICK_S = 0.01
"""Linux counts cpu time in /proc/stat in hundredths of a second."""
STEAL_SHARE = 0.03
OTHERS_SHARE = 0.10
SLACK_S = 3 * TICK_S
"""Below this nothing is called a disturbance: it may be the rounding of the counters."""
ROOT = Path("/")
_Count = TypeVar("_Count", int, float)
STEADY_CLOCKS = frozenset({"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter", "timebase"})
"""Clock sources that are read in nanoseconds and do not stop; others (hpet, acpi_pm, jiffies) are slow or coarse."""
_CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
HELD_SLACK_S = 0.005
"""The same for a quota, whose counters are fine."""
_HELD = re.compile(r"^throttled_(usec|time) (\d+)$", re.MULTILINE)
_HELD_UNIT_S = {"usec": 1e-6, "time": 1e-9}
"""Of both versions of control groups."""
_THROTTLES = ("core_throttle_count", "package_throttle_count")


@dataclass(frozen=True, slots=True)
class CoreTimes:
    """Seconds since boot that a core worked for anyone here (busy) and for other virtual machines (steal).

    `throttles`: how often it was slowed down because of heat. `held_s`: seconds that processes of our control group, or
    of one around it, waited as a quota of cpu time was used up. None where the kernel does not tell.
    """

    busy_s: float
    steal_s: float
    throttles: int | None = None
    held_s: float | None = None


def core_times(text: str, cpu: int) -> CoreTimes | None:
    """Read the line of one core out of the text of /proc/stat; None where it is not there."""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == [f"cpu{cpu}"] and len(words) >= 9:
            user, nice, system, _idle, _iowait, irq, softirq, steal = (int(word) * TICK_S for word in words[1:9])
            return CoreTimes(user + nice + system + irq + softirq, steal)
    return None


def read_core(cpu: int | None, root: Path = ROOT) -> CoreTimes | None:
    """The times of a core now; None where there is no pinned core or the kernel does not tell. `root` holds /proc."""
    if cpu is None:
        return None
    times = core_times(_text(root / "proc/stat"), cpu)
    return times and replace(times, throttles=_throttles(root, cpu), held_s=_held_s(root))


def disturbance(before: CoreTimes | None, after: CoreTimes | None, wall_s: float, cpu_s: float | None) -> str | None:
    """What disturbed a launch of `wall_s` that used `cpu_s` itself, between two readings; None where nothing did."""
    if before is None or after is None:
        return None
    hot = _grown(before.throttles, after.throttles)
    if hot is not None and hot > 0:
        return f"the core was throttled {hot} times"
    stolen = after.steal_s - before.steal_s
    if stolen > max(SLACK_S, STEAL_SHARE * wall_s):
        return f"{stolen:.2f} s of {wall_s:.2f} s stolen by the hypervisor"
    held = _grown(before.held_s, after.held_s)
    if held is not None and held > max(HELD_SLACK_S, STEAL_SHARE * wall_s):
        return f"{held:.2f} s of {wall_s:.2f} s held back by a quota of cpu time (cpu.max)"
    if cpu_s is None:
        return None
    others = after.busy_s - before.busy_s - cpu_s
    if others > max(SLACK_S, OTHERS_SHARE * wall_s):
        return f"{others:.2f} s of {wall_s:.2f} s used by others on the core"
    return None


@dataclass(frozen=True, slots=True)
class HostState:
    """The host at one moment: the core's times, processes that run or want to (load), and the clock's source."""

    core: CoreTimes | None
    load: float | None
    clock_source: str | None


def read_host(cpu: int | None, root: Path = ROOT) -> HostState:
    """The host now; what the kernel does not tell is None. `root` holds /proc and /sys."""
    words = _text(root / "proc/loadavg").split()
    return HostState(read_core(cpu, root), float(words[0]) if words else None, _text(root / _CLOCK).strip() or None)


def host_facts(before: HostState, after: HostState, noisy: Iterable[bool]) -> HostFacts:
    """What the host was like between two readings; `noisy` says of each launch whether it was disturbed."""
    marks = tuple(noisy)
    ours, now = before.core, after.core
    return HostFacts(
        clock_source=after.clock_source,
        steady_clock=None if after.clock_source is None else after.clock_source in STEADY_CLOCKS,
        load_before=before.load,
        load_after=after.load,
        steal_s=now.steal_s - ours.steal_s if ours and now else None,
        throttles=_grown(ours.throttles, now.throttles) if ours and now else None,
        held_s=_grown(ours.held_s, now.held_s) if ours and now else None,
        launches=len(marks),
        noisy_launches=sum(marks),
    )


def _throttles(root: Path, cpu: int) -> int | None:
    """How often a core, or the package it is in, was throttled since boot."""
    place = root / f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
    counts = [int(text) for name in _THROTTLES if (text := _text(place / name).strip()).isdigit()]
    return sum(counts) if counts else None


def _held_s(root: Path) -> float | None:
    """How long quotas of our control group, and of those around it that can be seen here, held processes back.

    Summed over cores and groups. What runs in groups elsewhere (containers of a daemon's) may have quotas of its own.
    """
    with suppress(OSError):
        groups = own_groups("cpu", root / "sys/fs/cgroup", root / "proc/self/cgroup")
        told = [line for group in groups if (line := _HELD.search(_text(group / "cpu.stat")))]
        return sum(int(line[2]) * _HELD_UNIT_S[line[1]] for line in told) if told else None
    return None


def _grown(before: _Count | None, after: _Count | None) -> _Count | None:
    return None if before is None or after is None else after - before


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="ascii", errors="replace")
    return ""
