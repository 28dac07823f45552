"""What stage 5 is asked to make of a pull request, and what it holds on the way."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from datasmith.agents.classification import Classification
from datasmith.docker.engine import ImageRef
from datasmith.docker.seal import SealReport
from datasmith.docker.verifiers import TestReport
from datasmith.github.models import PR
from datasmith.resolution.base import Resolution
from datasmith.runners.suites import ForeignSuite
from datasmith.tasks.ids import task_id
from datasmith.tasks.suite import SuiteRecord
from datasmith.tasks.task import BuildInputs
from datasmith.workloads.base import Workload


@dataclass(frozen=True, slots=True)
class Refusal:
    """A decision against a pull request, with the reason that the funnel shows."""

    reason: str


@dataclass(frozen=True, slots=True)
class Order:
    """What stage 5 is asked to make: a pull request with its class, environment and suite."""

    pr: PR
    classification: Classification
    resolution: Resolution
    licence: str | None
    stars: int | None
    benchmark_dir: str
    benchmark_timeout_s: float
    clone: Path
    pretend_version: str | None
    suite: ForeignSuite | None = None
    """The suite to measure with, where that is not base's own; `benchmark_dir` is where it is laid."""
    own_benchmark_dir: str = ""
    """That of base's own suite, where it has one."""

    @property
    def task_id(self) -> str:
        """The id of the task this may become."""
        return task_id(self.pr.owner, self.pr.repo, self.pr.issue_number)


@dataclass(frozen=True, slots=True)
class Sealed:
    """The sealed image of an order, with the inputs it was built from."""

    image: ImageRef
    inputs: BuildInputs
    source: Path
    expert_patch: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What was seen of the untouched tree: its workloads and tests; and of the tests with the expert's patch."""

    workloads: tuple[Workload, ...]
    base: TestReport
    expert: TestReport
    _: KW_ONLY
    seal: SealReport
    """In which nothing was found."""
    excused: frozenset[str] = frozenset()
    """Tests that the expert's patch breaks, in files that its own pull request rewrites."""
    suite: SuiteRecord | None = None
    """Which suite was measured, where that is not base's own; `suite_patch` brings it."""
    suite_patch: str = ""
    test_command: tuple[str, ...] = ()
    not_impacted: int = 0
    """Workloads of the suite that were left out, because the expert's patch cannot touch them."""
    screened_out: int = 0
    """... and because a screening saw less in them than in those that are left."""
    unseen: int = 0
    """Of these: nothing was seen, as base fails them, they take too long, or the screening's time was over."""

    @property
    def passing(self) -> tuple[str, ...]:
        """Ids that a patch has to keep passing."""
        return tuple(sorted(self.base.passed & self.expert.passed))
