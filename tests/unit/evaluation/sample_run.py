"""A run folder with known contents, written without running anything."""

import random
import statistics
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from datasmith.evaluation.config import RunConfig
from datasmith.evaluation.outcome import AgentFacts, Outcome, OutputFacts, TestFacts
from datasmith.evaluation.records import RunLock, RunRecord, SessionRecord, TrialRecord, patch_digest
from datasmith.evaluation.run_folder import RunFolder, TrialKey, read_measurements, write_measurements
from datasmith.evaluation.whole_files import write_record, write_text
from datasmith.metrics.score import score
from datasmith.metrics.speedup import Pair
from datasmith.tasks.certificate import ArmSummary, Cost, Machine, WorkloadRatio
from datasmith.workloads.base import Measurement
from datasmith.workloads.watch import OutputRow

MACHINE = Machine(
    cpu_model="Example CPU", cpu_flags_sha256="0" * 64, cores=2, memory_mb=4096, kernel="6.1", virtualised=True
)
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
ROUNDS = 12


def launches(arm: str, speeds: Mapping[str, float], rng: random.Random, noise: float = 0.01) -> list[Measurement]:
    """Twelve rounds of each workload; base takes a millisecond, an arm that divided by its speed."""
    return [
        Measurement(name, arm, number, (1e-3 / speed * rng.lognormvariate(0, noise),), 10, 0.2, 0.2, 0)
        for name, speed in speeds.items()
        for number in range(ROUNDS)
    ]


def summary(arm: str, base: list[Measurement], mine: list[Measurement]) -> ArmSummary:
    """A plain summary: the ratio of medians and an interval of two per cent."""
    rows = []
    for name in dict.fromkeys(launch.workload for launch in mine):
        base_s, arm_s = (
            statistics.median(launch.samples[0] for launch in group if launch.workload == name)
            for group in (base, mine)
        )
        ratio = base_s / arm_s
        changed = abs(ratio - 1) > 0.03
        row = WorkloadRatio(
            workload=name, ratio=ratio, low=ratio * 0.98, high=ratio * 1.02, p=0.001, q=0.002, floor=0.02,
            changed=changed, rounds=ROUNDS, base_s=base_s, arm_s=arm_s,
        )  # fmt: skip
        rows.append(row)
    speedup = statistics.geometric_mean(row.ratio for row in rows if row.ratio)
    return ArmSummary(arm=arm, speedup=speedup, low=speedup * 0.99, high=speedup * 1.01, workloads=tuple(rows))


def recount(folder: RunFolder, task_id: str, number: int = 1) -> None:
    """Have a session say that it made the launches that lie beside it and beside the trials of its task."""
    place = folder.session(task_id, number)
    files = [place / "measurements.jsonl", *(folder.root / "trials" / task_id).glob("command-*/*/measurements.jsonl")]
    session = folder.sessions(task_id)[number]
    cost = session.cost.model_copy(update={"launches": sum(len(read_measurements(file)) for file in files)})
    write_record(place / "session.json", session.model_copy(update={"cost": cost}))


def config_of(task_ids: list[str], agents: list[str], **changes: object) -> RunConfig:
    entries = [{"agent": "command", "model": name, "agent_kwargs": {"path": "x"}} for name in agents]
    base = {"dataset": "work/tasks", "release": "local", "task_ids": task_ids, "agents": entries}
    return RunConfig.model_validate({**base, "engine": "bubblewrap", **changes})


class SampleRun:
    """Builds a run folder task by task."""

    def __init__(self, root: Path, task_ids: list[str], agents: list[str], **changes: object) -> None:
        self.folder = RunFolder(root)
        self.config = config_of(task_ids, agents, **changes)
        self.rng = random.Random(7)
        run = RunRecord(run_id=root.name, config=self.config, tool_version="0.1.0", machine=MACHINE, created_at=NOW)
        write_record(root / "run.json", run)
        write_record(root / "run.lock", RunLock(tasks=dict.fromkeys(task_ids, "sha256:0")))

    def session(self, task_id: str, expert: Mapping[str, float], number: int = 1) -> SessionRecord:
        """One session with base, base2 and expert."""
        self.base = launches("base", dict.fromkeys(expert, 1.0), self.rng)
        control = launches("base2", dict.fromkeys(expert, 1.0), self.rng)
        fast = launches("expert", expert, self.rng)
        record = SessionRecord(
            session=number, task_id=task_id, image_digest="sha256:1", engine="bubblewrap", cpu=0, seed=0, agents=(),
            expert=summary("expert", self.base, fast), control=summary("base2", self.base, control),
            cost=Cost(launches=3 * len(self.base), wall_s=90.0, cpu_s=80.0, timed_s=60.0),
        )  # fmt: skip
        write_measurements(self.folder.session(task_id, number) / "measurements.jsonl", [*self.base, *control, *fast])
        write_record(self.folder.session(task_id, number) / "session.json", record)
        return record

    def trial(
        self,
        session: SessionRecord,
        agent: str,
        outcome: Outcome,
        speeds: Mapping[str, float] | None = None,
        reason: str | None = None,
    ) -> TrialRecord:
        """One trial; with speeds it was measured."""
        key = TrialKey(session.task_id, agent, 1)
        ratios = None
        if speeds is not None:
            mine = launches(f"agent:{key.label}", speeds, self.rng)
            write_measurements(self.folder.trial(key) / "measurements.jsonl", mine)
            recount(self.folder, session.task_id, session.session)
            ratios = summary(f"agent:{key.label}", self.base, mine)
            same = OutputFacts(workloads=tuple(OutputRow(workload=name, state="equal") for name in speeds))
            write_record(self.folder.trial(key) / "outputs.json", same)
        patch = f"diff --git a/{agent}.py b/{agent}.py\nnew file mode 100644\n"
        write_text(self.folder.trial(key) / "patch.diff", patch)
        write_text(self.folder.trial(key) / "agent.log", "")
        write_record(self.folder.trial(key) / "trajectory.json", AgentFacts(wall_s=12.5))
        write_record(self.folder.trial(key) / "tests.json", TestFacts(built=True, expected=3))
        pairs = [Pair(row.workload, row.ratio, 2.0) for row in ratios.workloads] if ratios else []
        record = TrialRecord(
            task_id=session.task_id, agent=agent, attempt=1, outcome=outcome, reason=reason, session=session.session,
            patch_sha256=patch_digest(patch), wall_s=12.5, cost_usd=None, ratios=ratios, score=score(pairs),
        )  # fmt: skip
        write_record(self.folder.trial(key) / "trial.json", record)
        return record


def sample_run(root: Path) -> SampleRun:
    """Two tasks, three agents: one good, one that breaks tests on the second task, one that does nothing."""
    names = ["bench_matrix.Multiply.time_small(10)", "bench_matrix.Multiply.time_small(500)", "bench_data.time_read"]
    run = SampleRun(root, ["acme_fast_1", "acme_fast_2"], ["good", "breaks", "nothing"])
    for task_id, factor in (("acme_fast_1", 2.0), ("acme_fast_2", 1.3)):
        session = run.session(task_id, {names[0]: factor, names[1]: factor**2, names[2]: 1.0})
        run.trial(session, "command-good", "measured", {names[0]: 1.5, names[1]: 1.8, names[2]: 1.0})
        run.trial(session, "command-nothing", "measured", dict.fromkeys(names, 1.0))
        if task_id == "acme_fast_1":
            run.trial(session, "command-breaks", "measured", {names[0]: 0.8, names[1]: 3.0, names[2]: 1.1})
        else:
            run.trial(session, "command-breaks", "failed_tests", reason="2 of 3: a::<script>alert(1)</script>, b::c")
    return run
