"""Many processes at one database: nobody fails because of another."""

import random
from collections import Counter
from pathlib import Path

import pytest

from datasmith.storage.base import Entry, ItemKind, Row, Verdict, utc_now
from datasmith.storage.sql import SqlStore
from tests.conformance.stores import postgresql
from tests.faults.ledger_children import started

PR: ItemKind = "pull_request"
PROCESSES = 4
ROUNDS = 15
NAMES = [f"a/b:{n:02}" for n in range(30)]


def open_and_write(url: str, number: int) -> None:
    """As the first command on a new machine does."""
    with SqlStore(url) as store:
        store.migrate()
        store.check()
        store.upsert("repositories", [{"owner": "a", "repo": f"{number}"}])


def get_in_each_others_way(url: str, seed: int) -> None:
    """Everything that locks rows, on the same rows, in another order each time."""
    rng = random.Random(seed)
    with SqlStore(url) as store:
        for _ in range(ROUNDS):
            names = rng.sample(NAMES, 12)
            rows: list[Row] = [{"owner": "a", "repo": "b", "issue_number": int(name[-2:])} for name in names]
            store.upsert("pull_requests", [{**row, "title": f"{seed}"} for row in rows])
            taken = store.take("w", 3, [(name, PR) for name in names], f"{seed}", 0.001, utc_now())
            store.renew(rng.sample(taken, len(taken)), 0.001, utc_now())
            verdicts = [
                Verdict(item, "passed", "", (("pull_requests", {**row, "body": "x"}),), (Entry(4, item.item, PR),))
                for item, row in zip(taken, rows, strict=False)
            ]
            store.finish_many(rng.sample(verdicts, len(verdicts)), utc_now())
            store.record("w", 3, [(name, PR, "refused", "why") for name in rng.sample(NAMES, 12)], utc_now())
            store.reopen("w", 3, ["refused"], utc_now())


def check_all_end(url: str, target: object) -> None:
    """So many processes at once, each of which must end well."""
    children = [started(target, url, number) for number in range(PROCESSES)]
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * PROCESSES


def check_a_crowd(url: str) -> None:
    """First all make the database, then all write the same rows."""
    check_all_end(url, open_and_write)
    with SqlStore(url) as store:
        assert len(store.select("repositories")) == PROCESSES
        check_all_end(url, get_in_each_others_way)
        items = Counter((row.stage, row.item) for row in store.stage_items("w"))
    print(f"crowd: {PROCESSES} processes migrate at once and lock the same rows {ROUNDS} times: 0 failed ({url[:10]})")
    assert set(items.values()) == {1} and {item for stage, item in items if stage == 3} == set(NAMES)


@pytest.mark.timeout(900)
def test_processes_share_a_sqlite_file(tmp_path: Path) -> None:
    """A writer waits for another; nobody sees a half-made schema."""
    check_a_crowd(f"sqlite:///{tmp_path}/fc.sqlite")


@pytest.mark.timeout(900)
def test_processes_share_a_postgresql() -> None:
    """The same; where the server ends a transaction to end a deadlock, it is done again."""
    with postgresql() as url:
        check_a_crowd(url)
