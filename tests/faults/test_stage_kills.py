"""kill -9 anywhere in each of the six stages, then --resume: ledger, tables and files of a run that nobody killed."""

import hashlib
import json
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace

import pytest

from datasmith.runners.loop import StageSummary
from datasmith.storage.base import FINAL_STATES, STAGES
from datasmith.storage.sql import SqlStore
from tests.conformance.stores import postgresql
from tests.faults.ledger_children import FORKS, started
from tests.faults.seam_trouble import WINDOW, contents
from tests.faults.stage_children import AT_ONCE, Place, run_stages, run_until_killed

ITEMS = 238
"""Pull requests; each stage refuses some, and 200 get to the last one."""
KILLS = {"sqlite": 20, "postgresql": 5}
"""At each stage; tests/faults/test_ledger_kills.py has 20 for PostgreSQL, too, with items that cost nothing."""

Left = Counter[str]


def left(place: Place) -> Left:
    """Every row and every file that the stages have written, one text each."""
    with SqlStore(place.database) as store:
        rows = [f"{table} {json.dumps(row, default=str)}" for table, group in contents(store).items() for row in group]
    files = [path for name in ("made", "dataset", "sources") for path in (place.data / name).rglob("*")]
    for path in files:
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
        rows.append(f"{path.relative_to(place.data)} {digest}")
    return Counter(rows)


@dataclass(frozen=True)
class Unkilled:
    """A run that nobody killed: where, how each stage went, and what there was after it."""

    place: Place
    summaries: dict[int, StageSummary]
    left: dict[int, Left]


@pytest.fixture(scope="module")
def unkilled(tmp_path_factory: pytest.TempPathFactory) -> Unkilled:
    """The run that the others are compared with, in a SQLite file; its results are gone from the disk."""
    place = Place.filled(tmp_path_factory.mktemp("stages"), ITEMS)
    found = Unkilled(place, {}, {})
    for stage in STAGES:
        (found.summaries[stage],) = run_stages(place, [stage])
        found.left[stage] = left(place)
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, unkilled: Unkilled) -> Iterator[Place]:
    """The same directories, empty, and an empty database."""
    shutil.rmtree(unkilled.place.data, ignore_errors=True)
    with postgresql() if request.param == "postgresql" else nullcontext("") as url:
        yield replace(unkilled.place, url=url)


def ended(store: SqlStore, stage: int) -> int:
    counts = store.count(WINDOW.key, stage)
    return sum(counts[state] for state in FINAL_STATES)


def killed(place: Place, stage: int, after_items: int, and_seconds: float) -> int | None:
    """Resume a stage in a process that is killed some time after so many items ended; None where it ended before."""
    ready, child_end = FORKS.Pipe()
    child = started(run_until_killed, place, stage, child_end)
    child_end.close()  # A child that fails is told by the pipe's end, not by this test's time limit.
    assert ready.recv() == "ready"
    with SqlStore(place.database) as store:
        while ended(store, stage) < after_items and child.is_alive():
            time.sleep(0.01)
        time.sleep(and_seconds)
        alive = child.is_alive()
        child.kill()
        child.join()
        return ended(store, stage) if alive else None


@pytest.mark.timeout(1200)
def test_killed_stages_are_resumed_to_the_same_end(place: Place, unkilled: Unkilled) -> None:
    """Kills at random points of each stage: in the end every row and file is that of a run that nobody killed."""
    rng = random.Random(20260203)
    where = place.database.partition(":")[0]
    for stage, whole in unkilled.summaries.items():
        item_s = whole.seconds * min(AT_ONCE, whole.entered) / whole.entered
        after = sorted(rng.randrange(max(1, whole.entered - 10)) for _ in range(KILLS[where]))
        # The longest pause last: where a stage has one item, nothing is left to kill once a run has ended.
        pauses = sorted(rng.uniform(0, item_s / 2) for _ in after)
        points = [killed(place, stage, items, pause) for items, pause in zip(after, pauses, strict=True)]
        run_stages(place, [stage])
        found, expected = left(place), unkilled.left[stage]
        lost, doubled = expected - found, found - expected
        print(
            f"kill -9 in stage {stage} ({where}): {len(points)} kills with {points} of {whole.entered} items ended:"
            f" {lost.total()} lost, {doubled.total()} doubled"
        )
        assert not lost and not doubled, [*lost, *doubled][:5]
        assert points.count(None) < len(points), "every run had ended before it was killed"
    assert unkilled.summaries[6].entered >= 200
