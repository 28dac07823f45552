"""The task: one merged pull request as a problem to solve, with everything needed to build, measure and score it."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Unpack

from pydantic import BaseModel, ConfigDict, Field, field_validator

from datasmith.tasks import environment
from datasmith.tasks.certificate import Certificate
from datasmith.tasks.suite import SuiteRecord

DIFFICULTIES = ("easy", "medium", "hard", "unknown")


class BuildInputs(BaseModel):
    """The environment/ folder of a task: all an engine needs to make the sealed image, and nothing of the fix.

    `files` are the Dockerfiles, docker_build_*.sh and lock.txt by name; the base tree lies beside them as
    `repo.tar.gz` and is not held in memory.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    python_version: str
    apt_packages: tuple[str, ...] = ()
    files: Mapping[str, str] = Field(default_factory=dict)
    build_args: Mapping[str, str] = Field(default_factory=dict)
    """Environment of the pr tier's scripts (FC_INSTALL_DIR, FC_IMPORT_NAMES, SETUPTOOLS_SCM_PRETEND_VERSION ...)."""


class Task(BaseModel):
    """One task. `instruction` never names the solution or its pull request; `expert_patch` is a git diff on base."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    owner: str
    repo: str
    pr_number: int
    base_commit: str
    merge_commit: str
    merged_at: datetime
    title: str
    instruction: str
    expert_patch: str
    image_name: str
    image_digest: str
    benchmark_dir: str
    """The asv suite's directory in the tree, relative to its root."""
    benchmark_timeout_s: float = 60.0
    """Time limit of benchmarks that name none (asv's default_benchmark_timeout)."""
    workloads: tuple[str, ...]
    """Workload ids: benchmark name, with `(p1, p2)` appended where it has parameters."""
    not_impacted: int = 0
    """Workloads of the suite that are no part of this task, because the expert's patch cannot touch them."""
    screened_out: int = 0
    """... and because a screening saw less of an effect in them than in those that are."""
    test_command: tuple[str, ...]
    """Runs the tests in WORKDIR; `{junit}` stands for the path of the JUnit XML it must write."""
    passing_tests: tuple[str, ...]
    """Ids of the tests that pass in the sealed image at base, as the host saw them."""
    compiled: bool
    """True where the package has to be rebuilt after a change to a compiled source."""
    difficulty: str = "unknown"
    category: str = "uncategorized"
    licence: str | None = None
    stars: int | None = None
    """Of its repository, as the forge counted them when it was mined, so that a task that is made again on another day
    may have another digest; None where nobody counted.
    """
    build: BuildInputs
    certificate: Certificate | None = None
    suite: SuiteRecord | None = None
    """Which suite is measured, where that is not base's own."""
    suite_patch: str = ""
    """A git diff on base that brings that suite; every arm that is measured gets it, and no image."""

    @field_validator("difficulty", mode="before")
    @classmethod
    def _of_four(cls, value: object) -> object:
        """In any case; nothing is unknown, and another word medium, as where a judge said it."""
        if value is not None and not isinstance(value, str):
            return value
        word = (value or "unknown").strip().lower() or "unknown"
        return word if word in DIFFICULTIES else "medium"

    @property
    def repository(self) -> str:
        """owner/repo."""
        return f"{self.owner}/{self.repo}"

    def environment(
        self, folder: Path | str | None = None, **options: Unpack[environment.Options]
    ) -> environment.Environment:
        """The task as an environment to learn in, graded as fc-eval run does: reset(), exec(), score().

        `folder`: the task's own, which its image is built from where it is not here. `options`: `max_rounds` and `seed`
        are those of fc-eval run; `shape` is what rewards are; `cores`: where it is timed, None for the first of
        FC_BENCH_CORES, () for anywhere; `settings`: those of this process, unless given.

        Raises:
            ConfigError: its image is not here, and no folder was named.
            EngineUnavailable: there is no engine to run in.
            BuildFailed: its image does not build here.
        """
        return environment.made(self, folder, **options)
