"""The project page's code about images and their synthesis, run word for word: builds end as this module says."""

import ast
import asyncio
import hashlib
import inspect
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from datasmith.agents.synthesis_tools import SynthesisTools
from datasmith.docker import engines, images
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import Container, ExecResult, ImageRef, Tier
from datasmith.docker.images import BUILD_ARGS, PYTHON_ARG, ImagePlan, build_args_text
from datasmith.docker.lookup import FoundContext
from datasmith.github import PR
from datasmith.runners import synthesize_contexts
from datasmith.runners.synthesize_contexts import BY_HAND, NOT_KNOWN
from tests.unit.agents.synthesizing import STRANGE, Bench, StubContainer, Verdict

IMAGES = """
from datasmith.docker import ImageManager, MultiObjVerifier, SmokeVerifier, ProfileVerifier
mgr = ImageManager()
base = mgr.build_base_image() # formulacode/base:latest (uses the default Dockerfile.base)
repo = mgr.build_repo_image("pandas-dev", "pandas",) # formulacode/pandas-dev-pandas:latest
pr = mgr.build_pr_image("pandas-dev", "pandas", 16222,) # formulacode/pandas-dev-pandas:16222
# Alternatively, if the user wants to use a custom Dockerfile, they can do so by:
mgr.build_base_image(context="path/to/custom/context")
mgr.build_repo_image("pandas-dev", "pandas", context="path/to/custom/context")
mgr.build_pr_image("pandas-dev", "pandas", 16222, context="path/to/custom/context")
# Verify an image with a chain of verifiers — short-circuits on first failure.
verifier = MultiObjVerifier(verifiers=[
SmokeVerifier("pandas"), # can we import the package?
ProfileVerifier(timeout=300), # can we discover and run ASV benchmarks?
])
result = verifier.verify("formulacode/pandas-dev-pandas:16222")
said = (result.ok, result.rc, result.stdout, result.stderr, result.duration_s)
"""
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
        return self.of_pull_request(owner, repo, 1)

    def of_pull_request(self, owner: str, repo: str, number: int) -> FoundContext | None:
        if number == 3:
            raise ValueError("surprise")
        own = DockerContext.default(lock=f"# {number}\n{LOCK}")
        context = DockerContext({**own.texts, BUILD_ARGS: build_args_text({PYTHON_ARG: "3.11"})})
        return None if number == 4 else FoundContext(context, "here", self.place / "repo.tar.gz")


class Inside(StubContainer):
    """A container in which every command works, says the token that it got, and names a benchmark."""

    def exec(self, argv: object, **given: object) -> ExecResult:
        token = given.get("stdin")
        assert isinstance(token, bytes)
        answer = {"token": token.decode().strip(), "names": ["bench.time_groupby"]}
        return ExecResult(0, json.dumps(answer).encode(), b"", 0.5, 0.5, False)


@dataclass
class Engine:
    """An engine that builds whatever it is given, and knows what it has built by all its names."""

    name: str = "stub"
    runs_dockerfiles: bool = True
    built: dict[str, ImageRef] = field(default_factory=dict)

    def pythons(self) -> tuple[str, ...]:
        return ("3.11", "3.12")

    def build(self, parent: ImageRef | None, tier: Tier, *, log: Path) -> ImageRef:
        said = f"{parent} {tier.name} {tier.kind} {sorted(tier.files)} {tier.dockerfile}"
        image = ImageRef(self.name, tier.name, f"sha256:{hashlib.sha256(said.encode()).hexdigest()}")
        self.built |= dict.fromkeys((tier.name, *tier.aliases), image)
        return image

    def inspect(self, reference: str) -> ImageRef | None:
        return self.built.get(reference)

    def start(self, image: ImageRef, **_: object) -> Container:
        return cast("Container", Inside())


def test_images_have_the_names_that_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tiers by default and from a directory of one's own; an image is verified by its name."""
    engine = Engine()
    monkeypatch.setattr(engines, "open_engine", lambda _settings: engine)
    monkeypatch.setattr(images, "remembered", lambda _settings: Known(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FC_DATA_DIR", str(tmp_path / "work"))
    (tmp_path / "repo.tar.gz").write_bytes(b"")
    own = DockerContext.default(lock=LOCK).to_directory(tmp_path / "path/to/custom/context")
    (own / "repo.tar.gz").write_bytes(b"")
    names = run(IMAGES, {})
    for name in ("formulacode/base:latest", "formulacode/pandas-dev-pandas:latest"):
        assert name in engine.built
    assert engine.built["formulacode/pandas-dev-pandas:16222"].name == "formulacode/pandas-dev-pandas:16222"
    assert [str(getattr(names[name], "name", "")).partition(":")[0] for name in ("base", "repo", "pr")] == [
        "formulacode/base", "formulacode/pandas-dev-pandas", "formulacode/pandas-dev-pandas",
    ]  # fmt: skip
    said = names["said"]
    assert isinstance(said, tuple) and said[:2] == (True, 0) and "1 benchmarks found" in said[2] and said[4] == 1.5


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
