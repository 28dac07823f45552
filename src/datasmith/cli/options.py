"""Options that commands of both fc-data and fc-eval share, and those that several of fc-data do."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.errors import ConfigError

if TYPE_CHECKING:
    from datasmith.settings import Settings

Start = Annotated[str, typer.Option("--start-date", help="First day of the window (YYYY-MM-DD, UTC, inclusive).")]
End = Annotated[str, typer.Option("--end-date", help="Day after the window (YYYY-MM-DD, UTC, exclusive).")]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Where results go (default: FC_DATA_DIR, ./work).")]
ResultsDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Where results are (default: FC_DATA_DIR, ./work).")
]
_WORK = Path("work")


def results_in(path: Path | None) -> "Settings":
    """The settings of a command that reads results and writes none; `path` is what --data-dir gives.

    Raises:
        ConfigError: there is no such directory, and no database elsewhere; the default need not be there, one that is
            named must.
    """
    from datasmith.settings import load_settings

    settings = load_settings(data_dir=path)
    place = settings.data_dir
    if not settings.database_url and place != _WORK:
        _expect_directory(place, path, may_be_made=False)
    return settings


def results_to(settings: "Settings", path: Path | None) -> Path:
    """Where a command writes, which is made where it is missing; `path` is what --data-dir gives.

    Raises:
        ConfigError: something else is there.
    """
    _expect_directory(settings.data_dir, path, may_be_made=True)
    return settings.data_dir.absolute()


def _expect_directory(place: Path, path: Path | None, *, may_be_made: bool) -> None:
    if place.is_dir() or (may_be_made and not place.exists()):
        return
    name, example = ("FC_DATA_DIR", "FC_DATA_DIR=./work") if path is None else ("--data-dir", "--data-dir ./work")
    what = "is a file" if place.exists() else "no such directory"
    raise ConfigError(f"{name} {place}: {what} (example: {example})")


def only_task(setting: str, place: Path) -> Path | None:
    """The task folder that `place` is or holds; None where there is none.

    Raises:
        ConfigError: it holds several; names the setting that gave it.
        TaskError: a folder in it may not be looked into.
    """
    from datasmith.tasks.plain import folders_below

    found = folders_below([place])
    if len(found) > 1 and place not in found:
        raise ConfigError(f"{setting} {place}: holds {len(found)} tasks, and one is needed (example: {found[0]})")
    return place if place in found else next(iter(found), None)


def the_task(setting: str, place: Path) -> Path:
    """See `only_task`; that there is none is an error, too."""
    found = only_task(setting, place)
    if found is None:
        raise ConfigError(
            f"{setting} {place}: no task folder is there (example: work/dataset/tasks/shapely_shapely_2283)"
        )
    return found


def finite(value: float | None) -> float | None:
    """Callback of seconds and dollars: `inf` and `nan` are words for floats, and no file of ours can hold them."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no finite number")
    return value


def help_without_command(context: typer.Context) -> None:
    """Callback of a group: print its help where no command of it is given, which is an error.

    Raises:
        ConfigError: none is given.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise ConfigError(f"{context.command_path}: no command is given (example: {context.command_path} --help)")


EXECUTORS = "local, inline (here, one after another) or ray (the cluster at FC_RAY_ADDRESS)"
"""What --executor takes, as its help says it."""
Json = Annotated[bool, typer.Option("--json", help="Print the result, or the error, as JSON on standard output.")]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        help="bubblewrap, docker, podman, or auto, the first of them that works here (default: FC_ENGINE, else auto).",
    ),
]
Precise = Annotated[bool, typer.Option("--precise", help="Measure to ±1 % within 96 rounds, not ±2 % within 24.")]
MOST_ROUNDS = 1000
"""Many times what the precise plan takes: whoever asks for more has mistyped."""
MaxRounds = Annotated[
    int | None,
    typer.Option(
        "--max-rounds",
        min=6,
        max=MOST_ROUNDS,
        help="At most this many rounds a workload: 6 can tell an effect in a task of 1 workload, 9 of 12, 12 of 100.",
    ),
]
