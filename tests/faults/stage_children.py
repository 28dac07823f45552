"""The stages in a process of their own: to be killed, or run under another clock and locale."""

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import anyio

from datasmith.executors.cores import core_locks
from datasmith.github.forges import Sources
from datasmith.pipeline import Pipeline, Show
from datasmith.publish.records import record, write_parquet
from datasmith.resolution.resolver import Resolver
from datasmith.runners.loop import RunOptions, StageSummary
from datasmith.runners.order import Order, Refusal
from datasmith.runners.request import Request
from datasmith.runners.synthesis import Synthesis, source_path
from datasmith.runners.synthesize_images import MakeTasksRunner
from datasmith.settings import Settings
from datasmith.storage.base import Store
from datasmith.storage.sql import SqlStore
from datasmith.tasks.task import Task
from tests.clones import LINES, Clone
from tests.faults.seam_trouble import WINDOW, contents
from tests.unit.runners.orders import made
from tests.unit.tasks.samples import sample_task, source_tar

AT_ONCE = 2
"""Items under way: those of a killed process are done again."""
TITLES = {0: "Fix typo in", 12: "Add a way to"}
"""What stages 2 and 3 refuse."""
UV = """#!/bin/sh
cat > /dev/null
case "$*" in
  *T07:*) echo "error: No solution found when resolving dependencies" >&2; exit 1 ;;
esac
printf '%s\\n' 'numpy==1.26.4 \\' '    --hash=sha256:00'
"""
"""Answers at once; has no environment for commits between seven and eight o'clock."""


@dataclass(frozen=True)
class Place:
    """Where the stages find what they read, and put what they write; an empty `url` is a file among the latter."""

    clone: Path
    data: Path
    url: str = ""

    @property
    def tools(self) -> Path:
        """Where the uv and the source of all tasks lie."""
        return self.clone.parent

    @property
    def database(self) -> str:
        """The URL of what is written into."""
        return self.url or f"sqlite:///{self.data}/fc.sqlite"

    @classmethod
    def filled(cls, root: Path, items: int) -> "Place":
        """A clone with so many pull requests of February, most of them of speed, and the tools."""
        clone = Clone(root / "calc")
        clone.stream(map(_commit, range(2, items + 2)))
        source_tar(root / "source.tar.gz")
        (root / "uv").write_text(UV)
        (root / "uv").chmod(0o755)
        return cls(clone.path, root / "data")


def _commit(number: int) -> tuple[str, str, int]:
    """A pull request for Clone.stream."""
    title = f"{TITLES.get(number % 24, 'Speed up')} part {number} (#{number})"
    text = LINES + f"changed_by = {number}  # and again a longer line\n"
    return title, text, 1_770_000_000 + number * 600


class AtOnce(Synthesis):
    """Copies a source and refuses each fortieth pull request; the others become tasks with a certificate."""

    def __init__(self, source: Path, data_dir: Path) -> None:
        self._source = source
        self._data_dir = data_dir

    @property
    def engine_name(self) -> str:
        """See Synthesis."""
        return "none"

    def base_image(self, task: Task) -> str:
        """See Synthesis."""
        return f"debian@{task.image_digest}"

    def make(self, order: Order, core: int, progress: Callable[[str], None]) -> Task | Refusal:
        """See Synthesis."""
        target = source_path(self._data_dir, order.task_id)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._source, target)
        return made(order) if order.pr.issue_number % 40 else Refusal("not faster here")


class QuickPipeline(Pipeline):
    """The pipeline with a uv and a synthesis that answer at once; what they answer is stored and written as ever."""

    tools: Path

    def _resolver(self) -> Resolver:
        return Resolver(("3.11",), uv=self.tools / "uv")

    def _synthesis_runner(self, options: RunOptions, show: Show) -> MakeTasksRunner:
        return MakeTasksRunner(
            self._store,
            self._window,
            options,
            forge=self._forge,
            synthesis=AtOnce(self.tools / "source.tar.gz", self._data_dir),
            cores=core_locks(self._settings),
            data_dir=self._data_dir,
        )


def opened(place: Place, stages: Sequence[int], *, resume: bool = True) -> QuickPipeline:
    """The pipeline, to be entered."""
    settings = Settings(data_dir=place.data, cache_dir=place.data / "cache", database_url=place.url)
    asked = Request(WINDOW, Sources("git", (place.clone,)), stages=tuple(stages), resume=resume, n_concurrent=AT_ONCE)
    pipeline = QuickPipeline.open(settings, asked)
    pipeline.tools = place.tools
    return pipeline


def run_stages(place: Place, stages: Sequence[int], *, resume: bool = True) -> list[StageSummary]:
    """Run them to their end."""
    with opened(place, stages, resume=resume) as pipeline:
        return anyio.run(pipeline.run, lambda *_: None)


def run_until_killed(place: Place, stage: int, ready: Connection) -> None:
    """Says when it begins; what it leaves in the directory for temporary files goes with the test."""
    tempfile.tempdir = str(place.tools)
    with opened(place, [stage]) as pipeline:
        ready.send("ready")
        anyio.run(pipeline.run, lambda *_: None)


def digest(store: Store, place: Path) -> str:
    """One hash over the ledger, the tables, and a dataset's parquet file."""
    text = json.dumps(contents(store), default=str, sort_keys=True)
    tasks = [sample_task(), sample_task(task_id="i_I_2", title="\u0130stanbul \u0131I"), sample_task(task_id="I_i_3")]
    write_parquet([record(task) for task in tasks], place / "tasks.parquet")
    return hashlib.sha256(text.encode() + (place / "tasks.parquet").read_bytes()).hexdigest()


if __name__ == "__main__":
    here = Place(Path(sys.argv[1]), Path(sys.argv[2]))
    run_stages(here, (1, 2, 3), resume=False)
    with SqlStore.at(here.data / "fc.sqlite") as written:
        print(digest(written, here.data))
