"""fc-data: turn the merged pull requests of a window into sealed, measured tasks."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.common import run_app, show_version
from datasmith.cli.data_attempts import attempts
from datasmith.cli.data_discover import discover
from datasmith.cli.data_images import images
from datasmith.cli.data_preflight import preflight
from datasmith.cli.data_seal import seal_check
from datasmith.cli.data_status import status, unknown
from datasmith.cli.data_verify import verify
from datasmith.cli.document import document
from datasmith.cli.options import (
    EXECUTORS,
    DataDir,
    End,
    Engine,
    Json,
    MaxRounds,
    Precise,
    ResultsDir,
    Start,
    results_in,
)
from datasmith.errors import ConfigError
from datasmith.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from datasmith.publish.funnel import Funnel
    from datasmith.runners.loop import StageSummary
    from datasmith.runners.request import Request
    from datasmith.settings import Settings

app = typer.Typer(
    name="fc-data",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Turn the pull requests merged in a window into sealed, measured tasks, in six stages: "
    "1 scrape_repos, 2 scrape_commits, 3 classify_prs, 4 resolve_packages, 5 synthesize_images, 6 publish.",
)

app.command()(attempts)
app.command()(discover)
app.command()(preflight)
app.command("seal-check")(seal_check)
app.command()(status)
app.command()(verify)
app.add_typer(images)

_Forge = Annotated[
    str,
    typer.Option(
        "--forge",
        help="Where pull requests come from: git (clones), github or offline (parquet files); default: what the other "
        "flags imply, else github.",
    ),
]
_Repo = Annotated[
    list[str] | None,
    typer.Option(
        "--repo",
        help="A clone to mine, or owner/repo for --forge github (default: those of repos_valid.csv); repeatable.",
    ),
]
_OfflineSource = Annotated[
    list[Path] | None,
    typer.Option(
        "--offline-source", help="A parquet file of pull requests; the last of equal rows counts; repeatable."
    ),
]
_Join = Annotated[
    bool, typer.Option("--join", help="Work beside other machines that run this with --join; implies --resume.")
]
_AtOnce = Annotated[int | None, typer.Option("--n-concurrent", help="Items under way at once (default: one a core).")]
_TasksPerRepo = Annotated[
    int | None, typer.Option("--tasks-per-repo", help="At most this many pull requests a repository in stage 5.")
]
_SuiteFrom = Annotated[
    str,
    typer.Option(
        "--suite-from",
        help="Measure with the benchmarks of this branch, tag or commit, or newest, as far as they import at the "
        "base; default: base's own.",
    ),
]
_SuiteRepo = Annotated[
    str,
    typer.Option(
        "--suite-repo",
        help="The benchmarks are in a repository of their own: a clone, or owner/repo; as of the merge, or "
        "--suite-from.",
    ),
]
_Version = Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")]
_Select = Annotated[
    str,
    typer.Option(
        "--select",
        help="Workloads that a task has: all of the suite, or impacted (those that the expert's patch can touch).",
    ),
]
_MostWorkloads = Annotated[
    int | None,
    typer.Option(
        "--most-workloads",
        help="At most this many workloads a task: those in which a short look at each sees most (default: any).",
    ),
]
_Executor = Annotated[str, typer.Option("--executor", help=f"Where stages 4 and 5 run: {EXECUTORS}.")]
_Agent = Annotated[
    str,
    typer.Option(
        "--agent",
        help="Who writes build scripts in stage 5 where nothing else helps: claude, codex, gemini, mini_swe, "
        "auto (the first that is installed and has its model's key) or none (default: FC_AGENT, auto).",
    ),
]


_Stages = Annotated[list[int] | None, typer.Option("--stage", help="Run only this stage (1-6); repeatable.")]
_Resume = Annotated[bool, typer.Option("--resume", help="Go on where an earlier run ended: keep what is decided.")]


@app.callback(invoke_without_command=True)
def run(
    context: typer.Context,
    *,
    start_date: Start = "",
    end_date: End = "",
    forge: _Forge = "",
    repo: _Repo = None,
    offline_source: _OfflineSource = None,
    stage: _Stages = None,
    resume: _Resume = False,
    join: _Join = False,
    executor: _Executor = "local",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what each stage would do; change nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Build and measure again what stage 5 has decided.")] = False,
    n_concurrent: _AtOnce = None,
    tasks_per_repo: _TasksPerRepo = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of samples, orders of launches and resampling.")] = 0,
    agent: _Agent = "",
    engine: Engine = "",
    precise: Precise = False,
    max_rounds: MaxRounds = None,
    suite_from: _SuiteFrom = "",
    suite_repo: _SuiteRepo = "",
    select: _Select = "all",
    most_workloads: _MostWorkloads = None,
    data_dir: DataDir = None,
    as_json: Json = False,
    _version: _Version = False,
) -> None:
    """Run the stages over one window."""
    if context.invoked_subcommand is not None:
        return
    _check_given(start_date, end_date)
    from datasmith.github.forges import Sources
    from datasmith.runners.request import Request
    from datasmith.runners.suites import SuiteWish

    request = Request.checked(
        start_date=start_date,
        end_date=end_date,
        sources=Sources.read(forge, repo or (), offline_source or ()),
        stages=tuple(stage or ()),
        resume=resume,
        force=force,
        n_concurrent=n_concurrent,
        tasks_per_repo=tasks_per_repo,
        seed=seed,
        precise=precise,
        max_rounds=max_rounds,
        join=join,
        executor=executor,
        agent=agent,
        suite=SuiteWish.checked(suite_from, suite_repo),
        select=select,
        most_workloads=most_workloads,
    )
    settings = _settings(data_dir, engine)
    _plan(settings, request, as_json) if dry_run else _run(settings, request, as_json)


def _check_given(start_date: str, end_date: str) -> None:
    if not start_date or not end_date:
        raise ConfigError(
            "--start-date and --end-date are needed, or a command, which fc-data --help lists "
            "(example: fc-data --start-date 2026-02-01 --end-date 2026-03-01)"
        )


def _settings(data_dir: Path | None, engine: str = "") -> "Settings":
    from datasmith.settings import load_settings

    return load_settings(data_dir=data_dir, engine=engine)


def _plan(settings: "Settings", request: "Request", as_json: bool) -> None:
    from datasmith.pipeline import plan

    steps = plan(settings, request)
    if as_json:
        print(document({"window": request.window.key, "stages": [asdict(step) for step in steps]}))
        return
    print(f"dry run of {request.window.key}: nothing is changed")
    for step in steps:
        print(f"  {step.stage} {step.name:<18} {'; '.join((step.text, *step.details))}")


def _run(settings: "Settings", request: "Request", as_json: bool) -> None:
    import anyio

    from datasmith.cli.logs import log_run, set_up_logging
    from datasmith.cli.progress import StageBars
    from datasmith.pipeline import Pipeline

    with Pipeline.open(settings, request) as pipeline, StageBars() as bars:
        set_up_logging(settings.log_level, settings.data_dir / "logs" / "fc-data.log")
        log_run(request, "began")
        try:
            summaries = anyio.run(pipeline.run, bars)
        except BaseException as error:
            log_run(request, "broke off", error)
            raise
        log_run(request, "ended", stages=[asdict(summary) for summary in summaries])
        funnel = pipeline.funnel()
        dead = [(summary.stage, pipeline.reason_of(summary.stage)) for summary in summaries if summary.all_failed]
    if as_json:
        print(document({"stages": [asdict(summary) for summary in summaries], "funnel": asdict(funnel)}))
    else:
        for summary in summaries:
            print(_summed_up(summary))
        _print_funnel(funnel)
    if dead:
        stage, reason = dead[0]
        print(f"error: stage {stage} failed for all of its items: {reason}", file=sys.stderr)
        raise typer.Exit(1)


def _summed_up(summary: "StageSummary") -> str:
    waiting = f", {summary.pending} waiting (--resume takes them up)" if summary.pending else ""
    return (
        f"stage {summary.stage}: {summary.passed} passed, {summary.refused} refused, {summary.failed} failed{waiting}"
        f" in {summary.seconds:.1f} s"
    )


@app.command()
def funnel(
    start_date: Start,
    end_date: End,
    data_dir: ResultsDir = None,
    items: Annotated[bool, typer.Option("--items", help="Name the pull requests below each reason.")] = False,
    as_json: Json = False,
) -> None:
    """Print where every pull request of a window ended, and why; exits with 1 where the counts do not add up."""
    from datasmith.github.base import Window
    from datasmith.publish.funnel import funnel as summed
    from datasmith.runners.status import nearest
    from datasmith.storage import open_store

    window = Window.parse(start_date, end_date)
    with open_store(results_in(data_dir), create=False) as store:
        items_of = store.stage_items(window.key)
        result = summed(window.key, items_of)
        near = [] if items_of else nearest(store, window.key)
    if as_json:
        print(document({**asdict(result), "breaches": result.breaches, "nearest": near}))
    else:
        _print_funnel(result, items=items, near=near)
    if result.breaches:
        print(f"error: {'; '.join(result.breaches)}", file=sys.stderr)
        raise typer.Exit(1)


def _print_funnel(funnel: "Funnel", *, items: bool = False, near: "Sequence[str]" = ()) -> None:
    from datasmith.storage.base import STAGES

    print(f"funnel of {funnel.window}")
    if near:
        print(f"  {unknown(near)}")
    elif not funnel.stages:
        print("  no pull request has been seen in this window yet (right dates? right --data-dir?)")
    for count in funnel.stages:
        waiting = f", {count.waiting} waiting" if count.waiting else ""
        print(
            f"  {count.stage} {STAGES[count.stage]:<18} {count.entered:>6} entered = {count.passed} passed"
            f" + {count.refused} refused + {count.failed} failed{waiting}"
        )
        for state, reason, number in count.reasons:
            print(f"      {number:>4} {state}: {one_line(reason)}")
            named = [item for *why, item in count.ended if items and why == [state, reason]]
            for item in named:
                print(f"             {item.replace(':', '#')}")


def main() -> None:
    """Entry point of `fc-data`."""
    sys.exit(run_app(app))
