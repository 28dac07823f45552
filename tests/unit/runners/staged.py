"""Stages on a real clone and a real store, with stand-ins for what asks the index and builds."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import anyio

from datasmith.github.base import Window
from datasmith.github.forges import Clones
from datasmith.github.git import Git
from datasmith.resolution.base import AsvHints, Resolution, SourceTree
from datasmith.resolution.resolver import Resolver, Source
from datasmith.runners.classify_prs import ClassifyPRsRunner
from datasmith.runners.loop import RunOptions, StageSummary
from datasmith.runners.order import Order, Refusal
from datasmith.runners.resolve_packages import ResolvePackagesRunner
from datasmith.runners.scrape_commits import ScrapeCommitsRunner
from datasmith.runners.scrape_repos import ScrapeReposRunner
from datasmith.runners.synthesis import Synthesis, source_path
from datasmith.storage.sql import SqlStore
from datasmith.tasks.task import Task
from tests.clones import Clone

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WINDOW = Window.parse("2026-02-01", "2026-03-01")
KEY = WINDOW.key


async def no_pause(_seconds: float) -> None:
    """Do not wait after an outage."""


OPTIONS = RunOptions(worker="test-1", n_concurrent=2, sleep=no_pause)
RESOLUTION = Resolution(
    python_version="3.11", pins=(), lock="", cutoff=NOW, strategy="newest-python", dropped=(), project_root=".",
    project_name="calc", import_names=("calc",), build_requires=(), compiled=False, apt_packages=(), log="",
)  # fmt: skip


class OneAnswer(Resolver):
    """A resolver that always gives the same answer, and remembers what it was asked."""

    def __init__(self, answer: Resolution | Exception) -> None:
        self.answer = answer
        self.asked: list[AsvHints] = []

    def resolve(
        self,
        tree: SourceTree,
        *,
        repository: str,
        commit_date: datetime,
        asv: AsvHints,
        log: Callable[[str], None] | None = None,
        source: Source | None = None,
    ) -> Resolution:
        self.asked.append(asv)
        assert "pyproject.toml" in tree.paths
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class OneSynthesis(Synthesis):
    """A synthesis that leaves a source behind, and always ends the same way."""

    def __init__(self, data_dir: Path, end: Callable[[Order], Task | Refusal]) -> None:
        self.data_dir = data_dir
        self.end = end

    @property
    def engine_name(self) -> str:
        return "stub"

    def base_image(self, task: Task) -> str:
        return f"debian@{task.image_digest}"

    def make(self, order: Order, core: int, progress: Callable[[str], None]) -> Task | Refusal:
        source = source_path(self.data_dir, order.task_id)
        source.parent.mkdir(parents=True, exist_ok=True)
        Git(order.clone).sealed_source(order.pr.base_sha, source, commit_date=NOW)
        return self.end(order)


class Stage(Protocol):
    async def run_stage(self) -> StageSummary: ...


def done(runner: Stage) -> StageSummary:
    return anyio.run(runner.run_stage)


def states(store: SqlStore, stage: int) -> dict[str, str]:
    """Number or repository -> state and reason."""
    rows = store.stage_items(KEY, stage)
    return {row.item.rpartition(":")[2]: f"{row.state} {row.reason}".strip() for row in rows}


def scraped(store: SqlStore, *clones: Clone) -> Clones:
    """Stages 1 and 2 of these clones."""
    forge = Clones([clone.path for clone in clones])
    names = [forge_name(clone) for clone in clones]
    store.enter(KEY, 1, [(name, "repository") for name in names], NOW)
    done(ScrapeReposRunner(store, KEY, OPTIONS, forge=forge))
    done(ScrapeCommitsRunner(store, WINDOW, OPTIONS, forge=forge))
    return forge


def forge_name(clone: Clone) -> str:
    return clone.git("config", "remote.origin.url").removeprefix("https://github.com/").removesuffix(".git")


def entered(store: SqlStore, clone: Clone, stage: int) -> Clones:
    """Everything up to `stage`, where pull requests 2 and 5 wait."""
    forge = scraped(store, clone)
    done(ClassifyPRsRunner(store, KEY, OPTIONS))
    if stage > 4:
        done(ResolvePackagesRunner(store, KEY, OPTIONS, forge=forge, resolver=OneAnswer(RESOLUTION)))
    return forge
