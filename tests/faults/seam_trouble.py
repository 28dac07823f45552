"""Seams that break at their N-th call, and runs of stages 1 to 4 over them."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import anyio

from datasmith.errors import ForgeUnavailable, IndexUnavailable, StoreUnavailable
from datasmith.github.base import Window
from datasmith.github.forges import Clones, Sources
from datasmith.github.models import PR, Repository
from datasmith.pipeline import Pipeline
from datasmith.resolution.base import AsvHints, Resolution, SourceTree
from datasmith.resolution.resolver import Source
from datasmith.runners.loop import RunOptions
from datasmith.runners.request import Request
from datasmith.runners.resolve_packages import ResolvePackagesRunner
from datasmith.settings import Settings
from datasmith.storage.base import Store
from datasmith.storage.sql import SqlStore

WINDOW = Window.parse("2026-02-01", "2026-03-01")
TABLES = (
    "repositories", "pull_requests", "packages", "candidate_containers", "certificates", "stage_items",
    "runner_failures",
)  # fmt: skip
"""All that the stages write, but for what they tell of their own progress."""
CUTOFF = datetime(2026, 2, 1, tzinfo=UTC)


@dataclass
class Trouble:
    """Counts the calls of all seams, and lets the `at`-th fail as an outage does."""

    at: int = 0
    calls: int = 0

    def count(self, error: type[Exception]) -> None:
        """One more call."""
        self.calls += 1
        if self.calls == self.at:
            raise error(f"call {self.at} was made to fail")


class FailingStore(SqlStore):
    """Every transaction is a call."""

    trouble = Trouble()

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[object]:  # type: ignore[override]
        self.trouble.count(StoreUnavailable)
        with super()._transaction(write=write) as connection:
            yield connection


class FailingForge:
    """The git forge; every question is a call."""

    name = "git"

    def __init__(self, clone: Path, trouble: Trouble) -> None:
        self._forge = Clones((clone,))
        self._trouble = trouble

    async def repositories(self) -> list[Repository]:
        """See Forge."""
        self._trouble.count(ForgeUnavailable)
        return await self._forge.repositories()

    async def merged_pull_requests(self, repository: Repository, window: Window) -> AsyncIterator[PR]:
        """See Forge."""
        self._trouble.count(ForgeUnavailable)
        async for pr in self._forge.merged_pull_requests(repository, window):
            yield pr

    async def clone(self, repository: Repository) -> Path:
        """See Forge."""
        self._trouble.count(ForgeUnavailable)
        return await self._forge.clone(repository)

    async def clone_at_hand(self, repository: Repository) -> Path | None:
        """See Forge."""
        return await self.clone(repository)

    async def aclose(self) -> None:
        """See Forge."""


class OneEnvironment:
    """A resolver with one answer; every question is a call."""

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

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
        """See Resolver."""
        self._trouble.count(IndexUnavailable)
        return Resolution(
            python_version="3.11", pins=("calc==1",), lock="", cutoff=CUTOFF, strategy="newest-python", dropped=(),
            project_root=".", project_name="calc", import_names=("calc",), build_requires=(), compiled=False,
            apt_packages=(), log="",
        )  # fmt: skip


def run_all(store: Store, clone: Path, settings: Settings, trouble: Trouble) -> None:
    """Stages 1 to 4 of the pipeline, one item at a time, over these seams."""
    forge = FailingForge(clone, trouble)
    asked = Request(WINDOW, Sources("git", (clone,)), stages=(1, 2, 3), resume=True, n_concurrent=1)
    pipeline = Pipeline(store, forge, settings, asked)
    anyio.run(pipeline.run, lambda *_: None)
    pipeline._prepare(4, ["acme/calc"])
    options = RunOptions(worker="one", n_concurrent=1, outage_pauses_s=(), stop_children=lambda: None)
    resolver = OneEnvironment(trouble)
    runner = ResolvePackagesRunner(
        store,
        WINDOW.key,
        replace(options),
        forge=forge,
        resolver=resolver,  # type: ignore[arg-type]
    )
    anyio.run(runner.run_stage)


def contents(store: Store) -> dict[str, list[dict[str, object]]]:
    """What every run must leave alike: all tables, without times, counters of attempts, and who worked when."""
    moving = {"updated_at", "created_at", "failed_at", "published_at", "attempts", "fence", "worker", "lease_until"}
    return {
        table: [{name: value for name, value in row.items() if name not in moving} for row in store.select(table)]
        for table in TABLES
    }
