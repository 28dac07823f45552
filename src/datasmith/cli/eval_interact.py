"""fc-eval tasks interact: a person looks around where an agent would work."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.eval_options import REGISTRY, DatasetOption, RegistryOption
from datasmith.cli.options import Engine, finite
from datasmith.errors import ConfigError

if TYPE_CHECKING:
    from datasmith.docker.engine import Container

_Id = Annotated[str, typer.Argument(metavar="ID", help="Id of a task, also as owner/repo#1 or owner__repo-1.")]
_Command = Annotated[str, typer.Option("--command", help="Run this shell command instead of an interactive shell.")]
_Patch = Annotated[Path | None, typer.Option("--patch", help="A git diff to apply first.")]
_Timeout = Annotated[float, typer.Option(min=1.0, callback=finite, help="Seconds that --command may take.")]
APPLY_TIMEOUT_S = 600.0


def interact(
    task: _Id,
    *,
    dataset: DatasetOption,
    command: _Command = "",
    patch: _Patch = None,
    engine: Engine = "",
    timeout: _Timeout = 3600.0,
    registry: RegistryOption = REGISTRY,
) -> None:
    """Open a shell in a pristine sandbox of a task, as an agent finds it; it is gone when the shell ends.

    The exit code is that of the shell or of --command.
    """
    from datasmith.docker.engine import Joinable
    from datasmith.docker.engines import limits_of, open_engine
    from datasmith.evaluation.images import image_of
    from datasmith.evaluation.suite import show_suite
    from datasmith.settings import load_settings
    from datasmith.tasks.dataset import Places, load_dataset

    settings = load_settings(engine=engine)
    opened = load_dataset(dataset, Places.of(settings, registry))
    chosen = opened.select([task], said="ID")
    if len(chosen) != 1:
        raise ConfigError(f"ID {task!r} means {len(chosen)} tasks (example: {chosen[0].task_id})")
    (one,) = chosen
    if not command and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("there is no terminal for a shell (example: --command 'git status')")
    sandboxes = open_engine(settings)
    log = settings.data_dir / "logs" / f"{one.task_id}.build.log"
    image = image_of(sandboxes, settings, one, opened.folders[one.task_id], log=log)
    limits = limits_of(settings)
    with sandboxes.start(image, limits=limits, writable_env=True) as container:
        show_suite(container, one)
        _apply(container, patch)
        if command:
            raise typer.Exit(_run(container, command, timeout))
        assert isinstance(container, Joinable)
        print(f"{one.task_id}: {one.title}; what is done here is gone when the shell ends", file=sys.stderr)
        raise typer.Exit(container.terminal(["bash", "--norc", "-i"]))


def _apply(container: "Container", patch: Path | None) -> None:
    from datasmith.workloads.arms import apply_patch

    if patch is None:
        return
    try:
        text = patch.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise ConfigError(f"--patch {patch}: {error.strerror} (example: --patch my.diff)") from error
    problem = apply_patch(container, text, timeout=APPLY_TIMEOUT_S)
    if problem:
        raise ConfigError(f"--patch {patch}: {problem} (example: --patch my.diff)")


def _run(container: "Container", command: str, timeout: float) -> int:
    from datasmith.process import TIMED_OUT

    done = container.exec(["bash", "-c", command], timeout=timeout)
    sys.stdout.write(done.text)
    sys.stderr.write(done.error_text)
    if done.timed_out:
        print(f"not done after {timeout:g} s (--timeout)", file=sys.stderr)
        return TIMED_OUT
    return done.rc
