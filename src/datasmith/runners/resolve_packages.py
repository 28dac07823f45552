"""Stage 4: the environment of each pull request's base commit, as of its day."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from anyio import to_thread

from datasmith.errors import ConfigError, IndexUnavailable, ResolutionError
from datasmith.github.base import Forge
from datasmith.github.bases import grounded
from datasmith.github.git import Git
from datasmith.github.models import PR, Repository
from datasmith.resolution.base import AsvHints, Resolution, SourceTree
from datasmith.resolution.reading import decoded, texts_to_read
from datasmith.resolution.resolver import Resolver
from datasmith.runners.base import BaseRunner, Outcome
from datasmith.runners.loop import RunOptions
from datasmith.runners.rows import load_pull_request, pull_request_row, resolution_row
from datasmith.runners.suites import NO_SUITE_AT_BASE, SuiteSource, choose, hints, laid_over
from datasmith.storage.base import ItemKind, Store
from datasmith.workloads.config import AsvConfig, find_config

NO_COMMITS = "the clone lacks its base or its merge commit"


class ResolvePackagesRunner(BaseRunner[PR, Resolution]):
    """Passes the pull requests for whose base commit a Python and a set of wheels were found."""

    stage = 4

    def __init__(
        self,
        store: Store,
        window: str,
        options: RunOptions,
        *,
        forge: Forge,
        resolver: Resolver,
        suites: SuiteSource | None = None,
    ) -> None:
        super().__init__(store, window, options)
        self._forge = forge
        self._resolver = resolver
        self._suites = suites or SuiteSource()

    async def load(self, name: str) -> PR:
        """See BaseRunner."""
        return await to_thread.run_sync(load_pull_request, self.store, name)

    def identify(self, item: PR) -> tuple[str, ItemKind]:
        """See BaseRunner."""
        return item.cache_key, "pull_request"

    async def process(self, item: PR) -> Outcome[Resolution]:
        """See BaseRunner."""
        clone = await self._forge.clone(Repository(owner=item.owner, repo=item.repo))
        suites = await self._suites.clone(clone)
        return await to_thread.run_sync(self._resolve, item, clone, suites)

    def _resolve(self, pr: PR, clone: Path, suites: Path) -> Outcome[Resolution]:
        git = Git(clone)
        told, pr = pr, grounded(git, pr)
        if len(git.commits([pr.base_sha, pr.merge_commit_sha])) < 2:
            return Outcome("refused", NO_COMMITS)
        tree = read_tree(git, pr.base_sha)
        try:
            own = read_suite(git, pr.base_sha, tree.paths)
        except ConfigError as error:
            return Outcome("refused", f"its asv configuration cannot be used: {error}")
        foreign = choose(self._suites.wish, pr, suites) if self._suites.wish else None
        if isinstance(foreign, str):
            return Outcome("refused", foreign)
        if own is None and foreign is None:
            return Outcome("refused", NO_SUITE_AT_BASE)
        found = self._environment(git, pr, laid_over(tree, foreign) if foreign else tree, hints(own, foreign))
        if isinstance(found, str):
            return Outcome("refused", found)
        now = self.options.now()
        # What stage 2 was told without a clone is put right before stage 5 builds on it.
        mended = () if pr == told else (pull_request_row(pr, now),)
        row = resolution_row(pr, found, now, suite=foreign.record if foreign else None)
        return Outcome("passed", result=found, rows=(*mended, row))

    def _environment(self, git: Git, pr: PR, tree: SourceTree, asv: AsvHints) -> Resolution | str:
        """The environment, or why there is none."""
        date = git.commit(pr.base_sha).committed_at
        try:
            return self._resolver.resolve(
                tree,
                repository=pr.repository,
                commit_date=date,
                asv=asv,
                source=lambda: sealed_tar(git, pr.base_sha, date),
            )
        except IndexUnavailable:
            raise
        except ResolutionError as error:
            return f"no environment: {error}"


def read_tree(git: Git, sha: str) -> SourceTree:
    """What the resolver reads of a commit."""
    paths = git.paths(sha)
    found = git.read_many(sha, texts_to_read(paths))
    return SourceTree({path: decoded(data) for path, data in found.items()}, paths)


@contextmanager
def sealed_tar(git: Git, sha: str, date: datetime) -> Iterator[Path]:
    """The tree of a commit as a tar, as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="fc-tree-") as place:
        target = Path(place) / "repo.tar"
        git.sealed_source(sha, target, commit_date=date)
        yield target


def read_suite(git: Git, sha: str, paths: tuple[str, ...]) -> AsvConfig | None:
    """The asv configuration of a commit, or None where it has none.

    Raises:
        ConfigError: it cannot be read, or is too large.
    """
    path = find_config(paths)
    content = git.read(sha, path) if path else None
    if path is None or content is None:
        return None
    return AsvConfig.parse(content.decode("utf-8", "replace"), path=path)
