"""The monthly job: its window, and unit files that systemd takes."""

import os
import re
import shutil
from pathlib import Path

import pytest
from typer.main import get_command

from datasmith import process
from datasmith.cli.data import app

FILES = Path(__file__).resolve().parents[2] / "examples" / "monthly"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory of the job, with an fc-data that writes down how it is called; `preflight` ends with $FAILS."""
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "fc-data").write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/calls\ntest "$1" != preflight || exit "${{FAILS:-0}}"\nexit 3\n'
    )
    (programs / "fc-data").chmod(0o755)
    shutil.copy2(FILES / "monthly.sh", tmp_path)
    return tmp_path


def called(place: Path, *flags: str, **variables: str) -> tuple[int, list[str]]:
    """Exit code of the script, and the calls of fc-data."""
    (place / "calls").unlink(missing_ok=True)
    env = {"PATH": f"{place}/venv/bin:{os.environ['PATH']}", **variables}
    done = process.run([place / "monthly.sh", *(flags or ("--repo", "a b"))], cwd=place, env=env, timeout=30)
    assert done.error_text == ""
    return done.rc, (place / "calls").read_text().splitlines()


@pytest.mark.parametrize(
    ("month", "window"),
    [
        ("2026-02", "--start-date 2026-02-01 --end-date 2026-03-01"),
        ("2024-12", "--start-date 2024-12-01 --end-date 2025-01-01"),
    ],
)
def test_a_month_is_its_first_day_to_the_first_of_the_next(place: Path, month: str, window: str) -> None:
    """Preflight goes first; flags are passed on; the exit code is that of the run."""
    for zone in ("UTC", "Pacific/Kiritimati", "America/Los_Angeles"):
        assert called(place, MONTH=month, TZ=zone) == (3, ["preflight --repo a b", f"{window} --resume --repo a b"])


def test_without_a_month_it_is_the_last_one(place: Path) -> None:
    """Twelve times a year, in January too: computed from the first of this month."""
    _, (_, run) = called(place)
    now = process.run(["date", "-u", "+%Y-%m-01"]).text.strip()
    assert f"--end-date {now} " in run and f"--start-date {now} " not in run


def test_nothing_runs_where_something_is_missing(place: Path) -> None:
    """Preflight's exit code is the job's."""
    assert called(place, MONTH="2026-02", FAILS="1") == (1, ["preflight --repo a b"])


@pytest.mark.parametrize(
    ("flags", "looks"),
    [
        (("--forge", "git", "--repo", "x", "--seed", "7"), "--forge git --repo x"),
        (("--seed=7", "--repo=x", "--force", "--repo", "y"), "--repo=x --repo y"),
        (("--stage", "1", "--engine", "docker", "--offline-source", "p.parquet", "--n-concurrent", "2"),
         "--stage 1 --engine docker --offline-source p.parquet"),
        (("--data-dir=d", "--precise"), "--data-dir=d --forge github"),
    ],
)  # fmt: skip
def test_preflight_looks_for_what_the_run_will_need(place: Path, flags: tuple[str, ...], looks: str) -> None:
    """It gets the flags that it knows, in their order; the run gets all of them."""
    _, (look, run) = called(place, *flags, MONTH="2026-02")
    assert look == f"preflight {looks}"
    assert run.endswith(f" --resume {' '.join(flags)}")


def test_preflight_knows_the_flags_that_it_is_given() -> None:
    """Those that the script picks out are flags of both commands."""
    command = get_command(app)
    theirs = [command, command.commands["preflight"]]  # type: ignore[attr-defined]
    picked = set(re.findall(r"--[a-z-]+(?==\*)", (FILES / "monthly.sh").read_text()))
    assert len(picked) == 6
    for each in theirs:
        assert picked <= {name for parameter in each.params for name in parameter.opts}


def test_systemd_takes_the_units(place: Path, tmp_path: Path) -> None:
    """`systemd-analyze verify` finds nothing wrong in the service and the timer, and knows the date."""
    if not shutil.which("systemd-analyze") and not os.environ.get("CI"):
        pytest.skip("systemd-analyze is not installed (apt-get install systemd)")
    units = tmp_path / "units"
    units.mkdir()
    for name in ("fc-data.service", "fc-data.timer"):
        text = (FILES / name).read_text().replace("/srv/fc-data", str(place))
        (units / name).write_text(text)
    done = process.run(["systemd-analyze", "verify", units / "fc-data.timer", units / "fc-data.service"], timeout=60)
    said = [line for line in (done.text + done.error_text).splitlines() if "fc-data" in line]
    assert (done.rc, said) == (0, [])
    (date,) = [line.partition("=")[2] for line in (units / "fc-data.timer").read_text().splitlines() if "OnCal" in line]
    known = process.run(["systemd-analyze", "calendar", date], timeout=60)
    assert known.ok and "*-*-02 03:00:00 UTC" in known.text
    (units / "fc-data.service").write_text("[Service]\nType=oneshot\nExecStart=/nonexistent/fc-data\n")
    broken = process.run(["systemd-analyze", "verify", units / "fc-data.service"], timeout=60)
    assert broken.rc != 0
