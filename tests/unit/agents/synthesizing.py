"""A Synthesizer whose images are told how to end; its store is a real SQLite file."""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from datasmith.agents.attempts import Commit
from datasmith.agents.scripting import Brief, ScriptWriter, Written
from datasmith.agents.synthesis_tools import SynthesisTools
from datasmith.agents.synthesize import Synthesizer, Wanted
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import Container, ContainerEngine, ExecResult, ImageRef, Limits
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.docker.verifiers import VerifyResult
from datasmith.errors import BuildFailed, ContainerError, Unsatisfiable
from datasmith.storage.sql import SqlStore

NOW = datetime(2026, 3, 1, tzinfo=UTC)
IMAGE = ImageRef("stub", "x", "sha256:0")
UNBUILT = ImageRef("stub", "tree", "sha256:1")
"""The tree that no script has touched."""
COMMIT = Commit("acme", "calc", 12, "a" * 40)
ENV, PKG, RUN = "docker_build_env.sh", "docker_build_pkg.sh", "docker_build_run.sh"
NO_HEADER = "x.c:1:10: fatal error: geos_c.h: No such file or directory\ncompilation ended"
STRANGE = "nobody knows this one"


class StubContainer:
    """A container that can be entered and left; the files of its tree are named."""

    def __init__(self, *tree: str) -> None:
        self.tree = tree

    def exec(self, argv: object, **_: object) -> ExecResult:
        nothing = {"files": {}, "start": {}, "tree": self.tree, "options": [], "programs": [], "plugins": {}}
        return ExecResult(0, zlib.compress(json.dumps({**nothing, "declared": ""}).encode()), b"", 0.1, 0.1, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass
class StubEngine:
    """An engine that builds whatever it is given and starts one container; it knows what its images stand on."""

    name = "stub"
    runs_dockerfiles = True
    base = f"debian:bookworm-slim@sha256:{'1f' * 32}"
    fails: BaseException | None = None
    built_tree: tuple[str, ...] = ()

    def build(self, parent: ImageRef | None, tier: object, *, log: Path) -> ImageRef:
        return UNBUILT

    def base_of(self, image: ImageRef) -> str:
        return self.base

    def inspect(self, reference: str) -> ImageRef | None:
        return IMAGE if reference == self.base else None

    def start(self, image: ImageRef, **_: object) -> Container:
        if self.fails:
            raise self.fails
        return cast("Container", StubContainer(*(self.built_tree if image != UNBUILT else ())))


@dataclass
class StubImages:
    """Images that end as `end(plan)` says: a log to fail with at the package's script, another error, or None."""

    end: Callable[[ImagePlan], str | ContainerError | None]
    plans: list[ImagePlan] = field(default_factory=list)
    stage: Callable[[ImagePlan], str] = lambda _: PKG

    def build(self, plan: ImagePlan, *, log: Path) -> ImageRef:
        self.plans.append(plan)
        said = self.end(plan)
        if isinstance(said, ContainerError):
            raise said
        if said is not None:
            raise BuildFailed(self.stage(plan), 1, said)
        return IMAGE

    def build_base(self, packages: tuple[str, ...], context: DockerContext, *, log: Path) -> ImageRef:
        return IMAGE

    def build_env(self, base: ImageRef, plan: ImagePlan, *, log: Path) -> ImageRef:
        return IMAGE


@dataclass(frozen=True)
class Verdict:
    """A verifier that always says the same."""

    ok: bool = True
    said: str = ""

    def verify(self, where: object) -> VerifyResult:
        return VerifyResult(self.ok, 0 if self.ok else 1, "", self.said, 0.5, "smoke")


@dataclass
class Writer:
    """A script writer with its answers laid out beforehand (a text: why it broke down); it keeps what it was given."""

    answers: Sequence[Mapping[str, str] | str]
    name: str = "claude"
    fails: BaseException | None = None
    briefs: list[Brief] = field(default_factory=list)

    def write(self, brief: Brief) -> Written:
        self.briefs.append(brief)
        if self.fails:
            raise self.fails
        answer = self.answers[len(self.briefs) - 1]
        if isinstance(answer, str):
            return Written({}, "some-model", 0.25, "the agent's own words", broke=answer)
        return Written(answer, "some-model", 0.25, "the agent's own words")


@dataclass
class Bench:
    """Everything of one search, before and after it."""

    place: Path
    end: Callable[[ImagePlan], str | ContainerError | None]
    writer: Writer | None = None
    relocked: str | None = None
    engine: StubEngine = field(default_factory=StubEngine)
    verdict: Verdict = field(default_factory=Verdict)
    traces: list[str] = field(default_factory=list)
    cutoffs: list[datetime] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.images = StubImages(self.end)
        self.store = SqlStore.at(self.place / "fc.sqlite")
        self.store.migrate()
        tools = SynthesisTools(
            engine=cast("ContainerEngine", self.engine),
            images=cast("ImageManager", self.images),
            store=self.store,
            relock=self._relock,
            source=lambda *_: self.place / "repo.tar.gz",
            limits=Limits(),
            writer=cast("ScriptWriter | None", self.writer),
        )
        ticks = iter(range(10_000))
        self.synthesizer = Synthesizer(
            3, tools=tools, trace=self.traces.append, now=lambda: NOW, clock=lambda: float(next(ticks))
        )

    def wanted(self, texts: Mapping[str, str] | None = None, commit: Commit = COMMIT) -> Wanted:
        """A search for a commit from our own scripts, or from others in their place."""
        context = DockerContext({**DockerContext.default(lock="numpy==1.0\n").texts, **(texts or {})})
        plan = ImagePlan(commit.owner, commit.repo, "12", "3.11", (), context, self.place / "repo.tar.gz")
        return Wanted(commit, plan, self.verdict, self.place / "build.log", "It is slow.", NOW)

    def _relock(self, lock: str, requirements: tuple[str, ...], python_version: str, cutoff: datetime) -> str:
        self.cutoffs.append(cutoff)
        if self.relocked is None:
            raise Unsatisfiable(f"{', '.join(requirements)} cannot be had together")
        return self.relocked

    def rows(self) -> list[Mapping[str, object]]:
        """The rows of build_attempts, in order."""
        return [dict(row) for row in self.store.select("build_attempts", order=("id",))]
