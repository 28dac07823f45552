"""Stage 5: sealed images, measured: which pull requests become tasks."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from anyio import from_thread, to_thread

from datasmith import __version__
from datasmith.errors import ConfigError
from datasmith.executors.cores import CoreLocks
from datasmith.github.base import Forge
from datasmith.github.git import Git
from datasmith.github.models import PR, Repository
from datasmith.process import find_uv, uv_version
from datasmith.resolution.metadata import pretend_version
from datasmith.runners.base import BaseRunner, Outcome
from datasmith.runners.disk import needing_room
from datasmith.runners.licence import stated_licence
from datasmith.runners.loop import RunOptions
from datasmith.runners.order import Order, Refusal
from datasmith.runners.resolve_packages import read_suite, read_tree
from datasmith.runners.rows import load_classification, load_pull_request, load_resolution, load_stars, load_suite
from datasmith.runners.suites import NO_SUITE_AT_BASE, ForeignSuite, SuiteSource, read
from datasmith.runners.synthesis import Synthesis, source_path
from datasmith.storage.base import ItemKind, Row, Store
from datasmith.tasks.drafts import take_away
from datasmith.tasks.folder import write_task
from datasmith.tasks.ids import task_id
from datasmith.tasks.task import Task

MADE = "made"
"""Subdirectory of the data directory with the task folders of stage 5, before they are published."""
_NO_TASK: Mapping[str, None] = dict.fromkeys(
    ("container_name", "image_name", "image_digest", "certificate_status", "dataset", "published_at")
)
"""What the row of a pull request says of its task, where there is none; a new one is not published yet."""


class MakeTasksRunner(BaseRunner[PR, Task]):
    """Passes the pull requests that became certified tasks; each holds one core from build to measurement."""

    stage = 5

    def __init__(
        self,
        store: Store,
        window: str,
        options: RunOptions,
        *,
        forge: Forge,
        synthesis: Synthesis,
        cores: CoreLocks,
        data_dir: Path,
        needs_room: Sequence[Path] = (),
        note: Callable[[str, str], None] = lambda _item, _step: None,
        suites: SuiteSource | None = None,
    ) -> None:
        super().__init__(store, window, options)
        self._suites = suites or SuiteSource()
        self._forge = forge
        self._synthesis = synthesis
        self._cores = cores
        self._data_dir = data_dir
        self._places = (data_dir, *needs_room)
        self._note = note

    async def load(self, name: str) -> PR:
        """See BaseRunner."""
        return await to_thread.run_sync(load_pull_request, self.store, name)

    def identify(self, item: PR) -> tuple[str, ItemKind]:
        """See BaseRunner."""
        return item.cache_key, "pull_request"

    async def process(self, item: PR) -> Outcome[Task]:
        """See BaseRunner."""
        clone = await self._forge.clone(Repository(owner=item.owner, repo=item.repo))
        suites = await self._suites.clone(clone)
        async with self._cores.held(functools.partial(self._note, item.cache_key)) as cores:
            return await to_thread.run_sync(self._make, item, clone, suites, cores[0], abandon_on_cancel=False)

    def _make(self, pr: PR, clone: Path, suites: Path, core: int) -> Outcome[Task]:
        identity = task_id(pr.owner, pr.repo, pr.issue_number)
        source = source_path(self._data_dir, identity)
        try:
            with needing_room(*self._places):
                made = self._task(pr, self._order(pr, clone, suites), core, source)
        finally:
            source.unlink(missing_ok=True)
        if isinstance(made, Refusal):
            take_away(self._data_dir / MADE / identity)
            row: Row = {**_key(pr), **_NO_TASK, "updated_at": self.options.now()}
            return Outcome("refused", made.reason, rows=(("pull_requests", row),))
        return Outcome("passed", result=made, rows=self._rows(pr, made))

    def _say(self, item: str, step: str) -> None:
        """Tell of a step, of each launch too; where the run was stopped, the work of the thread ends here."""
        from_thread.check_cancelled()
        self._note(item, step)

    def _task(self, pr: PR, order: Order | Refusal, core: int, source: Path) -> Task | Refusal:
        if isinstance(order, Refusal):
            return order
        made = self._synthesis.make(order, core, functools.partial(self._say, pr.cache_key))
        if isinstance(made, Task):
            base = self._synthesis.base_image(made)
            tools = {"fc_data": __version__, "uv": uv_version(find_uv()), "engine": self._synthesis.engine_name}
            provenance = {**_provenance(pr, order, made, base), **tools}
            write_task(made, self._data_dir / MADE, source=source, provenance=provenance)
        return made

    def _order(self, pr: PR, clone: Path, suites: Path) -> Order | Refusal:
        git = Git(clone)
        tree = read_tree(git, pr.base_sha)
        try:
            own = read_suite(git, pr.base_sha, tree.paths)
        except ConfigError as error:
            return Refusal(f"its asv configuration cannot be used: {error}")
        foreign = self._foreign(pr, clone, suites)
        if isinstance(foreign, str):
            return Refusal(foreign)
        suite = foreign.config if foreign else own
        if suite is None:
            return Refusal(NO_SUITE_AT_BASE)
        resolution = load_resolution(self.store, pr)
        return Order(
            pr=pr,
            classification=load_classification(self.store, pr.cache_key),
            resolution=resolution,
            licence=stated_licence(tree.texts, resolution.project_root),
            stars=load_stars(self.store, pr),
            benchmark_dir=foreign.record.benchmark_dir if foreign else suite.benchmark_dir,
            benchmark_timeout_s=suite.default_benchmark_timeout_s,
            clone=clone,
            pretend_version=pretend_version(tree, pr.repository, (own or suite).install_paths),
            suite=foreign,
            own_benchmark_dir=own.benchmark_dir if own else "",
        )

    def _foreign(self, pr: PR, clone: Path, suites: Path) -> ForeignSuite | str | None:
        """The suite that stage 4 chose the environment for, where that is not base's own; or why it is not here.

        Raises:
            ConfigError: what this run was asked for is not what stage 4 was.
        """
        record = load_suite(self.store, pr)
        if record is None:
            if self._suites.wish:
                raise ConfigError(
                    f"{pr.cache_key}: its environment was chosen for base's own suite: --suite-from and --suite-repo"
                    " need stage 4, too (example: --stage 4 --stage 5 --suite-from newest, without --resume)"
                )
            return None
        same = record.repository.lower() == pr.repository.lower()
        git = Git(clone if same else suites)
        if not git.commits([record.commit]):
            raise ConfigError(
                f"{pr.cache_key}: its suite is that of {record.repository} at {record.commit[:12]}, which is not here"
                f" (example: --suite-repo {record.repository})"
            )
        return read(git, record, pr)

    def _rows(self, pr: PR, task: Task) -> tuple[tuple[str, Row], ...]:
        now = self.options.now()
        certificate = task.certificate
        rows: list[tuple[str, Row]] = [
            (
                "pull_requests",
                {
                    **_key(pr),
                    **_NO_TASK,
                    "task_id": task.task_id,
                    "container_name": task.image_name,
                    "image_name": task.image_name,
                    "image_digest": task.image_digest,
                    "final_md": task.instruction,
                    "licence": task.licence,
                    "certificate_status": certificate.status if certificate else None,
                    "updated_at": now,
                },
            ),
            (
                "candidate_containers",
                {
                    **_key(pr),
                    "sha": pr.base_sha,
                    "engine": certificate.engine if certificate else None,
                    "image_name": task.image_name,
                    "image_digest": task.image_digest,
                    "context": dict(task.build.files),
                    "sealed": certificate.sealed if certificate else None,
                    "created_at": now,
                },
            ),
        ]
        if certificate:
            rows.append(
                (
                    "certificates",
                    {
                        "task_id": task.task_id,
                        "image_digest": task.image_digest,
                        "machine": certificate.machine.model_dump_json(),
                        "issued_at": certificate.issued_at,
                        "status": certificate.status,
                        "reason": certificate.reason,
                        "certificate": certificate.model_dump(mode="json"),
                    },
                )
            )
        return tuple(rows)


def _key(pr: PR) -> Row:
    return {"owner": pr.owner, "repo": pr.repo, "issue_number": pr.issue_number}


def _provenance(pr: PR, order: Order, task: Task, base_image: str) -> dict[str, object]:
    other = {"suite": task.suite.model_dump(mode="json")} if task.suite else {}
    return {
        **other,
        "repository": f"https://github.com/{pr.repository}",
        "pull_request": f"https://github.com/{pr.repository}/pull/{pr.issue_number}",
        "base_commit": pr.base_sha,
        "base_image": base_image,
        "merge_commit": pr.merge_commit_sha,
        "merged_at": pr.merged_at.isoformat() if pr.merged_at else None,
        "resolution_cutoff": order.resolution.cutoff.isoformat(),
        "resolution_strategy": order.resolution.strategy,
        "resolution_dropped": [item.model_dump() for item in order.resolution.dropped],
        "resolution_log": order.resolution.log,
        "classified": order.classification.model_dump(),
    }
