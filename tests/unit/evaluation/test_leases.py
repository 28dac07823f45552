"""One holder a task: over processes that end, are paused or are killed, and over machines."""

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from datasmith.errors import StoreUnavailable
from datasmith.evaluation.leases import Holder, Lease, claim, holder_of

ME = Holder.me()
ELSEWHERE = Holder(place="another machine", host="b", pid=1, started="1")
CHILD = """
import sys
from pathlib import Path
from datasmith.evaluation.leases import Holder, claim
assert claim(Path(sys.argv[1]), Holder.me())
print("on", flush=True)
sys.stdin.read()
"""


def aged(directory: Path, seconds: float) -> None:
    """Make the newest lease older: it was renewed so much earlier."""
    path = max(directory.glob("*.json"))
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def claimed(directory: Path, me: Holder = ME) -> Lease:
    lease = claim(directory, me)
    assert lease is not None
    return lease


def test_a_lease_has_one_holder(tmp_path: Path) -> None:
    """While it is held nobody else gets it, from here or elsewhere; once it is given back, the next one does."""
    first = claimed(tmp_path / "leases")
    assert claim(tmp_path / "leases", ELSEWHERE) is None
    assert claim(tmp_path / "leases", ME) is None
    assert holder_of(tmp_path / "leases") == ME
    first.release()
    assert holder_of(tmp_path / "leases") is None
    second = claimed(tmp_path / "leases", ELSEWHERE)
    assert second.holds()
    assert not first.holds()


def test_a_silent_holder_loses_it_and_learns_so(tmp_path: Path) -> None:
    """A paused process that wakes up finds a higher number, and does not take back what is another's."""
    paused = claimed(tmp_path, ELSEWHERE)
    aged(tmp_path, 50)
    assert claim(tmp_path, ME) is None
    aged(tmp_path, 20)
    taken = claimed(tmp_path)
    assert not paused.holds()
    with paused.kept():
        pass
    assert taken.holds()
    assert holder_of(tmp_path) == ME


def test_a_renewed_lease_is_kept(tmp_path: Path) -> None:
    """During its body a lease is renewed again and again; after it, it is given back."""
    lease = claimed(tmp_path, ELSEWHERE)
    aged(tmp_path, 3600)
    old = max(tmp_path.glob("*.json")).stat().st_mtime
    with lease.kept(lease_s=0.06):
        while max(tmp_path.glob("*.json")).stat().st_mtime == old:
            time.sleep(0.01)
        assert claim(tmp_path, ME) is None
    assert holder_of(tmp_path) is None


def test_a_beat_that_fails_is_not_the_last(tmp_path: Path) -> None:
    """A file server that loses the lease for a moment: the next beat renews it, and nobody takes the task over."""
    lease, path, away = claimed(tmp_path, ELSEWHERE), tmp_path / "000001.json", tmp_path / "away"
    path.rename(away)
    with lease.kept(lease_s=0.06):
        time.sleep(0.1)
        os.utime(away, (0, 0))
        away.rename(path)
        until = time.monotonic() + 20
        while path.stat().st_mtime == 0 and time.monotonic() < until:
            time.sleep(0.01)
        assert claim(tmp_path, ME) is None
    assert holder_of(tmp_path) is None


def test_a_killed_process_of_this_machine_is_not_waited_for(tmp_path: Path) -> None:
    """Its lease is free at once, reaped or not; so is that of a process whose number another one has now."""
    words = [sys.executable, "-c", CHILD, str(tmp_path)]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"on\n"
    assert claim(tmp_path, ME) is None
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    claimed(tmp_path).release()
    child.communicate()
    claimed(tmp_path, ME.model_copy(update={"started": "1"}))
    assert claim(tmp_path, ME) is not None


def _claims(directory: str) -> bool:
    return claim(Path(directory), Holder.me()) is not None


def test_of_many_who_ask_at_once_one_gets_it(tmp_path: Path) -> None:
    """Twenty claims by four processes, again and again: always one winner."""
    with multiprocessing.get_context("fork").Pool(4) as pool:  # the others leave a child of their own in this process
        for number in range(10):
            directory = tmp_path / str(number)
            assert sum(pool.map(_claims, [str(directory)] * 20, chunksize=1)) == 1
            assert [path.name for path in directory.iterdir()] == ["000001.json"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file where the directory should be."""
    (tmp_path / "leases").write_text("")
    with pytest.raises(StoreUnavailable, match="leases"):
        claim(tmp_path / "leases", ME)
