"""The Synthesizer over many pull requests: their contexts in their order, and what went wrong in the store."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anyio import to_thread

from datasmith.docker.context import DockerContext
from datasmith.docker.lookup import ContextLookup, remembered
from datasmith.errors import ConfigError
from datasmith.github.models import PR
from datasmith.runners.base import BaseRunner, Outcome, default_worker
from datasmith.runners.loop import RunOptions
from datasmith.runners.rows import load_pull_request
from datasmith.storage.base import Entry, ItemKind, StageItem, Store

if TYPE_CHECKING:
    from datasmith.agents.synthesize import Synthesizer
    from datasmith.docker.verifiers import Verifier

BY_HAND = "by-hand"
"""The window of pull requests that were given to a runner, not found by one."""
NOT_FOUND = "no context builds it and passes the verifier"
NOT_KNOWN = "its environment is not known (example: fc-data --stage 1 --stage 2 --stage 3 --stage 4)"


class SynthesizeImagesRunner:
    """Finds build contexts for pull requests, `n_concurrent` at a time.

    Progress is in the table runner_progress, each failure in runner_failures, each try in build_attempts. `contexts`
    knows where a search starts; without it the store of the settings is asked.
    """

    def __init__(
        self,
        synth: "Synthesizer",
        verifier: "Verifier",
        n_concurrent: int = 8,
        *,
        contexts: ContextLookup | None = None,
    ) -> None:
        """Only remember; what is worked with is opened at the first run.

        Raises:
            ConfigError: `n_concurrent` is less than 1.
        """
        if n_concurrent < 1:
            raise ConfigError(f"n_concurrent={n_concurrent}: must be at least 1 (example: n_concurrent=8)")
        self._synth = synth
        self._verifier = verifier
        self._n_concurrent = n_concurrent
        self._contexts = contexts

    async def run(self, items: Sequence[PR]) -> list[DockerContext | None]:
        """Their contexts in their order; None where none was found, and where something went wrong.

        Raises:
            EngineUnavailable, ModelUnavailable, StoreUnavailable: an outage that lasted; what was found until then
                is in the store, and is not looked for again.
        """
        tools = await to_thread.run_sync(lambda: self._synth.tools)
        options = RunOptions(worker=default_worker(), n_concurrent=self._n_concurrent)
        contexts = self._contexts or _remembered()
        return await _Search(tools.store, options, self._synth, self._verifier, contexts).run(items)


def _remembered() -> ContextLookup:
    from datasmith.settings import load_settings

    return remembered(load_settings())


class _Search(BaseRunner[PR, DockerContext]):
    """One run of it, as any stage runs."""

    stage = 5

    def __init__(
        self, store: Store, options: RunOptions, synth: "Synthesizer", verifier: "Verifier", contexts: ContextLookup
    ) -> None:
        super().__init__(store, BY_HAND, options)
        self._synth = synth
        self._verifier = verifier
        self._contexts = contexts

    def next_entries(self, _leased: StageItem) -> tuple[Entry, ...]:
        """Nowhere: a context is no task that could be published."""
        return ()

    async def load(self, name: str) -> PR:
        """See BaseRunner."""
        return await to_thread.run_sync(load_pull_request, self.store, name)

    def identify(self, item: PR) -> tuple[str, ItemKind]:
        """See BaseRunner."""
        return item.cache_key, "pull_request"

    async def process(self, item: PR) -> Outcome[DockerContext]:
        """See BaseRunner."""
        return await to_thread.run_sync(self._search, item, abandon_on_cancel=False)

    def _search(self, given: PR) -> Outcome[DockerContext]:
        pr = given if given.base_sha else load_pull_request(self.store, given.cache_key)
        known = self._contexts.of_pull_request(pr.owner, pr.repo, pr.issue_number)
        if known is None:
            return Outcome("refused", NOT_KNOWN)
        found = self._synth.run(
            pr.owner,
            pr.repo,
            pr.issue_number,
            f"{pr.title}\n\n{pr.body}".strip(),
            self._verifier,
            sha=pr.base_sha,
            base_context=known.context,
            source=known.source,
        )
        return Outcome("passed", result=found) if found else Outcome("refused", NOT_FOUND)
