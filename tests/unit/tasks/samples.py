"""A task with everything in it, and the tar of its base tree."""

import io
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from datasmith.docker.context import DockerContext
from datasmith.tasks.certificate import ArmSummary, Certificate, Cost, Machine, WorkloadRatio
from datasmith.tasks.task import BuildInputs, Task

PATCH = (
    "diff --git a/calc.py b/calc.py\nindex a4c7382..89abcde 100644\n--- a/calc.py\n+++ b/calc.py\n"
    "@@ -1 +1 @@\n-slow = 1\n+fast = 1\n"
)
DIGEST = "sha256:" + "d" * 64
TREE = {
    ".git/HEAD": b"ref: refs/heads/main\n",
    "calc.py": b"slow = 1\n",
    "benchmarks/bench.py": b"def time_calc(): pass\n",
    "benchmarks/data/x.bin": b"\xff\x00",
    "src/calc/tests/test_calc.py": b"def test_calc(): pass\n",
    "conftest.py": b"",
}


def source_tar(target: Path, links: dict[str, str] | None = None, tree: Mapping[str, bytes] | None = None) -> Path:
    """Write the gzipped tar of `tree` (None: TREE), with symbolic links on demand."""
    with tarfile.open(target, "w:gz") as archive:
        for name, content in (TREE if tree is None else tree).items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, where in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, where
            archive.addfile(member)
    return target


def certificate(task_id: str = "acme_calc_12", image_digest: str = DIGEST) -> Certificate:
    """A valid certificate of one workload."""
    row = WorkloadRatio(
        workload="bench.time_calc", ratio=2.0, low=1.9, high=2.1, p=0.001, q=0.001, floor=0.005, changed=True,
        rounds=12, base_s=0.002, arm_s=0.001,
    )  # fmt: skip
    same = row.model_copy(update={"ratio": 1.0, "low": 0.99, "high": 1.01, "changed": False, "p": 0.5, "q": 0.5})
    return Certificate(
        task_id=task_id,
        image_digest=image_digest,
        issued_at=datetime(2026, 3, 2, tzinfo=UTC),
        machine=Machine(cpu_model="x", cpu_flags_sha256="0", cores=2, memory_mb=4096, kernel="6.1", virtualised=None),
        engine="bubblewrap",
        asv_runner_version="0.2.1",
        rounds=12,
        seed=0,
        expert=ArmSummary(arm="expert", speedup=2.0, low=1.9, high=2.1, workloads=(row,)),
        control=ArmSummary(arm="base2", speedup=1.0, low=0.99, high=1.01, workloads=(same,)),
        changed_speedup=2.0,
        changed_low=1.9,
        changed_high=2.1,
        tests_passed_base=1,
        tests_passed_expert=1,
        sealed=True,
        cost=Cost(launches=36, wall_s=10.0, cpu_s=9.0, timed_s=8.0),
        status="valid",
        reason="2.000 [1.900, 2.100] over 1 changed of 1 workloads",
    )


def sample_task(**changes: object) -> Task:
    """A task in order; `changes` replace fields."""
    given: dict[str, object] = {
        "task_id": "acme_calc_12",
        "owner": "acme",
        "repo": "calc",
        "pr_number": 12,
        "base_commit": "a" * 40,
        "merge_commit": "b" * 40,
        "merged_at": datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
        "title": "Use the closed form for sums",
        "instruction": "total(n) takes time that grows with n.\n",
        "expert_patch": PATCH,
        "image_name": "formulacode/acme-calc:12",
        "image_digest": DIGEST,
        "benchmark_dir": "benchmarks",
        "workloads": ("bench.time_calc",),
        "test_command": ("python", "-m", "pytest", "--junitxml={junit}"),
        "passing_tests": ("src.calc.tests.test_calc::test_calc",),
        "compiled": False,
        "difficulty": "easy",
        "category": "use_better_algorithm",
        "licence": "MIT",
        "stars": 80,
        "build": BuildInputs(
            python_version="3.11",
            apt_packages=("libgeos-dev",),
            files=DockerContext.default(lock="").texts,
            build_args={"FC_INSTALL_DIR": "."},
        ),
        "certificate": certificate(),
    }
    return Task.model_validate({**given, **changes})
