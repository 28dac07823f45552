"""What is wrong with the words of a command: one line that names the flag, with an example that would be right."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import typer
from typer.exceptions import TyperException

from datasmith.errors import ConfigError
from datasmith.misfits import misfit

if TYPE_CHECKING:  # slow to import
    from pydantic import ValidationError

_Command = TypeVar("_Command")
EXAMPLES = {
    "--agent": "claude",
    "--attack": "sitecustomize",
    "--check": "my-run.submission.tar.gz",
    "--command": "'git status'",
    "--config": "agents.json",
    "--cutoffs": "cutoffs.json",
    "--data-dir": "./work",
    "--dataset": "work/dataset/tasks",
    "--end-date": "2026-03-01",
    "--engine": "docker",
    "--exclude": "shapely_*",
    "--executor": "ray",
    "--forge": "github",
    "--from-csv": "repositories.csv",
    "--max-rounds": "12",
    "--model": "claude-sonnet-4",
    "--name": "formulacode",
    "--offline-source": "pull_requests.parquet",
    "--out": "./work",
    "--patch": "my.diff",
    "--patches": "attacks",
    "--older-than": "30d",
    "--output": "harbor-tasks",
    "--policy": "floor",
    "--published": "published",
    "--registry": "datasets.json",
    "--release": "2026-03",
    "--repo": "pypa/packaging",
    "--run-id": "my-run",
    "--runs-dir": "runs",
    "--select": "impacted",
    "--stars": "stars.json",
    "--start-date": "2026-02-01",
    "--suite-from": "newest",
    "--suite-repo": "astropy/astropy-benchmarks",
    "--task": "work/dataset/tasks",
    "--task-id": "shapely_shapely_2283",
    "--to": "release",
    "--workload": "'*'",
    "ARCHIVE": "image.oci.tar",
    "FILE": "my-run.submission.tar.gz",
    "ID": "shapely_shapely_2283",
    "RUN": "runs/my-run",
    "RUN1[:AGENT]": "runs/my-run:oracle",
    "RUN2[:AGENT]": "runs/my-run:nop",
    "IMAGE|TASK": "work/dataset/tasks/shapely_shapely_2283",
    "TASK": "work/dataset/tasks/shapely_shapely_2283",
    "TASK|DIR": "work/dataset/tasks",
}
"""Of switches, of numbers, and of what has a default, an example follows from what they are.

A metavar comes before a flag: one that several commands have need not take the same in each.
"""


_WHAT = {"--repo", "--suite-from", "--suite-repo", "--dataset", "-d", "--task-id", "-t", "--exclude"}
"""Options that say what to work on, and are no paths: without a value they are not as if they were left out."""


def explained(error: TyperException, app: typer.Typer, words: Sequence[str]) -> tuple[str, int]:
    """The line and the exit code of an error in the words of a command of `app`."""
    say = getattr(error, "format_message", None)
    said = str(say() if callable(say) else error).strip().removesuffix(".")
    if isinstance(misfitting := error.__cause__, ValueError) and hasattr(misfitting, "errors"):  # pydantic's
        said = said.replace(str(getattr(error, "message", "")), misfit(cast("ValidationError", misfitting)))
    context = getattr(error, "ctx", None)
    about = [f"{context.command_path} --help"] if context is not None else []
    example = next((text for text in [*map(example_of, _wrong(error, app, words)), *about] if text), "")
    code = int(getattr(error, "exit_code", ConfigError.exit_code))
    return (f"{said} (example: {example})" if example else said), code


def refuse_empty_paths(app: typer.Typer, words: Sequence[str]) -> None:
    """See that no argument, and no option that says what to work on, is given nothing.

    It would mean the working directory, or what is done without the option. One that chooses how (an engine, an agent)
    may be: that is its default.

    Raises:
        ConfigError: one is; names it.
    """
    parts = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    if all(parts):
        return
    root = typer.main.get_command(app)
    way = list(_way(root, words))
    called = way[-1][1]
    owners = {flag: each for one in (root, called) for each in one.params for flag in each.opts if flag[0] == "-"}
    owners = {flag: each for flag, each in owners.items() if not vars(each).get("is_flag")}
    arguments = [each for each in called.params if not each.opts[0].startswith("-")]
    for before, value in pairwise(["", *parts]):
        if before in owners:
            is_what = before in _WHAT or vars(owners[before])["type_descriptor"].annotation in (Path, list[Path])
            wrong, name = (owners[before] if is_what else None), max(owners[before].opts, key=len)
        elif value.startswith("-") or value in dict(way[1:]):
            continue
        else:
            wrong, name = (arguments[0], vars(arguments[0])["metavar"]) if arguments else (None, "")
            arguments = arguments[1:] or arguments
        if wrong is not None and not value:
            said = "is empty, as the unset variable of a script is"
            raise ConfigError(f"{name} '': {said} (example: {example_of(wrong)})")


def _called(command: _Command, words: Sequence[str]) -> _Command:
    """The command below this one that the words lead to."""
    return list(_way(command, words))[-1][1]


def _way(command: _Command, words: Sequence[str]) -> Iterator[tuple[str, _Command]]:
    """This command, without a name, and those that the words lead to one after another, each with its own."""
    yield "", command
    for word in words:
        below = getattr(command, "commands", {}).get(word)
        if below is not None:
            command = below
            yield word, command


def _wrong(error: TyperException, app: typer.Typer, words: Sequence[str]) -> Iterator[object]:
    """The parameter that the error is about; where it knows only the name, that of the command called, then any."""
    wrong = getattr(error, "param", None)
    if wrong is not None:
        yield wrong
        return
    unknown = hasattr(error, "possibilities")  # another command's option of that name is no example
    named = None if unknown else getattr(error, "option_name", None)
    root = typer.main.get_command(app)
    commands = [root, _called(root, words)]
    while named and commands:
        command = commands.pop()
        yield from (parameter for parameter in command.params if named in parameter.opts)
        commands += getattr(command, "commands", {}).values()


def example_of(parameter: object) -> str:
    """How a parameter of a command may be given, as in `--stage 4`; empty where that is not known."""
    facts = vars(parameter)
    flag = next((str(name) for name in facts["opts"] if name.startswith("--")), "")
    if not flag:
        return EXAMPLES.get(str(facts["metavar"]), "")
    if facts.get("is_flag"):
        return flag
    value = (
        EXAMPLES.get(str(facts["metavar"]))
        or EXAMPLES.get(flag)
        or _number(facts["default"], facts["min"], str(facts["type_descriptor"].annotation))
    )
    return f"{flag} {value}" if value else ""


def _number(default: object, least: float | None, kind: str) -> str:
    if "int" not in kind and "float" not in kind:
        return ""
    if isinstance(default, int | float):
        return f"{default:g}"
    return f"{max(4, least or 0):g}"
