"""Many workloads in forks of one process: what odd modules and odd workloads leave of each of them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from datasmith.workloads import inside

PROGRAM = """
import importlib, json, os, sys
sys.path[:0] = sys.argv[1:3]
from inside import suite
from inside.forks import each_in_a_fork, enter_own

suite.PLACES = os.path.join(sys.argv[2], "asv-")


def work(_, entry):
    enter_own(entry["cache"])
    module, _, name = entry["name"].partition(".")
    value = getattr(sys.modules["suite." + module], name)()
    return {"value": value, "here": sorted(os.listdir())}


def enter(module):
    return module and importlib.import_module(module)


print(json.dumps(each_in_a_fork(os.path.join(sys.argv[2], "suite"), json.loads(sys.argv[3]), enter, work)))
"""
Run = Callable[..., Sequence[Mapping[str, object]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs workloads (`module.function`) of a suite with these modules, within these limits."""

    def ran(
        modules: Mapping[str, str],
        *names: str,
        limit_s: float = 20.0,
        longest_s: float | None = None,
        longest_import_s: float | None = None,
    ) -> Sequence[Mapping[str, object]]:
        (tmp_path / "suite").mkdir()
        for module, text in modules.items():
            (tmp_path / "suite" / f"{module}.py").write_text(text)
        same = {"index": None, "cache": None, "limit_s": limit_s, "longest_s": longest_s}
        same |= {"longest_import_s": longest_import_s}
        entries = [{"name": name, **same} for name in names]
        words = [str(Path(inside.__file__).parents[1]), str(tmp_path), json.dumps(entries)]
        printed = tmp_path / "printed"
        with printed.open("w") as stream:  # a pipe would be open as long as anything that was started runs
            subprocess.run([sys.executable, "-c", PROGRAM, *words], stdout=stream, check=True)
        found: Sequence[Mapping[str, object]] = json.loads(printed.read_text().splitlines()[-1])
        return found

    return ran


def test_nothing_of_one_workload_is_there_for_the_next(run: Run) -> None:
    """What the module's import left is, in memory and as a file."""
    text = (
        "open('made', 'w').close()\n"
        "seen = []\n"
        "def one():\n    open('own', 'w').close()\n    seen.append(1)\n    return seen\n"
    )
    assert list(run({"a": text}, "a.one", "a.one")) == [{"value": [1], "here": ["made", "own"]}] * 2


def test_a_module_that_takes_long_to_import_is_left_out(run: Run) -> None:
    """With its reason; nothing of it is run, and another module's workloads are."""
    slow = "import time\ntime.sleep(0.6)\ndef one(): return 1\n"
    dear, quick = run({"a": slow, "b": "def one(): return 1\n"}, "a.one", "b.one", longest_import_s=0.5)
    assert (dear["failed"], dear["dear"]) == ("its module took 1 s to import, as it does in each launch", "a")
    assert quick["value"] == 1


def test_a_module_that_never_ends_its_import_is_not_waited_for_by_each_workload(run: Run) -> None:
    """Only as long as one workload may take, and each of them once it would be imported."""
    hangs = "import time\ntime.sleep(60)\ndef one(): return 1\n"
    begun = time.monotonic()
    said = run({"a": hangs}, *["a.one"] * 20, limit_s=1.0, longest_s=0.01)
    assert [(found["failed"], found["late"]) for found in said] == [("not done after 1.2 s", True)] * 20
    assert time.monotonic() - begun < 20


def test_each_workload_ends_in_its_own_way(run: Run) -> None:
    """One that fails, leaves, is killed, prints, or never ends says so of itself alone."""
    text = (
        "import os, time\n"
        "def fails(): raise ValueError('no')\n"
        "def leaves(): os._exit(3)\n"
        "def is_killed(): os.kill(os.getpid(), 9)\n"
        "def sleeps(): time.sleep(60)\n"
        "def forks():\n    os.fork()\n    return os.getpid() > 0\n"
        "def ends(): return 1\n"
    )
    names = [f"a.{name}" for name in ("fails", "leaves", "is_killed", "sleeps", "forks", "ends")]
    said = run({"a": text}, *names, limit_s=1.0)
    assert [found.get("failed", found.get("value")) for found in said] == [
        "ValueError: no",
        "the process ended with exit code 3",
        "the process was ended by signal 9",
        "not done after 1 s",
        True,
        1,
    ]
    assert [found.get("late", False) for found in said] == [False, False, False, True, False, False]


def test_a_fork_may_have_less_time_than_its_module_has(run: Run) -> None:
    """Importing is waited for, as all need it."""
    text = "import time\ntime.sleep(1.5)\ndef one(): time.sleep(60)\ndef two(): return 2\n"
    one, two = run({"a": text}, "a.one", "a.two", longest_s=1.0)
    assert (one, two["value"]) == ({"failed": "not done after 1 s", "late": True}, 2)


def test_a_module_that_cannot_be_imported_fails_for_its_own(run: Run) -> None:
    """With its reason; one that is not there is imported by nobody."""
    broken, fine = run({"a": "import gone_for_good", "b": "def one(): return 2"}, "a.one", "b.one")
    assert "gone_for_good" in str(broken["failed"]) and fine["value"] == 2


def test_a_module_that_starts_threads_is_imported_for_each(run: Run) -> None:
    """A fork would be without them."""
    text = (
        "import threading, queue\n"
        "asked, given = queue.Queue(), queue.Queue()\n"
        "threading.Thread(target=lambda: [given.put(asked.get()) for _ in range(9)], daemon=True).start()\n"
        "def one():\n    asked.put(5)\n    return given.get(timeout=5)\n"
    )
    assert [found["value"] for found in run({"a": text}, "a.one", "a.one")] == [5, 5]


def test_nothing_goes_on_when_the_time_of_a_module_is_over(run: Run, tmp_path: Path) -> None:
    """Neither the entry that runs then, nor what it has started: beside the next module they would be noise."""
    noted = tmp_path / "processes"
    text = (
        "import os, subprocess, time\n"
        "time.sleep(2.4)\n"
        "def one():\n"
        "    child = subprocess.Popen(['sleep', '300'])\n"
        f"    with open({str(noted)!r}, 'a') as stream: print(os.getpid(), child.pid, file=stream)\n"
        "    time.sleep(60)\n"
    )
    first, second, other = run({"a": text, "b": "def one(): return 2"}, "a.one", "a.one", "b.one", limit_s=2.0)
    assert first["failed"] == "not done after 2 s"
    assert second["failed"] == "not done after 6 s"
    assert other["value"] == 2
    started = noted.read_text().split()
    assert len(started) == 4
    assert not [process for process in started if _is_running(process)]


def _is_running(process: str) -> bool:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
    return "State:\tZ" not in status and os.getpid() != int(process)
