"""Verification of our own task folders, in the embedded engine."""

import errno
import json
import os
import shutil
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from datasmith import process
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import Limits
from datasmith.errors import ConfigError, ContainerError, EngineUnavailable, IndexUnavailable, StoreUnavailable
from datasmith.runners.verification.base import Generation, Step, Stopped, Times, conditions
from datasmith.runners.verification.run import Judged, Verification, find_folders
from datasmith.runners.verification.sealed import SealedFolders
from datasmith.runners.verification.verdict import FAILURE, SUCCESS, Failed, Verdict, Verdicts, Verified, inputs_digest
from datasmith.settings import Settings
from datasmith.tasks.suite import SuiteRecord, patch_digest
from tests.integration.eval_task import FILES, WRONG, expert_patch
from tests.sandboxes import embedded_engine
from tests.unit.runners.verification_folders import sealed_folder

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> BubblewrapEngine:
    return embedded_engine(tmp_path_factory.mktemp("cache"))


class Counted:
    """The real way to verify, and how often it was taken."""

    def __init__(self, engine: BubblewrapEngine, place: Path, times: Times | None = None) -> None:
        self.inner = SealedFolders(engine, Settings(_env_file=None, data_dir=place), times or Times())
        self.calls = 0

    @property
    def engine(self) -> str:
        return self.inner.engine

    @property
    def conditions(self) -> str:
        return self.inner.conditions

    def verify(self, folder: Path, *, log: Path, step: Step) -> Verified | Failed:
        self.calls += 1
        return self.inner.verify(folder, log=log, step=step)


def verification(place: Path, generation: Generation, *, force: bool = False) -> Verification:
    return Verification(lambda _kind: generation, Verdicts(place / "verdicts"), place / "logs", force=force)


def judged(place: Path, generation: Generation, root: Path, *, force: bool = False) -> Judged:
    """What one run over one folder gives."""
    (found,) = verification(place, generation, force=force).run(find_folders(root), workers=1)
    return found


def failure(found: Judged) -> Failed:
    assert found.verdict and isinstance(found.verdict.found, Failed)
    said = json.loads((found.folder / FAILURE).read_text())
    assert set(said) >= {"stage", "return_code", "error_message", "stdout", "stderr"}
    assert not (found.folder / SUCCESS).exists()
    return found.verdict.found


def test_a_good_folder_is_verified_once(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """It gets its file; the same folder is not verified again, a changed one is, and --force always does."""
    folder = sealed_folder(tmp_path / "tasks")
    counted = Counted(engine, tmp_path)
    first = judged(tmp_path, counted, folder)
    assert first.verdict and first.verdict.ok, first
    said = json.loads((folder / SUCCESS).read_text())
    assert (said["tests_passed"], said["benchmarks"], said["inputs"]) == (1, 1, inputs_digest(folder))
    (folder / SUCCESS).unlink()
    again = judged(tmp_path, counted, tmp_path / "tasks")
    assert again.known and again.verdict == first.verdict and (folder / SUCCESS).exists()
    assert counted.calls == 1
    (folder / "instruction.md").write_text("Make total(n) faster, please.\n")
    assert not judged(tmp_path, counted, folder).known
    assert not judged(tmp_path, counted, folder, force=True).known
    assert counted.calls == 3


def test_what_is_known_of_a_folder_holds_for_its_name(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """A task says what its folder is called: a copy of another name fails, and the same under its own name does not."""
    folder = sealed_folder(tmp_path / "tasks")
    counted = Counted(engine, tmp_path)
    assert judged(tmp_path, counted, folder).verdict
    copy = Path(shutil.copytree(folder, tmp_path / "copies/acme_calc_9"))
    misnamed = judged(tmp_path, counted, copy)
    assert not misnamed.known and "acme_calc_9" in failure(misnamed).error_message
    back = judged(tmp_path, counted, copy.rename(copy.with_name(folder.name)))
    assert back.known and back.verdict and back.verdict.ok


def test_a_success_that_lies_there_is_not_believed(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """A folder that fails keeps failing whatever it says of itself, with the right digest too, and that is told."""
    folder = sealed_folder(tmp_path / "tasks", passing_tests=("tests.test_calc::test_never",))
    claim = {"inputs": inputs_digest(folder), "engine": "bubblewrap", "tests_passed": 1, "benchmarks": 1}
    (folder / SUCCESS).write_text(json.dumps(claim))
    counted = Counted(engine, tmp_path)
    found = judged(tmp_path, counted, folder)
    assert found.forged and counted.calls == 1
    assert failure(found).stage == "tests" and "test_never" in failure(found).error_message
    (folder / FAILURE).unlink()
    (folder / SUCCESS).write_text(json.dumps(claim))
    again = judged(tmp_path, counted, folder)
    assert again.known and failure(again).stage == "tests"


def test_only_a_success_that_was_never_reached_is_called_one(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """Ours is not, also where it is reached once more; another one is, whether or not the verdict is known."""
    folder = sealed_folder(tmp_path / "tasks")
    counted = Counted(engine, tmp_path)
    assert not judged(tmp_path, counted, folder).forged
    assert not judged(tmp_path, counted, folder).forged and not judged(tmp_path, counted, folder, force=True).forged
    ours = (folder / SUCCESS).read_text()
    for planted in ("{}", "[1]", ours.replace('"tests_passed": 1', '"tests_passed": 2')):
        (folder / SUCCESS).write_text(planted)
        assert judged(tmp_path, counted, folder).forged
        assert (folder / SUCCESS).read_text() == ours


def test_a_file_that_may_not_be_read_holds_its_folder_alone(
    engine: BubblewrapEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says nothing of the folder; the others are judged. One without its task.toml is a task's, and damaged."""
    for name in ("closed", "damaged"):
        sealed_folder(tmp_path / name)
    (tmp_path / "damaged/acme_calc_1/task.toml").unlink()
    opened = os.open

    def refused(path: Path | str, *words: Any, **named: Any) -> int:
        if str(path).endswith("closed/acme_calc_1/instruction.md"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *words, **named)

    monkeypatch.setattr(os, "open", refused)
    folders = [found for name in ("closed", "damaged") for found in find_folders(tmp_path / name)]
    closed, damaged = verification(tmp_path, Counted(engine, tmp_path)).run(folders, workers=1)
    assert closed.verdict is None and "instruction.md cannot be read: Permission denied" in closed.held
    assert failure(damaged).stage == "parse" and "task.toml is missing" in failure(damaged).error_message


def test_each_way_to_fail_has_its_stage(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """Parse, build, tests and measure, with a reason that names the thing."""
    broken = sealed_folder(tmp_path / "parse")
    (broken / "solution/expert.patch").write_text("no diff\n")
    stages = {"parse": (broken, "expert.patch")}
    build = sealed_folder(tmp_path / "build")
    (build / "environment/docker_build_run.sh").write_text("echo no such header >&2\nexit 3\n")
    stages["build"] = (build, "no such header")
    stages["tests"] = (sealed_folder(tmp_path / "tests", expert_patch=expert_patch(WRONG)), "expert's patch")
    stages["measure"] = (sealed_folder(tmp_path / "measure", workloads=("bench.time_gone",)), "bench.time_gone")
    for stage, (folder, reason) in stages.items():
        found = failure(judged(tmp_path, Counted(engine, tmp_path), folder))
        assert (found.stage, reason in found.error_message) == (stage, True), found


def test_a_full_disk_is_no_verdict(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """The folder is as it was, with the reason in the run's table; once there is room it is verified."""
    folder = sealed_folder(tmp_path / "tasks")
    script = folder / "environment/docker_build_run.sh"
    before = script.read_text()
    script.write_text("echo much >/dev/full\n")
    found = judged(tmp_path, Counted(engine, tmp_path), folder)
    assert found.verdict is None and "the disk was full in build stage 'docker_build_run.sh'" in found.held
    assert not (folder / FAILURE).exists()
    script.write_text(before)
    again = judged(tmp_path, Counted(engine, tmp_path), folder)
    assert again.verdict and again.verdict.ok


class Refuses:
    """A way to verify that ends with this error."""

    engine, conditions = "stub", "{}"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def verify(self, folder: Path, *, log: Path, step: Step) -> Verified | Failed:
        raise self.error


def test_what_is_wrong_here_is_no_verdict_on_a_folder(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """A disk without room holds a folder, beside others that go on; a mistake of a setting is not remembered."""
    folder = sealed_folder(tmp_path / "tasks")
    full = StoreUnavailable("logs: no space left on the disk")
    assert judged(tmp_path, Refuses(full), folder).held == str(full)
    wrong = Refuses(ConfigError("FC_INDEX_URL: a password in it"))
    first = judged(tmp_path, wrong, folder)
    assert failure(first).stage == "unknown" and not judged(tmp_path, wrong, folder).known
    (folder / "environment/build_args.sh").write_text("no assignment\n")
    assert failure(judged(tmp_path, Counted(engine, tmp_path), folder)).stage == "parse"


def test_one_of_the_tasks_own_workloads_must_run(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """Another benchmark of the suite that works says nothing of them; one of several that works is enough."""
    suite = b"class Of:\n    params = [1, 2]\n    def time_half(self, n):\n        1 / (n - 1)\n"
    suite += b"def time_total():\n    1 / 0\ndef track_size():\n    return 3\n"
    given = {"files": {"benchmarks/bench.py": suite}}
    bad = sealed_folder(tmp_path / "bad", workloads=("bench.time_total", "bench.Of.time_half(1)"), **given)
    found = failure(judged(tmp_path, Counted(engine, tmp_path), bad))
    assert found.stage == "measure" and "ZeroDivisionError" in found.stderr
    good = sealed_folder(tmp_path / "good", workloads=("bench.time_total", "bench.Of.time_half(2)"), **given)
    end = judged(tmp_path, Counted(engine, tmp_path), good)
    assert end.verdict and end.verdict.ok, end


def test_skipped_tests_are_not_told_as_failed(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """`tests_failed` counts those that fail and those that break, as for older folders."""
    inside = "<testcase name='b'><skipped/></testcase><testcase name='c'><failure/></testcase>"
    runner = FILES["tests/run_tests.py"].decode().replace("{case}", "{case}" + inside)
    folder = sealed_folder(tmp_path / "tasks", files={"tests/run_tests.py": runner.encode()})
    found = judged(tmp_path, Counted(engine, tmp_path), folder).verdict
    assert found and isinstance(found.found, Verified), found
    assert (found.found.tests_passed, found.found.tests_failed) == (1, 1)


def test_a_time_out_is_a_failure(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """Tests that do not end in time fail the folder, and none of their processes is left.

    With more time, or other limits, it is verified anew; with the same it is not.
    """
    slow = b"import time\nif __name__ == '__main__':\n    time.sleep(4321.5)\n"
    mark = f"slow-{os.getpid()}-{tmp_path.name}"
    command = ("python", "tests/run_tests.py", "{junit}", mark)
    folder = sealed_folder(tmp_path / "tasks", files={"tests/run_tests.py": slow}, test_command=command)
    found = failure(judged(tmp_path, Counted(engine, tmp_path, Times(tests_s=2.0)), folder))
    assert found.stage == "tests" and "not done after 2 s" in found.error_message
    assert mark.encode() not in process.run(["ps", "-ww", "-eo", "args"]).stdout
    assert judged(tmp_path, Counted(engine, tmp_path, Times(tests_s=2.0)), folder).known
    longer = Counted(engine, tmp_path, Times(tests_s=3.0))
    assert "not done after 3 s" in failure(judged(tmp_path, longer, folder)).error_message and longer.calls == 1


def test_a_build_that_takes_too_long_is_a_failure(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """It is cut off at the limit that was asked for, and the failure says which one that was, and where it was."""
    mark = f"build-{os.getpid()}-{tmp_path.name}"
    folder = sealed_folder(tmp_path / "tasks")
    script = folder / "environment/docker_build_pkg.sh"
    script.write_text(f"yes | head -c 2000\nbash -c 'sleep 4321; true' {mark}\n")
    found = failure(judged(tmp_path, Counted(engine, tmp_path, Times(build_s=2.0)), folder))
    assert (found.stage, found.step, found.return_code) == ("build", script.name, -1)
    assert found.error_message.startswith("the build is not done after 2 s: docker_build_pkg.sh was under way")
    assert mark.encode() not in process.run(["ps", "-ww", "-eo", "args"]).stdout


def test_a_verdict_holds_for_one_engine_and_its_limits(tmp_path: Path) -> None:
    """What one engine, time, limit or system gave is not taken for what another would give."""
    times, limits = Times(), Limits()
    given = [("docker", times, limits), ("podman", times, limits), ("docker", Times(build_s=1.0), limits)]
    held = [conditions(*each) for each in (*given, ("docker", times, Limits(memory_mb=1)))]
    held += [conditions("docker", times, limits, "debian:sid")]
    verdicts = Verdicts(tmp_path)
    found = Verified(image_digest="sha256:0", tests_passed=1, tests_failed=0, benchmarks=1)
    now = datetime(2026, 3, 1, tzinfo=UTC)
    mine = Verdict(inputs="sha256:1", engine="docker", conditions=held[0], judged_at=now, seconds=1.0, found=found)
    verdicts.keep(mine)
    assert [verdicts.known("sha256:1", each) for each in held] == [mine, None, None, None, None]


def test_a_suite_from_elsewhere_is_looked_for_in_its_own_arm(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """The benchmarks of a suite that no image holds are found; one that does not apply, or lacks them, fails."""
    suite = "--- /dev/null\n+++ b/others/bench.py\n@@ -0,0 +1,2 @@\n+def time_total():\n+    sum(range(9))\n"
    suite = f"diff --git a/others/bench.py b/others/bench.py\nnew file mode 100644\n{suite}"
    record = SuiteRecord(
        repository="acme/suites",
        commit="d" * 40,
        committed_at=datetime(2026, 3, 1, tzinfo=UTC),
        config="asv.conf.json",
        benchmark_dir="others",
        digest=patch_digest(suite),
    )
    given = {"suite": record, "suite_patch": suite, "benchmark_dir": "others"}
    good = sealed_folder(tmp_path / "good", files=None, **given)
    found = judged(tmp_path, Counted(engine, tmp_path), good)
    assert found.verdict and found.verdict.ok, found
    gone = sealed_folder(tmp_path / "gone", files=None, **{**given, "workloads": ("bench.time_gone",)})
    assert "time_gone" in failure(judged(tmp_path, Counted(engine, tmp_path), gone)).error_message
    torn = suite.replace("b/others", "b/calc.py/others").replace("a/others", "a/calc.py/others")
    record = record.model_copy(update={"digest": patch_digest(torn)})
    bad = sealed_folder(tmp_path / "bad", files=None, **{**given, "suite": record, "suite_patch": torn})
    end = failure(judged(tmp_path, Counted(engine, tmp_path), bad))
    assert (end.stage, "the suite" in end.error_message) == ("measure", True), end


def test_a_leak_of_the_fix_is_a_failure(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """An image that holds the fix is not verified, however well its tests run."""
    leak = b"    return n * (n - 1) // 2  # faster by the closed form of Gauss\n"
    patch = expert_patch("def total(n):\n" + leak.decode())
    folder = sealed_folder(tmp_path / "tasks", expert_patch=patch)
    script = folder / "environment/docker_build_pkg.sh"
    script.write_text(f"mkdir -p /workspace/cache\ncat >/workspace/cache/notes <<'END'\n{leak.decode()}END\n")
    found = failure(judged(tmp_path, Counted(engine, tmp_path), folder))
    assert (found.stage, found.step) == ("build", "seal") and "notes" in found.error_message


class Gone:
    """An engine that goes away in the middle, or a command that is stopped then."""

    engine = conditions = "bubblewrap"

    def __init__(
        self, stop: threading.Event | None = None, kind: type[EngineUnavailable | IndexUnavailable] = EngineUnavailable
    ) -> None:
        self.stop = stop
        self.kind = kind

    def verify(self, folder: Path, *, log: Path, step: Step) -> Verified | Failed:
        if self.stop is None:
            raise self.kind("it does not answer")
        self.stop.set()
        return Failed(stage="build", return_code=-9, error_message="killed")


@pytest.mark.parametrize("kind", [EngineUnavailable, IndexUnavailable])
def test_an_outage_is_no_verdict(tmp_path: Path, kind: type[EngineUnavailable | IndexUnavailable]) -> None:
    """Nothing is written or remembered, so the next run takes the folder up; what it claimed is taken away."""
    folder = sealed_folder(tmp_path / "tasks")
    (folder / SUCCESS).write_text("{}")
    found = judged(tmp_path, Gone(kind=kind), folder)
    assert found.verdict is None and "does not answer" in found.held
    assert not (folder / SUCCESS).exists() and not (folder / FAILURE).exists()
    assert not (tmp_path / "verdicts").exists()


class Refused:
    """An engine that refuses something for a reason of its own, and no longer when it is asked again."""

    engine = conditions = "docker"

    def __init__(self) -> None:
        self.calls = 0

    def verify(self, folder: Path, *, log: Path, step: Step) -> Verified | Failed:
        self.calls += 1
        if self.calls == 1:
            raise ContainerError("docker start failed with exit code 125: cannot check the seal: time is up")
        return Verified(image_digest="sha256:0", tests_passed=1, tests_failed=0, benchmarks=1)


def test_a_failure_of_nobody_knows_what_is_not_remembered(tmp_path: Path) -> None:
    """It is shown in the folder, and the next run verifies anew; one that is remembered from earlier is not taken."""
    folder, refused = sealed_folder(tmp_path / "tasks"), Refused()
    first = judged(tmp_path, refused, folder)
    assert failure(first).stage == "unknown" and first.verdict
    place = tmp_path / "verdicts"
    assert not place.exists()
    Verdicts(place).keep(
        first.verdict.model_copy(update={"found": failure(first).model_copy(update={"stage": "build"})})
    )
    (kept,) = place.iterdir()
    kept.write_text(first.verdict.model_dump_json())
    again = judged(tmp_path, refused, folder)
    assert again.verdict and again.verdict.ok and not again.known and refused.calls == 2


def test_what_a_stopped_command_killed_has_no_verdict(tmp_path: Path) -> None:
    """After Ctrl-C a build that was killed looks like one that failed: that is not written down."""
    folder = sealed_folder(tmp_path / "tasks")
    stop = threading.Event()
    run = Verification(lambda _kind: Gone(stop), Verdicts(tmp_path / "verdicts"), tmp_path / "logs", stop=stop)
    with pytest.raises(Stopped):
        run.run(find_folders(folder), workers=1)
    assert not (folder / FAILURE).exists() and not (tmp_path / "verdicts").exists()


def test_several_workers_keep_the_order(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """Results come in the order of the folders, and progress counts each folder once."""
    good = sealed_folder(tmp_path / "tasks/a")
    bad = sealed_folder(tmp_path / "tasks/b", workloads=("bench.time_gone",))
    told: list[int] = []
    run = verification(tmp_path, Counted(engine, tmp_path))
    found = run.run(find_folders(tmp_path / "tasks"), workers=2, progress=lambda done, _total, _note: told.append(done))
    assert [each.folder for each in found] == [good, bad]
    assert [bool(each.verdict and each.verdict.ok) for each in found] == [True, False]
    assert [done for done in told if done >= 0] == [1, 2]


def test_links_and_fifos_are_no_task_files(tmp_path: Path) -> None:
    """A link or a pipe in a folder is a failure to parse; it is neither followed nor waited for."""
    folder = sealed_folder(tmp_path / "tasks")
    os.mkfifo(folder / "pipe")
    found = judged(tmp_path, Gone(), folder)
    assert found.verdict and failure(found).stage == "parse" and "pipe" in failure(found).error_message
    (folder / "pipe").unlink()
    (folder / "tests/link").symlink_to("/etc/passwd")
    assert "tests/link" in failure(judged(tmp_path, Gone(), folder)).error_message
