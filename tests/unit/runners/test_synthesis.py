"""Stage 5's decisions: which part of a patch counts, which broken tests are excused, how a refusal reads."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from datasmith.agents.classification import Classification
from datasmith.docker.engine import Container, ContainerEngine, ExecResult, ImageRef, Limits
from datasmith.docker.images import BUILD_ARGS, ImagePlan
from datasmith.docker.seal import SealReport
from datasmith.docker.verifiers import TestReport
from datasmith.github.git import Git
from datasmith.github.models import PR, FileChange
from datasmith.process import find_uv, uv_version
from datasmith.resolution.base import Resolution
from datasmith.runners import synthesis
from datasmith.runners.build_args import build_args
from datasmith.runners.order import Order, Refusal, Sealed, Verified
from datasmith.runners.solution import solution
from datasmith.runners.synthesis import Synthesis
from datasmith.runners.testing import TEST_COMMAND
from datasmith.tasks.certificate import Cost
from datasmith.tasks.task import BuildInputs
from datasmith.workloads.measure import Measured
from datasmith.workloads.plan import MeasurePlan
from tests.clones import START, Clone
from tests.unit.agents import synthesizing
from tests.unit.agents.synthesizing import Bench, Verdict
from tests.unit.tasks.samples import PATCH

NOW = datetime(2026, 3, 1, tzinfo=UTC)
IMAGE = ImageRef("stub", "x", "sha256:0")
REPORT = TestReport({"tests.test_a::one": "passed"}, 0, False, 1.0, "")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "calc")


def order(clone: Clone, base: str = "", merge: str = "", files: Sequence[str] = ()) -> Order:
    """An order for the newest commit of a clone, unless told otherwise."""
    return Order(
        pr=PR(
            repository="acme/calc",
            issue_number=12,
            base_sha=base or clone.git("rev-parse", "HEAD~1"),
            merge_commit_sha=merge or clone.git("rev-parse", "HEAD"),
            merged_at=NOW,
            files=tuple(FileChange(path=path) for path in files),
        ),
        classification=Classification(is_performance=True),
        resolution=Resolution(
            python_version="3.11", pins=(), lock="", cutoff=NOW, strategy="newest-python", dropped=(),
            project_root=".", project_name="calc", import_names=("calc",), build_requires=(), compiled=False,
            apt_packages=(), log="",
        ),
        licence=None,
        stars=None,
        benchmark_timeout_s=60.0,
        benchmark_dir="benchmarks",
        clone=clone.path,
        pretend_version=None,
    )  # fmt: skip


def test_the_solution_leaves_tests_and_benchmarks_out(clone: Clone) -> None:
    """What remains is the change of the library."""
    clone.merge(12, "Faster", {"calc.py": "fast = 1\n", "tests/test_calc.py": "x", "benchmarks/bench.py": "y"})
    part = solution(order(clone), Git(clone.path))
    assert isinstance(part, str) and part.startswith("diff --git a/calc.py b/calc.py") and part.count("diff --git") == 1


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"tests/test_calc.py": "x"}, "nothing but tests"),
        ({"big.txt": "x" * 6_000_000}, "larger than"),
    ],
)
def test_a_patch_without_a_usable_solution_is_refused(clone: Clone, files: dict[str, str], says: str) -> None:
    """A decision, with its reason, rather than a failure."""
    clone.merge(12, "Faster", files)
    part = solution(order(clone), Git(clone.path))
    assert isinstance(part, Refusal) and says in part.reason


def no_log(_plan: ImagePlan) -> str | None:
    return None


class StubContainer:
    """A container whose every command ends the same way."""

    def __init__(self, result: ExecResult) -> None:
        self.result = result
        self.stopped = False

    def exec(self, argv: Sequence[str], **_: object) -> ExecResult:
        return self.result

    def stop(self) -> None:
        self.stopped = True


class StubEngine:
    """An engine that starts one container."""

    name = "stub"

    def __init__(self, container: StubContainer) -> None:
        self.container = container

    def start(self, image: ImageRef, **_: object) -> Container:
        return cast("Container", self.container)


def made_by(tmp_path: Path, container: StubContainer, end: Callable[[ImagePlan], str | None] = no_log) -> Synthesis:
    """Stage 5 on images that end as `end` says; their containers answer as `container` does."""
    bench = Bench(tmp_path, end)
    engine = cast("ContainerEngine", StubEngine(container))
    return Synthesis(
        engine, bench.synthesizer, data_dir=tmp_path / "data", plan=MeasurePlan(), limits=Limits(), now=lambda: NOW
    )


FAILED = ExecResult(1, b"", b"error: patch failed: calc.py:1\n", 0.1, 0.1, False)


def test_a_patch_that_does_not_apply_is_refused(tmp_path: Path, clone: Clone) -> None:
    """With git's words, and the container is gone."""
    clone.merge(12, "Faster")
    container = StubContainer(FAILED)
    sealed = Sealed(IMAGE, BuildInputs(python_version="3.11"), tmp_path, PATCH)
    found = made_by(tmp_path, container)._expert_tests(order(clone), sealed, 0, TEST_COMMAND)
    assert isinstance(found, Refusal) and container.stopped
    assert found.reason == (
        "the expert's patch cannot be used: the patch does not apply: error: patch failed: calc.py:1"
    )


@pytest.mark.parametrize(("unknown", "sealed"), [((), True), (("calc.py: too short; nothing of it was",), None)])
def test_a_certificate_says_what_the_seal_could_not_look_for(
    tmp_path: Path, clone: Clone, unknown: tuple[str, ...], sealed: bool | None
) -> None:
    """An image is only called sealed where nothing of the fix was left out."""
    clone.merge(12, "Faster")
    verified = Verified((), REPORT, REPORT, seal=SealReport((), (), unknown))
    measured = Measured((), {}, Cost(launches=0, wall_s=0.0, cpu_s=0.0, timed_s=0.0))
    image = Sealed(IMAGE, BuildInputs(python_version="3.11"), tmp_path, PATCH)
    found = made_by(tmp_path, StubContainer(FAILED))._certify(order(clone), image, verified, measured)
    assert (found.sealed, found.not_looked_for) == (sealed, unknown)


def test_an_image_that_does_not_build_is_refused(tmp_path: Path, clone: Clone) -> None:
    """With the script, its exit code and what it said last; the sealed source follows the base commit."""

    def end(_plan: ImagePlan) -> str | None:
        return "first\n\x1b[31mno compiler\x07\n\n"

    clone.merge(12, "Faster")
    steps: list[str] = []
    found = made_by(tmp_path, StubContainer(FAILED), end).make(order(clone), 0, steps.append)
    assert found == Refusal("does not build: stage docker_build_pkg.sh, exit code 1: [31mno compiler")
    first = synthesis.source_path(tmp_path / "data", "acme_calc_12").read_bytes()
    clone.commit("more", {**START, "more.py": "x"}, "2026-02-20T00:00:00+0000")
    clone.merge(13, "Faster", {"calc.py": "y\n"})
    assert isinstance(made_by(tmp_path, StubContainer(FAILED), end).make(order(clone), 0, steps.append), Refusal)
    assert synthesis.source_path(tmp_path / "data", "acme_calc_12").read_bytes() != first
    assert steps[0] == "build" and steps[1].startswith("Checking cache for acme/calc@")


def built_from(
    tmp_path: Path, clone: Clone, *logs: tuple[str, str], works: bool = True
) -> tuple[Sealed | Refusal, list[tuple[str, ...]]]:
    """What comes of an order whose builds fail with these (script, log), one after another; packages of each build."""
    waiting = list(logs)
    bench = Bench(tmp_path, no_log)

    def end(_plan: ImagePlan) -> str | None:
        stage, said = waiting.pop(0) if waiting else ("", None)
        bench.images.stage = lambda _: stage
        return said

    bench.images.end = end
    engine = cast("ContainerEngine", bench.engine)
    made = Synthesis(
        engine, bench.synthesizer, data_dir=tmp_path / "data", plan=MeasurePlan(), limits=Limits(), now=lambda: NOW
    )
    wanted = made._wanted
    made._wanted = lambda order, plan: replace(wanted(order, plan), verifier=Verdict(works))  # type: ignore[method-assign]
    built = made._build(order(clone), lambda _step: None)
    return built, [plan.apt_packages for plan in bench.images.plans]


NO_HEADER = ("docker_build_pkg.sh", "x.c:1:10: fatal error: geos_c.h: No such file or directory\ncompilation ended")
NO_LIBRARY = ("docker_build_pkg.sh", "/usr/bin/ld: cannot find -lz: No such file or directory")


def test_a_build_is_tried_again_with_what_its_log_asks_for(tmp_path: Path, clone: Clone) -> None:
    """Packages are added, one failure after another, and the task says with which it was built."""
    clone.merge(12, "Faster")
    sealed, asked = built_from(tmp_path, clone, NO_HEADER, NO_LIBRARY)
    assert isinstance(sealed, Sealed)
    assert asked == [(), ("libgeos-dev",), ("libgeos-dev", "zlib1g-dev")]
    assert sealed.inputs.apt_packages == asked[-1]
    assert "FC_APT_PACKAGES='libgeos-dev zlib1g-dev'" in sealed.inputs.files[BUILD_ARGS]


def test_others_build_a_task_from_what_it_was_built_from(tmp_path: Path, clone: Clone) -> None:
    """The Dockerfile of a task's environment names the system by its digest, and the version of uv."""
    clone.merge(12, "Faster")
    sealed, _ = built_from(tmp_path, clone)
    assert isinstance(sealed, Sealed)
    lines = sealed.inputs.files["Dockerfile"].splitlines()
    assert {f"ARG FC_BASE_IMAGE={synthesizing.StubEngine.base}", f"ARG FC_UV=uv=={uv_version(find_uv())}"} <= set(lines)


def test_a_build_that_lacks_the_same_again_is_refused(tmp_path: Path, clone: Clone) -> None:
    """With what it lacked; where the packages cannot be had, too."""
    clone.merge(12, "Faster")
    said = "does not build (missing header geos_c.h): stage docker_build_pkg.sh, exit code 1: compilation ended"
    assert built_from(tmp_path, clone, NO_HEADER, NO_HEADER) == (Refusal(said), [(), ("libgeos-dev",)])
    no_package = ("docker_build_base.sh", "E: Unable to locate package libgeos-dev")
    assert built_from(tmp_path, clone, NO_HEADER, no_package)[0] == Refusal(said)


def test_an_image_that_does_not_work_is_refused(tmp_path: Path, clone: Clone) -> None:
    """Built, and no use: the reason says so."""
    clone.merge(12, "Faster")
    built, _ = built_from(tmp_path, clone, works=False)
    assert isinstance(built, Refusal) and built.reason.startswith("is built, but does not work: stage smoke")


def test_a_version_from_git_is_given_to_the_build(clone: Clone) -> None:
    """A sealed tree has no tags; a project with a static version gets none."""
    clone.merge(12, "Faster")
    plain = build_args(order(clone).resolution, None)
    assert plain == {"FC_INSTALL_DIR": ".", "FC_IMPORT_NAMES": "calc"}
    told = build_args(order(clone).resolution, "1.2")
    assert told["SETUPTOOLS_SCM_PRETEND_VERSION"] == "1.2"
