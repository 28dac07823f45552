"""fc-data status and preflight from the outside."""

import json
import os
import socket
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from datasmith.cli.common import run_app
from datasmith.cli.data import app
from datasmith.cli.data_status import age, print_status
from datasmith.runners.status import StageStatus, Status, WorkerStatus
from datasmith.settings import known_variables
from datasmith.storage.base import STAGES
from datasmith.storage.sql import SqlStore
from datasmith.storage.window_lock import Holder, file_lock
from tests.clones import Clone

DATES = ("--start-date", "2026-02-01", "--end-date", "2026-03-01")
WINDOW = "2026-02-01..2026-03-01"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of this machine's reaches the tests; the working directory is empty."""
    for name in known_variables():
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    found = Clone(tmp_path / "calc")
    found.merge(2, "Speed up all")
    return found


def said(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of a command."""
    code = run_app(app, [str(word) for word in words])
    return (code, *capsys.readouterr())


def test_the_status_of_nothing_makes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 0, no file."""
    assert said(capsys, "status", *DATES) == (
        0,
        f"{WINDOW}: nothing is known of this window yet (right --data-dir?)\n",
        "",
    )
    assert list(Path().iterdir()) == []
    assert said(capsys, "status", "--start-date", "x", "--end-date", "2026-03-01")[0] == 2


def test_a_window_that_is_not_known_names_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Status and funnel name the nearest, as a date is soon mistyped, for people and for programs."""
    with SqlStore.at(Path("work/fc.sqlite")) as store:
        store.migrate()
        for month in range(1, 8):
            store.enter(f"2026-0{month}-01..2026-0{month + 1}-01", 1, [("a/b", "repository")], datetime.now(UTC))
    asked = ("--start-date", "2026-02-01", "--end-date", "2026-03-02")
    near = [f"2026-0{month}-01..2026-0{month + 1}-01" for month in (1, 2, 3, 4)]
    line = f"nothing is known of this window; nearest known: {', '.join(near)}\n"
    assert said(capsys, "status", *asked) == (0, f"2026-02-01..2026-03-02: {line}", "")
    assert said(capsys, "funnel", *asked) == (0, f"funnel of 2026-02-01..2026-03-02\n  {line}", "")
    empty = {"window": "2026-02-01..2026-03-02", "stages": [], "breaches": [], "nearest": near}
    assert json.loads(said(capsys, "funnel", *asked, "--json")[1]) == empty
    assert json.loads(said(capsys, "status", *asked, "--json")[1])["nearest"] == near
    assert "no pull request has been seen" in said(capsys, "funnel", *DATES)[1]


def test_the_status_after_a_run(capsys: pytest.CaptureFixture[str], clone: Clone) -> None:
    """Tables for people; the same as JSON, times as ISO text."""
    assert said(capsys, *DATES, "--repo", clone.path, "--stage", "1", "--stage", "2", "--stage", "3")[0] == 0
    code, out, err = said(capsys, "status", *DATES)
    assert (code, err) == (0, "") and "nobody is at work" in out
    (row,) = [line for line in out.splitlines() if "4 resolve_packages" in line]
    assert "acme/calc:2" in row and " s " in row
    found = json.loads(said(capsys, "status", *DATES, "--json")[1])
    (fourth,) = [stage for stage in found["stages"] if stage["stage"] == 4]
    assert fourth | {"oldest_age_s": 0} == {
        "stage": 4, "name": "resolve_packages", "kind": "pull_request", "pending": 1, "leased": 0, "passed": 0,
        "refused": 0, "failed": 0, "per_minute": None, "oldest": "acme/calc:2", "oldest_age_s": 0,
    }  # fmt: skip
    assert datetime.fromisoformat(found["at"]).tzinfo is not None and found["window"] == WINDOW


def test_repositories_and_pull_requests_are_told_apart(capsys: pytest.CaptureFixture[str], clone: Clone) -> None:
    """Stage 2 works on repositories and decides on pull requests: a row for each."""
    clone.merge(3, "Speed up more")
    said(capsys, *DATES, "--repo", clone.path, "--stage", "1", "--stage", "2")
    _, out, _ = said(capsys, "status", *DATES)
    words = {line.split("│")[1].strip(): line.split("│")[4].strip() for line in out.splitlines() if "│" in line}
    assert (words["2 scrape_commits: repositories"], words["2 scrape_commits: pull requests"]) == ("1", "2")
    assert words["1 scrape_repos"] == "1" and words["3 classify_prs"] == "·"


def crowded() -> Status:
    """A status with hostile text in it, many reasons and large numbers."""
    now = datetime(2026, 3, 2, tzinfo=UTC)
    stages = tuple(
        StageStatus(number, name, "pull_request", 250_000, 0, 0, 0, 3, 5000.0, "a/b:1[red]", 100_000.0)
        for number, name in STAGES.items()
    )
    failures = tuple((3, f"\x1b[2J[bold]reason {number}", 30 - number) for number in range(25))
    workers = (WorkerStatus("host-1", 3, "silent", 2, 4, 10, now - timedelta(seconds=200)),)
    return Status(WINDOW, now, stages, failures, workers)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 130, 200])
def test_a_terminal_of_any_width_shows_everything(width: int) -> None:
    """No line is wider than the terminal, no word is cut, and nothing is left out."""
    target = StringIO()
    print_status(crowded(), Console(file=target, width=width, force_terminal=True, color_system=None))
    lines = target.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    shown = target.getvalue()
    assert "…" not in shown and ("│ 1 scrape_repos" in shown) is (width >= 130)
    for words in ("2 scrape_commits", "waiting", "250,000", "items/min", "5,000.0", "1 d 3 h", "a/b:1[red]", "silent"):
        assert words in shown


def test_what_comes_from_the_ledger_is_text() -> None:
    """No markup, no control characters; many reasons are cut, and it is said how many there are more."""
    target = StringIO()
    print_status(crowded(), Console(file=target, width=130))
    shown = target.getvalue()
    for words in ("250,000", "5,000.0", "a/b:1[red]", "1 d 3 h", "[2J[bold]reason 19", "3 min 20 s ago", "silent"):
        assert words in shown
    assert "\x1b" not in shown and "reason 20" not in shown and "and 5 more reasons" in shown


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "·"), (-5, "0 s"), (59.9, "59 s"), (60, "1 min 0 s"), (3_725, "1 h 2 min"), (90_000, "1 d 1 h")],
)
def test_ages_have_two_units(seconds: float | None, text: str) -> None:
    """The two largest."""
    assert age(seconds) == text


def test_a_window_that_somebody_works_on_is_refused(capsys: pytest.CaptureFixture[str], clone: Clone) -> None:
    """One line that says who, exit code 40, and nothing is changed; a dry run, the funnel and the status go on."""
    run = (*DATES, "--repo", clone.path, "--stage", "1", "--stage", "2")
    assert said(capsys, *run)[0] == 0
    before = said(capsys, "funnel", *DATES, "--json")[1]
    me = Holder(socket.gethostname(), os.getpid(), datetime.now(UTC))
    with file_lock(Path("work"), WINDOW, me, join=False):
        for words in (run, (*run, "--resume"), (*run, "--join")):
            code, out, err = said(capsys, *words)
            assert (code, out, err.count("\n")) == (40, "", 1) and f"pid {os.getpid()}" in err
        for asked in ((*run, "--dry-run"), ("funnel", *DATES), ("status", *DATES)):
            assert said(capsys, *asked)[0] == 0
        assert said(capsys, "funnel", *DATES, "--json")[1] == before
        assert said(capsys, "--start-date", "2026-01-01", *run[2:])[0] == 0
    with file_lock(Path("work"), WINDOW, me, join=True):
        assert said(capsys, *run)[0] == 40 and said(capsys, *run, "--join")[0] == 0
    assert said(capsys, *run)[0] == 0


def test_preflight_is_a_command_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same report, as text and as JSON; 0 and 1 are its exit codes, 2 that of a wrong flag."""
    code, out, err = said(capsys, "preflight", "--stage", "6")
    assert (code, err) == (0, "") and out.startswith("== Environment ==\n") and out.endswith("All checks passed!\n")
    monkeypatch.setenv("FC_DATADIR", "x")
    code, out, _ = said(capsys, "preflight", "--stage", "6", "--json")
    assert code == 1 and json.loads(out)["ok"] is False
    assert said(capsys, "preflight", "--stage", "7")[0] == 2 and said(capsys, "preflight", "--stage", "x")[0] == 2
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ((), "SKIP"),
        (("--repo", "."), "SKIP"),
        (("--repo", "pypa/packaging"), "FAIL"),
        (("--forge", "github"), "FAIL"),
        (("--offline-source", "x.parquet"), "SKIP"),
    ],
)
def test_preflight_understands_where_a_run_will_mine(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], state: str
) -> None:
    """From the flags that a run gets: only GitHub needs a token."""
    _, out, _ = said(capsys, "preflight", "--stage", "2", "--json", *words)
    (row,) = [row for row in json.loads(out)["checks"] if row["name"] == "GH_TOKENS"]
    assert row["state"] == state


def test_the_log_tells_of_the_run(capsys: pytest.CaptureFixture[str], clone: Clone) -> None:
    """Its beginning and its end, or why it broke off; nothing of that goes to standard error."""
    said(capsys, *DATES, "--repo", clone.path, "--stage", "1")
    code, _, err = said(capsys, "--start-date", "2020-01-01", "--end-date", "2020-02-01", "--repo", clone.path)
    rows = [json.loads(line) for line in Path("work/logs/fc-data.log").read_text().splitlines()]
    assert [row["event"] for row in rows] == ["run began", "run ended", "run began", "run broke off"]
    assert rows[1]["stages"][0]["passed"] == 1 and rows[0]["window"] == WINDOW and rows[0]["asked"] == [1]
    assert (code, rows[3]["error"], rows[3]["level"]) == (3, "NothingToDo", "error") and "Traceback" in rows[3][
        "exception"
    ]
    assert [line for line in err.splitlines() if "broke off" in line] == []


@pytest.mark.parametrize(
    "words",
    [DATES, ("status", *DATES), ("funnel", *DATES), (*DATES, "--dry-run"), ("discover", "--from-csv", "x.csv")],
)
def test_a_wrong_level_stops_every_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """One line with an example, exit code 2, and no file is made."""
    monkeypatch.setenv("FC_LOG_LEVEL", "LOUD")
    code, out, err = said(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.endswith("(example: FC_LOG_LEVEL=INFO)\n")
    assert list(Path().iterdir()) == []
