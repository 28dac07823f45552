"""A Debian base image made on this machine, for tests of docker where no registry can be reached."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from datasmith import process

BASE_IMAGE = "fc-test-base:bookworm"
PACKAGES = "python3,python3-dev,python3-venv,build-essential,pkg-config,git,ca-certificates"


def docker_answers() -> bool:
    """True where a Docker daemon can be used now."""
    return shutil.which("docker") is not None and process.run(["docker", "version"], timeout=30).ok


def _lacks(what: str, help_with_it: str) -> NoReturn:
    if not os.environ.get("CI"):
        pytest.skip(f"{what} ({help_with_it})")
    pytest.fail(f"{what}, and CI must not skip")


def ensure_base_image(place: Path) -> str:
    """The name of the base image, which is made where it is missing; skips, outside CI, where there is no daemon."""
    if not docker_answers():
        _lacks("no Docker daemon answers", "scripts/with-docker.sh starts one")
    if process.run(["docker", "image", "inspect", BASE_IMAGE], timeout=30).ok:
        return BASE_IMAGE
    archive = place / "base.tar"
    made = process.run(["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", archive], timeout=900)
    assert made.ok, made.error_text[-2000:]
    imported = process.run(["docker", "import", archive, BASE_IMAGE], timeout=600)
    archive.unlink()
    assert imported.ok, imported.error_text
    return BASE_IMAGE


def podman_base(place: Path) -> str:
    """The same image in podman's own store, which is where podman looks; skips, outside CI, without podman."""
    name = f"localhost/{BASE_IMAGE}"
    if shutil.which("podman") is None:
        _lacks("podman is not installed", "apt-get install podman")
    if process.run(["podman", "image", "exists", name], timeout=60).ok:
        return name
    archive = place / "podman.tar"
    saved = process.run(["docker", "save", "--output", archive, ensure_base_image(place)], timeout=600)
    assert saved.ok, saved.error_text
    loaded = process.run(["podman", "load", "--input", archive], timeout=600)
    assert loaded.ok, loaded.error_text
    archive.unlink()
    return name
