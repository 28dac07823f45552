"""Whether a failed build lost its daemon, by the client's last word, which no step of a build can have."""

import os
from pathlib import Path

import pytest

from datasmith.docker.cli_command import Cli
from datasmith.docker.cli_lost import lost_in_build
from datasmith.errors import EngineUnavailable

NOW = "2026-01-01T00:00:00Z"


def lost(place: Path, said: str, rc: int = 1, died: str = "") -> bool:
    """What is found of a build that ended so, where a daemon answers that remembers these ends of containers."""
    (place / "said").write_text(said)
    (place / "died").write_text(died)
    (place / "docker").write_text(
        "#!/bin/sh\ncase $1 in\n"
        f"build) cat {place}/said >&2; exit {rc} ;;\nevents) cat {place}/died ;;\ninfo) echo {NOW} ;;\nesac\n"
    )
    (place / "docker").chmod(0o755)
    cli = Cli("docker", {"PATH": f"{place}:{os.defpath}"})
    found = lost_in_build(cli, cli.run(["build"]))
    assert found is None or isinstance(found, EngineUnavailable)
    return found is not None


@pytest.mark.parametrize(
    "said",
    [
        "unexpected EOF\n",
        "#8 0.2 fc-script=x.sh\nunexpected EOF\n\n",
        "ERROR: failed to receive status: rpc error: code = Unavailable desc = error reading from server: EOF\n",
        "error: failed to solve: rpc error: code = Unavailable desc = transport is closing\n",
    ],
)
def test_a_connection_that_broke_off_is_no_failure_of_a_step(tmp_path: Path, said: str) -> None:
    """Although another daemon answers by now."""
    assert lost(tmp_path, said)


@pytest.mark.parametrize(
    "said",
    [
        "#8 0.2 unexpected EOF\nexecutor failed running [/bin/sh -c x]: exit code: 1\n",
        "executor failed running [/bin/sh -c x\nunexpected EOF]: exit code: 1\n",
        "The command '/bin/sh -c x\nunexpected EOF' returned a non-zero code: 1\n",
        "#8 0.2 unexpected EOF\n",
        "",
    ],
)
def test_a_step_cannot_say_so(tmp_path: Path, said: str) -> None:
    """What it prints, and what is quoted of it, stands on a longer line."""
    assert not lost(tmp_path, said)


def test_a_step_that_was_killed_failed_where_the_daemon_saw_it(tmp_path: Path) -> None:
    """A daemon that was told to stop killed it, too, and the next one knows nothing of that."""
    said = "The command '/bin/sh -c x' returned a non-zero code: 137\n"
    assert not lost(tmp_path, said, 137, died="0\n137\n")
    assert lost(tmp_path, said, 137, died="0\n")
