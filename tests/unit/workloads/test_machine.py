"""The machine class."""

from pathlib import Path

from datasmith.workloads.machine import this_machine

X86 = "processor\t: 0\nmodel name\t: Xeon: 4\nflags\t\t: sse fpu hypervisor\n\nprocessor\t: 1\nmodel name\t: other\n"


def test_the_machine_is_read_from_the_kernel(tmp_path: Path) -> None:
    """Model, memory, and that it is a virtual one; the order of flags does not matter."""
    (tmp_path / "cpuinfo").write_text(X86)
    (tmp_path / "meminfo").write_text("MemTotal:        8052132 kB\nMemFree: 1 kB\n")
    found = this_machine(tmp_path, tmp_path)
    assert (found.cpu_model, found.memory_mb, found.virtualised) == ("Xeon: 4", 7863, True)
    (tmp_path / "cpuinfo").write_text(X86.replace("sse fpu hypervisor", "hypervisor fpu sse"))
    assert this_machine(tmp_path, tmp_path).cpu_flags_sha256 == found.cpu_flags_sha256


def test_what_the_kernel_does_not_tell_is_not_guessed(tmp_path: Path) -> None:
    """No /proc: whether it is virtual is not known, and memory is 0."""
    found = this_machine(tmp_path, tmp_path)
    assert (found.virtualised, found.memory_mb) == (None, 0)
    assert found.cpu_model


def test_this_machine_has_cores() -> None:
    """The real one."""
    assert this_machine().cores >= 1
