"""Stage 5, stopped while it measures."""

from collections.abc import Callable
from pathlib import Path

import anyio
from anyio import from_thread

from datasmith.executors.cores import CoreLocks
from datasmith.runners.order import Order, Refusal
from datasmith.runners.synthesize_images import MakeTasksRunner
from datasmith.storage.sql import SqlStore
from datasmith.tasks.task import Task
from tests.clones import Clone
from tests.unit.runners.staged import KEY, OPTIONS, OneSynthesis, entered, states


class Lasting(OneSynthesis):
    """A synthesis of many steps."""

    steps = 0

    def make(self, order: Order, core: int, progress: Callable[[str], None]) -> Task | Refusal:
        for self.steps in range(1, 200):
            progress(f"measure {self.steps}/200")
        return super().make(order, core, progress)


def test_a_measurement_that_is_stopped_ends_with_its_launch(tmp_path: Path) -> None:
    """A thread cannot be cancelled, so it asks at each step; its pull request waits for the next run."""
    store, clone = SqlStore(), Clone(tmp_path / "calc")
    store.migrate()
    clone.merge(2, "Speed up everything")
    forge = entered(store, clone, 5)
    synthesis = Lasting(tmp_path, lambda _order: Refusal("came to its end"))

    async def stopped() -> None:
        with anyio.CancelScope() as scope:
            runner = MakeTasksRunner(
                store, KEY, OPTIONS, forge=forge, synthesis=synthesis, cores=CoreLocks(tmp_path, [(0,)]),
                data_dir=tmp_path, note=lambda _item, _step: from_thread.run_sync(scope.cancel),
            )  # fmt: skip
            await runner.run_stage()

    anyio.run(stopped)
    assert synthesis.steps <= 2
    assert set(states(store, 5).values()) == {"pending interrupted"}
