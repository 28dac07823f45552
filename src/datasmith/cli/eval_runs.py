"""fc-eval runs: which runs there are, how far one is, and going on with it."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.document import document
from datasmith.cli.eval_options import (
    REGISTRY,
    RUNS,
    AtOnceOption,
    ExecutorOption,
    MaxCostOption,
    NoMaxCostOption,
    PolicyOption,
    RegistryOption,
    RunArgument,
    RunsOption,
    policy_of,
)
from datasmith.cli.options import Json, help_without_command
from datasmith.counted import counted
from datasmith.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from datasmith.evaluation.overview import RunState

runs = typer.Typer(help="See which runs there are, and go on with one.", name="runs")


@runs.callback(invoke_without_command=True)
def _runs(context: typer.Context) -> None:
    """See which runs there are, and go on with one."""
    help_without_command(context)


@runs.command("list")
def list_runs(runs_dir: RunsOption = RUNS, json_output: Json = False) -> None:
    """List the runs below --runs-dir, the oldest first."""
    from datasmith.cli.sheet import NOTHING, Column, Sheet, output
    from datasmith.evaluation.overview import all_runs
    from datasmith.evaluation.run_folder import FIRST_RUN

    found, problems = all_runs(runs_dir)
    if json_output:
        damaged = [{"name": name, "run_id": None, "error": str(error)} for name, error in problems.items()]
        print(document([*map(_as_json, found), *damaged], indent=1))
    elif found or problems:
        columns = [Column(name) for name in ("run", "dataset", "begun", "agents", "state")]
        numbers = [Column(name, right=True) for name in ("trials", "cost")]
        sheet = Sheet(f"runs in {runs_dir}", (*columns[:3], Column("agents", wraps=True), *numbers, columns[4]))
        for state in found:
            sheet.add(*_row(state))
        for name in problems:
            sheet.add(name, *[NOTHING] * 5, "cannot be read")
        sheet.show(output())
    else:
        print(f"no runs in {runs_dir}: {FIRST_RUN}")
    for first in problems.values():
        raise type(first)("; ".join(map(str, problems.values())))


@runs.command("status")
def show_status(run: RunArgument, runs_dir: RunsOption = RUNS, json_output: Json = False) -> None:
    """Print how far a run is, trial by trial; changes nothing."""
    from datasmith.cli.sheet import Column, Sheet, output
    from datasmith.evaluation.overview import run_state
    from datasmith.evaluation.run_folder import open_run

    state = run_state(open_run(runs_dir, run))
    if json_output:
        trials: list[JsonValue] = [
            {"task_id": key.task_id, "agent": key.agent, "attempt": key.attempt, "state": value}
            for key, value in state.states.items()
        ]
        print(document({**_as_json(state), "trials": trials}, indent=1))
        return
    sheet = Sheet(
        f"{state.name}: {_said(state)}",
        [Column("task"), Column("agent"), Column("n", right=True), Column("state")],
        keys=3,
    )
    for key, value in state.states.items():
        sheet.add(key.task_id, key.agent, str(key.attempt), value)
    sheet.show(output())
    lost = Counter(state.states.values())["infra_error"]
    if lost:
        print(f"infra_error says nothing about an agent: fc-eval runs resume does {counted(lost, 'trial')} again")
    for name, ratio in state.best.items():
        print(f"best of {name}: {ratio:.3f}×")
    print(f"cost: {_cost(state)}")


@runs.command("resume")
def resume(
    run: RunArgument,
    *,
    runs_dir: RunsOption = RUNS,
    n_concurrent: AtOnceOption = None,
    executor: ExecutorOption = "local",
    max_cost: MaxCostOption = None,
    no_max_cost: NoMaxCostOption = False,
    policy: PolicyOption = "floor",
    registry: RegistryOption = REGISTRY,
    dataset: Annotated[str, typer.Option("--dataset", "-d", help="Where its tasks are now, if elsewhere.")] = "",
    json_output: Json = False,
) -> None:
    """Go on with a run as it was configured: what is complete stays, what is pending is done.

    Without --max-cost the limit that was last given stays; --no-max-cost takes it away.
    """
    from dataclasses import replace

    from datasmith.cli.eval_run import carry_out
    from datasmith.evaluation.request import request_of
    from datasmith.evaluation.run_folder import open_run
    from datasmith.settings import load_settings

    if no_max_cost and max_cost is not None:
        raise ConfigError("--no-max-cost: --max-cost is given, too (example: --no-max-cost)")
    folder = open_run(runs_dir, run)
    request = request_of(folder)
    settings = load_settings(engine=request.engine)
    wanted = replace(
        request,
        n_concurrent=n_concurrent,
        executor=executor,
        max_cost_usd=max_cost,
        keeps_limit=not no_max_cost,
        registry=registry,
        tasks_at=dataset or request.tasks_at,
        tasks_said="--dataset" if dataset else request.tasks_said,
    )
    carry_out(wanted, settings, policy_of(policy), json_output)


def _as_json(state: "RunState") -> "dict[str, JsonValue]":
    config = state.run.config
    counts: dict[str, JsonValue] = dict(state.counts)
    best: dict[str, JsonValue] = dict(state.best)
    return {
        "name": state.name,
        "run_id": state.run.run_id,
        "dataset": config.dataset,
        "release": config.release,
        "created_at": state.run.created_at.isoformat(),
        "agents": list(config.labels),
        "n_tasks": len(config.task_ids),
        "n_attempts": config.n_attempts,
        "n_complete": state.n_complete,
        "n_expected": len(state.states),
        "counts": counts,
        "best": best,
        "cost_usd": state.cost_usd,
        "cost_unknown": state.cost_unknown,
        "in_use": state.in_use,
    }


def _row(state: "RunState") -> tuple[str, ...]:
    config = state.run.config
    return (
        state.name,
        config.dataset,
        f"{state.run.created_at:%Y-%m-%d %H:%M}",
        ", ".join(config.labels),
        f"{state.n_complete} of {len(state.states)}",
        _cost(state),
        _said(state),
    )


def _said(state: "RunState") -> str:
    if state.in_use:
        return "at work"
    return "complete" if state.n_complete == len(state.states) else f"{state.n_complete} of {len(state.states)} trials"


def _cost(state: "RunState") -> str:
    unknown = f" + {state.cost_unknown} unknown" if state.cost_unknown else ""
    return f"${state.cost_usd:.2f}{unknown}"
