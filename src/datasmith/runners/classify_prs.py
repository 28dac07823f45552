"""Stage 3: which pull requests set out to make the code faster."""

from collections.abc import Callable

from anyio import to_thread

from datasmith.agents.classification import Classification
from datasmith.agents.rules import classify
from datasmith.github.models import PR
from datasmith.runners.base import BaseRunner, Outcome
from datasmith.runners.loop import RunOptions
from datasmith.runners.rows import classification_row, load_pull_request
from datasmith.storage.base import ItemKind, Store


class ClassifyPRsRunner(BaseRunner[PR, Classification]):
    """Passes what the classifier calls performance work; what it cannot decide is refused, with that as the reason."""

    stage = 3

    def __init__(
        self, store: Store, window: str, options: RunOptions, *, decide: Callable[[PR], Classification] = classify
    ) -> None:
        super().__init__(store, window, options)
        self._decide = decide

    async def load(self, name: str) -> PR:
        """See BaseRunner."""
        return await to_thread.run_sync(load_pull_request, self.store, name)

    def identify(self, item: PR) -> tuple[str, ItemKind]:
        """See BaseRunner."""
        return item.cache_key, "pull_request"

    async def process(self, item: PR) -> Outcome[Classification]:
        """See BaseRunner."""
        verdict = self._decide(item)
        rows = (classification_row(item, verdict),)
        if verdict.is_performance:
            return Outcome("passed", verdict.reason, result=verdict, rows=rows)
        reason = verdict.reason or "not about speed"
        return Outcome("refused", reason, result=verdict, rows=rows)
