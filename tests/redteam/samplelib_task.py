"""Tasks of samplelib without their measuring: its history, an image with pytest, and the tests that pass at base."""

import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from examples.samplelib.make_history import Step, make_history, read_steps

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ImageRef
from datasmith.docker.images import ImageManager, ImagePlan, build_args_text
from datasmith.docker.verifiers import run_tests
from datasmith.github.git import Git
from datasmith.runners.testing import TEST_COMMAND
from datasmith.tasks.folder import write_task
from datasmith.tasks.task import BuildInputs, Task

ROOT = Path(__file__).resolve().parents[2]
ATTACKS = Path(__file__).with_name("attacks")
"""Attacks on the product of matrices, written against the base of pull request 4."""
CONTROLS = Path(__file__).with_name("controls")
"""Patches like attacks whose work is faster than base's: they may score, and no more than it deserves."""
HONEST = Path(__file__).with_name("honest")
"""What makes the same task faster in earnest: a grading that takes any of it for an attack is of no use."""
NEEDS = "pytest>=9,<10\nsetuptools>=80,<83\nwheel\n"
ARGS = {"FC_IMPORT_NAMES": "samplelib", "FC_INSTALL_DIR": "."}
WORKLOADS = (
    "bench_data.LongList.time_count_inversions",
    "bench_data.LongList.time_quantile",
    "bench_interpolate.Evaluate.time_lagrange",
    "bench_matrix.Product.time_matmul(20)",
)


@dataclass(frozen=True)
class Samplelib:
    """The repository, the engine, and how its images are built."""

    place: Path
    engine: BubblewrapEngine
    clone: Path
    context: DockerContext
    python: str

    def task(self, number: int) -> tuple[Task, ImageRef, Path]:
        """The task of a pull request, its image and its folder."""
        step = next(step for step in read_steps() if step.number == number)
        base, merge = self._commits(step)
        source = self.place / f"{number}.tar.gz"
        when = datetime.fromisoformat(self.git("show", "-s", "--format=%cI", base).strip())
        Git(self.clone).sealed_source(base, source, commit_date=when)
        plan = ImagePlan(
            owner="formulacode", repo="samplelib", tag=str(number), python_version=self.python, apt_packages=(),
            context=self.context, source=source, build_args=ARGS,
        )  # fmt: skip
        image = ImageManager(self.engine, namespace="redteam").build(plan, log=self.place / f"{number}.log")
        with self.engine.start(image) as container:
            report = run_tests(container, TEST_COMMAND, timeout=300)
        assert len(report.passed) > 10, report.tail
        task = sample_task(
            task_id=f"formulacode_samplelib_{number}",
            pr_number=number,
            base_commit=base,
            merge_commit=merge,
            title=step.title,
            expert_patch=self.git("diff", "--full-index", base, merge),
            image_name=image.name,
            image_digest=image.digest,
            passing_tests=tuple(sorted(report.passed)),
            build=BuildInputs(
                python_version=self.python,
                files={**self.context.texts, "build_args.sh": build_args_text(ARGS)},
                build_args=ARGS,
            ),
        )
        return task, image, write_task(task, self.place / "tasks", source=source, provenance={})

    def git(self, *words: str) -> str:
        """What a git command prints."""
        return subprocess.run(["git", "-C", str(self.clone), *words], capture_output=True, text=True, check=True).stdout

    def _commits(self, step: Step) -> tuple[str, str]:
        lines = self.git("log", "--first-parent", "--reverse", "--format=%H", "main").split()[1:]
        merge = lines[[one.number for one in read_steps()].index(step.number)]
        return self.git("rev-parse", f"{merge}~1").strip(), merge


def sample_task(**changes: object) -> Task:
    """A task of samplelib, whose image, tests and patch are given."""
    given: dict[str, object] = {
        "task_id": "formulacode_samplelib_4",
        "owner": "formulacode",
        "repo": "samplelib",
        "pr_number": 4,
        "base_commit": "a" * 40,
        "merge_commit": "b" * 40,
        "merged_at": datetime(2026, 3, 1, tzinfo=UTC),
        "title": "Make it faster",
        "instruction": "Make it faster.\n",
        "expert_patch": "",
        "image_name": "none",
        "image_digest": "sha256:0",
        "benchmark_dir": "benchmarks",
        "workloads": WORKLOADS,
        "test_command": TEST_COMMAND,
        "passing_tests": (),
        "compiled": True,
        "build": BuildInputs(python_version="3.11", build_args=ARGS),
    }
    return Task.model_validate({**given, **changes})


def samplelib(place: Path, engine: BubblewrapEngine) -> Samplelib:
    """Write the history, and choose the packages."""
    make_history(place / "samplelib")
    pythons = engine.pythons()
    python = "3.11" if "3.11" in pythons else pythons[-1]
    uv = Path(sys.executable).with_name("uv")
    words = [str(uv), "pip", "compile", "--quiet", "--no-config", "--generate-hashes", "--python-version", python, "-"]
    done = subprocess.run(words, input=NEEDS, capture_output=True, text=True, check=True)
    context = DockerContext.default(lock=f"--only-binary :all:\n\n{done.stdout}")
    return Samplelib(place, engine, place / "samplelib", context, python)
