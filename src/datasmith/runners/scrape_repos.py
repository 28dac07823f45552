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
from datasmith.storage.base import ItemKind, Store
from datasmith.workloads.config import find_config

NOT_SEEN = "no clone at hand: stage 4 looks for its suite"
NO_SUITE = "no asv configuration (asv.conf.json) in its tree"


class ScrapeReposRunner(BaseRunner[Repository, Repository]):
    """Passes the repositories whose newest tree has an asv configuration, and those of which no clone is at hand.

    `suite_elsewhere`: the suite is in a repository of its own, and none is asked for here.
    """

    stage = 1

    def __init__(
        self, store: Store, window: str, options: RunOptions, *, forge: Forge, suite_elsewhere: bool = False
    ) -> None:
        super().__init__(store, window, options)
        self._forge = forge
        self._suite_elsewhere = suite_elsewhere

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
        return await to_thread.run_sync(_look, item, clone, self.options.now(), self._suite_elsewhere)


async def offered(forge: Forge, name: str) -> Repository:
    """The forge's repository with this full name.

    Raises:
        NotFound: the forge does not offer it (any more).
    """
    for repository in await forge.repositories():
        if repository.full_name == name:
            return repository
    raise NotFound(f"{name} is not offered here now (example: --repo ./{name.rpartition('/')[2]})")


def _look(repository: Repository, clone: Path, now: datetime, suite_elsewhere: bool) -> Outcome[Repository]:
    git = Git(clone)
    head = git.head()
    config = find_config(git.paths(head)) or ("" if suite_elsewhere else None)
    if config is None:
        return Outcome("refused", NO_SUITE)
    return Outcome("passed", result=repository, rows=(repository_row(repository, config, head, now),))
