"""Verification of older folders, on a real Docker engine."""

import json
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.engine import Limits
from datasmith.docker.foreign import ForeignImages
from datasmith.errors import EngineUnavailable
from datasmith.runners.verification.base import Times
from datasmith.runners.verification.generations import Generations, open_foreign
from datasmith.runners.verification.legacy import LegacyFolders, build_arguments
from datasmith.runners.verification.run import Judged, Verification, find_folders
from datasmith.runners.verification.verdict import FAILURE, SUCCESS, Failed, Verdicts
from datasmith.settings import Settings
from datasmith.tasks.legacy import parse_legacy
from tests.support.base_image import ensure_base_image
from tests.unit.runners.verification_folders import legacy_folder

pytestmark = [pytest.mark.engine, pytest.mark.docker]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return ensure_base_image(tmp_path_factory.mktemp("base"))


def verified(place: Path, times: Times | None = None) -> Judged:
    """What one run over the older folders below a place gives."""
    images = ForeignImages("docker", network="host", limits=Limits(), environment={})
    generation = LegacyFolders(images, "https://example.org/{owner}/{repo}.git", times or Times())
    run = Verification(lambda _kind: generation, Verdicts(place / "verdicts"), place / "logs")
    (found,) = run.run(find_folders(place / "formulacode_verified"), workers=1)
    return found


def failure(found: Judged) -> Failed:
    assert found.verdict and isinstance(found.verdict.found, Failed), found
    said = json.loads((found.folder / FAILURE).read_text())
    assert said["stage"] == found.verdict.found.stage and not (found.folder / SUCCESS).exists()
    return found.verdict.found


def test_an_older_folder_is_verified(base: str, tmp_path: Path) -> None:
    """Its arguments come from task.txt, its entry point is not run; tests and benchmarks with a result are counted."""
    folder = legacy_folder(tmp_path / "formulacode_verified", base)
    found = verified(tmp_path)
    assert found.verdict and found.verdict.ok, found
    said = json.loads((folder / SUCCESS).read_text())
    assert (said["tests_passed"], said["tests_failed"], said["benchmarks"]) == (1, 1, 1)
    assert not process.run(["docker", "images", "--quiet", "fc-verify"]).text.strip()
    assert verified(tmp_path).known


@pytest.mark.parametrize(
    ("changes", "stage", "said"),
    [
        ({"task.txt": "Task(owner='a')"}, "parse", "sha is missing"),
        ({"docker_build_pkg.sh": "echo no compiler >&2; exit 4\n"}, "build", "no compiler"),
        ({"run-tests.sh": "echo 2000 passed\n"}, "tests", "no test that passes"),
        ({"run-tests.sh": "python3 pytest.py || true\nexit 5\n"}, "tests", "exit code 5"),
        ({"profile.sh": "echo all fine\n"}, "measure", "no benchmark with a result"),
        ({"profile.sh": "exit 6\n"}, "measure", "exit code 6"),
    ],
)
def test_each_way_to_fail_has_its_stage(
    base: str, tmp_path: Path, changes: dict[str, str], stage: str, said: str
) -> None:
    """What a script prints of itself is not enough: tests need a report, benchmarks a result."""
    legacy_folder(tmp_path / "formulacode_verified", base, changes)
    found = failure(verified(tmp_path))
    assert found.stage == stage and said in found.error_message + found.stdout
    assert found.step == ("pkg" if stage == "build" else "")


@pytest.mark.parametrize("name", ["run-tests.sh", "profile.sh"])
def test_a_time_out_is_a_failure(base: str, tmp_path: Path, name: str) -> None:
    """A script that does not end in time fails its folder, whatever it has shown until then."""
    legacy_folder(tmp_path / "formulacode_verified", base, {name: "python3 pytest.py\nsleep 4321\n"})
    found = failure(verified(tmp_path, Times(tests_s=4.0, benchmarks_s=4.0)))
    assert found.stage == ("tests" if name == "run-tests.sh" else "measure")
    assert "not done after 4 s" in found.error_message
    assert b"sleep 4321" not in process.run(["ps", "-ww", "-eo", "args"]).stdout


def test_a_script_has_no_network_and_no_power_over_the_machine(base: str, tmp_path: Path) -> None:
    """Root in the image reaches no network, mounts nothing, and cannot write the scripts that it is judged by."""
    script = """set -eu
! python3 -c 'import socket; socket.create_connection(("1.1.1.1", 53), 3)' 2>/dev/null
! mount -t tmpfs none /mnt 2>/dev/null
! sh -c 'echo x >/opt/fc/verify/run-tests.sh' 2>/dev/null
test ! -e /var/run/docker.sock
python3 pytest.py
"""
    legacy_folder(tmp_path / "formulacode_verified", base, {"run-tests.sh": script})
    found = verified(tmp_path)
    assert found.verdict and found.verdict.ok, found


def test_a_daemon_that_is_gone_is_no_verdict(tmp_path: Path) -> None:
    """Neither is an engine that builds no Dockerfiles: the folder is held, with what to do."""
    folder = legacy_folder(tmp_path / "formulacode_verified", "nothing")
    gone = Settings(_env_file=None, engine="docker", docker_host=f"unix://{tmp_path}/no.sock")
    with pytest.raises(EngineUnavailable):
        open_foreign(gone)
    settings = Settings(_env_file=None, engine="bubblewrap")
    run = Verification(Generations(settings, Times()), Verdicts(tmp_path / "verdicts"), tmp_path / "logs")
    (found,) = run.run(find_folders(folder), workers=1)
    assert found.verdict is None and "--engine docker" in found.held
    assert not (folder / FAILURE).exists()


def test_arguments_are_those_that_both_sides_know() -> None:
    """Declared and known ones are given, in the spellings of older Dockerfiles; nothing else is."""
    task = parse_legacy("Task(owner='o', repo='r', sha='s', env_payload='{}', python_version='3.10', benchmarks=None)")
    text = "ARG REPO_URL\nARG COMMIT_SHA\nARG ENV_PAYLOAD\nFROM x\n  arg PY_VERSION=3\nARG BENCHMARKS\nARG OTHER\n"
    assert build_arguments(text, task, "https://example.org/{owner}/{repo}.git") == {
        "REPO_URL": "https://example.org/o/r.git",
        "COMMIT_SHA": "s",
        "ENV_PAYLOAD": "{}",
        "PY_VERSION": "3.10",
    }
