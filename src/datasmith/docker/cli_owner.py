"""Whose a container is: what a killed process left behind is deleted, what another one works with is not."""

import os
from collections.abc import Sequence
from pathlib import Path

from datasmith.docker.cli_build import KEY_LABEL
from datasmith.docker.cli_command import Cli
from datasmith.docker.cli_container import DELETE

OWNER_LABEL = "org.formulacode.owner"
"""On every container, and by `commit` on the images made of them."""
_KILLED_STEPS = ("--filter", f"label={KEY_LABEL}=", "--filter", "exited=137")
"""The older builder's containers, which have no owner and no key yet: one deletes its own, unless its daemon ends."""
_PROC = Path("/proc")


def owner() -> str:
    """This process as no other one was or will be named: machine's start, process namespace, process id, its start."""
    return f"{_here()}.{os.getpid()}.{_started(os.getpid())}"


def is_gone(name: str) -> bool:
    """True where the process with this name ran here and has ended; False also where that cannot be known."""
    here, _, rest = name.partition(".")
    pid, _, started = rest.partition(".")
    return here == _here() and pid.isdigit() and _started(int(pid)) != started


def sweep(cli: Cli) -> None:
    """Delete the containers, and then the images made of them, of processes that are gone.

    Also what this process could not delete while nobody answered, and steps of builds that ended with their daemon.
    """
    cli.delete_left()
    for identity, name in _found(cli, "container", ["ps", "--all", *_KILLED_STEPS]):
        if not name:
            cli.run([*DELETE, identity])
    ours = ("--filter", f"label={OWNER_LABEL}")
    for kind, listing, delete in (
        ("container", ["ps", "--all", *ours], DELETE),
        ("image", ["images", *ours], ("rmi", "--force")),
    ):
        for identity, name in _found(cli, kind, listing):
            if is_gone(name):
                cli.run([*delete, identity])


def _found(cli: Cli, kind: str, listing: Sequence[str]) -> list[tuple[str, str]]:
    """Ids of what is listed, and their owners; empty where one has none."""
    found = cli.run([*listing, "--no-trunc", "--quiet"]).text.split()
    shown = f'{{{{.ID}}}} {{{{index .Config.Labels "{OWNER_LABEL}"}}}}'
    told = cli.run([kind, "inspect", "--format", shown, *found]).text if found else ""
    return [(identity, name) for identity, _, name in (line.partition(" ") for line in told.splitlines())]


def _here() -> str:
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}-{(_PROC / 'self/ns/pid').stat().st_ino}"


def _started(pid: int) -> str:
    """When a process started, in the kernel's ticks; empty where there is none."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(")")[2].split()[19]
