"""Reading what the kernel tells of the host, and what counts as a disturbance."""

import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from datasmith.docker.cgroups import Group
from datasmith.workloads.guard import CoreTimes, HostState, core_times, disturbance, host_facts, read_core, read_host
from tests.support.base_image import lacks

STAT = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 100 10 20 5000 7 1 2 30 0 0\ncpu1 1 0 0 9 0 0 0 0 0 0\nintr 5\n"


def test_the_line_of_one_core_is_read() -> None:
    """Idle time and waiting do not count as work; steal is apart."""
    assert core_times(STAT, 0) == CoreTimes(busy_s=1.33, steal_s=0.3)
    assert core_times(STAT, 7) is None


def test_a_kernel_that_does_not_tell_guards_nothing(tmp_path: Path) -> None:
    """No file, no pinned core: no reading, and no disturbance is claimed."""
    assert read_core(0, tmp_path) is None
    assert read_core(None) is None
    assert disturbance(None, CoreTimes(1, 1), 1.0, 1.0) is None


def test_a_launch_that_has_the_core_for_itself_is_quiet() -> None:
    """Its own time and a few ticks of rounding."""
    assert disturbance(CoreTimes(10, 5), CoreTimes(10.42, 5.01), wall_s=0.42, cpu_s=0.40) is None


def test_work_of_others_on_the_core_is_seen() -> None:
    """The core was busy for longer than the launch used it."""
    assert "others" in (disturbance(CoreTimes(10, 5), CoreTimes(10.8, 5), wall_s=0.8, cpu_s=0.4) or "")


def test_stolen_time_is_seen() -> None:
    """The hypervisor gave the core to another machine."""
    assert "stolen" in (disturbance(CoreTimes(10, 5), CoreTimes(10.4, 5.1), wall_s=0.5, cpu_s=0.4) or "")


def plant(root: Path, *, steal: int = 0, throttled: int = 0, clock: str = "tsc") -> Path:
    """A /proc and a /sys as a kernel writes them."""
    cpu = root / "sys/devices/system/cpu/cpu0/thermal_throttle"
    source = root / "sys/devices/system/clocksource/clocksource0"
    for place in (root / "proc", cpu, source):
        place.mkdir(parents=True, exist_ok=True)
    (root / "proc/stat").write_text(f"cpu0 100 0 0 0 0 0 0 {steal} 0 0\n")
    (root / "proc/loadavg").write_text("0.52 0.40 0.30 1/150 4711\n")
    (cpu / "core_throttle_count").write_text(f"{throttled}\n")
    (cpu / "package_throttle_count").write_text("2\n")
    (source / "current_clocksource").write_text(f"{clock}\n")
    return root


def test_steal_and_throttling_are_seen_in_the_kernel_s_files(tmp_path: Path) -> None:
    """Counters that grow between two readings; the package's count belongs to its cores."""
    before = read_core(0, plant(tmp_path))
    assert before == CoreTimes(1.0, 0.0, 2)
    assert disturbance(before, read_core(0, plant(tmp_path, throttled=1)), 0.3, 0.3) == "the core was throttled 1 times"
    assert "stolen" in (disturbance(before, read_core(0, plant(tmp_path, steal=20)), 0.3, 0.3) or "")
    assert disturbance(before, read_core(0, plant(tmp_path)), 0.3, 0.3) is None


@pytest.mark.parametrize(("clock", "steady"), [("tsc", True), ("kvm-clock", True), ("hpet", False), ("jiffies", False)])
def test_an_unsteady_clock_is_named(tmp_path: Path, clock: str, steady: bool) -> None:
    """In the record, and in the line for people."""
    before = read_host(0, plant(tmp_path, clock=clock))
    facts = host_facts(before, read_host(0, plant(tmp_path, clock=clock, steal=50, throttled=3)), [True, False])
    assert (facts.clock_source, facts.steady_clock) == (clock, steady)
    assert (facts.steal_s, facts.throttles, facts.load_after, facts.noisy_launches) == (0.5, 3, 0.52, 1)
    assert ("NOT STEADY" in facts.said) is not steady


def test_a_host_that_tells_nothing_has_no_facts(tmp_path: Path) -> None:
    """Missing is not zero."""
    facts = host_facts(read_host(0, tmp_path), read_host(0, tmp_path), [])
    assert facts.model_dump(exclude={"launches", "noisy_launches"}) == dict.fromkeys(
        ("clock_source", "steady_clock", "load_before", "load_after", "steal_s", "throttles", "held_s")
    )
    assert HostState(None, None, None) == read_host(None, tmp_path)


@pytest.mark.parametrize(
    ("listing", "top", "groups"),
    [
        ("0::/pods/a\n", "", {"": None, "pods": 3, "pods/a": 4}),
        ("4:cpu,cpuacct:/pods/a\n0::/\n", "cpu", {"": 0, "pods": 3, "pods/a": 4}),
        ("4:cpu:/seen/outside/alone\n", "cpu,cpuacct", {"": 7}),
        ("0::/../beside\n", "", {"": 7, "../beside": 9}),
    ],
    ids=["version 2", "version 1", "a container", "outside of its name space"],
)
def test_a_quota_of_our_groups_is_seen(tmp_path: Path, listing: str, top: str, groups: dict[str, int | None]) -> None:
    """Its own and those around it count; so does that of a container, which sees its group as the top."""
    (plant(tmp_path) / "proc/self").mkdir()
    (tmp_path / "proc/self/cgroup").write_text(listing)
    hierarchy = tmp_path / "sys/fs/cgroup" / top
    for name, count in groups.items():
        (hierarchy / name).mkdir(parents=True, exist_ok=True)
        if count is not None:
            told = f"throttled_time {count}000000000" if top else f"throttled_usec {count}000000"
            (hierarchy / name / "cpu.stat").write_text(f"nr_periods 9\nnr_throttled 5\n{told}\nburst_time 0\n")
    if not top:
        (hierarchy / "cgroup.controllers").touch()
    before = read_core(0, tmp_path)
    assert before is not None and before.held_s == pytest.approx(7.0)
    stat = hierarchy / max(name for name in groups if ".." not in name) / "cpu.stat"
    stat.write_text(re.sub(r"(throttled_\w+ \d)0", r"\g<1>1", stat.read_text()))
    after = read_core(0, tmp_path)
    assert disturbance(before, after, 0.3, 0.3) == "0.10 s of 0.30 s held back by a quota of cpu time (cpu.max)"
    assert disturbance(before, after, 4.0, 4.0) is None
    state = HostState(before, None, None)
    facts = host_facts(state, replace(state, core=after), [True])
    assert facts.held_s == pytest.approx(0.1) and "0.10 s held back by a quota" in facts.said


SPINS = """
import sys, time
from dataclasses import replace
from pathlib import Path
from datasmith.workloads.guard import disturbance, read_core
Path(sys.argv[1], "cgroup.procs").write_text("0")
core = int(sys.argv[2])
before, started = read_core(core), time.monotonic()
while time.monotonic() - started < 1:
    pass
after = replace(read_core(core), steal_s=before.steal_s)  # this machine may be a guest itself
print(disturbance(before, after, 1.0, time.process_time()))
"""


def test_a_quota_that_holds_us_back_is_seen() -> None:
    """A real process in a real group that may use a fifth of a core."""
    top, (name, value) = Path("/sys/fs/cgroup/cpu"), ("cpu.cfs_quota_us", "20000")
    if not top.exists():
        top, (name, value) = top.parent, ("cpu.max", "20000 100000")
    group = top / f"fc-test-{os.urandom(4).hex()}"
    try:
        group.mkdir()
        (group / name).write_text(value)
        words = [sys.executable, "-c", SPINS, str(group), str(min(os.sched_getaffinity(0)))]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    except OSError as error:
        lacks(f"no control group with a quota can be made: {error}", "as root")
    finally:
        Group({"cpu": group}).remove()
    assert "held back by a quota of cpu time" in done.stdout, done


def test_a_busy_neighbour_on_the_core_is_seen() -> None:
    """A real process that spins on the core beside us, and the real counters."""
    core = min(os.sched_getaffinity(0))
    words = ["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(words) as neighbour:
        try:
            before, started = read_core(core), time.monotonic()
            time.sleep(1.5)
            after, wall_s = read_core(core), time.monotonic() - started
        finally:
            neighbour.kill()
    assert before is not None
    assert after is not None
    alone = replace(after, steal_s=before.steal_s)  # this machine may be a guest itself, and lose time just now
    assert "used by others" in (disturbance(before, alone, wall_s, 0.0) or "")
