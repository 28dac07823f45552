"""Seconds to grade a run of 500 trials again from its files, and to report on it.

Usage: python -m benchmarks.regrade [workloads a task] [rounds]. The run is made up: 100 tasks, five agents each, every
launch with five samples, as a measured run folder has them.
"""

import random
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.unit.evaluation.sample_run import MACHINE, config_of

from datasmith.evaluation.outcome import AgentFacts, OutputFacts, TestFacts
from datasmith.evaluation.records import RunLock, RunRecord, SessionRecord, TaskFacts, TrialRecord, patch_digest
from datasmith.evaluation.regrade import regrade_run
from datasmith.evaluation.report import build_report
from datasmith.evaluation.run_folder import RunFolder, TrialKey, write_measurements
from datasmith.evaluation.whole_files import write_record, write_text
from datasmith.tasks.certificate import ArmSummary, Cost
from datasmith.workloads.base import Measurement, agent_arm
from datasmith.workloads.watch import OutputRow

TASKS, AGENTS = 100, 5
SAMPLES = 5
PATCH = "diff --git a/x.py b/x.py\nnew file mode 100644\n--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+x = 1\n"


def made(root: Path, workloads: int, rounds: int) -> RunFolder:
    """The run folder, as it is before its records were ever computed."""
    rng = random.Random(0)
    task_ids = [f"acme_fast_{number}" for number in range(TASKS)]
    config = config_of(task_ids, [f"agent-{number}" for number in range(AGENTS)])
    folder = RunFolder(root)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    run = RunRecord(run_id="made", config=config, tool_version="0", machine=MACHINE, created_at=now)
    write_record(root / "run.json", run)
    write_record(root / "run.lock", RunLock(tasks=dict.fromkeys(task_ids, "")))
    names = tuple(f"bench_{number // 20}.Suite{number // 5}.time_{number}" for number in range(workloads))
    for task_id in task_ids:
        task(folder, task_id, config.labels, names, rounds, rng)
    return folder


def task(
    folder: RunFolder, task_id: str, labels: Sequence[str], names: Sequence[str], rounds: int, rng: random.Random
) -> None:
    """A session and the trials that were measured in it."""

    def arm_of(arm: str, speed: float) -> list[Measurement]:
        return [launch(name, arm, number, 1e-3 / speed, rng) for name in names for number in range(rounds)]

    keys = [TrialKey(task_id, label, 1) for label in labels]
    nothing = ArmSummary(arm="", speedup=None, low=None, high=None, workloads=())
    write_record(
        folder.session(task_id, 1) / "session.json",
        SessionRecord(
            session=1, task_id=task_id, image_digest="", engine="bubblewrap", cpu=0, seed=0,
            agents=tuple(agent_arm(key.label) for key in keys), expert=nothing, control=nothing,
            cost=Cost(launches=(3 + len(keys)) * len(names) * rounds, wall_s=1.0, cpu_s=1.0, timed_s=0.5),
        ),
    )  # fmt: skip
    shared = [*arm_of("base", 1.0), *arm_of("base2", 1.0), *arm_of("expert", 2.0)]
    write_measurements(folder.session(task_id, 1) / "measurements.jsonl", shared)
    facts = TaskFacts(task_id=task_id, benchmark_dir="benchmarks", expert_patch_sha256="", workloads=tuple(names))
    write_record(folder.task_facts(task_id), facts)
    same = tuple(OutputRow(workload=name, state="equal") for name in names)
    for key in keys:
        where = folder.trial(key)
        write_measurements(where / "measurements.jsonl", arm_of(agent_arm(key.label), 1.3))
        write_text(where / "patch.diff", PATCH)
        write_record(where / "trajectory.json", AgentFacts(wall_s=1.0))
        write_record(where / "tests.json", TestFacts(built=True, expected=1))
        write_record(where / "outputs.json", OutputFacts(workloads=same))
        record = TrialRecord(
            task_id=task_id, agent=key.agent, attempt=1, outcome="measured", reason=None, session=1,
            patch_sha256=patch_digest(PATCH), wall_s=1.0, cost_usd=None,
        )  # fmt: skip
        write_record(where / "trial.json", record)


def launch(name: str, arm: str, number: int, seconds: float, rng: random.Random) -> Measurement:
    """One launch, with the scatter of a quiet machine."""
    samples = tuple(seconds * rng.lognormvariate(0, 0.02) for _ in range(SAMPLES))
    return Measurement(name, arm, number, samples, 10, 0.2, 0.2, 0)


def main() -> None:
    """Make, grade, report; print."""
    workloads, rounds = map(int, (sys.argv[1:] + ["20", "12"][len(sys.argv) - 1 :])[:2])
    with tempfile.TemporaryDirectory(prefix="fc-regrade-") as place:
        folder = made(Path(place) / "made", workloads, rounds)
        started = time.perf_counter(), time.process_time()
        changed = regrade_run(folder)
        wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
        print(f"{TASKS * AGENTS} trials, {workloads} workloads, {rounds} rounds: {len(changed)} graded again")
        print(f"{wall:.1f} s, {cpu:.1f} s of them our own cpu time")
        again = time.perf_counter()
        run = folder.read_run()
        assert run
        build_report(folder, run, "floor")
        print(f"the report of it: {time.perf_counter() - again:.1f} s")


if __name__ == "__main__":
    main()
