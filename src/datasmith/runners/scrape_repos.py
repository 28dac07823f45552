"""Stage 1: which repositories of the forge have an asv suite."""

from datetime import datetime
from pathlib import Path

from anyio import to_thread

from datasmith.errors import NotFound
from datasmith.github.base import Forge
from datasmith.github.git import Git
from datasmith.github.models import Repository
from datasmith.runners.base import BaseRunner, Outcome
from datasmith.runners.loop import RunOptions
from datasmith.runners.rows import repository_row
from datasmith.runners.suites import last_suite
from datasmith.storage.base import ItemKind, Store

NOT_SEEN = "no clone at hand: stage 4 looks for its suite"
NO_SUITE = "no asv configuration (asv.conf.json) in its tree"
DROPPED = "its asv configuration was dropped after"
"""How the reason begins of a repository that had a suite in the window and has none now."""


class ScrapeReposRunner(BaseRunner[Repository, Repository]):
    """Passes the repositories that have an asv configuration, and those of which no clone is at hand.

    One that was dropped after `since` counts: the bases of older pull requests have it. `suite_elsewhere`: the suite
    is in a repository of its own, and none is asked for here.
    """

    stage = 1

    def __init__(
        self,
        store: Store,
        window: str,
        options: RunOptions,
        *,
        forge: Forge,
        suite_elsewhere: bool = False,
        since: datetime | None = None,
    ) -> None:
        super().__init__(store, window, options)
        self._forge = forge
        self._suite_elsewhere = suite_elsewhere
        self._since = since

    async def load(self, name: str) -> Repository:
        """See BaseRunner."""
        return await offered(self._forge, name)

    def identify(self, item: Repository) -> tuple[str, ItemKind]:
        """See BaseRunner."""
        return item.full_name, "repository"

    async def process(self, item: Repository) -> Outcome[Repository]:
        """See BaseRunner."""
        clone = await self._forge.clone_at_hand(item)
        if clone is None:
            row = repository_row(item, "", "", self.options.now())
            return Outcome("passed", NOT_SEEN, result=item, rows=(row,))
        return await to_thread.run_sync(self._look, item, clone)

    def _look(self, repository: Repository, clone: Path) -> Outcome[Repository]:
        git = Git(clone)
        head = git.head()
        commit, config = last_suite(git, head) or (head, None)
        if config and commit != head and self._dropped_before(git, commit):
            config = None
        if config is None and self._suite_elsewhere:
            config = ""
        if config is None:
            return Outcome("refused", NO_SUITE)
        note = f"{DROPPED} {commit[:12]}" if config and commit != head else ""
        row = repository_row(repository, config, head, self.options.now())
        return Outcome("passed", note, result=repository, rows=(row,))

    def _dropped_before(self, git: Git, commit: str) -> bool:
        return self._since is None or git.commit(commit).committed_at < self._since


async def offered(forge: Forge, name: str) -> Repository:
    """The forge's repository with this full name.

    Raises:
        NotFound: the forge does not offer it (any more).
    """
    for repository in await forge.repositories():
        if repository.full_name == name:
            return repository
    raise NotFound(f"{name} is not offered here now (example: --repo ./{name.rpartition('/')[2]})")
