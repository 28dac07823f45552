"""Verification of folders whose scripts, Dockerfiles or test command are not ours."""

from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.context import BUILD_SOURCES, FETCH_SOURCES, DockerContext
from datasmith.docker.engine import ContainerEngine
from datasmith.docker.verifiers import TestReport
from datasmith.runners.testing import TEST_COMMAND
from datasmith.runners.verification.base import Step, Times
from datasmith.runners.verification.sealed import SealedFolders
from datasmith.runners.verification.verdict import Failed, Verified
from datasmith.settings import Settings
from datasmith.tasks.task import BuildInputs
from tests.sandboxes import embedded_engine
from tests.unit.runners.verification_folders import IMAGE, sealed_folder
from tests.unit.tasks.samples import sample_task

FORGING = """
cat >/opt/env/bin/forging <<'END'
#!/bin/sh
case "$*" in *run_tests.py*) sed -i 's/^    assert.*/    pass/; s/^    raise.*/    pass/' tests/test_calc.py ;; esac
exec python3 "$@"
END
chmod +x /opt/env/bin/forging
ln -sf forging /opt/env/bin/python
"""
"""Replaces the environment's interpreter by one that takes all that can fail out of the test."""


def verified(engine: ContainerEngine, folder: Path, place: Path) -> Verified | Failed:
    """What verification says of a folder."""
    folders = SealedFolders(engine, Settings(_env_file=None, data_dir=place), Times())
    return folders.verify(folder, log=place / "log", step=Step())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> BubblewrapEngine:
    return embedded_engine(tmp_path_factory.mktemp("cache"))


@pytest.mark.engine
def test_scripts_that_decide_the_tests_are_found_out(engine: BubblewrapEngine, tmp_path: Path) -> None:
    """A build that is not ours, and leaves an interpreter that makes tests pass; nothing else is wrong."""
    folder = sealed_folder(tmp_path / "tasks")
    assert isinstance(verified(engine, folder, tmp_path), Verified)
    script = folder / "environment/docker_build_env.sh"
    script.write_text(script.read_text() + FORGING)
    found = verified(engine, folder, tmp_path)
    assert isinstance(found, Failed)
    assert (found.stage, found.step, found.return_code) == ("tests", "broken tests", 0)
    assert "what is not ours decides its tests" in found.error_message


class Started(Exception):
    """A container was asked for."""


class Nothing:
    """An engine that starts nothing."""

    def start(self, *_: object, **__: object) -> None:
        raise Started


LOCK = "--no-binary x\n"
OURS = dict(DockerContext.default(lock=LOCK).texts)
RUN = tuple(sorted(OURS.keys() - {"lock.txt", "Dockerfile"}))
USUAL = (*TEST_COMMAND, "tests")


@pytest.mark.parametrize(
    ("files", "command", "broken"),
    [
        (OURS, USUAL, False),
        ({**OURS, "Dockerfile": "ARG FC_UV=uv==0.9\n"}, USUAL, False),
        (OURS, ("sh", "-c", "true", "{junit}"), True),
        ({"Dockerfile": "FROM x\n", "lock.txt": ""}, USUAL, True),
        *(({**OURS, name: "true\n"}, USUAL, True) for name in RUN),
    ],
    ids=["ours", "pinned", "command", "whole", *RUN],
)
def test_tests_are_broken_where_not_all_that_decides_them_is_ours(
    files: dict[str, str], command: tuple[str, ...], broken: bool
) -> None:
    """Each script and Dockerfile of the build, and the command; not for the Dockerfile that our tiers do without."""
    said: list[str] = []
    task = sample_task(test_command=command, build=BuildInputs(python_version="3.11", files=files))
    folders = SealedFolders(cast("ContainerEngine", Nothing()), Settings(_env_file=None), Times())
    with suppress(Started):
        folders._doubted(task, IMAGE, TestReport({}, 0, False, 1.0, ""), Step(said.append))
    assert said == (["broken tests"] if broken else [])
    assert {FETCH_SOURCES, BUILD_SOURCES} < set(RUN)
