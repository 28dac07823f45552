"""fc-eval run: agents at work on tasks."""

from pathlib import Path
from typing import Annotated

import typer

from datasmith.cli.eval_options import (
    REGISTRY,
    RUNS,
    DatasetOption,
    JsonOption,
    PolicyOption,
    RegistryOption,
    RunsOption,
    TaskOption,
    policy_of,
)
from datasmith.cli.eval_report import show_report
from datasmith.cli.logs import set_up_logging


def run(
    *,
    dataset: DatasetOption,
    config: Annotated[Path, typer.Option("--config", "-c", help="JSON list of agents.")],
    task_id: TaskOption = None,
    runs_dir: RunsOption = RUNS,
    run_id: Annotated[str, typer.Option(help="Name of the run; the default follows from its configuration.")] = "",
    n_attempts: Annotated[int, typer.Option(min=1, help="Attempts of each agent at each task.")] = 1,
    n_concurrent: Annotated[
        int | None, typer.Option(min=1, help="Tasks at once. Default: one here, as many as there are slots elsewhere.")
    ] = None,
    executor: Annotated[str, typer.Option(help="Where tasks are worked on: local, or ray (FC_RAY_ADDRESS).")] = "local",
    engine: Annotated[str, typer.Option(help="auto, docker, podman or bubblewrap; default: FC_ENGINE.")] = "",
    precise: Annotated[bool, typer.Option("--precise", help="Intervals of ±1 % within 96 rounds.")] = False,
    max_rounds: Annotated[int | None, typer.Option(min=6, help="At most this many rounds per workload.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the rounds' order.")] = 0,
    timeout: Annotated[float, typer.Option(min=1.0, help="Seconds an agent may work on a task.")] = 3600.0,
    policy: PolicyOption = "floor",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a stopped run; without it the same.")] = True,  # noqa: ARG001
    registry: RegistryOption = REGISTRY,
    json_output: JsonOption = False,
) -> None:
    """Run agents on tasks; the same command goes on with a run that was stopped."""
    from datasmith.cli.trial_progress import TrialBars
    from datasmith.evaluation.run import RunRequest, run_evaluation
    from datasmith.settings import load_settings

    settings = load_settings(engine=engine)
    set_up_logging(settings.log_level)
    chosen = policy_of(policy)
    request = RunRequest(
        dataset=dataset,
        task_ids=tuple(task_id or ()),
        config=config,
        runs_dir=runs_dir,
        run_id=run_id,
        n_attempts=n_attempts,
        n_concurrent=n_concurrent,
        executor=executor,
        precise=precise,
        max_rounds=max_rounds,
        seed=seed,
        timeout_s=timeout,
        registry=registry,
    )
    with TrialBars() as progress:
        folder = run_evaluation(request, settings, progress)
    show_report(folder.root, chosen, json_output)
