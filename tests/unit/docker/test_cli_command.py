"""What the docker command line says, told apart: an answer, a name that stands for nothing, and no answer at all."""

import os
import re
from pathlib import Path

import pytest

from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.engine import ImageRef
from datasmith.errors import ContainerError, EngineUnavailable


def engine(place: Path, script: str) -> CliEngine:
    """An engine whose program is a script."""
    (place / "docker").write_text(f"#!/bin/sh\n{script}\n")
    (place / "docker").chmod(0o755)
    return CliEngine("docker", base_image="b", environment={"PATH": f"{place}:{os.defpath}"})


@pytest.mark.parametrize(
    "said",
    [
        "Error response from daemon: No such image: x:1",
        "Error: No such object: x:1",
        "error: x:1: image not known",
        "invalid reference format: repository name (library/X) must be lowercase",
    ],
)
def test_only_the_daemons_no_is_a_no(tmp_path: Path, said: str) -> None:
    """Docker's and podman's ways to say that they hold no such image."""
    asked = engine(tmp_path, f"echo '{said}' >&2; exit 1")
    assert asked.inspect("x:1") is None


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?", EngineUnavailable),
        ("error during connect: EOF", EngineUnavailable),
        ("Error response from daemon: context deadline exceeded", ContainerError),
        ("Error response from daemon: layer does not exist", ContainerError),
        ("runtime: failed to create new OS thread (have 7 already; errno=11)", ContainerError),
        ("", ContainerError),
    ],
)
def test_whatever_else_is_said_is_no_answer(tmp_path: Path, said: str, error: type[Exception]) -> None:
    """A daemon that is gone, overloaded or broken, and a program that could not start, do not say what there is."""
    asked = engine(tmp_path, f"echo '{said}' >&2; exit 1")
    with pytest.raises(error):
        asked.inspect("x:1")
    with pytest.raises(error):
        asked.base_of(ImageRef("docker", "x:1", "sha256:0"))


def test_a_base_image_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    """With the end of what the program said, whole words of it, and with the setting and an example."""
    asked = engine(tmp_path, f"[ $1 = image ] && echo 'No such image' >&2 || echo '{'long ' * 99}end' >&2; exit 1")
    with pytest.raises(EngineUnavailable) as told:
        asked.pythons()
    assert re.fullmatch(
        r"docker cannot fetch the base image b: … (long )+end \(name one that is there, example: FC_BASE_IMAGE=\S+\)",
        str(told.value),
    )


def test_an_answer_is_one(tmp_path: Path) -> None:
    """With and without the name of the hash in front."""
    for said in ("sha256:ab", "ab"):
        found = engine(tmp_path, f"echo '\"{said}\"'").inspect("x:1")
        assert found == ImageRef("docker", "x:1", "sha256:ab")
