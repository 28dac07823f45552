"""The first stages in a process of their own: to be killed, or run under another clock and locale."""

import hashlib
import json
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import anyio

from datasmith.github.forges import Sources
from datasmith.pipeline import Pipeline, Request
from datasmith.publish.records import record, write_parquet
from datasmith.settings import Settings
from datasmith.storage.base import Store
from datasmith.storage.sql import SqlStore
from tests.faults.seam_trouble import WINDOW, contents
from tests.unit.tasks.samples import sample_task


def run_stages(clone: Path, place: Path, *, resume: bool = True) -> None:
    """Stages 1 to 3 over the clone."""
    settings = Settings(data_dir=place, cache_dir=place / "cache", database_url="")
    asked = Request(WINDOW, Sources("git", (clone,)), stages=(1, 2, 3), resume=resume, n_concurrent=4)
    with Pipeline.open(settings, asked) as pipeline:
        anyio.run(pipeline.run, lambda *_: None)


def run_until_killed(clone: Path, place: Path, ready: Connection) -> None:
    """Says when it begins, and when it has ended."""
    ready.send("ready")
    run_stages(clone, place)
    ready.send("ended")


def digest(store: Store, place: Path) -> str:
    """One hash over the ledger, the tables, and a dataset's parquet file."""
    text = json.dumps(contents(store), default=str, sort_keys=True)
    tasks = [sample_task(), sample_task(task_id="i_I_2", title="\u0130stanbul \u0131I"), sample_task(task_id="I_i_3")]
    write_parquet([record(task) for task in tasks], place / "tasks.parquet")
    return hashlib.sha256(text.encode() + (place / "tasks.parquet").read_bytes()).hexdigest()


if __name__ == "__main__":
    run_stages(Path(sys.argv[1]), Path(sys.argv[2]), resume=False)
    with SqlStore.at(Path(sys.argv[2]) / "fc.sqlite") as opened:
        print(digest(opened, Path(sys.argv[2])))
