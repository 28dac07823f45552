"""The bubblewrap engine's own doings: its layers, its checks, and how it gets on without control groups."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.bubblewrap_root import debian_root
from datasmith.docker.cgroups import Cgroups, Group
from datasmith.docker.cli_build import template
from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container, ImageRef, Limits, Mount, Tier
from datasmith.docker.layers import LayerStore
from datasmith.docker.seccomp import core_filter
from datasmith.errors import BuildFailed, ContainerError, DiskFull, EngineUnavailable, PackagesMissing
from tests.mounts import grow, small_disk
from tests.sandboxes import embedded_engine

pytestmark = pytest.mark.engine
LONG = 60.0
BUSY = "import time; end = time.process_time() + 0.2\nwhile time.process_time() < end: pass"


def fake(place: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program in bubblewrap's place, the only one on PATH."""
    (place / "bin").mkdir()
    (place / "bin/bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (place / "bin/bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(place / "bin"))


def env_image(engine: BubblewrapEngine, place: Path) -> ImageRef:
    """An image of the env tier with two files."""
    base = engine.build(None, Tier("base", "b", (), {}), log=place / "log")
    script = b"mkdir $FC_ENV/lib; echo one >$FC_ENV/lib/one; echo two >$FC_ENV/lib/two"
    args = {"FC_PYTHON": engine.pythons()[0]}
    return engine.build(base, Tier("env", "e", ("e.sh",), {"e.sh": script}, args), log=place / "log")


def pr_image(engine: BubblewrapEngine, env: ImageRef, script: bytes, place: Path) -> ImageRef:
    """An image of the pr tier made by one script."""
    return engine.build(env, Tier("pr", "p", ("p.sh",), {"p.sh": script}), log=place / "log")


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Container]:
    """A container where no control group can be made."""
    engine = embedded_engine(tmp_path / "cache")
    engine.__dict__["_cgroups"] = Cgroups({})
    base = engine.build(None, Tier("base", "b", (), {}), log=tmp_path / "log")
    with engine.start(base) as container:
        yield container


def test_a_script_for_the_system_that_is_not_ours_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log and a warning say that it was not run; ours, which does what the engine does, is nothing to tell."""
    engine, name = embedded_engine(tmp_path / "cache"), "docker_build_base.sh"
    log = tmp_path / "log"
    log.touch()
    engine.build(None, Tier("base", "b", (name,), {name: template(name).encode()}), log=log)
    assert (log.read_text(), caplog.messages) == ("", [])
    engine.build(None, Tier("base", "c", (name,), {name: b"touch /opt/other\n"}), log=log)
    assert f"bubblewrap runs no {name}: c is made by a system with FC_APT_PACKAGES" in log.read_text()
    assert len(caplog.messages) == 1


def test_a_missing_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to install and what to use instead."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineUnavailable, match=r"apt-get install bubblewrap.*--engine docker"):
        BubblewrapEngine(tmp_path / "cache").check()


def test_a_kernel_that_forbids_it_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message repeats what bubblewrap said and gives the settings that allow it."""
    fake(tmp_path, monkeypatch, "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    with pytest.raises(EngineUnavailable) as caught:
        BubblewrapEngine(tmp_path / "cache").check()
    for part in ("No permissions", "unprivileged_userns_clone=1", "apparmor_restrict", "--engine docker"):
        assert part in str(caught.value)


def test_a_cache_that_cannot_be_written_is_found_at_the_start(tmp_path: Path) -> None:
    """And not once for each task; the line names the setting."""
    tmp_path.joinpath("file").touch()
    said = r"write to the cache .*/file/cache: Not a directory \(example: FC_CACHE_DIR="
    with pytest.raises(EngineUnavailable, match=said):
        BubblewrapEngine(tmp_path / "file" / "cache").check()


def test_an_engine_that_breaks_later_is_not_the_commands_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where bubblewrap itself fails while a container runs, the command has no result."""
    engine = embedded_engine(tmp_path / "cache")
    base = engine.build(None, Tier("base", "b", (), {}), log=tmp_path / "log")
    with engine.start(base) as container:
        fake(tmp_path, monkeypatch, "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
        with pytest.raises(EngineUnavailable, match="setting up uid map"):
            container.exec(["true"], timeout=LONG)
        monkeypatch.undo()


def command_line(path: Path) -> bytes:
    """What a program was called with; nothing of one that has ended meanwhile."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_the_environment_is_on_no_command_line(bare: Container) -> None:
    """An index's address may hold a password, and everybody can read what programs were called with."""
    value = "https://someone:planted-word@example.org/simple"
    seen: list[bool] = []

    def look() -> None:
        for _ in range(100):
            lines = list(map(command_line, Path("/proc").glob("[0-9]*/cmdline")))
            started = any(b"fc-marker" in line for line in lines)
            seen.append(started)
            assert not any(b"planted-word" in line for line in lines)
            if started:
                return
            time.sleep(0.05)

    with ThreadPoolExecutor(1) as pool:
        looked = pool.submit(look)
        script = 'sleep 2; echo "$INDEX"; [ -z "$(ls /proc/self/fd | grep -v "^[0123]$")" ] || ls /proc/self/fd'
        done = bare.exec(["sh", "-c", script, "fc-marker"], timeout=LONG, env={"INDEX": value}, cwd="/")
        looked.result()
    assert done.text == f"{value}\n", done.text
    assert any(seen)


@pytest.mark.parametrize("overlays", [True, False])
def test_an_environment_that_was_not_changed_is_kept_once(
    overlays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pr tier that leaves ENV_PREFIX alone has no copy of it; one that changes a file shares the others."""
    if not overlays:
        monkeypatch.setattr("datasmith.docker.layers.is_possible", lambda *_: False)
    engine = embedded_engine(tmp_path / "cache")
    env = env_image(engine, tmp_path)
    alone = pr_image(engine, env, b"echo 1 >$FC_WORKDIR/f", tmp_path)
    other = pr_image(engine, env, b"echo changed >$FC_ENV/lib/one", tmp_path)
    layers = LayerStore(tmp_path / "cache/layers")
    env_layer, alone_layer, other_layer = (layers.find(image.digest) for image in (env, alone, other))
    assert env_layer and alone_layer and other_layer
    assert not (alone_layer.path / "env").exists()
    assert (other_layer.path / "env/lib/two").samefile(env_layer.path / "env/lib/two")
    for image, expected in ((alone, "one\n"), (other, "changed\n")):
        with engine.start(image, writable_env=True) as container:
            assert container.exec(["cat", f"{ENV_PREFIX}/lib/one"], timeout=LONG).text == expected
            assert container.exec(["sh", "-c", f"echo broken >>{ENV_PREFIX}/lib/two"], timeout=LONG).ok
    assert (env_layer.path / "env/lib/two").read_text() == "two\n"


def test_a_shared_environment_is_not_written_from_outside(tmp_path: Path) -> None:
    """write_file does not reach into a layer."""
    engine = embedded_engine(tmp_path / "cache")
    with engine.start(env_image(engine, tmp_path)) as container:
        assert container.read_file(f"{ENV_PREFIX}/lib/one") == b"one\n"
        with pytest.raises(ContainerError):
            container.write_file(f"{ENV_PREFIX}/lib/one", b"changed")
        assert container.read_file(f"{ENV_PREFIX}/lib/one") == b"one\n"


def test_a_python_that_is_not_here_is_named(tmp_path: Path) -> None:
    """The message says which are, and how to get it; another tier may do with those that are."""
    engine = embedded_engine(tmp_path / "cache")
    base = engine.build(None, Tier("base", "b", (), {}), log=tmp_path / "log")
    with pytest.raises(BuildFailed, match=r"Python 3\.99 is not installed.*uv python install 3\.99"):
        engine.build(base, Tier("env", "e", (), {}, {"FC_PYTHON": "3.99"}), log=tmp_path / "log")


def test_a_debian_that_cannot_be_made_fails_one_tier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without mmdebstrap the tier that needs more packages fails; that is no outage, which would stop all others.

    Nor is it the fault of what is built: it has a class of its own.
    """
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackagesMissing, match="apt-get install libgeos-dev, or apt-get install mmdebstrap") as caught:
        debian_root(tmp_path / "root", ("libgeos-dev",), log=tmp_path / "log", timeout=10.0)
    assert caught.value.stage == "docker_build_base.sh" and not isinstance(caught.value, EngineUnavailable)


def test_odd_file_names_are_refused(tmp_path: Path) -> None:
    """A tier's file cannot land outside of /build."""
    engine = embedded_engine(tmp_path / "cache")
    base = engine.build(None, Tier("base", "b", (), {}), log=tmp_path / "log")
    for name in ("../out", "a/b", "..", "a b"):
        with pytest.raises(ContainerError, match="cannot be called"):
            engine.build(base, Tier("pr", "p", (), {name: b""}), log=tmp_path / "log")


def test_a_tree_that_cannot_be_read_fails_the_build(tmp_path: Path) -> None:
    """A script that leaves directories deeper than any path is at fault, and leaves no layer or draft."""
    engine = embedded_engine(tmp_path / "cache")
    env = env_image(engine, tmp_path)
    name = "d" * 200
    script = f"cd $FC_WORKDIR; for i in $(seq 100); do mkdir {name}; cd -P {name} 2>/dev/null || exit 0; done"
    with pytest.raises(BuildFailed, match="cannot be read"):
        pr_image(engine, env, script.encode(), tmp_path)
    assert not list((tmp_path / "cache/layers").glob(".draft-*"))


def test_nothing_is_left_after_a_container(tmp_path: Path) -> None:
    """Stopped containers leave no directory and no control group, frozen or not."""
    engine = embedded_engine(tmp_path / "cache")
    base = engine.build(None, Tier("base", "b", (), {}), log=tmp_path / "log")
    engine.start(base).freeze().stop()
    with engine.start(base) as container:
        (running,) = (path.stem for path in (tmp_path / "cache/containers").glob("*.lock"))
        container.exec(["true"], timeout=LONG)
        groups = [parent / f"fc-{running}" for parent in Cgroups.probe().parents.values()]
        assert all(group.is_dir() for group in groups)
    assert list((tmp_path / "cache/containers").iterdir()) == []
    assert not any(group.exists() for group in groups)


@pytest.mark.parametrize("how", ["stop", "freeze"])
def test_a_control_group_that_stays_keeps_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Where it cannot be removed, that is told; the container's own directories are gone all the same."""
    engine = embedded_engine(tmp_path / "cache")
    container = engine.start(engine.build(None, Tier("base", "b", (), {}), log=tmp_path / "log"))
    remove = Group.remove

    def busy(group: Group) -> None:
        remove(group)
        raise OSError("busy")

    monkeypatch.setattr(Group, "remove", busy)
    with pytest.raises(OSError, match="busy"):
        getattr(container, how)()
    assert list((tmp_path / "cache/containers").iterdir()) == []


def test_a_missing_mount_is_named(tmp_path: Path) -> None:
    """A source that is not there is an error at the start, and leaves nothing."""
    engine = embedded_engine(tmp_path / "cache")
    base = engine.build(None, Tier("base", "b", (), {}), log=tmp_path / "log")
    with pytest.raises(ContainerError, match="nosuch"):
        engine.start(base, mounts=[Mount(tmp_path / "nosuch", "/opt/fc/x")])
    assert list(tmp_path.glob("cache/containers/*")) == []


def test_a_directory_that_is_not_there_is_the_commands_fault(bare: Container) -> None:
    """A wrong cwd is a value."""
    assert bare.exec(["true"], timeout=LONG, cwd="/nosuch").rc == 126


def test_cpu_time_is_counted_without_control_groups(bare: Container) -> None:
    """A busy loop is seen, also that of a daemon that nobody waited for."""
    direct = bare.exec(["python3", "-c", BUSY], timeout=LONG)
    script = 'setsid sh -c \'python3 -c "$0" && echo >/dev/shm/done\' "$1" & while [ ! -e /dev/shm/done ]; do :; done'
    daemon = bare.exec(["sh", "-c", script, "sh", BUSY], timeout=LONG)
    for done in (direct, daemon):
        assert done.ok and done.cpu_s is not None and done.cpu_s >= 0.2


def test_nothing_outlives_a_command_without_control_groups(bare: Container) -> None:
    """A detached process that writes on is gone when the call returns, after its end and after a time-out."""
    beat = f"{WORKDIR}/beat"
    script = f"rm -f {beat}; setsid sh -c 'while :; do date +%s%N >{beat}; done' &"
    script += f" until [ -s {beat} ]; do sleep 0.05; done"
    for more in ("", "; sleep 60"):
        bare.exec(["sh", "-c", script + more], timeout=5.0)
        before = bare.read_file(beat)
        time.sleep(0.2)
        assert bare.read_file(beat) == before


def test_a_disk_that_a_script_fills_is_no_failed_build(tmp_path: Path) -> None:
    """The line names the script; once there is room, the same tier is built, and what was left of it is gone."""
    with small_disk(tmp_path / "disk", megabytes=40) as disk:
        engine = embedded_engine(disk / "cache")
        env = env_image(engine, tmp_path)
        script = b'head -c 60000000 /dev/zero >"$FC_WORKDIR/big"'
        with pytest.raises(DiskFull, match=r"build stage 'p.sh', which says nothing .*No space left on device"):
            pr_image(engine, env, script, tmp_path)
        assert shutil.disk_usage(disk).used < 10_000_000
        grow(disk, megabytes=400)
        image = pr_image(engine, env, script, tmp_path)
        with engine.start(image) as container:
            assert container.exec(["stat", "-c", "%s", "big"], timeout=LONG).text.strip() == "60000000"


@pytest.mark.parametrize("groups", [True, False])
def test_stopping_ends_what_runs(tmp_path: Path, groups: bool) -> None:
    """A command that runs in another thread ends when its container is stopped."""
    engine = embedded_engine(tmp_path / "cache")
    if not groups:
        engine.__dict__["_cgroups"] = Cgroups({})
    container = engine.start(engine.build(None, Tier("base", "b", (), {}), log=tmp_path / "log"))
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(container.exec(["sleep", "60"], timeout=LONG).rc))
    thread.start()
    time.sleep(0.5)
    started = time.monotonic()
    container.stop()
    thread.join(20)
    assert codes and codes[0] != 0 and time.monotonic() - started < 10


WIDEN = """
import os, threading
os.sched_setaffinity(0, range(os.cpu_count()))
found = [os.sched_getaffinity(0)]
thread = threading.Thread(target=lambda: found.append(os.sched_getaffinity(threading.get_native_id())))
thread.start(); thread.join()
print(found, os.system("exit 3") >> 8)
"""


@pytest.mark.parametrize("ends", ["stop", "freeze"])
def test_whoever_is_still_at_work_is_refused_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    """A call that comes while what runs is being ended finds the container stopped."""
    engine = embedded_engine(tmp_path / "cache")
    base = engine.build(None, Tier("base", "b", (), {}), log=tmp_path / "log")
    container = engine.start(base)
    path, remove, refused = f"{WORKDIR}/a", Group.remove, []

    def late(group: Group) -> None:
        for act in (
            lambda: container.write_file(path, b"late"),
            lambda: container.read_file(path),
            lambda: container.exec(["true"], timeout=LONG),
        ):
            with pytest.raises(ContainerError, match="is stopped") as found:
                act()
            refused.append(found)
        monkeypatch.setattr(Group, "remove", remove)
        remove(group)

    container.write_file(path, b"early")
    monkeypatch.setattr(Group, "remove", late)
    left = getattr(container, ends)()
    assert len(refused) == 3
    if left is not None:
        with left:
            assert left.read_file(path) == b"early"


def test_a_program_stays_on_its_core_without_control_groups(bare: Container) -> None:
    """Asking for all cores changes nothing, for no process and no thread; all else that it asks for is granted."""
    core = max(os.sched_getaffinity(0))
    done = bare.exec(["python3", "-c", WIDEN], timeout=LONG, cpus=(core,))
    assert done.text == f"[{{{core}}}, {{{core}}}] 3\n", done.error_text
    assert bare.exec(["taskset", "-pc", f"0-{core}", "1"], timeout=LONG).ok


def test_a_machine_of_another_kind_has_no_filter() -> None:
    """Calls have other numbers there; of those that are known, each architecture has its block of the program."""
    assert core_filter("riscv64") is None
    assert [len(core_filter(machine) or b"") // 8 for machine in ("x86_64", "aarch64")] == [14, 13]


@pytest.mark.skipif(os.geteuid() == 0, reason="RLIMIT_NPROC does not hold root")
def test_processes_are_limited_without_control_groups(tmp_path: Path) -> None:
    """A plain user's fork bomb stops at the limit of the process itself."""
    engine = embedded_engine(tmp_path / "cache")
    engine.__dict__["_cgroups"] = Cgroups({})
    assert engine.limits().kept_by["pids"] == "RLIMIT_NPROC"
    base = engine.build(None, Tier("base", "b", (), {}), log=tmp_path / "log")
    with engine.start(base, limits=Limits(pids=20)) as container:
        assert "fork" in container.exec(["sh", "-c", "for i in $(seq 60); do sleep 5 & done"], timeout=LONG).error_text
