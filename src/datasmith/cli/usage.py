"""What is wrong with the words of a command: one line that names the flag, with an example that would be right."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

import typer
from typer.exceptions import TyperException

from datasmith.errors import ConfigError
from datasmith.misfits import misfit

if TYPE_CHECKING:  # slow to import
    from pydantic import ValidationError

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
    "TASK": "work/dataset/tasks/shapely_shapely_2283",
}
"""Of switches, of numbers, and of what has a default, an example follows from what they are.

A metavar comes before a flag: one that several commands have need not take the same in each.
"""


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


def _wrong(error: TyperException, app: typer.Typer, words: Sequence[str]) -> Iterator[object]:
    """The parameter that the error is about; where it knows only the name, that of the command called, then any."""
    wrong = getattr(error, "param", None)
    if wrong is not None:
        yield wrong
        return
    unknown = hasattr(error, "possibilities")  # another command's option of that name is no example
    named = None if unknown else getattr(error, "option_name", None)
    root = typer.main.get_command(app)
    called = root
    for word in words:
        called = getattr(called, "commands", {}).get(word, called)
    commands = [root, called]
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
