"""fc-eval run: agents at work on tasks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.eval_options import (
    REGISTRY,
    RUNS,
    AtOnceOption,
    DatasetOption,
    ExecutorOption,
    MaxCostOption,
    PolicyOption,
    RegistryOption,
    RunsOption,
    SeedOption,
    TaskOption,
    policy_of,
)
from datasmith.cli.eval_report import show_report
from datasmith.cli.logs import set_up_logging
from datasmith.cli.options import Engine, Json, MaxRounds, Precise, finite
from datasmith.errors import BudgetSpent, TrialError

if TYPE_CHECKING:
    from datasmith.evaluation.request import RunRequest
    from datasmith.metrics.score import FailurePolicy
    from datasmith.settings import Settings

_Config = Annotated[Path | None, typer.Option("--config", "-c", help="JSON list of agents; instead of -a and -m.")]
_Agents = Annotated[
    list[str] | None, typer.Option("--agent", "-a", help="An agent's name, or module:Class; repeatable.")
]
_Models = Annotated[
    list[str] | None, typer.Option("--model", "-m", help="The model of each --agent, in their order; repeatable.")
]
_Exclude = Annotated[list[str] | None, typer.Option("--exclude", help="Id or glob of tasks to leave out; repeatable.")]
_RunId = Annotated[str | None, typer.Option(help="Name of the run; the default follows from its configuration.")]
_Timeout = Annotated[
    float,
    typer.Option("--timeout", "--agent-timeout", min=1.0, callback=finite, help="Seconds an agent may work on a task."),
]
_TestTimeout = Annotated[
    float, typer.Option(min=1.0, callback=finite, help="Seconds the tests of a patched tree may take.")
]
_BenchmarkTimeout = Annotated[
    float | None,
    typer.Option(min=1.0, callback=finite, help="Seconds one launch of a benchmark may take; default: its own limit."),
]


def run(
    *,
    dataset: DatasetOption,
    config: _Config = None,
    agent: _Agents = None,
    model: _Models = None,
    task_id: TaskOption = None,
    exclude: _Exclude = None,
    runs_dir: RunsOption = RUNS,
    run_id: _RunId = None,
    n_attempts: Annotated[int, typer.Option(min=1, help="Attempts of each agent at each task.")] = 1,
    n_concurrent: AtOnceOption = None,
    executor: ExecutorOption = "local",
    engine: Engine = "",
    precise: Precise = False,
    max_rounds: MaxRounds = None,
    select: Annotated[str, typer.Option(help="Workloads to time: all, or impacted (those a patch can touch).")] = "all",
    seed: SeedOption = 0,
    timeout: _Timeout = 3600.0,
    test_timeout: _TestTimeout = 1800.0,
    benchmark_timeout: _BenchmarkTimeout = None,
    max_cost: MaxCostOption = None,
    policy: PolicyOption = "floor",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a stopped run; without it the same.")] = True,  # noqa: ARG001
    registry: RegistryOption = REGISTRY,
    json_output: Json = False,
) -> None:
    """Run agents on tasks; the same command goes on with a run that was stopped."""
    from datasmith.evaluation.entries import asked_entries
    from datasmith.evaluation.request import RunRequest
    from datasmith.settings import load_settings
    from datasmith.workloads.impact import select_of

    settings = load_settings(engine=engine)
    chosen = policy_of(policy)
    entries, directory = asked_entries(config, agent or (), model or ())
    request = RunRequest(
        dataset=dataset,
        task_ids=tuple(task_id or ()),
        entries=entries,
        directory=directory,
        source=f"--config {config}" if config else "",
        runs_dir=runs_dir,
        exclude=tuple(exclude or ()),
        run_id=run_id,
        n_attempts=n_attempts,
        n_concurrent=n_concurrent,
        precise=precise,
        max_rounds=max_rounds,
        select=select_of(select),
        seed=seed,
        timeout_s=timeout,
        test_timeout_s=test_timeout,
        benchmark_timeout_s=benchmark_timeout,
        max_cost_usd=max_cost,
        executor=executor,
        registry=registry,
    )
    carry_out(request, settings, chosen, json_output)


def carry_out(request: "RunRequest", settings: "Settings", policy: "FailurePolicy", json_output: bool) -> None:
    """Run what is asked, show how far it goes, and then its report.

    Raises:
        BudgetSpent: not all trials were begun, for what they cost.
        TrialError: outages ended all trials, so that none is complete.
    """
    from datasmith.cli.trial_progress import TrialBars
    from datasmith.evaluation.run import run_evaluation

    set_up_logging(settings.log_level)
    with TrialBars() as progress:
        end = run_evaluation(request, settings, progress)
    show_report(end.folder.root, policy, json_output)
    if end.unbegun:
        raise BudgetSpent(end.unbegun)
    if end.outage:
        raise TrialError(end.outage)
