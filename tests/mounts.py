"""Disks of a given size for tests; made only by root."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, *, megabytes: int) -> Iterator[Path]:
    """A file system of its own at `place`; skips the test where it cannot be mounted."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    place.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def grow(place: Path, *, megabytes: int) -> None:
    """Give the disk at `place` another size."""
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(place)], check=True)
