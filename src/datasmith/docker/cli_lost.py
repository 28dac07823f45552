"""Whether a build lost its daemon, which may be back by then: whoever asks a socket of systemd's starts it again."""

import re

from datasmith import process
from datasmith.docker.cli_command import Cli
from datasmith.errors import ContainerError, EngineUnavailable

_BROKEN_OFF = re.compile(
    r"(?:error: )?(?:failed to [a-z ]+: )*(?:rpc error: code = Unavailable desc = )?"
    r"(?:(?:unexpected )?EOF|error reading from server: EOF|transport is closing"
    r"|(?:error reading from server: )?read unix \S+: read: connection reset by peer)",
    re.IGNORECASE,
)
"""A whole last line of the client's, after all that a build printed. It quotes a step that failed on a longer one."""
_KILLED = 137
"""How the older builder's client ends where a step was killed, as by a daemon that is told to stop."""


def lost_in_build(cli: Cli, build: process.Completed) -> ContainerError | None:
    """What to raise where a build failed because its daemon went away, or none answers now; else None."""
    alive = cli.run(["version"])
    if not alive.ok:
        return cli.failure(alive)
    if cli.program != "docker" or build.timed_out:
        return None
    lines = build.error_text.split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if not _BROKEN_OFF.fullmatch(said) and not (build.rc == _KILLED and _has_forgotten(cli)):
        return None
    return EngineUnavailable(f"docker went away during a build, and is back: {said[-300:]}")


def _has_forgotten(cli: Cli) -> bool:
    """True where the daemon, which has just seen a container being killed, remembers none: it is another one."""
    now = cli.ask(["info", "--format", "{{.SystemTime}}"])
    words = ["events", "--since", "0", "--until", now, "--filter", "type=container", "--filter", "event=die"]
    return str(_KILLED) not in cli.ask([*words, "--format", "{{.Actor.Attributes.exitCode}}"]).split()
