"""A Debian base image made on this machine, for tests of docker where no registry can be reached."""

import atexit
import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from datasmith import process

BASE_IMAGE = "fc-test-base:bookworm"
PACKAGES = "python3,python3-dev,python3-venv,build-essential,pkg-config,git,ca-certificates"
LEFT_OUT = (
    "/usr/share/man/*",
    "/usr/share/doc/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
    "/usr/bin/*lto-dump*",
    "/usr/bin/*gold",
    "/usr/bin/*dwp",
    "/usr/bin/git-shell",
    "/usr/bin/scalar",
    "/usr/include/c++/*",
    "/usr/lib/gcc/*/cc1*",
    "/usr/lib/gcc/*/lto1",
    "/usr/lib/git-core/git-daemon",
    "/usr/lib/git-core/git-http-*",
    "/usr/lib/git-core/git-imap-send",
    "/usr/lib/git-core/git-shell",
    "/usr/lib/git-core/scalar",
    "/usr/lib/*.a",
    "/usr/lib/*/lib[altu]*san.so.*",
    "/usr/lib/*/libgprofng*",
    "/usr/lib/*/perl/*/CORE/*",
    "/usr/lib/*/perl/*/auto/Encode/[CJKT]*",
    "/usr/*/Unicode/Collate*",
)
"""Two thirds of its bytes, which no test reads, and engines pack, digest and search again and again: none compiles."""


def docker_answers() -> bool:
    """True where a Docker daemon can be used now."""
    return shutil.which("docker") is not None and process.run(["docker", "version"], timeout=30).ok


def lacks(what: str, help_with_it: str) -> NoReturn:
    if not os.environ.get("CI"):
        pytest.skip(f"{what} ({help_with_it})")
    pytest.fail(f"{what}, and CI must not skip")


def ensure_base_image(place: Path) -> str:
    """The name of the base image, which is made where it is missing; skips, outside CI, where there is no daemon."""
    if not docker_answers():
        lacks("no Docker daemon answers", "scripts/with-docker.sh starts one")
    if not process.run(["docker", "image", "inspect", BASE_IMAGE], timeout=30).ok:
        imported = process.run(["docker", "import", base_archive(place), BASE_IMAGE], timeout=600)
        assert imported.ok, imported.error_text
    return BASE_IMAGE


def base_archive(place: Path) -> Path:
    """The image as a tar, which is made once on a machine: apt and dpkg work on it for a minute of two cores."""
    words = ["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}"]
    words += [f"--dpkgopt=path-exclude={path}" for path in LEFT_OUT]
    words += ["bookworm"]
    name = hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fc-tests", f"base-{name}.tar")
    if kept.exists():
        return kept
    made = process.run([*words, place / "base.tar"], timeout=900)
    assert made.ok, made.error_text[-2000:]
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".making-") as beside:
        whole = Path(beside, "base.tar")
        shutil.move(place / "base.tar", whole)
        whole.replace(kept)
    return kept


@functools.cache
def podman_environment() -> Mapping[str, str]:
    """What podman is to run with: a store of this process alone, and a runtime for both versions of control groups.

    In a store of many images podman takes seconds to list them; and crun refuses machines that have both versions.
    """
    place = Path(tempfile.mkdtemp(prefix="fc-podman-"))
    containers, storage = place / "containers.conf", place / "storage.conf"
    containers.write_text('[engine]\nruntime = "runc"\n')
    storage.write_text(f'[storage]\ndriver = "overlay"\ngraphroot = "{place}/images"\nrunroot = "{place}/run"\n')
    atexit.register(_remove_store, place)
    return {"CONTAINERS_CONF": str(containers), "CONTAINERS_STORAGE_CONF": str(storage)}


def _remove_store(place: Path) -> None:
    process.run(["umount", place / "images" / "overlay"], timeout=60)
    shutil.rmtree(place, ignore_errors=True)


def podman_base(place: Path) -> str:
    """An image of the same files in podman's own store, where podman looks; skips, outside CI, without podman."""
    name = f"localhost/{BASE_IMAGE}"
    if shutil.which("podman") is None:
        lacks("podman is not installed", "apt-get install podman")
    given = process.clean_environment(podman_environment())
    if process.run(["podman", "image", "exists", name], env=given, timeout=60).ok:
        return name
    imported = process.run(["podman", "import", base_archive(place), name], env=given, timeout=600)
    assert imported.ok, imported.error_text
    return name
