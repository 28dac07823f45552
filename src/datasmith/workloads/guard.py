"""The host guard: whether the core was ours while a launch ran."""

from dataclasses import dataclass
from pathlib import Path

TICK_S = 0.01
"""Linux counts cpu time in /proc/stat in hundredths of a second."""
STEAL_SHARE = 0.03
OTHERS_SHARE = 0.10
SLACK_S = 3 * TICK_S
"""Below this nothing is called a disturbance: it may be the rounding of the counters."""


@dataclass(frozen=True, slots=True)
class CoreTimes:
    """Seconds since boot that a core worked for anyone here (busy) and for other virtual machines (steal)."""

    busy_s: float
    steal_s: float


def core_times(text: str, cpu: int) -> CoreTimes | None:
    """Read the line of one core out of the text of /proc/stat; None where it is not there."""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == [f"cpu{cpu}"] and len(words) >= 9:
            user, nice, system, _idle, _iowait, irq, softirq, steal = (int(word) * TICK_S for word in words[1:9])
            return CoreTimes(user + nice + system + irq + softirq, steal)
    return None


def read_core(cpu: int | None, source: Path = Path("/proc/stat")) -> CoreTimes | None:
    """The times of a core now; None where there is no pinned core or the kernel does not tell."""
    if cpu is None:
        return None
    try:
        return core_times(source.read_text(encoding="ascii"), cpu)
    except OSError:
        return None


def disturbance(before: CoreTimes | None, after: CoreTimes | None, wall_s: float, cpu_s: float | None) -> str | None:
    """What disturbed a launch of `wall_s` that used `cpu_s` itself, between two readings; None where nothing did."""
    if before is None or after is None:
        return None
    stolen = after.steal_s - before.steal_s
    if stolen > max(SLACK_S, STEAL_SHARE * wall_s):
        return f"{stolen:.2f} s of {wall_s:.2f} s stolen by the hypervisor"
    if cpu_s is None:
        return None
    others = after.busy_s - before.busy_s - cpu_s
    if others > max(SLACK_S, OTHERS_SHARE * wall_s):
        return f"{others:.2f} s of {wall_s:.2f} s used by others on the core"
    return None
