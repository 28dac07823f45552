"""The files of a run folder as types: run.json, run.lock, limit.json, session.json and trial.json."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from datasmith.evaluation.config import RunConfig
from datasmith.evaluation.outcome import Outcome
from datasmith.metrics.score import Score
from datasmith.misfits import misfit
from datasmith.tasks.certificate import ArmSummary, Cost, HostFacts, Machine
from datasmith.tasks.quantities import Count, Dollars, Gain, Ratio, Seconds, in_order
from datasmith.tasks.task import Task


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class RunRecord(_Frozen):
    """run.json: written once, when the run starts.

    `directory` is where relative paths of its agents begin; `tasks_at` is the directory that its dataset was, empty
    where it was a name.
    """

    run_id: str
    config: RunConfig
    tool_version: str
    machine: Machine
    created_at: datetime
    directory: str = ""
    tasks_at: str = ""


class RunLock(_Frozen):
    """run.lock: digests of what the run stands on.

    `images` are those used; `rebuilt` holds, for each image that had to be built here and came out with another digest
    than its task says, the task's digest.
    """

    tasks: Mapping[str, str]
    images: Mapping[str, str] = Field(default_factory=dict)
    rebuilt: Mapping[str, str] = Field(default_factory=dict)


class RunLimit(_Frozen):
    """limit.json: what the run may cost, in US dollars, as it was last said; no part of what decides its results."""

    max_cost_usd: Dollars | None = None


class TaskFacts(_Frozen):
    """task.json: what grading and findings need of a task, so that neither needs a task folder.

    What an older run folder does not say is None, and stays missing.
    """

    task_id: str
    benchmark_dir: str
    expert_patch_sha256: str
    workloads: tuple[str, ...]
    repository: str | None = None
    category: str | None = None
    difficulty: str | None = None
    merged_at: datetime | None = None
    stars: int | None = None

    @classmethod
    def of(cls, task: Task) -> Self:
        """The facts of a task."""
        return cls(
            task_id=task.task_id,
            benchmark_dir=task.benchmark_dir,
            expert_patch_sha256=patch_digest(task.expert_patch),
            workloads=task.workloads,
            repository=task.repository,
            category=task.category,
            difficulty=task.difficulty,
            merged_at=task.merged_at,
            stars=task.stars,
        )


def patch_digest(patch: str) -> str:
    """sha256 of a patch's bytes."""
    return hashlib.sha256(patch.encode("utf-8", "surrogateescape")).hexdigest()


class SelectionRecord(_Frozen):
    """Which workloads a session measured, each with why, and which it left out; `coverage_s`: seconds to find out.

    What was left out has no ratio, and counts in no score.
    """

    selected: Mapping[str, str]
    not_selected: Mapping[str, str]
    coverage_s: Seconds


class SessionRecord(_Frozen):
    """session.json: one interleaved measurement of a task; the raw launches of its shared arms lie beside it.

    `agents` are the arms that were measured together with base, base2 and expert. `problem` says why
    nothing could be measured.
    """

    session: int
    task_id: str
    image_digest: str
    engine: str
    cpu: int | None
    seed: int
    agents: tuple[str, ...]
    expert: ArmSummary
    control: ArmSummary
    cost: Cost
    problem: str | None = None
    machine: Machine | None = None
    """Where it was measured; older records do not say."""
    selection: SelectionRecord | None = None
    """None: all workloads of the task."""
    not_impacted: Count = 0
    """Workloads of the suite that are no part of the task, because the expert's patch cannot touch them."""
    screened_out: Count = 0
    """... and because a screening saw less in them than in those that are."""
    host: HostFacts | None = None
    earlier_floors: Mapping[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Noise floors of workloads, as |ln ratio|, in earlier measurements of this image on this class of machine."""


_KINDS: Mapping[str, TypeAdapter[float | None]] = {
    **dict.fromkeys(("n_workloads", "n_valid"), TypeAdapter(Count)),
    **dict.fromkeys(("speedup", "expert_speedup", "worst_speedup"), TypeAdapter(Ratio | None)),
    **dict.fromkeys(("advantage", "log_advantage", "normalised_advantage"), TypeAdapter(Gain | None)),
}
_BY_LEVEL = TypeAdapter(Mapping[str, Gain | None])


def _possible(score: Score | None) -> Score | None:
    """Raises ValueError where a number cannot be a score's; whether it follows from the raw files, regrading tells."""
    if score is None:
        return None
    try:
        for name, kind in _KINDS.items():
            kind.validate_python(getattr(score, name))
        name = "by_level"
        _BY_LEVEL.validate_python(score.by_level)
    except ValidationError as error:
        raise ValueError(f"{name}: {misfit(error)}") from error
    in_order(n_valid=score.n_valid, n_workloads=score.n_workloads)
    in_order(worst_speedup=score.worst_speedup, speedup=score.speedup)
    return score


class TrialRecord(_Frozen):
    """trial.json: what became of one attempt. `session` names the measurement whose expert it is compared with."""

    task_id: str
    agent: str
    attempt: int
    outcome: Outcome
    reason: str | None
    session: int | None
    patch_sha256: str
    wall_s: Seconds
    cost_usd: Dollars | None
    ratios: ArmSummary | None = None
    score: Annotated[Score | None, AfterValidator(_possible)] = None

    @property
    def is_complete(self) -> bool:
        """Needs no further work; an outage says nothing about it, so that is tried again."""
        return self.outcome != "infra_error"
