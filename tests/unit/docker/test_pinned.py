"""The Dockerfile that others build a task folder with."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ContainerEngine, ImageRef
from datasmith.docker.pinned import pinned, pinned_base
from datasmith.docker.recipes import WHOLE, for_tier, recipe_of

IMAGE = ImageRef("docker", "n/x:1", "sha256:0")
BASE = f"debian:bookworm-slim@sha256:{'1f' * 32}"
OWN = DockerContext.default(lock="")


@dataclass(frozen=True)
class Knows:
    """An engine that says what an image stands on, and may hold that under this name."""

    runs_dockerfiles: bool
    holds: str

    def base_of(self, _image: ImageRef) -> str:
        return BASE

    def inspect(self, reference: str) -> ImageRef | None:
        return IMAGE if reference == self.holds else None


def pinned_by(engine: Knows, uv: str = "0.8.3") -> DockerContext:
    return pinned(OWN, IMAGE, cast("ContainerEngine", engine), uv)


@pytest.mark.parametrize(
    ("line", "held"),
    [
        (f"ARG FC_BASE_IMAGE={BASE}", BASE),
        ("ARG FC_BASE_IMAGE=debian:bookworm-slim", ""),
        (f"ARG FC_BASE_IMAGE=debian@x@sha256:{'1f' * 32}", ""),
        (f"ARG FC_BASE_IMAGE=--platform=x debian@sha256:{'1f' * 32}", ""),
    ],
)
def test_a_system_is_read_by_its_digest_alone(line: str, held: str) -> None:
    """As a name of an image; whatever else stands there names none."""
    assert pinned_base(DockerContext({WHOLE: f"{line}\nFROM x\n"})) == held
    assert pinned_base(pinned_by(Knows(True, BASE))) == BASE and not pinned_base(OWN)


def test_others_start_from_the_same_system_and_uv(tmp_path: Path) -> None:
    """Both stand in the file, once, and come back from a directory; nothing else of the context is changed."""
    found = pinned_by(Knows(True, BASE))
    lines = found.texts[WHOLE].splitlines()
    changed = [line for line in lines if line not in OWN.texts[WHOLE].splitlines()]
    assert changed == [f"ARG FC_BASE_IMAGE={BASE}", "ARG FC_UV=uv==0.8.3"]
    assert lines[lines.index(changed[0]) + 1] == "FROM ${FC_BASE_IMAGE}"
    assert any('pip install --quiet "$FC_UV"' in line for line in lines)
    assert {**found.texts, WHOLE: ""} == {**OWN.texts, WHOLE: ""}
    assert DockerContext.from_directory(found.to_directory(tmp_path / "environment")) == found


@pytest.mark.parametrize("engine", [Knows(False, BASE), Knows(True, "debian:bookworm-slim")])
def test_a_system_that_nobody_can_start_from_is_not_named(engine: Knows) -> None:
    """Neither bubblewrap's, nor an image that was made here; uv is pinned all the same, where it says what it is."""
    found = pinned_by(engine).texts[WHOLE]
    assert "ARG FC_BASE_IMAGE=debian:bookworm-slim\n" in found and "ARG FC_UV=uv==0.8.3\n" in found
    assert pinned_by(engine, "unknown") == OWN


def test_our_own_tiers_are_the_same_ones() -> None:
    """An engine of ours does not read that file: what it builds, and finds built, has the same key as before."""
    found = pinned_by(Knows(True, BASE))
    assert for_tier(found, "pr") == found
    assert [recipe_of(found, kind) for kind in ("base", "env", "pr")] == [
        recipe_of(OWN, kind) for kind in ("base", "env", "pr")
    ]


def test_a_context_without_the_file_gets_none() -> None:
    """What was found for another commit long ago may hold scripts only."""
    alone = DockerContext({"docker_build_pkg.sh": "true\n"})
    assert pinned(alone, IMAGE, cast("ContainerEngine", Knows(True, BASE)), "0.8.3") == alone
