"""kill -9 anywhere in stages 1 to 3 over 200 pull requests, then --resume: the ledger of a run nobody killed."""

import random
from pathlib import Path

import pytest

from datasmith import process
from datasmith.storage.sql import SqlStore
from tests.clones import LINES, Clone
from tests.faults.ledger_children import FORKS, started
from tests.faults.seam_trouble import contents
from tests.faults.stage_children import run_stages, run_until_killed

ITEMS = 200
KILLS = 20


def history(place: Path) -> Path:
    """A clone with 200 pull requests of February, in one stream: a process for each commit would take a minute."""
    Clone(place)
    parts = []
    for number in range(2, ITEMS + 2):
        title = f"{'Speed up' if number % 3 else 'Fix typo in'} part {number} (#{number})".encode()
        text = (LINES + f"changed_by = {number}  # and again a longer line\n").encode()
        start = b"from refs/heads/main^0\n" if number == 2 else b""
        parts += [
            b"commit refs/heads/main\ncommitter a <a@example.org> %d +0000\n" % (1_770_000_000 + number * 600),
            b"data %d\n%s\n%sM 100644 inline calc.py\ndata %d\n%s\n" % (len(title), title, start, len(text), text),
        ]
    done = process.run(["git", "fast-import", "--quiet", "--force"], cwd=place, stdin=b"".join(parts))
    assert done.ok, done.error_text
    return place


@pytest.mark.timeout(400)
def test_killed_stages_are_resumed_to_the_same_end(tmp_path: Path) -> None:
    """20 kills at random points: after --resume every table equals that of a run that nobody killed."""
    clone = history(tmp_path / "calc")
    run_stages(clone, tmp_path / "whole")
    with SqlStore.at(tmp_path / "whole/fc.sqlite") as store:
        expected = contents(store)
    assert len(expected["pull_requests"]) == ITEMS
    rng = random.Random(20260203)
    lost, doubled, early = 0, 0, 0
    for kill in range(KILLS):
        place = tmp_path / str(kill)
        ready, child_end = FORKS.Pipe()
        child = started(run_until_killed, clone, place, child_end)
        assert ready.recv() == "ready"
        early += not ready.poll(rng.uniform(0.02, 0.9))
        child.kill()
        child.join()
        run_stages(clone, place)
        with SqlStore.at(place / "fc.sqlite") as store:
            found = contents(store)
        for table, rows in expected.items():
            lost += sum(row not in found[table] for row in rows)
            doubled += len(found[table]) - len(rows)
    print(f"kill -9 in stages 1-3: {KILLS} kills, {ITEMS} pull requests: {lost} lost, {doubled} doubled")
    assert (lost, doubled) == (0, 0)
    assert early > KILLS / 2
