"""Control groups: limits that hold, counters that count, nothing that stays."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.cgroups import Cgroups, Group, group_of
from datasmith.docker.engine import Limits
from datasmith.errors import ContainerError

BUSY = "import time; end = time.process_time() + 0.2\nwhile time.process_time() < end: pass"


@pytest.fixture
def group() -> Group:
    """A new group; skips where this user may make none."""
    cgroups = Cgroups.probe()
    if not cgroups.parents:
        pytest.skip("this user may not make control groups here")
    return cgroups.make(Limits(memory_mb=256, pids=20))


def joined(group: Group, script: str, *words: str) -> process.Completed:
    """Run a shell script inside the group."""
    entries = "; ".join(f"echo $$ >{path}" for path in group.entry_files())
    return process.run(["sh", "-c", f"{entries}; {script}", "sh", *words], timeout=30)


def test_a_group_is_read_while_those_of_its_commands_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is gone when it is looked at holds no process; a group that is gone is removed."""
    (tmp_path / "group/command").mkdir(parents=True)
    list_of = os.scandir

    def listed(path: str) -> object:
        if Path(path).name == "command":
            (tmp_path / "group/command").rmdir()
        return list_of(path)

    monkeypatch.setattr(os, "scandir", listed)
    group = Group({"v2": tmp_path / "group", "cpuset": tmp_path / "group"})
    assert not group.pids()
    group.remove()
    group.remove()
    assert not (tmp_path / "group").exists()


def test_the_counter_counts_what_ran_inside(group: Group) -> None:
    """Two tenths of a second of work are seen, in a group that started at zero."""
    before = group.cpu_seconds()
    done = joined(group, '"$@"', sys.executable, "-c", BUSY)
    after = group.cpu_seconds()
    group.remove()
    assert done.ok and before is not None and after is not None
    assert before == 0.0 and 0.19 < after < 0.6


def test_emptying_kills_what_was_left(group: Group) -> None:
    """A detached process in the group is gone after `empty`, and removing the group twice is fine."""
    joined(group, "setsid -f sleep 31536007 </dev/null >/dev/null 2>&1; sleep 0.1")
    assert len(group.pids()) == 1
    assert group.empty() and group.pids() == frozenset()
    group.remove()
    group.remove()
    assert not any(path.exists() for path in group.directories.values())


def test_the_limit_of_processes_holds(group: Group) -> None:
    """Of 40 processes a group of 20 takes fewer."""
    script = "for i in $(seq 40); do sleep 5 & done; jobs | wc -l"
    done = joined(group, script)
    group.remove()
    assert "fork" in done.error_text.lower()


def test_without_groups_nothing_is_promised() -> None:
    """Where no group can be made there is no limit of memory or pids, and an empty group is empty."""
    none = Cgroups({})
    kept = none.kept_by()
    assert (kept["memory"], kept["pids"]) == (None, None)
    empty = none.make(Limits())
    assert empty.empty() and empty.cpu_seconds() is None and empty.entry_files() == ()
    empty.remove()


def test_another_process_is_not_taken_for_a_container() -> None:
    """A pid that belongs to something else, or to nothing, has no group of a container."""
    assert group_of(1, "0123456789abcdef") is None
    assert group_of(2**22 + 1, "0123456789abcdef") is None
    assert not Path("/proc", str(2**22 + 1)).exists()


def unified(root: Path, groups: Mapping[str, str], own: str) -> Path:
    """A look-alike of a version 2 hierarchy, group -> what it hands to its children; returns our own listing."""
    (root / "cgroup.controllers").parent.mkdir(parents=True, exist_ok=True)
    for name, handed in {"": "cpuset memory pids", **groups}.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "cgroup.controllers").write_text("cpuset cpu memory pids")
        (root / name / "cgroup.subtree_control").write_text(handed)
        (root / name / "cgroup.procs").touch()
    listing = root.parent / "listing"
    listing.write_text(f"0::{own}\n")
    return listing


def test_the_nearest_delegated_slice_is_taken(tmp_path: Path) -> None:
    """Our own group holds processes and hands nothing down; the slice above it does, and is the one."""
    groups = {"user.slice": "memory pids", "user.slice/app.slice": "cpuset memory pids", "user.slice/app.slice/me": ""}
    listing = unified(tmp_path / "root", groups, "/user.slice/app.slice/me")
    tried: list[Path] = []

    def joinable(group: Path) -> bool:
        tried.append(group)
        return True

    found = Cgroups.probe(tmp_path / "root", listing, joinable)
    assert found.parents == {"v2": tmp_path / "root/user.slice/app.slice"}
    assert found.kept_by() == {
        "memory": "cgroup v2",
        "pids": "cgroup v2",
        "cpu_counter": "cgroup v2",
        "cpus": "cgroup v2 cpuset",
    }
    assert tried and all(group.is_relative_to(found.parents["v2"]) for group in tried)


def test_a_slice_that_cannot_be_joined_is_not_taken(tmp_path: Path) -> None:
    """What may be written but not entered (the way there leads over a group of others) promises nothing."""
    listing = unified(tmp_path / "root", {"a.slice": "memory pids", "a.slice/me": ""}, "/a.slice/me")
    found = Cgroups.probe(tmp_path / "root", listing, lambda _group: False)
    assert found.parents == {} and set(found.kept_by().values()) == {None}
    assert not list((tmp_path / "root").rglob("fc-*"))


def test_without_a_cpuset_cores_are_not_promised(tmp_path: Path) -> None:
    """A slice with memory and pids alone limits those, and says that cores are not kept."""
    listing = unified(tmp_path / "root", {"a.slice": "memory pids", "a.slice/me": ""}, "/a.slice/me")
    (tmp_path / "root/a.slice/cgroup.controllers").write_text("memory pids")
    kept = Cgroups.probe(tmp_path / "root", listing, lambda _group: True).kept_by()
    assert (kept["memory"], kept["pids"], kept["cpus"]) == ("cgroup v2", "cgroup v2", None)


def test_a_command_is_counted_and_pinned_by_itself(group: Group) -> None:
    """Two commands of one group have counters of their own, and cores of their own."""
    core = max(os.sched_getaffinity(0))
    with group.command((core,)) as one, group.command(()) as two:
        shown = joined(one, "taskset -pc $$")
        joined(one, '"$@"', sys.executable, "-c", BUSY)
        busy, idle = one.cpu_seconds(), two.cpu_seconds()
    group.remove()
    assert busy is not None and busy > 0.19 and idle == 0.0
    assert "cpuset" not in group.directories or shown.text.strip().endswith(f": {core}")


def test_cores_that_are_not_there_are_an_error(group: Group) -> None:
    """The message names the cores; nothing of the command's group stays."""
    if "cpuset" not in group.directories:
        pytest.skip("no cpuset here")
    with pytest.raises(ContainerError, match="5000"), group.command((5000,)):
        pytest.fail("it was pinned")
    assert not list(group.directories["cpuset"].glob("command-*"))
    group.remove()
