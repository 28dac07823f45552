"""Stage 6: checked task folders into the dataset, with its table and the funnel."""

import json
import shutil
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path

from anyio import to_thread

from datasmith.errors import TaskError
from datasmith.github.models import PR
from datasmith.publish.funnel import funnel
from datasmith.publish.images import ImagePublisher, read_published
from datasmith.publish.records import Record, record, write_parquet
from datasmith.runners.base import BaseRunner, Outcome
from datasmith.runners.disk import needing_room
from datasmith.runners.loop import RunOptions, StageSummary
from datasmith.runners.rows import load_pull_request, split_key
from datasmith.runners.synthesize_images import MADE
from datasmith.storage.base import STAGES, ItemKind, Row, StageItem, Store
from datasmith.tasks.drafts import alone, replacing, take_away
from datasmith.tasks.folder import read_task
from datasmith.tasks.folder_check import check_task
from datasmith.tasks.ids import task_id


class PublishRunner(BaseRunner[PR, Path]):
    """Passes what arrived in `<data_dir>/dataset/tasks`; afterwards writes tasks.parquet and funnel.json beside it."""

    stage = 6

    def __init__(
        self,
        store: Store,
        window: str,
        options: RunOptions,
        *,
        data_dir: Path,
        images: ImagePublisher | None = None,
    ) -> None:
        """`images` pushes each task's image; without it images stay where they were built."""
        super().__init__(store, window, options)
        self._images = images
        self._made = data_dir / MADE
        self._dataset = data_dir / "dataset"
        self._lock = data_dir / "locks" / "dataset.lock"

    async def load(self, name: str) -> PR:
        """See BaseRunner."""
        return await to_thread.run_sync(load_pull_request, self.store, name)

    def identify(self, item: PR) -> tuple[str, ItemKind]:
        """See BaseRunner."""
        return item.cache_key, "pull_request"

    async def process(self, item: PR) -> Outcome[Path]:
        """See BaseRunner."""
        return await to_thread.run_sync(self._publish, item)

    def _publish(self, pr: PR) -> Outcome[Path]:
        source = self._made / task_id(pr.owner, pr.repo, pr.issue_number)
        if not source.is_dir():
            raise TaskError(f"{source} is gone (make it again with --stage 5 --force)")
        problems = check_task(source) or _without_certificate(source)
        if problems:
            return Outcome("refused", f"its folder breaks the contract: {'; '.join(problems)}")
        with needing_room(self._dataset):
            # A push that fails fails the item: nothing is placed, and nothing is marked published.
            pushed = self._images.publish(source) if self._images else None
            with alone(self._lock):
                target = place(source, self._dataset / "tasks")
        now = self.options.now()
        key: Row = {"owner": pr.owner, "repo": pr.repo, "issue_number": pr.issue_number}
        row: Row = {**key, "dataset": str(self._dataset), "published_at": now}
        if pushed:
            row["container_name"] = pushed.name
        return Outcome("passed", result=target, rows=(("pull_requests", row),))

    async def run_stage(self) -> StageSummary:
        """See BaseRunner; then the table of all tasks of the dataset, and this window's funnel."""
        summary = await super().run_stage()
        await to_thread.run_sync(self._finish)
        return summary

    def _finish(self) -> None:
        """Other windows may share the dataset: their tasks stay in it. Other workers may end here, too: one by one."""
        with needing_room(self._dataset), alone(self._lock):
            rows = self.store.stage_items(self.window)
            self._dataset.mkdir(parents=True, exist_ok=True)
            published = self.store.select("stage_items", {"stage": max(STAGES), "state": "passed"})
            elsewhere = {str(row["item"]) for row in published if row["window"] != self.window}
            for name in withdrawn(rows, elsewhere):
                take_away(self._dataset / "tasks" / name)
            records = [_record(path.parent) for path in sorted(self._dataset.glob("tasks/*/task.toml"))]
            write_parquet(records, self._dataset / "tasks.parquet")
            draft = self._dataset / ".funnel.json"
            draft.write_text(json.dumps(asdict(funnel(self.window, rows)), indent=1) + "\n", encoding="utf-8")
            draft.rename(self._dataset / f"funnel-{self.window}.json")


def withdrawn(rows: Sequence[StageItem], elsewhere: Collection[str]) -> list[str]:
    """Task ids of the pull requests that the ledger's rows of a window do not let into the dataset (any more).

    `elsewhere` are items that another window has published: they stay.
    """
    known = {row.item for row in rows if row.kind == "pull_request"}
    stay = {row.item for row in rows if row.stage == max(STAGES) and row.state != "refused"}
    return sorted(task_id(*split_key(item)) for item in known - stay - set(elsewhere))


def _without_certificate(folder: Path) -> tuple[str, ...]:
    certificate = read_task(folder).certificate
    status = certificate.status if certificate else "missing"
    return () if status == "valid" else (f"its certificate is {status}",)


def _record(folder: Path) -> Record:
    pushed = read_published(folder)
    return record(read_task(folder), pushed.name if pushed else None)


def place(source: Path, root: Path) -> Path:
    """Copy a task folder into `root`, replacing an older version by a rename; returns the copy."""
    target = root / source.name
    with replacing(target) as draft:
        shutil.copytree(source, draft, symlinks=True)
    return target
