"""Cores as a resource."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from datasmith.errors import ConfigError
from datasmith.executors.cores import CoreLocks, core_sets, usable_cores


def told_nothing(_text: str) -> None:
    """Of those that do not ask why they wait."""


def test_the_usable_cores_are_those_of_this_process() -> None:
    """In order, and never none."""
    assert usable_cores() == tuple(sorted(os.sched_getaffinity(0))) and usable_cores()


def test_nobody_shares_a_core(tmp_path: Path) -> None:
    """With more holders than slots each slot has one holder at a time, and all get their turn; who waits is told so."""
    held: set[int] = set()
    most, turns = 0, 0
    told: list[str] = []

    async def work(locks: CoreLocks) -> None:
        nonlocal most, turns
        async with locks.held(told.append) as (core,):
            assert core not in held
            held.add(core)
            most, turns = max(most, len(held)), turns + 1
            await anyio.sleep(0.001)
            held.remove(core)

    async def main() -> None:
        locks = CoreLocks(tmp_path / "cores", [(4,), (7,)], poll_s=0.001)
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(work, locks)

    anyio.run(main)
    assert (most, turns, len(told)) == (2, 10, 8)


def test_who_waits_for_long_says_so_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time may have come to a log too soon after another line; a long wait does not fill it."""
    slept: list[float] = []
    told: list[int] = []

    async def counted(seconds: float) -> None:
        slept.append(seconds)
        await anyio.lowlevel.checkpoint()

    async def main() -> None:
        locks = CoreLocks(tmp_path / "cores", [(4,)], poll_s=0.001)
        async with locks.held(told_nothing):
            monkeypatch.setattr("datasmith.executors.cores.anyio.sleep", counted)
            with anyio.move_on_after(5):
                async with locks.held(heard, again_s=0.002):
                    raise AssertionError

    def heard(_text: str) -> None:
        told.append(len(slept))
        if len(told) == 5:
            raise EOFError

    with pytest.raises(EOFError):
        anyio.run(main)
    assert told == [0, 2, 4, 8, 16]


def test_who_gives_a_core_back_comes_after_who_waits_for_it(tmp_path: Path) -> None:
    """However quickly it asks again: a run of hundreds of tasks must not keep all others from measuring."""
    order: list[str] = []
    left = {"long": 6, "short": 2}

    async def work(name: str, other: str, waits: anyio.Event, waited_for: anyio.Event) -> None:
        locks = CoreLocks(tmp_path / "cores", [(4,)], poll_s=0.001)
        while left[name]:
            async with locks.held(lambda _text: waits.set()):
                order.append(name)
                left[name] -= 1
                if left[other]:
                    await waited_for.wait()
                    await anyio.sleep(0.05)  # many times as long as until the other one asks again

    async def main() -> None:
        long, short = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(work, "long", "short", long, short)
            await anyio.sleep(0.01)
            group.start_soon(work, "short", "long", short, long)

    anyio.run(main)
    assert order == ["long", "short", "long", "short", *["long"] * 4]


def test_a_core_comes_back_after_an_error(tmp_path: Path) -> None:
    """Also where the holder is cancelled."""

    async def main() -> list[int]:
        locks = CoreLocks(tmp_path / "cores", [(1,)], poll_s=0.001)
        with pytest.raises(RuntimeError):
            async with locks.held(told_nothing):
                raise RuntimeError
        with anyio.move_on_after(0.001):
            async with locks.held(told_nothing):
                await anyio.sleep_forever()
        async with locks.held(told_nothing) as cores:
            return list(cores)

    assert anyio.run(main) == [1]


def test_no_cores_is_an_error_at_once(tmp_path: Path) -> None:
    """Not a wait that never ends."""
    with pytest.raises(ConfigError, match="no core"):
        CoreLocks(tmp_path, [])


def test_each_core_is_a_slot_unless_slots_are_named() -> None:
    """The last core first, because the first one has the machine's own work."""
    assert core_sets("", (0, 1, 2)) == ((2,), (1,), (0,))
    assert core_sets("2,3; 0", (0, 1, 2, 3)) == ((2, 3), (0,))


@pytest.mark.parametrize(
    ("text", "told"), [("2-3", "numbers"), ("1;1", "twice"), ("1,9", "no core 9"), (";", "numbers")]
)
def test_slots_that_cannot_be_are_refused(text: str, told: str) -> None:
    """With the setting, what is wrong and an example."""
    with pytest.raises(ConfigError, match=f"FC_BENCH_CORES=.*{told}.*example"):
        core_sets(text, (0, 1))


CHILD = """
import sys
from pathlib import Path
from datasmith.executors.cores import CoreLocks
with CoreLocks(Path(sys.argv[1]), [(4,)]).hold(lambda: None) as cores:
    print(cores, flush=True)
    sys.stdin.read()
"""


def test_a_slot_is_in_one_hand_over_processes(tmp_path: Path) -> None:
    """The other slot is given meanwhile; who waits is asked whether to go on; a killed process gives its slot back."""
    locks = CoreLocks(tmp_path / "cores", [(4,), (7, 8)])
    words = [sys.executable, "-c", CHILD, str(tmp_path / "cores")]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"(4,)\n"
    waited: list[float] = []
    told: list[str] = []

    def kill(seconds: float) -> None:
        waited.append(seconds)
        child.kill()
        child.communicate()

    with locks.hold(lambda: None) as first, locks.hold(lambda: None, say=told.append, sleep=kill) as second:
        assert (first, second) == ((7, 8), (4,))
    assert len(waited) == 1
    assert len(told) == 1
    assert re.search(rf"core 4 is held by process {child.pid} \(python\S* -c .*\) since 20\d\d-", told[0])
    assert f"core 7 is held by process {os.getpid()} " in told[0]
    assert told[0].endswith("FC_BENCH_CORES, as in FC_BENCH_CORES=2,3; Ctrl-C ends the wait)")


def test_slots_are_shared_by_all_users(tmp_path: Path) -> None:
    """Whoever makes the place first, others can lock a core there; nobody follows a link that somebody put there."""
    place = tmp_path / "cores"
    with CoreLocks(place, [(4,)]).hold(lambda: None):
        assert stat.S_IMODE(place.stat().st_mode) == 0o1777
        assert stat.S_IMODE((place / "core-4").stat().st_mode) == 0o666
        assert CoreLocks(place, [(4,)])._free({}) is None
    (place / "core-5").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="FC_LOCKS_DIR"), CoreLocks(place, [(5,)]).hold(lambda: None):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_waiting_for_a_slot_ends_where_it_is_told_to(tmp_path: Path) -> None:
    """By what `check` raises."""

    def stopped() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), CoreLocks(tmp_path, [(0,)]).hold(stopped):
        pass
