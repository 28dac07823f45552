"""Stage 2: the pull requests merged in the window, and which of them change code at all."""

from anyio import to_thread

from datasmith.github.base import Forge, Window
from datasmith.github.filters import symbolic_compliance
from datasmith.github.models import PR, Repository
from datasmith.runners.agenda import repository_of
from datasmith.runners.base import BaseRunner, Outcome
from datasmith.runners.loop import RunOptions
from datasmith.runners.rows import pull_request_row
from datasmith.runners.scrape_repos import offered
from datasmith.storage.base import Entry, ItemKind, StageItem, Store

GONE = "no longer among the pull requests merged in the window"


class ScrapeCommitsRunner(BaseRunner[Repository, list[PR]]):
    """Works by repository; enters every pull request it finds into the ledger, decided by the filters."""

    stage = 2

    def __init__(self, store: Store, window: Window, options: RunOptions, *, forge: Forge) -> None:
        super().__init__(store, window.key, options)
        self._span = window
        self._forge = forge

    async def load(self, name: str) -> Repository:
        """See BaseRunner."""
        return await offered(self._forge, name)

    def identify(self, item: Repository) -> tuple[str, ItemKind]:
        """See BaseRunner."""
        return item.full_name, "repository"

    async def process(self, item: Repository) -> Outcome[list[PR]]:
        """See BaseRunner."""
        found = [pr async for pr in self._forge.merged_pull_requests(item, self._span)]
        now = self.options.now()
        seen = {pr.cache_key for pr in found}
        earlier = await to_thread.run_sync(self.store.stage_items, self.window, self.stage)
        gone = [row.item for row in earlier if _is_of(row, item) and row.item not in seen]
        entries = [Entry(2, name, "pull_request", "refused", GONE) for name in gone]
        entries += [entry for pr in found for entry in _entries(pr)]
        rows = [pull_request_row(pr, now) for pr in found]
        return Outcome("passed", result=found, rows=tuple(rows), entries=tuple(entries))


def _is_of(row: StageItem, repository: Repository) -> bool:
    return row.kind == "pull_request" and repository_of(row.item) == repository.full_name


def _entries(pr: PR) -> list[Entry]:
    verdict = symbolic_compliance(pr.title, file_changes=pr.files, patch=pr.patch)
    if not verdict.ok:
        return [Entry(2, pr.cache_key, "pull_request", "refused", verdict.reason)]
    return [Entry(2, pr.cache_key, "pull_request", "passed"), Entry(3, pr.cache_key, "pull_request")]
