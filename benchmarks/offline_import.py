"""Offline import: 5,000 rows with a 1.2 KB patch and 8 files each (target: 20,000 records/s; fc-data 0.2.2: 2,170)."""

import asyncio
import tempfile
import time
from pathlib import Path

import polars as pl

from datasmith.github.base import Window
from datasmith.github.clones import CloneCache, GivenClones
from datasmith.github.models import PR, Repository
from datasmith.github.offline import OfflineForge

ROWS = 5_000
FILES = 8
PATCH = "diff --git a/src/a.py b/src/a.py\n" + "+    total = sum(values[index] for index in range(len(values)))\n" * 19
HEAD = "| File | Lines Added | Lines Removed | Total Changes |\n|------|-----|-----|-----|\n"
WINDOW = Window.parse("2026-02-01", "2026-03-01")
ROUNDS = 5


def table() -> pl.DataFrame:
    """The rows, with the columns of the offline parquet."""
    listed = [f"| src/FileReader{number}.py | 1,0{number:02} | {number} | 1,0{number:02} |" for number in range(FILES)]
    return pl.DataFrame(
        [
            {
                "repo_name": "example/library",
                "pr_number": number,
                "pr_title": f"Speed up part {number}",
                "pr_body": f"The loop of part {number} is gone.\n\nFixes #{number}",
                "original_patch": PATCH,
                "file_change_summary": HEAD + "\n".join(listed),
                "pr_state": "closed",
                "pr_created_at": "2026-01-20T00:00:00Z",
                "pr_merged_at": f"2026-02-{1 + number % 28:02}T00:00:00Z",
                "pr_merge_commit_sha": f"{number:040x}",
                "pr_base": {"sha": "b" * 40},
                "pr_head": {"sha": "d" * 40},
                "pr_labels": [{"name": "performance"}],
            }
            for number in range(1, ROWS + 1)
        ]
    )


async def imported(path: Path) -> list[PR]:
    """Everything from opening the file to the last pull request."""
    forge = OfflineForge([path], GivenClones({}, CloneCache(path.parent / "clones")))
    repository = Repository(owner="example", repo="library")
    return [pr async for pr in forge.merged_pull_requests(repository, WINDOW)]


def main() -> None:
    """Import the file a few times; print the best rate by the clock, and by the processor's time."""
    wall, cpu = [], []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "pull_requests.parquet"
        table().write_parquet(path)
        for _ in range(ROUNDS):
            started, busy = time.perf_counter(), time.process_time()
            found = asyncio.run(imported(path))
            wall.append(time.perf_counter() - started)
            cpu.append(time.process_time() - busy)
            if len(found) != ROWS or found[0].files[0].additions != 1000 or len(found[-1].files) != FILES:
                raise SystemExit("a record is missing or wrong")
    print(f"{ROWS} rows, {len(PATCH)} characters of patch, {FILES} files each")
    print(f"offline import: {ROWS / min(wall):,.0f} rec/s (target 20,000)")
    print(f"                {ROWS / min(cpu):,.0f} rec/s of processor time")


if __name__ == "__main__":
    main()
