"""Which containers may be deleted: only those of processes that ran here and have ended."""

import os
import subprocess
import sys

from datasmith.docker.cli_owner import is_gone, owner


def test_we_are_not_gone() -> None:
    """Nor is a name that tells nothing, or one of another machine."""
    assert not is_gone(owner())
    assert not is_gone("") and not is_gone("no name") and not is_gone(f"another-machine.{os.getpid()}.1")


def test_a_process_that_ended_is_gone() -> None:
    """Also where another one has its number by now."""
    words = [sys.executable, "-c", "from datasmith.docker.cli_owner import owner; print(owner())"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    assert is_gone(told)
    here, _, _ = owner().split(".")
    assert is_gone(f"{here}.{os.getpid()}.1")
