"""The scripts of a tier: laid out for a sandbox, and run there one after another."""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from datasmith.docker.bubblewrap_container import BubblewrapContainer
from datasmith.docker.bubblewrap_slots import Slot
from datasmith.docker.engine import Tier
from datasmith.docker.layers import content
from datasmith.docker.outages import failed
from datasmith.docker.source_tar import REPO_TAR
from datasmith.errors import ContainerError


def run_scripts(
    sandbox: BubblewrapContainer, tier: Tier, environment: Mapping[str, str], before: Sequence[str], log: Path
) -> None:
    """All scripts of a tier, one after another, in the time that the tier has; `before` are words before each.

    Raises:
        BuildFailed: one of them failed; names it.
        DiskFull, IndexUnavailable: it did for a reason that says nothing about the commit.
    """
    deadline = time.monotonic() + tier.timeout_s
    for script in tier.scripts:
        words, left_s = [*before, "bash", f"/build/{script}"], deadline - time.monotonic()
        done = sandbox.exec(words, timeout=left_s, env=environment, cwd="/build", log=log)
        if not done.ok:
            raise failed(tier, script, done.rc, done.text[-4000:] + done.error_text, timed_out=done.timed_out)


def write_files(tier: Tier, slot: Slot) -> Path:
    """The scripts and files of a tier as a directory.

    Raises:
        ContainerError: a file's name is none.
    """
    directory = slot.path / "build"
    directory.mkdir()
    for name, data in tier.files.items():
        if not re.fullmatch(r"[A-Za-z0-9._-]+", name) or name in {".", ".."}:
            raise ContainerError(f"a tier's file cannot be called {name!r} (example: docker_build_pkg.sh)")
        if name != REPO_TAR:
            (directory / name).write_bytes(content(data))
    return directory
