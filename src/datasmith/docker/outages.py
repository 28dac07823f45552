"""Why a build did not succeed: it failed, its disk was full, or what it downloads from did not answer: no verdicts."""

import re

from datasmith.docker.engine import Tier
from datasmith.docker.origin import runs_only_ours
from datasmith.errors import BuildFailed, ContainerError, DiskFull, IndexUnavailable
from datasmith.printable import ending

NETWORK = re.compile(
    r"error sending request|failed to fetch|request failed after|timed out|dns error|connection (?:refused|reset)"
    r"|status server error|status client error \((?:401|403|407|429)|certificate verif"
    r"|invalid peer certificate|fc-no-answer",
    re.IGNORECASE,
)
"""Words of uv's, and of fetch_sources.py, for an index that could not be asked."""
_MIRROR = re.compile(
    r"temporary failure resolving|could not (?:connect|resolve)|unable to connect to|connection (?:failed|timed out)"
    r"|^[EW]: failed to fetch",
    re.IGNORECASE | re.MULTILINE,
)
"""Words of apt's for a mirror that could not be asked."""
_ANSWER = re.compile(
    r"status client error \((?:404|410)|unable to locate package|has no installation candidate|\b404 +not found"
    r"|dpkg returned an error",
    re.IGNORECASE,
)
"""Somebody answered: it is not there, or cannot be installed. A later line may repeat what was asked for."""
NO_ROOM = re.compile("no space left on device|disk quota exceeded", re.IGNORECASE)
"""The system's words for a disk that is full, as every program repeats them."""
ANOTHER_INDEX = "FC_INDEX_URL names another one, as https://pypi.example.org/simple"
_MARK = re.compile(r"^(?:#\d+ [\d.]+ )?(?:\x1b\[[\d;]*m)*fc-script=(\S+)\s*$", re.MULTILINE)
"""A line of tier.sh. docker's older builder shows errors in red; the end of that may stand before the next line."""
_TAIL = 4000


def failed(tier: Tier, script: str, rc: int, log: str, *, timed_out: bool) -> BuildFailed | DiskFull | IndexUnavailable:
    """What to raise for a script of a tier, by the end of what it printed.

    Only of scripts that ship is it believed that the network failed, which stops a stage.
    """
    tail = log[-_TAIL:]
    if tier.network == "build" and not timed_out and runs_only_ours(tier) and unanswered(tail):
        said = f"{script}: what it downloads from is unavailable: {ending(tail, 300)}"
        return IndexUnavailable(said if tier.kind == "base" else f"{said} ({ANOTHER_INDEX})")
    return not_built(script, rc, tail, late_s=tier.timeout_s if timed_out else None)


def not_built(stage: str, rc: int, log: str, *, late_s: float | None) -> BuildFailed | DiskFull:
    """What to raise for the end of a build's output; `late_s`: the limit that it ran into, if it did.

    A full disk is believed of any code: nothing is stopped by it, and who lies is built once more in each later run.
    """
    tail = log[-_TAIL:]
    if late_s is None and NO_ROOM.search(tail):
        return DiskFull(stage, tail)
    said = f"ran into its limit of {late_s:g} s\n" if late_s is not None else ""
    return BuildFailed(stage, rc, said + tail, timed_out=late_s is not None)


def unanswered(log: str) -> bool:
    """Whether uv or apt says that nobody answered; that a package or file does not exist is an answer."""
    return not _ANSWER.search(log) and bool(NETWORK.search(log) or _MIRROR.search(log))


def failed_script(output: str) -> str | None:
    """The script that ran last, by what the build printed; None where none was reached."""
    found = _MARK.findall(output)
    return found[-1] if found else None


def build_failure(tier: Tier, output: str, rc: int, *, timed_out: bool) -> ContainerError | IndexUnavailable | None:
    """Why a build did not succeed, where a script, the tier's own Dockerfile or the time is to blame; else None."""
    script = failed_script(output) or (f"Dockerfile of {tier.name}" if tier.dockerfile or timed_out else None)
    if script is None:
        return None
    return failed(tier, script, rc, output, timed_out=timed_out)
