"""What every engine promises to keep from the code that it runs: each limit that it reports is tried."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasmith.docker.engine import Container, Limits
from tests.conformance.engines import LONG, Built, said

in_the_figure = pytest.mark.figure("attempts against the sandbox")
BUSY = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
SELF_START_S = 0.2
"""What starting Python and the engine's own work inside may use on top."""
DETACHED = (
    "import os, sys, time\n"
    "for _ in range(2):\n"
    "    if os.fork(): os._exit(0)\n"
    "    os.setsid()\n"
    "open('/tmp/alive', 'w').close()\n"
    "time.sleep(300)\n"
)
FORKS = (
    "import os, time\n"
    "made = 0\n"
    "try:\n"
    "    for _ in range(300):\n"
    "        if os.fork() == 0: time.sleep(60); os._exit(0)\n"
    "        made += 1\n"
    "except OSError: pass\n"
    "print(made)\n"
)


@pytest.fixture
def kept(built: Built) -> dict[str, str | None]:
    """The engine's own report on its limits."""
    return dict(built.engine.limits().kept_by)


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a TCP server on the host's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def processes(marker: str) -> list[int]:
    """Processes of this machine whose command line holds the marker."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            if marker.encode() in words and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_every_promise_is_reported(kept: dict[str, str | None]) -> None:
    """The report names each promise, and no other."""
    names = "network root user capabilities new_privileges memory pids cpus disk cpu_counter"
    assert set(kept) == set(names.split())
    assert all(kept[name] for name in ("network", "root", "user", "capabilities", "new_privileges"))


def test_commands_are_nobody_special(shared: Container) -> None:
    """User and group are 1000, no capability in any set, no way to new privileges."""
    status = dict(line.split(":", 1) for line in said(shared, "cat /proc/self/status").splitlines())
    assert status["Uid"].split() == ["1000"] * 4 and status["Gid"].split() == ["1000"] * 4
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert status["NoNewPrivs"].strip() == "1"


def test_there_is_no_network(shared: Container, listener: int) -> None:
    """No interface but loopback, no route, and a server on the host's loopback is not reached."""
    assert said(shared, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '") == "lo"
    assert said(shared, "tail -n +2 /proc/net/route | wc -l") == "0"
    connect = "import socket, sys\nsocket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=3)"
    done = shared.exec(["python", "-c", connect, str(listener)], timeout=LONG)
    assert not done.ok and "refused" in done.error_text.lower()


def test_the_system_is_read_only(shared: Container) -> None:
    """Nothing of the operating system can be changed, in a container that is not frozen either."""
    for path in ("/usr/bin/new", "/etc/passwd", "/bin/sh", "/usr/lib/python3/new", "/opt/fc/bin/uv"):
        assert not shared.exec(["bash", "-c", f"echo x >>{path}"], timeout=LONG).ok, path


def test_a_time_out_ends_the_whole_tree(shared: Container) -> None:
    """After a time-out no process of the command is left, whatever it detached; the container still works."""
    marker = "31536001"
    script = f"setsid sleep {marker} & (setsid sleep {marker} &) ; sleep {marker}"
    done = shared.exec(["bash", "-c", script], timeout=1.5)
    assert done.timed_out and not done.ok and done.wall_s < 10
    assert not processes(marker)
    assert said(shared, "echo still here") == "still here"


def test_no_process_outlives_its_command(shared: Container) -> None:
    """What a command leaves in the background is gone when the call returns, and does not hold the call up."""
    marker = "31536002"
    started = time.monotonic()
    done = shared.exec(["bash", "-c", f"sleep {marker} & setsid nohup sleep {marker} & echo done"], timeout=LONG)
    assert (done.rc, done.text) == (0, "done\n") and time.monotonic() - started < 20
    assert not processes(marker)


def test_double_forked_sessions_are_found(shared: Container) -> None:
    """A daemon that forked twice into sessions of its own is gone as well."""
    shared.exec(["python", "-c", f"marker = 31536003\n{DETACHED}"], timeout=LONG)
    assert not processes("marker = 31536003")


def test_a_command_cannot_hide_behind_a_killed_parent(shared: Container) -> None:
    """A command that kills every process it may signal leaves no survivor, and the container works on."""
    shared.exec(["bash", "-c", "setsid sleep 31536004 & sleep 0.1; kill -9 $PPID; kill -9 -1"], timeout=LONG)
    assert not processes("31536004")
    assert said(shared, "echo still here") == "still here"


def test_the_cpu_counter_counts_children(shared: Container, kept: dict[str, str | None]) -> None:
    """A busy loop of 0.3 s, in a child of the command, is seen from outside within the start-up's allowance."""
    if kept["cpu_counter"] is None:
        pytest.skip("the engine reports that it has no cpu counter here")
    idle = shared.exec(["true"], timeout=LONG)
    done = shared.exec(["bash", "-c", 'python -c "$1" & wait', "x", BUSY], timeout=LONG)
    assert done.ok and done.cpu_s is not None and idle.cpu_s is not None
    assert 0.29 <= done.cpu_s <= 0.3 + SELF_START_S
    assert idle.cpu_s < 0.15


def test_commands_are_pinned(shared: Container) -> None:
    """`cpus` chooses the cores of one call, whether a hostile program could undo that or not."""
    show = "import os; print(sorted(os.sched_getaffinity(0)))"
    core = max(os.sched_getaffinity(0))
    assert shared.exec(["python", "-c", show], timeout=LONG, cpus=[core]).text == f"[{core}]\n"


def test_limits_pin_every_command(built: Built) -> None:
    """`Limits.cpus` holds for all commands of a container."""
    core = max(os.sched_getaffinity(0))
    with built.engine.start(built.pr, limits=Limits(cpus=(core,))) as container:
        assert said(container, "taskset -pc $$").endswith(f": {core}")


def test_a_program_cannot_leave_its_cores(built: Built, kept: dict[str, str | None]) -> None:
    """Asking for all cores gives those of `Limits.cpus`, where the engine says that it keeps them."""
    if kept["cpus"] is None:
        pytest.skip("the engine reports that a program can leave its cores here")
    core = max(os.sched_getaffinity(0))
    widen = "import os\ntry: os.sched_setaffinity(0, range(64))\nexcept OSError: pass\nprint(os.sched_getaffinity(0))"
    with built.engine.start(built.pr, limits=Limits(cpus=(core,))) as container:
        assert container.exec(["python", "-c", widen], timeout=LONG).text == f"{{{core}}}\n"


@in_the_figure
def test_a_fork_bomb_is_contained(built: Built, kept: dict[str, str | None]) -> None:
    """No more processes than the limit; afterwards they are gone and the container works."""
    if kept["pids"] is None:
        pytest.skip("the engine reports that it cannot limit processes here")
    with built.engine.start(built.pr, limits=Limits(pids=64)) as container:
        done = container.exec(["python", "-c", f"marker = 31536005\n{FORKS}"], timeout=LONG)
        assert done.ok and 10 < int(done.text) < 64
        assert not processes("marker = 31536005")
        assert said(container, "echo still here") == "still here"


@in_the_figure
def test_an_unending_fork_bomb_ends_with_its_time(built: Built, kept: dict[str, str | None]) -> None:
    """A bomb that forks for as long as it can is gone after its time-out, and the container works."""
    if kept["pids"] is None:
        pytest.skip("the engine reports that it cannot limit processes here")
    bomb = "bomb() { bomb 31536006 | bomb & }; for i in 1 2 3; do bomb; done; sleep 60"
    with built.engine.start(built.pr, limits=Limits(pids=48)) as container:
        assert container.exec(["bash", "-c", bomb], timeout=2).timed_out
        assert not processes("31536006")
        assert said(container, "echo still here") == "still here"


@in_the_figure
def test_memory_is_limited(built: Built, kept: dict[str, str | None]) -> None:
    """Under 128 MiB a command that takes 1 GiB is ended; the container works on."""
    if kept["memory"] is None:
        pytest.skip("the engine reports that it cannot limit memory here")
    with built.engine.start(built.pr, limits=Limits(memory_mb=128)) as container:
        done = container.exec(["python", "-c", "x = b'x' * 2**30; print(len(x))"], timeout=LONG)
        assert not done.ok and not done.timed_out and done.stdout == b""
        assert said(container, "echo still here") == "still here"


@in_the_figure
def test_scratch_space_is_limited(built: Built) -> None:
    """/tmp and HOME take no more than the limit's size."""
    with built.engine.start(built.pr, limits=Limits(disk_mb=16)) as container:
        for place in ("/tmp", "~"):
            done = container.exec(["bash", "-c", f"head -c 40000000 /dev/zero >{place}/big"], timeout=LONG)
            assert not done.ok and "No space left" in done.error_text


def test_no_command_learns_when_another_one_runs(built: Built) -> None:
    """Two containers at once keep their results apart."""
    results: dict[int, str] = {}

    def work(number: int) -> None:
        with built.engine.start(built.pr) as container:
            results[number] = said(container, f"echo {number} >mine; sleep 0.2; cat mine; ls | wc -l")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: f"{number}\n4" for number in range(2)}
