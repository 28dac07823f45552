"""The dataset and the ledger do not depend on where, when and under which hash seed they are made."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain, repeat
from pathlib import Path

import anyio
import pytest

from datasmith.storage.base import utc_now
from datasmith.storage.sql import SqlStore
from tests.clones import Clone
from tests.faults.ledger_children import outcome, run_once, trivial
from tests.house.source import ROOT
from tests.unit.runners.numbers import OPTIONS, Numbers, entered

ZONES = ("UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati", "Europe/Istanbul")
LANGUAGES = ("C", "tr_TR.UTF-8", "tr_TR", "C.UTF-8")


@pytest.mark.timeout(300)
def test_one_digest_everywhere(tmp_path: Path) -> None:
    """Ten hash seeds, five zones (a change to summer time among them) and Turkish: one digest of ledger and dataset."""
    clone = Clone(tmp_path / "calc")
    for number, title in enumerate(("Speed up IO", "Fix typo", "perf: less", "Add a way"), 2):
        clone.merge(number, title)
    digests = set()
    for seed in range(10):
        env = {
            "PATH": os.defpath, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed),
            "TZ": ZONES[seed % len(ZONES)], "LANG": LANGUAGES[seed % 4], "LC_ALL": LANGUAGES[seed % 4],
        }  # fmt: skip
        words = [sys.executable, "-m", "tests.faults.stage_children", str(clone.path), str(tmp_path / str(seed))]
        done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.split()[-1])
    print(f"clocks and locale: hash seeds 0-9, {len(ZONES)} zones, {len(LANGUAGES)} locales: {len(digests)} digest")
    assert len(digests) == 1


def test_a_clock_that_goes_back_a_day_changes_nothing(tmp_path: Path) -> None:
    """In the middle of a run: every item ends once, as with a clock that does not."""

    def steps() -> Iterator[timedelta]:
        return chain(repeat(timedelta(0), 12), repeat(timedelta(days=-1)))

    found = []
    for name in ("steady", "back"):
        with SqlStore.at(tmp_path / f"{name}.sqlite") as store:
            store.migrate()
            entered(store, 200)
            if name == "steady":
                run_once(store)
            else:
                shift = steps()

                def now(shift: Iterator[timedelta] = shift) -> datetime:
                    return utc_now() + next(shift)

                anyio.run(Numbers(store, trivial, replace(OPTIONS, now=now)).run_stage)
            found.append(outcome(store))
    assert found[0] == found[1]
