"""What fc-data owes a scheduler: a new month runs everything, Ctrl-C gives back, one ledger serves many processes."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.data import app
from datasmith.cli.entry import INTERRUPTED
from datasmith.storage.sql import SqlStore
from tests.clones import LINES, Clone
from tests.conformance.stores import postgresql

FEBRUARY = ("--start-date", "2026-02-01", "--end-date", "2026-03-01")
PROGRAM = (sys.executable, "-c", "from datasmith.cli.data import main; main()")
FIRST_THREE = ("--stage", "1", "--stage", "2", "--stage", "3")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    found = Clone(tmp_path / "calc")
    for number in range(2, 26):
        found.merge(number, f"Speed up part {number}" if number % 3 else "Fix typo")
    return found


def environment(place: Path, url: str = "") -> dict[str, str]:
    return {"PATH": os.defpath, "HOME": str(place), "FC_DATA_DIR": str(place / "data"), "DATABASE_URL": url}


def ledger(url: str) -> Counter[tuple[str, int, str]]:
    with SqlStore(url) as store:
        rows = store.select("stage_items")
    return Counter((str(row["window"]), int(str(row["stage"])), str(row["state"])) for row in rows)


def test_a_new_month_runs_everything(clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--resume is keyed by window and stage: what February has decided says nothing about March."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    clone.commit(
        "Speed up all (#90)", {"calc.py": LINES + "march = 1  # a line long enough\n"}, "2026-03-05T12:00:00+0000"
    )
    words = ("--repo", str(clone.path), "--data-dir", str(tmp_path / "data"), "--resume", *FIRST_THREE)
    assert run_app(app, [*FEBRUARY, *words]) == 0
    url = f"sqlite:///{tmp_path}/data/fc.sqlite"
    before = ledger(url)
    assert run_app(app, ["--start-date", "2026-03-01", "--end-date", "2026-04-01", *words]) == 0
    march = ledger(url) - before
    assert march == {
        ("2026-03-01..2026-04-01", 1, "passed"): 1,
        ("2026-03-01..2026-04-01", 2, "passed"): 2,
        ("2026-03-01..2026-04-01", 3, "passed"): 1,
        ("2026-03-01..2026-04-01", 4, "pending"): 1,
    }
    assert run_app(app, [*FEBRUARY, *words]) == 0
    assert ledger(url) == before + march


@pytest.mark.timeout(240)
def test_three_processes_share_one_postgresql(clone: Clone, tmp_path: Path) -> None:
    """Three commands that join over the same window lose nothing and decide nothing twice."""
    words = (*PROGRAM, *FEBRUARY, "--repo", str(clone.path), "--n-concurrent", "2", "--resume")
    with postgresql(tmp_path) as url:
        env = environment(tmp_path, url)
        subprocess.run([*words, "--stage", "1", "--stage", "2"], env=env, check=True, capture_output=True)
        children = [
            subprocess.Popen([*words, "--stage", "3", "--join"], env=env, stdout=subprocess.DEVNULL) for _ in "abc"
        ]
        assert [child.wait(timeout=200) for child in children] == [0, 0, 0]
        found = ledger(url)
        with SqlStore(url) as store:
            attempts = {row.item: row.attempts for row in store.stage_items("2026-02-01..2026-03-01", 3)}
    print(f"3 processes on one PostgreSQL: {len(attempts)} items, {sum(attempts.values()) - len(attempts)} begun twice")
    window = "2026-02-01..2026-03-01"
    assert found == {(window, 1, "passed"): 1, (window, 2, "passed"): 17, (window, 2, "refused"): 8,
                     (window, 3, "passed"): 16, (window, 4, "pending"): 16}  # fmt: skip
    assert set(attempts.values()) == {1}


STOPS = [(signal.SIGHUP, 1), (signal.SIGINT, 1), (signal.SIGINT, 2), (signal.SIGTERM, 1)]


@pytest.mark.parametrize(("how", "times"), STOPS)
def test_ctrl_c_stops_and_resume_goes_on(clone: Clone, tmp_path: Path, how: signal.Signals, times: int) -> None:
    """Once or twice: its exit code, one line that says how to go on, and a later run ends everything once."""
    env = environment(tmp_path)
    words = (*PROGRAM, *FEBRUARY, "--repo", str(clone.path), "--resume", *FIRST_THREE)
    child = subprocess.Popen(words, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    path = tmp_path / "data" / "fc.sqlite"
    deadline = time.monotonic() + 60
    while not path.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    for _ in range(times):
        child.send_signal(how)
        time.sleep(0.05)
    _, told = child.communicate(timeout=60)
    allowed = {128 + how} if times == 1 else {INTERRUPTED, -signal.SIGINT}  # the second may end it at once
    assert child.returncode in allowed
    assert times == 2 or told.decode().splitlines()[-1] == (
        "error: stopped; with --resume, the same command goes on where this one ended"
    )
    again = subprocess.run(words, env=env, check=False, capture_output=True)
    assert again.returncode == 0, again.stderr
    states = {(stage, state): n for (_, stage, state), n in ledger(f"sqlite:///{path}").items()}
    assert states == {(1, "passed"): 1, (2, "passed"): 17, (2, "refused"): 8, (3, "passed"): 16, (4, "pending"): 16}
