"""Fast mode in the embedded engine: what workloads run is seen there, and only those that a patch touches are timed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.docker.engine import Container
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.workloads import forks, launch
from datasmith.workloads.arms import prepare, start_arm
from datasmith.workloads.base import Workload
from datasmith.workloads.coverage import Watched, suite_coverage
from datasmith.workloads.discover import discover
from datasmith.workloads.impact import NOT_IMPACTED, Coverage
from datasmith.workloads.mounts import inside_mounts
from tests.integration.eval_task import FILES, calc_image, calc_task
from tests.sandboxes import embedded_engine

pytestmark = pytest.mark.engine

OTHER = """
import os
import subprocess
import sys
import threading

def at_import():
    return 7

def helper(n):
    return [i * i for i in range(n)]

def prepared():
    return {"size": 50}

def table():
    with open("/workspace/repo/table.txt") as file:
        return file.read()

KNOWN = []

def once():
    if not KNOWN:
        KNOWN.append(helper(5))

SIZE = at_import()
"""
SUITE = '''
import os
import sys
IMPORTED_BY = os.getpid()
sys.path.insert(0, "/workspace/repo")
import other

class Others:
    def setup_cache(self):
        return other.prepared()

    def time_helper(self, cache):
        other.helper(cache["size"])

class Small:
    sample_time = 0.002

    def time_thread(self):
        thread = other.threading.Thread(target=other.helper, args=(10,))
        thread.start()
        thread.join()

    def time_table(self):
        other.table()

    def time_child(self):
        other.subprocess.run(["true"])

    def time_fails(self):
        raise ValueError("never")

    def time_sleeps(self):
        other.threading.Event().wait(600)

    time_sleeps.timeout = 0.01

    def time_dies(self):
        other.os.kill(other.os.getpid(), 9)

    def time_first(self):
        other.once()

    def time_second(self):
        other.once()

    def time_imported_before(self):
        if os.getpid() != IMPORTED_BY:
            other.helper(1)

    def timeraw_helper(self):
        return """
            helper(50)
        """, """
            import sys
            sys.path.insert(0, "/workspace/repo")
            from other import helper
        """
'''
POOLED = """
import os
import sys
from concurrent.futures import ThreadPoolExecutor
sys.path.insert(0, "/workspace/repo")
import other

POOL = ThreadPoolExecutor(1)
POOL.submit(int).result()

def time_pool():
    POOL.submit(other.helper, 3).result()

def time_forks():
    if not os.fork():
        raise SystemExit(0)
    os.wait()
"""
TREE = {
    **FILES,
    "benchmarks/pooled.py": POOLED.encode(),
    "other.py": OTHER.encode(),
    "benchmarks/more.py": SUITE.encode(),
    "table.txt": b"1 2 3\n",
}


@dataclass(frozen=True)
class Place:
    """A task, its base arm, and what its workloads run."""

    root: Path
    base: Container
    workloads: tuple[Workload, ...]
    seen: Watched

    def of(self, name: str) -> Coverage:
        """The coverage of a workload of more.py."""
        return self.seen.by_workload[f"more.{name}"]

    def functions(self, name: str) -> set[str]:
        """Names of the functions of other.py that it was seen to run."""
        lines = OTHER.splitlines()
        places = [line for path, line in self.of(name).ran if path == "other.py" and line]
        return {text[4:].split("(")[0] for line in places if (text := lines[line - 1]).startswith("def ")}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("impacted")
    engine = embedded_engine(root / "cache")
    image = calc_image(engine, root, TREE)
    with engine.start(image, mounts=inside_mounts()) as container:
        workloads = discover(container, "benchmarks").workloads
    started = start_arm(engine, image, patch="", rebuild_script=None, build_args={}, limits=None, timeout=60)
    with prepare(started, workloads, "benchmarks") as base:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(forks, "START_ALLOWANCE_S", 1.0)
            seen = suite_coverage(base, workloads, "benchmarks", kept=root / "seen.gz", say=lambda *_: None)
        calc_task(image, root / "tasks", root / "repo.tar.gz", workloads=("bench.time_total", "more.Small.time_thread"))
        yield Place(root, base, workloads, seen)


def test_functions_are_seen_wherever_they_run(place: Place) -> None:
    """In calls, in setup_cache, in threads, in the process of a timeraw benchmark; what runs at import is apart."""
    assert place.functions("Others.time_helper") == {"at_import", "helper", "prepared"}
    assert place.functions("Small.time_thread") == {"at_import", "helper"}
    assert place.functions("Small.timeraw_helper") == {"at_import", "helper"}
    assert place.functions("Small.time_table") == {"at_import", "table"}
    at_import = OTHER.splitlines().index("def at_import():") + 1
    assert ("other.py", at_import) in place.of("Small.time_thread").imported - place.of("Small.time_thread").called
    assert not {path for path, _ in place.seen.by_workload["bench.time_total"].ran if path == "other.py"}


def test_what_cannot_be_seen_is_told(place: Place) -> None:
    """Processes, data files, failures."""
    assert place.of("Small.time_child").spawned
    assert not place.of("Small.timeraw_helper").spawned
    assert place.of("Small.time_table").opened == {"table.txt"}
    assert place.of("Small.time_fails").failed == "ValueError: never"
    assert place.of("Small.time_sleeps").failed == "not done after 1.03 s"
    assert place.of("Small.time_dies").failed == "the process was ended by signal 9"


def test_what_one_workload_leaves_is_not_there_for_the_next(place: Place) -> None:
    """The second finds no cache that the first has filled, though their module is imported once for all of them."""
    once = {"at_import", "helper", "once"}
    assert place.functions("Small.time_first") == place.functions("Small.time_second") == once
    assert place.functions("Small.time_imported_before") == {"at_import", "helper"}


def test_threads_of_a_module_are_there_for_its_workloads(place: Place) -> None:
    """A pool that the module started would wait for ever in a fork of it; a child that comes back says nothing."""
    seen = place.seen.by_workload["pooled.time_pool"]
    helper = OTHER.splitlines().index("def helper(n):") + 1
    assert seen.failed is None and ("other.py", helper) in seen.called
    forks = place.seen.by_workload["pooled.time_forks"]
    assert forks.failed is None and forks.spawned


def test_a_suite_is_watched_once(place: Place) -> None:
    """The file is believed of every workload that could be watched; a damaged one is made anew."""
    kept = place.root / "seen.gz"
    seen = place.seen.by_workload
    good = [workload for workload in place.workloads if not seen[workload.id].failed]
    again = suite_coverage(place.base, good, "benchmarks", kept=kept, say=lambda *_: None)
    assert again == Watched({workload.id: seen[workload.id] for workload in good}, known=True)
    kept.write_bytes(b"no gzip")
    some = [workload for workload in place.workloads if workload.id == "bench.time_total"]
    assert suite_coverage(place.base, some, "benchmarks", kept=kept, say=lambda *_: None).known is False


def test_a_run_measures_what_is_impacted(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other workload has no launch and no ratio, the report says so; grading again changes nothing."""
    monkeypatch.setenv("FC_CACHE_DIR", str(place.root / "cache"))
    monkeypatch.setenv("FC_ENGINE", "bubblewrap")
    monkeypatch.setattr(launch, "disturbance", lambda *_: None)  # tests run beside each other, on any machine
    agents = place.root / "agents.json"
    agents.write_text(json.dumps([{"agent": "nop", "model": "none"}]))
    given = ("--dataset", str(place.root / "tasks"), "--config", str(agents), "--runs-dir", str(place.root / "runs"))
    words = ("run", *given, "--max-rounds", "6", "--run-id", "fast", "--select", "impacted", "--json")
    assert run_app(app, words) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["scope"].startswith("scores over 1 selected of 2 workloads")
    folder = RunFolder(place.root / "runs" / "fast")
    session = folder.read_session("acme_calc_1", 1)
    assert session is not None
    assert session.selection is not None
    assert session.selection.selected == {"bench.time_total": "calc.py: total"}
    assert session.selection.not_selected == {"more.Small.time_thread": NOT_IMPACTED}
    trial = folder.read_trial(TrialKey("acme_calc_1", "nop", 1))
    assert trial is not None
    assert trial.ratios is not None
    assert [row.workload for row in trial.ratios.workloads] == ["bench.time_total"]
    assert list((place.root / "cache" / "coverage").glob("*.json.gz"))
    assert run_app(app, ("regrade", str(folder.root))) == 0
    said = capsys.readouterr()
    assert "0 trials changed" in said.err
    assert "1 selected of 2 workloads" in said.out


def test_a_choice_that_is_none_is_refused(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """One line that names the option and an example."""
    (place.root / "nop.json").write_text('[{"agent": "nop", "model": "none"}]')
    given = ("--dataset", str(place.root / "tasks"), "--config", str(place.root / "nop.json"))
    words = ("run", *given, "--select", "some")
    assert run_app(app, words) == 2
    assert "--select impacted" in capsys.readouterr().err
