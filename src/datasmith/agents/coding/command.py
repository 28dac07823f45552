"""The agent that is any executable: it is copied into the sandbox and works there, with a shell and nothing else."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from datasmith.agents.coding.base import AgentResult, Usage
from datasmith.agents.coding.diff import baseline, extract_patch
from datasmith.agents.coding.options import AgentOptions
from datasmith.docker.engine import Container
from datasmith.errors import AgentFailed, ConfigError
from datasmith.tasks.task import Task

PLACE = "/workspace/agent"
"""Where the agent's files and the instruction lie in the sandbox."""
INSTRUCTION = f"{PLACE}/instruction.md"
NOT_STARTED = frozenset({126, 127})
"""Exit codes of a shell for what it may not or cannot run, such as a script whose interpreter is not there."""
EXAMPLE = '(example: {"path": "my_agent.sh"} or {"command": ["python", "/workspace/agent/run.py"], "files": {...}})'


class CommandOptions(BaseModel):
    """`path`: one executable of the host; or `command`, with the `files` it needs (target in PLACE -> host path)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str | None = None
    command: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    files: Mapping[str, str] = Field(default_factory=dict)


class CommandAgent:
    """Runs an executable in the sandbox; the patch is what it has changed in the tree when it ends.

    It gets the instruction at INSTRUCTION and on standard input, stands in the repository, and has no network. Its
    exit code is noted in the log and decides nothing where something was changed; else one that is not 0 is a failure.
    """

    def __init__(self, options: AgentOptions) -> None:
        read = _parse(options)
        given = [(_inside(target), _host_file(options, name)) for target, name in read.files.items()]
        self._command = read.command or ()
        if read.path is not None:
            program = _host_file(options, read.path)
            given.append((_inside(program.name), program))
            self._command = (given[-1][0],)
        self._files = dict(given)
        _refuse_overlaps([INSTRUCTION, *(target for target, _ in given)])

    @property
    def name(self) -> str:
        """`command`."""
        return "command"

    def solve(self, task: Task, container: Container, *, timeout_s: float) -> AgentResult:
        """Copy the files in, run the command, take the diff out; after `timeout_s` the diff so far is taken.

        Raises:
            AgentFailed: the sandbox's repository no longer yields a diff.
        """
        start = baseline(container)
        instruction = task.instruction.encode("utf-8", "surrogateescape")
        container.write_file(INSTRUCTION, instruction)
        for target, source in self._files.items():
            container.write_file(target, _content(source), mode=0o755)
        begun = time.monotonic()
        done = container.exec(self._command, timeout=timeout_s, stdin=instruction, env={"FC_INSTRUCTION": INSTRUCTION})
        wall = time.monotonic() - begun
        log = f"{done.text}{done.error_text}\n[exit code {done.rc}{', timed out' if done.timed_out else ''}]\n"
        unknown = Usage()
        try:
            patch = extract_patch(container, start)
        except AgentFailed as error:
            return AgentResult("", unknown, wall, log, failure=str(error), timed_out=done.timed_out)
        failure = None
        if done.rc and not patch and not done.timed_out:
            how = "could not be started" if done.rc in NOT_STARTED else "changed nothing and failed"
            failure = f"{self._command[0]} {how}: exit code {done.rc}, see agent.log"
        return AgentResult(patch, unknown, wall, log, failure=failure, timed_out=done.timed_out)


def _parse(options: AgentOptions) -> CommandOptions:
    read = options.read_as(CommandOptions, EXAMPLE)
    if (read.path is None) == (read.command is None):
        raise ConfigError(f"agent_kwargs of {options.name!r}: give either path or command {EXAMPLE}")
    if read.command and (not read.command[0] or "\0" in "".join(read.command)):
        words = list(read.command)
        raise ConfigError(f"agent_kwargs of {options.name!r}: command: {words!r} starts no program {EXAMPLE}")
    return read


def _inside(target: str) -> str:
    clean = target.removeprefix(f"{PLACE}/")
    parts = clean.split("/")
    if clean.startswith("/") or ".." in parts:
        raise ConfigError(f"agent_kwargs: files: {target!r} lies outside {PLACE} {EXAMPLE}")
    if "" in parts or "." in parts or "\0" in clean:
        raise ConfigError(f"agent_kwargs: files: {target!r} is not the plain path of a file below {PLACE} {EXAMPLE}")
    return f"{PLACE}/{clean}"


def _refuse_overlaps(targets: Sequence[str]) -> None:
    """Each file has a place of its own: none is another one's, a directory of another one, or the instruction's."""
    taken: set[str] = set()
    for target in targets:
        if any(other == target or other.startswith(f"{target}/") or target.startswith(f"{other}/") for other in taken):
            raise ConfigError(f"agent_kwargs: files: {target} is where another file or the instruction lies {EXAMPLE}")
        taken.add(target)


def _host_file(options: AgentOptions, name: str) -> Path:
    path = options.directory / name
    if not path.is_file():
        raise ConfigError(f"agent_kwargs of {options.name!r}: there is no file {path} {EXAMPLE}")
    return path


def _content(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except OSError as error:
        raise AgentFailed(f"cannot read {source}: {error.strerror}") from error
