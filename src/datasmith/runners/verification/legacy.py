"""An older folder: its Dockerfile is built, and its own scripts have to show tests that pass and benchmarks."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from datasmith.docker.cli_build import declared_arguments
from datasmith.docker.engine import ImageRef, Mount
from datasmith.docker.foreign import ForeignImages
from datasmith.docker.verifiers import TestReport, run_tests
from datasmith.errors import BuildFailed
from datasmith.runners.verification.base import Step, Times, build_failed, conditions, failed, tests_failed
from datasmith.runners.verification.verdict import Failed, Verified
from datasmith.tasks.legacy import DOCKERFILE, OLD_TESTS, PROFILE, TESTS, LegacyTask, read_legacy
from datasmith.workloads.asv_results import in_archive, printed

_PLACE = "/opt/fc/verify"
_PROFILE_TARGET = "/tmp/fc-profile"
_ALIASES = {
    "COMMIT_SHA": "sha",
    "BASE_SHA": "sha",
    "BASE_COMMIT": "sha",
    "COMMIT": "sha",
    "PY_VERSION": "python_version",
    "REPO_NAME": "repo",
    "REPO_OWNER": "owner",
}
"""Build arguments of older Dockerfiles that are spelled otherwise than in task.txt."""


def build_arguments(dockerfile: str, task: LegacyTask, clone_url: str) -> dict[str, str]:
    """Values for the build arguments that a Dockerfile declares and task.txt knows."""
    found: dict[str, str] = {}
    for name in declared_arguments(dockerfile):
        value = task.text(_ALIASES.get(name, name.lower()))
        if name == "REPO_URL" and value is None:
            value = clone_url.format(owner=task.owner, repo=task.repo)
        if value is not None:
            found[name] = value
    return found


@dataclass(frozen=True, slots=True)
class LegacyFolders:
    """Verifies older folders, on docker or podman.

    The scripts come from our copy of the folder, not from the image. Tests are counted by the report that pytest
    itself writes, benchmarks by asv's result files or lines; a folder whose scripts end well and show neither fails.
    """

    images: ForeignImages
    clone_url: str
    times: Times

    @property
    def engine(self) -> str:
        """See Generation."""
        return self.images.name

    @property
    def conditions(self) -> str:
        """See Generation."""
        return conditions(self.engine, self.times, self.images.limits)

    def verify(self, folder: Path, *, log: Path, step: Step) -> Verified | Failed:
        """See Generation."""
        step("read")
        task = read_legacy(folder)
        arguments = build_arguments((folder / DOCKERFILE).read_text("utf-8", "replace"), task, self.clone_url)
        name = f"fc-verify:{hashlib.sha256(str(folder).encode()).hexdigest()[:20]}"
        step("build")
        try:
            image = self.images.build(folder, name, arguments=arguments, log=log, timeout=self.times.build_s)
        except BuildFailed as error:
            return build_failed(error, self.times.build_s)
        try:
            return self._run(folder, image, step)
        finally:
            self.images.remove(image)

    def _run(self, folder: Path, image: ImageRef, step: Step) -> Verified | Failed:
        step("tests")
        report = self._tests(folder, image)
        if isinstance(report, Failed):
            return report
        step("benchmarks")
        names = self._benchmarks(folder, image)
        if isinstance(names, Failed):
            return names
        return Verified(
            image_digest=image.digest,
            tests_passed=len(report.passed),
            tests_failed=len(report.failed),
            benchmarks=len(names),
        )

    def _tests(self, folder: Path, image: ImageRef) -> TestReport | Failed:
        """The run, where a test passed; tests of the untouched tree may fail, the script itself may not."""
        script = TESTS if (folder / TESTS).is_file() else OLD_TESTS
        # Whatever way the script takes to pytest, pytest reads this variable.
        command = ["env", "PYTEST_ADDOPTS=--junitxml={junit}", "bash", f"{_PLACE}/{TESTS}"]
        with self.images.start(image, mounts=[Mount(folder / script, f"{_PLACE}/{TESTS}")]) as container:
            report = run_tests(container, command, timeout=self.times.tests_s)
        if not report.ended:
            return tests_failed(report, f"{script} ended with exit code {report.rc}", self.times.tests_s)
        if not report.passed:
            return tests_failed(report, f"{script} shows no test that passes", self.times.tests_s)
        return report

    def _benchmarks(self, folder: Path, image: ImageRef) -> frozenset[str] | Failed:
        program = files("datasmith.docker").joinpath("templates", "run_profile.sh").read_text("utf-8")
        argv = ["sh", "-c", program, "run_profile", f"{_PLACE}/{PROFILE}", _PROFILE_TARGET]
        with self.images.start(image, mounts=[Mount(folder / PROFILE, f"{_PLACE}/{PROFILE}")]) as container:
            done = container.exec(argv, timeout=self.times.benchmarks_s)
        said = done.error_text
        if done.timed_out:
            limit = f"{PROFILE} is not done after {self.times.benchmarks_s:g} s"
            return failed("measure", limit, stderr=said)
        if done.rc != 0:
            return failed("measure", f"{PROFILE} ended with exit code {done.rc}", code=done.rc, stderr=said)
        names = in_archive(done.stdout) | printed(said)
        return names or failed("measure", f"{PROFILE} shows no benchmark with a result", code=0, stderr=said)
