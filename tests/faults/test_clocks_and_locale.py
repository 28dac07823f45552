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
LANGUAGES = ("C", "tr_TR.UTF-8", "tr_TR.ISO-8859-9", "C.UTF-8")
SOURCES = Path("/usr/share/i18n/locales")


@pytest.fixture(scope="module")
def turkish(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the Turkish locales: most machines have none ready, and C would stand in for them unseen."""
    if not (SOURCES / "tr_TR").exists() and not os.environ.get("CI"):
        pytest.skip("the sources of locales are not installed (apt-get install locales)")
    place = tmp_path_factory.mktemp("locales")
    for name in (name for name in LANGUAGES if name.startswith("tr_TR")):
        words = ["localedef", "-i", "tr_TR", "-f", name.partition(".")[2], str(place / name)]
        subprocess.run(words, check=True, capture_output=True)
    return place


def test_the_locales_are_there(turkish: Path) -> None:
    """A program that is told to speak Turkish does: it knows February's name, in either encoding."""
    say = "import locale; locale.setlocale(locale.LC_ALL, ''); print(locale.nl_langinfo(locale.MON_2), end='')"
    for name in LANGUAGES:
        env = {"LOCPATH": str(turkish), "LC_ALL": name, "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "0"}
        done = subprocess.run([sys.executable, "-c", say], env=env, capture_output=True, check=True)
        assert done.stdout.decode() == ("Şubat" if name.startswith("tr_TR") else "February")


@pytest.mark.timeout(300)
def test_one_digest_everywhere(tmp_path: Path, turkish: Path) -> None:
    """Ten hash seeds, five zones (a change to summer time among them) and Turkish: one digest of ledger and dataset."""
    clone = Clone(tmp_path / "calc")
    for number, title in enumerate(("Speed up IO", "Fix typo", "perf: less", "Add a way"), 2):
        clone.merge(number, title)
    digests = set()
    for seed in range(10):
        env = {
            "PATH": os.defpath, "LOCPATH": str(turkish), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT),
            "PYTHONHASHSEED": str(seed),
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
