"""Reading /proc/stat, and what counts as a disturbance."""

from pathlib import Path

from datasmith.workloads.guard import CoreTimes, core_times, disturbance, read_core

STAT = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 100 10 20 5000 7 1 2 30 0 0\ncpu1 1 0 0 9 0 0 0 0 0 0\nintr 5\n"


def test_the_line_of_one_core_is_read() -> None:
    """Idle time and waiting do not count as work; steal is apart."""
    assert core_times(STAT, 0) == CoreTimes(busy_s=1.33, steal_s=0.3)
    assert core_times(STAT, 7) is None


def test_a_kernel_that_does_not_tell_guards_nothing(tmp_path: Path) -> None:
    """No file, no pinned core: no reading, and no disturbance is claimed."""
    assert read_core(0, tmp_path / "stat") is None
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
