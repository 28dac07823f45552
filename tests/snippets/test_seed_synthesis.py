"""The project page's code about images and their synthesis, run word for word: builds end as this module says."""

import ast
import asyncio
import inspect
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.agents.synthesis_tools import SynthesisTools
from datasmith.docker.context import DockerContext
from datasmith.docker.images import BUILD_ARGS, PYTHON_ARG, ImagePlan, build_args_text
from datasmith.docker.lookup import FoundContext
from datasmith.github import PR
from datasmith.runners import synthesize_contexts
from datasmith.runners.synthesize_contexts import BY_HAND, NOT_KNOWN
from tests.unit.agents.synthesizing import STRANGE, Bench, Verdict

SYNTHESIS = """
from datasmith.agents import Synthesizer
from datasmith.docker import MultiObjVerifier, SmokeVerifier, ProfileVerifier
from datasmith.docker.context import DockerContext
# The verifier chain validates each synthesis attempt.
verifier = MultiObjVerifier(verifiers=[
SmokeVerifier("pandas"), # can we import the package?
ProfileVerifier(timeout=300), # can we discover and run ASV benchmarks?
])
verifier = accepts
# Load a base Docker build context (Dockerfile + shell scripts) to iterate on.
base_context = DockerContext.from_directory("dataset/formulacode_verified/pandas-dev_pandas/abc123")
synth = Synthesizer(max_attempts=3)
ctx = synth.run(
owner="pandas-dev",
repo="pandas",
issue_number=16222,
pr_context="This PR optimizes groupby performance by ...",
verifier=verifier,
sha="abc123def456",
base_context=base_context,
env_payload='{"dependencies": ["numpy==1.26.0", "cython==3.0.0"]}',
python_version="3.10",
)
"""
"""As it stands there, but for one line: no sandbox of this test holds pandas, so its verdict is given."""
RUNNER = """
from datasmith.runners import SynthesizeImagesRunner
runner = SynthesizeImagesRunner(synth, verifier, n_concurrent=8)
results = await runner.run(pr_items)
# Returns None entries for PRs where synthesis failed.
"""
FOLDER = "dataset/formulacode_verified/pandas-dev_pandas/abc123"
LOCK = "numpy==1.26.0\n"


def run(code: str, names: dict[str, object]) -> dict[str, object]:
    """Run code that may await at the top; returns its names."""
    ended = eval(compile(code, "page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)  # noqa: S307
    if inspect.iscoroutine(ended):
        asyncio.run(ended)
    return names


def pull_request(number: int) -> PR:
    return PR(
        repository="pandas-dev/pandas", issue_number=number, base_sha=f"{number:040x}", created_at=datetime.now(UTC)
    )


class Known:
    """Knows the environment of every pull request but number 4; asking about number 3 goes wrong."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def of_repository(self, owner: str, repo: str) -> FoundContext | None:
        raise AssertionError

    def of_pull_request(self, owner: str, repo: str, number: int) -> FoundContext | None:
        if number == 3:
            raise ValueError("surprise")
        own = DockerContext.default(lock=f"# {number}\n{LOCK}")
        context = DockerContext({**own.texts, BUILD_ARGS: build_args_text({PYTHON_ARG: "3.11"})})
        return None if number == 4 else FoundContext(context, "here", self.place / "repo.tar.gz")


def test_synthesis_of_one_and_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A context for what builds, None for the rest, in the order asked; the run goes on, and the store tells why."""

    def end(plan: ImagePlan) -> str | None:
        return STRANGE if plan.tag == "2" else None

    bench = Bench(tmp_path, end, relocked=LOCK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SynthesisTools, "opened", lambda _agent: bench.synthesizer.tools)
    monkeypatch.setattr(synthesize_contexts, "_remembered", lambda: Known(tmp_path))
    DockerContext.default(lock="").to_directory(tmp_path / FOLDER)
    names = run(SYNTHESIS, {"accepts": Verdict()})
    found = names["ctx"]
    assert isinstance(found, DockerContext) and "docker_build_pkg.sh" in found.texts

    items = [pull_request(number) for number in (1, 2, 3, 4, 5)]
    results = run(RUNNER, {**names, "pr_items": items})["results"]
    assert isinstance(results, list)
    assert [isinstance(each, DockerContext) for each in results] == [True, False, False, False, True]
    assert ["# 1" in results[0].texts["lock.txt"], "# 5" in results[4].texts["lock.txt"]] == [True, True]
    (failure,) = bench.store.select("runner_failures")
    assert failure["item"] == "pandas-dev/pandas:3" and "surprise" in str(failure["traceback"])
    (progress,) = bench.store.select("runner_progress")
    assert [progress[name] for name in ("total", "completed", "passed", "refused", "failed")] == [5, 5, 2, 2, 1]
    reasons = {row.item[-1]: row.reason for row in bench.store.stage_items(BY_HAND, 5)}
    assert reasons["4"] == NOT_KNOWN
