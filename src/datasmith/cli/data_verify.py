"""fc-data verify: build task folders again and see whether their tests and benchmarks run."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.common import brief
from datasmith.cli.document import document
from datasmith.cli.options import DataDir, Engine, Json, finite, results_to
from datasmith.counted import counted
from datasmith.errors import ConfigError, EngineUnavailable
from datasmith.printable import one_line

if TYPE_CHECKING:
    from datasmith.runners.verification.run import Judged


def verify(
    *,
    task: Annotated[
        list[Path],
        typer.Option("--task", help="A task folder (either generation), or a directory of such; repeatable."),
    ],
    workers: Annotated[int, typer.Option("--workers", min=1, help="Folders under way at once.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Verify again what has its verdict.")] = False,
    resume: Annotated[  # noqa: ARG001
        bool, typer.Option("--resume", help="Leave out what has its verdict; without it the same.")
    ] = True,
    build_timeout: Annotated[
        float, typer.Option(min=1.0, callback=finite, help="Seconds that a build may take, all tiers together.")
    ] = 3600.0,
    test_timeout: Annotated[
        float, typer.Option(min=1.0, callback=finite, help="Seconds that a run of the tests may take.")
    ] = 1800.0,
    benchmark_timeout: Annotated[
        float, typer.Option(min=1.0, callback=finite, help="Seconds that the benchmarks may take.")
    ] = 3600.0,
    engine: Engine = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Verify task folders; exits with 1 where one fails. Verdicts lie in the folders, for readers only."""
    from datasmith.cli.progress import StageBars
    from datasmith.runners.verification.base import Times
    from datasmith.runners.verification.generations import Generations
    from datasmith.runners.verification.run import Verification, find_folders
    from datasmith.runners.verification.verdict import Verdicts
    from datasmith.settings import load_settings

    folders = tuple(dict.fromkeys(found for place in task for found in find_folders(place)))
    settings = load_settings(data_dir=data_dir, engine=engine)
    results = settings.data_dir.resolve()
    around = next((folder for folder, _ in folders if results.is_relative_to(folder.resolve())), None)
    if around:
        said = (
            f"{settings.data_dir} lies in the task folder {around}, and results in there would change what is verified"
        )
        raise ConfigError(f"--data-dir: {said} (example: --data-dir ../work)")
    place = results_to(settings, data_dir)
    times = Times(build_timeout, test_timeout, benchmark_timeout)
    verification = Verification(
        Generations(settings, times),
        Verdicts(place / "verdicts"),
        place / "logs" / "verify",
        force=force,
    )
    with StageBars() as bars:
        judged = verification.run(
            folders, workers=workers, progress=lambda done, total, note: bars("verify", done, total, note)
        )
    _show(judged, as_json)
    held = [each for each in judged if each.verdict is None]
    if held:
        raise EngineUnavailable(f"{len(held)} of {len(judged)} folders have no verdict: {held[0].held}")
    if not all(each.verdict and each.verdict.ok for each in judged):
        raise typer.Exit(1)


def _show(judged: "tuple[Judged, ...]", as_json: bool) -> None:
    if as_json:
        print(document({"folders": [_row(each) for each in judged]}))
        return
    for each in judged:
        print(_line(each))
    ok = sum(bool(each.verdict and each.verdict.ok) for each in judged)
    held = sum(each.verdict is None for each in judged)
    print(f"{ok} verified, {len(judged) - ok - held} failed, {held} without a verdict", file=sys.stderr)


def _state(each: "Judged") -> str:
    if each.verdict is None:
        return "held"
    return "verified" if each.verdict.ok else "failed"


def _row(each: "Judged") -> dict[str, object]:
    about: dict[str, object] = {"folder": str(each.folder), "state": _state(each), "known": each.known}
    if each.verdict:
        return {**about, "forged": each.forged, "verdict": each.verdict.model_dump(mode="json")}
    return {**about, "reason": each.held}


def _line(each: "Judged") -> str:
    from datasmith.runners.verification.verdict import Failed

    if each.verdict is None:
        return f"held      {each.folder}: {one_line(each.held)}"
    found = each.verdict.found
    notes = ["as before"] if each.known else []
    notes += ["its own claim of success was not ours"] if each.forged else []
    note = f" ({', '.join(notes)})" if notes else ""
    if isinstance(found, Failed):
        return f"FAILED    {each.folder}: {found.stage}: {brief(found.error_message, 300)}{note}"
    passed = f"{counted(found.tests_passed, 'test')} passed, {counted(found.benchmarks, 'benchmark')}"
    return f"verified  {each.folder}: {passed}{note}"
