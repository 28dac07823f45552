"""Bad input ends in one clear line with its exit code, and a later --resume goes on; Ctrl-C loses nothing."""

import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.agents.classification import Classification
from datasmith.errors import ConfigError, EngineUnavailable, NothingToDo, StoreUnavailable
from datasmith.github.git import Git
from datasmith.github.git_forge import GitForge
from datasmith.github.models import PR
from datasmith.runners.rows import classification_row, pull_request_row
from datasmith.runners.synthesize_images import MADE
from datasmith.storage.sql import SqlStore
from datasmith.tasks.folder import write_task
from tests.clones import START, Clone
from tests.commands import WINDOW, Ended, FcData, control_groups
from tests.mounts import grow, small_disk
from tests.sandboxes import embedded_engine
from tests.unit.tasks.samples import certificate, sample_task

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

NOW = datetime(2026, 3, 1, tzinfo=UTC)
UNBUILDABLE = {
    **START,
    "pyproject.toml": '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
    + START["pyproject.toml"],
    "setup.py": "raise SystemExit('this project cannot be built')\n",
}
SLOW = {**UNBUILDABLE, "setup.py": f"import time\n\ntime.sleep(4)\n{UNBUILDABLE['setup.py']}"}
NOON = 1_771_588_800
"""Of the 20th of February."""
INTERRUPTED = 130


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Layers and downloads, shared by this module's tests."""
    place = tmp_path_factory.mktemp("cache")
    embedded_engine(place)
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def fc(tmp_path: Path, cache: Path) -> FcData:
    return FcData(tmp_path / "home", cache)


def merged(place: Path, files: Mapping[str, str]) -> Clone:
    """A project with two pull requests of speed."""
    found = Clone(place, files)
    found.merge(2, "Speed up all")
    found.merge(3, "Fix typo")
    found.merge(4, "perf: even faster")
    return found


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A project that does not build."""
    return merged(tmp_path / "calc", UNBUILDABLE)


@pytest.fixture
def slow(tmp_path: Path) -> Clone:
    """The same, but it takes four seconds to find that out, for Ctrl-C to come in."""
    return merged(tmp_path / "calc", SLOW)


def slow_git(place: Path) -> Path:
    """A directory whose git waits before it works."""
    place.mkdir()
    (place / "git").write_text(f'#!/bin/sh\nsleep 0.3\nexec {shutil.which("git")} "$@"\n')
    (place / "git").chmod(0o755)
    return place


def told(ended: Ended, code: int, *words: str) -> None:
    """The command ended with this code and one line that holds these words."""
    assert (ended.rc, len(ended.errors), ended.out) == (code, 1, ""), ended
    assert "Traceback" not in ended.err
    for word in words:
        assert word in ended.errors[0]


def test_a_directory_that_is_no_clone(fc: FcData, tmp_path: Path) -> None:
    """Named, with an example; nothing is made."""
    told(fc.run(*WINDOW, "--repo", tmp_path), ConfigError.exit_code, "--repo", str(tmp_path), "not a git clone")
    assert not fc.data.exists()


def test_a_clone_without_a_suite(fc: FcData, tmp_path: Path) -> None:
    """Named with the reason; once it has a suite, the same command goes on."""
    bare = Clone(tmp_path / "calc", {"calc.py": "x"})
    bare.merge(2, "Fix typo")
    told(fc.run(*WINDOW, "--repo", bare.path), NothingToDo.exit_code, "acme/calc", "asv")
    bare.commit("suite", START, "2026-03-02T00:00:00+0000")
    assert fc.run(*WINDOW, "--repo", bare.path, "--stage", "1", "--stage", "2").rc == 0


def test_a_window_without_pull_requests(fc: FcData, clone: Clone) -> None:
    """Named; later pull requests are found by the same command."""
    window = ("--start-date", "2026-03-01", "--end-date", "2026-04-01", "--repo", clone.path)
    told(fc.run(*window), NothingToDo.exit_code, "2026-03-01..2026-04-01")
    clone.commit("Speed (#9)", {"calc.py": START["calc.py"] + "more = 1  # a line\n"}, "2026-03-05T00:00:00+0000")
    assert fc.run(*window, "--stage", "2").rc == 0


def test_bubblewrap_is_not_permitted(fc: FcData, clone: Clone, tmp_path: Path) -> None:
    """The line says how to allow it and what else there is; nothing is refused, and --resume goes on."""
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin/bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    fc.first_path = tmp_path / "bin"
    words = (*WINDOW, "--repo", clone.path, "--resume")
    told(fc.run(*words), EngineUnavailable.exit_code, "sysctl", "--engine docker", "No permissions")
    assert fc.states(4) == {"2": "pending", "4": "pending"}
    fc.first_path = None
    assert fc.run(*words, "--stage", "4").rc == 0
    assert set(fc.states(4).values()) == {"passed"}


def test_a_project_that_does_not_build_is_refused_with_its_reason(fc: FcData, clone: Clone) -> None:
    """Nothing is lost: every pull request is in the funnel, the build's log is kept, and nothing is left behind."""
    ended = fc.run(*WINDOW, "--repo", clone.path)
    assert (ended.rc, ended.errors) == (0, []), ended
    refused = fc.states(5)
    assert set(refused) == {"2", "4"}
    for reason in refused.values():
        assert reason.startswith("refused does not build: stage docker_build_pkg.sh")
    assert "cannot be built" in (fc.data / "logs/acme_calc_2.build.log").read_text()
    assert fc.leaks() == []


def test_a_disk_without_room_for_the_ledger(fc: FcData, clone: Clone) -> None:
    """The line names the file; with more room the same command goes on."""
    with small_disk(fc.data, megabytes=1) as disk:
        (disk / "ballast").write_bytes(b"x" * 1_000_000)
        words = (*WINDOW, "--repo", clone.path, "--stage", "1", "--stage", "2", "--stage", "3", "--resume")
        told(fc.run(*words), StoreUnavailable.exit_code, "fc.sqlite")
        grow(disk, megabytes=20)
        assert fc.run(*words).rc == 0
        assert fc.funnel()["stages"]


def test_a_disk_that_is_full_in_stage_5(fc: FcData, clone: Clone) -> None:
    """Nothing is refused for it; with more room --resume goes on."""
    with small_disk(fc.data, megabytes=20) as disk:
        words = (*WINDOW, "--repo", clone.path, "--resume")
        told(fc.run(*words), StoreUnavailable.exit_code, str(disk), "no space left")
        assert {state.split()[0] for state in fc.states(5).values()} == {"pending"}
        grow(disk, megabytes=400)
        assert fc.run(*words).rc == 0
        assert all(state.startswith("refused does not build") for state in fc.states(5).values())
        assert fc.leaks() == []


@pytest.mark.parametrize("stage", [1, 2, 3, 4, 5])
def test_ctrl_c_loses_nothing(tmp_path: Path, cache: Path, slow: Clone, stage: int) -> None:
    """Stopped in the middle of a stage and gone on with, a run ends as one that was never stopped."""
    stages: list[str] = [word for number in range(1, stage + 1) for word in ("--stage", str(number))]
    words: tuple[str | Path, ...] = (*WINDOW, "--repo", slow.path, *stages)
    slow.stream(
        (f"perf: faster by {number} (#{number})", f"{START['calc.py']}more = {number}  # more\n", NOON)
        for number in range(6, 200 if stage == 3 else 6)
    )
    whole = FcData(tmp_path / "whole", cache)
    assert whole.run(*words).rc == 0
    groups = control_groups()
    waiting = slow_git(tmp_path / "bin")
    for attempt in range(5):  # a stage may be over before the signal arrives
        fc = FcData(tmp_path / f"stopped-{attempt}", cache, first_path=waiting)
        ended = fc.interrupted(stage, *words)
        if ended.rc != 0:
            break
    assert (ended.rc, len(ended.errors), ended.out) == (INTERRUPTED, 1, ""), ended
    assert "--resume" in ended.errors[0] and "Traceback" not in ended.err
    assert fc.leaks() == []
    assert not fc.alone() or control_groups() <= groups
    assert "leased" not in {state.split()[0] for number in range(1, 7) for state in fc.states(number).values()}
    fc.funnel()
    fc.first_path = None
    assert fc.run(*words, "--resume").rc == 0
    assert fc.funnel() == whole.funnel()
    assert fc.leaks() == []


def prepared(fc: FcData, clone: Clone, numbers: range) -> None:
    """A ledger where these pull requests wait at stage 6, each with its task folder."""
    head = clone.git("rev-parse", "HEAD")
    source = fc.home / "source.tar.gz"
    Git(clone.path).sealed_source(head, source, commit_date=NOW)
    fc.data.mkdir()
    with SqlStore.at(fc.data / "fc.sqlite") as store:
        store.migrate()
        window = f"{WINDOW[1]}..{WINDOW[3]}"
        prs = [PR(repository="acme/calc", issue_number=each, base_sha=head, merged_at=NOW) for each in numbers]
        verdict = Classification(is_performance=True)
        store.upsert("pull_requests", [pull_request_row(pr, NOW)[1] for pr in prs])
        store.upsert("pull_requests", [classification_row(pr, verdict)[1] for pr in prs])
        for stage in range(2, 6):
            store.record(window, stage, [(pr.cache_key, "pull_request", "passed", "") for pr in prs], NOW)
        store.enter(window, 6, [(pr.cache_key, "pull_request") for pr in prs], NOW)
    for number in numbers:
        name = f"acme_calc_{number}"
        task = sample_task(task_id=name, pr_number=number, certificate=certificate(name))
        write_task(task, fc.data / MADE, source=source, provenance={})


def test_ctrl_c_while_publishing(tmp_path: Path, cache: Path, clone: Clone) -> None:
    """The dataset and the funnel of a stopped run that went on are those of one that was never stopped."""
    assert GitForge(clone.path).repository.full_name == "acme/calc"
    numbers = range(1, 80)
    whole, fc = FcData(tmp_path / "whole", cache), FcData(tmp_path / "stopped", cache)
    for place in (whole, fc):
        prepared(place, clone, numbers)
    words = (*WINDOW, "--repo", clone.path, "--stage", "6")
    assert whole.run(*words).rc == 0
    ended = fc.interrupted(6, *words)
    assert (ended.rc, len(ended.errors)) == (INTERRUPTED, 1), ended
    assert fc.leaks() == []
    fc.funnel()
    assert fc.run(*words, "--resume").rc == 0
    assert fc.funnel() == whole.funnel()
    table = [(place.data / "dataset/tasks.parquet").read_bytes() for place in (whole, fc)]
    assert table[0] == table[1]
    assert fc.leaks() == []
