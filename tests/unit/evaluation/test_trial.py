"""A task's trials where the place to work in is gone: nothing is an answer, and nothing is lost."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from datasmith.docker.engine import ContainerEngine, ImageRef
from datasmith.errors import EngineUnavailable
from datasmith.evaluation.budget import CostLimit
from datasmith.evaluation.outcome import AgentFacts
from datasmith.evaluation.records import RunLock, TrialRecord
from datasmith.evaluation.run_folder import RunFolder, TrialKey, write_record, write_text
from datasmith.evaluation.trial import StopToken, Surroundings, TaskRun
from datasmith.settings import Settings
from tests.unit.evaluation.sample_run import config_of
from tests.unit.tasks.samples import sample_task

TASK = sample_task(certificate=None)
WORKED, NOT_BEGUN = (TrialKey(TASK.task_id, f"command-{name}", 1) for name in ("worked", "waits"))


class Gone:
    """An engine that does not answer."""

    name = "gone"

    def inspect(self, digest: str) -> ImageRef | None:
        raise EngineUnavailable(f"nobody answers for {digest}")


@dataclass
class Seen:
    """What the run tells."""

    ends: list[TrialRecord] = field(default_factory=list)
    n_complete: int = 0

    def step(self, task_id: str, what: str, done: int = 0, total: int | None = None) -> None:
        """Nothing to keep."""

    def complete(self, n_trials: int) -> None:
        self.n_complete += n_trials

    def ended(self, trial: TrialRecord) -> None:
        self.ends.append(trial)


def test_an_engine_that_is_gone_is_an_outage_of_each_trial(tmp_path: Path) -> None:
    """Also of one whose agent has not worked, which has no patch; the run goes on with its other tasks."""
    folder, seen = RunFolder(tmp_path / "run"), Seen()
    write_record(folder.root / "run.lock", RunLock(tasks={TASK.task_id: "sha256:0"}))
    write_text(folder.trial(WORKED) / "patch.diff", "diff --git a/x b/x\n")
    write_record(folder.trial(WORKED) / "trajectory.json", AgentFacts(wall_s=3.0, cost_usd=2.0))
    around = Surroundings(
        folder=folder,
        config=config_of([TASK.task_id], ["worked", "waits"]),
        agents={},
        engine=cast("ContainerEngine", Gone()),
        settings=Settings(data_dir=tmp_path),
        observer=seen,
        stop=StopToken(),
        cost=CostLimit(None, folder, ()),
    )
    TaskRun(around, TASK, tmp_path, (0,)).run()
    assert [(end.agent, end.outcome, end.cost_usd) for end in seen.ends] == [
        (WORKED.agent, "infra_error", 2.0),
        (NOT_BEGUN.agent, "infra_error", None),
    ]
    assert seen.ends[0].patch_sha256 != seen.ends[1].patch_sha256
    assert "nobody answers" in (seen.ends[1].reason or "")
    assert folder.trials() == tuple(sorted(seen.ends, key=lambda end: end.agent))
    assert not folder.is_complete(WORKED) and not folder.is_complete(NOT_BEGUN)
