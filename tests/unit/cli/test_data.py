"""fc-data from the outside: what is printed, and with which exit code."""

import functools
import itertools
import json
import re
import sys
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from datasmith import __version__, process
from datasmith.cli.common import run_app
from datasmith.cli.data import app
from datasmith.cli.progress import StageBars
from datasmith.settings import Settings
from datasmith.storage.sql import SqlStore
from tests.clones import Clone

WINDOW = ("--start-date", "2026-02-01", "--end-date", "2026-03-01")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of this machine's reaches the tests; the working directory is empty."""
    for name in ("DATABASE_URL", *(f"FC_{field.upper()}" for field in Settings.model_fields)):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    found = Clone(tmp_path / "calc")
    found.merge(2, "Speed up all")
    found.merge(3, "Fix typo")
    return found


def said(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of a command."""
    code = run_app(app, [str(word) for word in words])
    return (code, *capsys.readouterr())


def test_help_is_quick_and_heavy_modules_stay_out() -> None:
    """Asking for help imports no numpy, polars, database or template engine; the flags are those promised."""
    program = "import sys; from datasmith.cli.data import app; from datasmith.cli.common import run_app;"
    program += "run_app(app, ['--help']); print(sorted({'numpy', 'polars', 'jinja2', 'sqlalchemy'} & set(sys.modules)))"
    done = process.run([sys.executable, "-c", program], timeout=60)
    assert done.ok and done.text.splitlines()[-1] == "[]"
    flags = (
        "start-date end-date resume stage dry-run n-concurrent tasks-per-repo force json version engine precise repo"
    )
    for flag in f"{flags} forge data-dir seed".split():
        assert f"--{flag}" in done.text


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, nothing else."""
    assert said(capsys, "--version") == (0, f"{__version__}\n", "")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--start-date", "2026-02-01"),
        ("--start-date", "2026-13-45", "--end-date", "2026-03-01"),
        ("--start-date", "2026-03-01", "--end-date", "2026-03-01"),
        (*WINDOW, "--stage", "9"),
        (*WINDOW, "--stage", "two"),
        (*WINDOW, "--n-concurrent", "0"),
        (*WINDOW, "--tasks-per-repo", "0"),
        (*WINDOW, "--engine", "vmware"),
        (*WINDOW, "--forge", "svn"),
        (*WINDOW,),
        (*WINDOW, "--dry-run"),
        (*WINDOW, "--dry-run", "--forge", "offline", "--stage", "4"),
        (*WINDOW, "--repo", "missing"),
        (*WINDOW, "--repo", "."),
        (*WINDOW, "--repo", "missing", "--dry-run"),
        (*WINDOW, "--repo", ".", "--dry-run"),
        (*WINDOW, "--nonsense"),
        ("nonsense",),
        ("funnel",),
        ("funnel", "--start-date", "x", "--end-date", "2026-03-01"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], tmp_path: Path
) -> None:
    """Nothing on standard output, no traceback, and no file made."""
    code, out, err = said(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("command", ["funnel", "status", "attempts"])
def test_results_that_are_not_there_are_no_empty_window(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    """A misspelt directory is an error, named by what gave it; the default may be missing, as nothing was done yet."""
    words = [] if command == "attempts" else ["--start-date", "2026-02-01", "--end-date", "2026-03-01"]
    monkeypatch.setenv("FC_DATA_DIR", "misspelt")
    code, _, err = said(capsys, command, *words)
    assert (code, err) == (2, "error: FC_DATA_DIR misspelt: no such directory (example: FC_DATA_DIR=./work)\n")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'elsewhere.sqlite'}")
    assert "FC_DATA_DIR" not in said(capsys, command, *words)[2]
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.delenv("FC_DATA_DIR")
    code, out, err = said(capsys, command, *words, "--json", "--data-dir", tmp_path / "misspelt")
    assert (code, json.loads(out)["error"]["kind"]) == (2, "ConfigError")
    assert err == f"error: --data-dir {tmp_path / 'misspelt'}: no such directory (example: --data-dir ./work)\n"
    assert said(capsys, command, *words)[0] == 0


def test_a_dry_run_needs_the_executors_settings(capsys: pytest.CaptureFixture[str], clone: Clone) -> None:
    """As the run does."""
    for dry in ((), ("--dry-run",)):
        code, _, err = said(capsys, *WINDOW, "--repo", clone.path, "--stage", "4", "--executor", "ray", *dry)
        assert code == 2 and "needs FC_RAY_ADDRESS" in err


def test_a_dry_run_makes_nothing(capsys: pytest.CaptureFixture[str], clone: Clone, tmp_path: Path) -> None:
    """Not even the data directory; as text and as JSON."""
    dry = (*WINDOW, "--dry-run", "--repo", clone.path)
    code, out, err = said(capsys, *dry)
    assert (code, err, out.count("would work on what stage")) == (0, "", 5)
    assert "1 scrape_repos       would look at acme/calc" in out
    code, out, err = said(capsys, *dry, "--json", "--stage", "3", "--stage", "3")
    assert [step["name"] for step in json.loads(out)["stages"]] == ["classify_prs"]
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_an_agent_that_is_not_here_is_told_of_before_anything_is_done(
    capsys: pytest.CaptureFixture[str], clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dry: tuple[str]
) -> None:
    """Its stage may begin hours later. Where that stage is not asked for, nobody asks for the agent."""
    monkeypatch.setenv("FC_AGENTS_DIR", str(tmp_path / "nothing"))
    words = (*WINDOW, "--repo", clone.path, "--agent", "claude", *dry)
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, "") and err.startswith("error: --agent claude: its program claude is not in ")
    assert list((tmp_path / "here").iterdir()) == []
    assert said(capsys, *words, "--stage", "1")[0] == 0


def test_a_run_prints_stages_and_funnel(capsys: pytest.CaptureFixture[str], clone: Clone) -> None:
    """And the funnel command prints the same counts afterwards."""
    code, out, _ = said(capsys, *WINDOW, "--repo", clone.path, "--stage", "1", "--stage", "2", "--stage", "3")
    assert code == 0 and "stage 3: 1 passed, 0 refused, 0 failed in" in out
    counts = "  2 scrape_commits          2 entered = 1 passed + 1 refused + 0 failed\n"
    assert counts in out and "   1 refused: title: housekeeping\n" in out
    code, out, err = said(capsys, "funnel", *WINDOW)
    assert (code, err) == (0, "") and counts in out and "4 resolve_packages        1 entered" in out
    assert re.search(
        r" 1 refused: title: housekeeping\n {13}\S+/\S+#\d+\n", said(capsys, "funnel", *WINDOW, "--items")[1]
    )


def test_json_is_all_there_is_on_standard_output(capsys: pytest.CaptureFixture[str], clone: Clone) -> None:
    """Progress and logs go elsewhere; two documents agree on the funnel."""
    code, out, _ = said(capsys, *WINDOW, "--repo", clone.path, "--stage", "1", "--stage", "2", "--json")
    found = json.loads(out)
    assert (code, [stage["passed"] for stage in found["stages"]]) == (0, [1, 1])
    code, out, _ = said(capsys, "funnel", *WINDOW, "--json")
    assert json.loads(out) == {**found["funnel"], "breaches": [], "nearest": []}


def test_the_funnel_of_an_unknown_window_is_empty(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without a ledger, and without making one."""
    code, out, err = said(capsys, "funnel", *WINDOW)
    assert (code, err) == (0, "") and "no pull request has been seen" in out
    code, out, _ = said(capsys, "funnel", *WINDOW, "--json")
    assert json.loads(out) == {"window": "2026-02-01..2026-03-01", "stages": [], "breaches": [], "nearest": []}
    assert list((tmp_path / "here").iterdir()) == []


def test_a_window_without_pull_requests_is_exit_code_3(capsys: pytest.CaptureFixture[str], clone: Clone) -> None:
    """One line that says which window; on standard output nothing, or with --json the same as a document."""
    for extra in ((), ("--json",)):
        words = ("--start-date", "2020-01-01", "--end-date", "2020-02-01", "--repo", clone.path, *extra)
        code, out, err = said(capsys, *words)
        errors = [line for line in err.splitlines() if line.startswith("error: ")]
        assert (code, len(errors)) == (3, 1) and "2020-01-01..2020-02-01" in errors[0]
        error = {"kind": "NothingToDo", "message": errors[0].removeprefix("error: "), "exit_code": 3}
        assert out == (json.dumps({"error": error}) + "\n" if extra else "")


def test_a_stage_that_fails_for_all_is_exit_code_1(capsys: pytest.CaptureFixture[str], clone: Clone) -> None:
    """The funnel is printed all the same."""
    said(capsys, *WINDOW, "--repo", clone.path, "--stage", "1")
    bad = clone.path / ".git/objects"
    for path in bad.rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"")
    code, out, err = said(capsys, *WINDOW, "--repo", clone.path, "--stage", "2")
    assert code == 1 and "stage 2: 0 passed, 0 refused, 1 failed" in out
    assert err.splitlines()[-1].startswith("error: stage 2 failed for all of its items")


def test_reasons_are_printed_without_control_characters(capsys: pytest.CaptureFixture[str], clone: Clone) -> None:
    """A build log's last line cannot paint on the terminal."""
    with SqlStore.at(Path("work/fc.sqlite")) as store:
        store.migrate()
        store.record(
            "2026-02-01..2026-03-01", 2, [("o/r:1", "pull_request", "refused", "\x1b[2Jgone\n")], datetime.now(UTC)
        )
    _, out, _ = said(capsys, "funnel", *WINDOW)
    assert "\x1b" not in out and "1 refused: [2Jgone\n" in out


def test_progress_is_a_line_a_stage_where_nobody_watches() -> None:
    """And what is under way now and then; a bar where somebody does; markup in a name is text."""
    quiet, loud = StringIO(), StringIO()
    for target, terminal in ((quiet, False), (loud, True)):
        clock = itertools.count(0.0, 4.0)
        console = Console(file=target, force_terminal=terminal, width=160 if terminal else 40)
        with StageBars(console, now=functools.partial(next, clock)) as bars:
            bars("scrape_repos", 1, 2, "a passed")
            for _ in range(6):
                bars("scrape_repos", -1, -1, "[red]b[/red] build")
            bars("scrape_repos", 2, 2, "[bold]c")
    assert quiet.getvalue() == "scrape_repos: 1 of 2 items; [red]b[/red] build\nscrape_repos: 2 of 2 items\n"
    assert "[bold]c" in loud.getvalue() and "2/2" in loud.getvalue()


def test_a_long_note_leaves_the_clock_whole() -> None:
    """On 80 columns the note gives way, and the bar; an ellipsis stands for what is left out of it."""
    shown = StringIO()
    with StageBars(Console(file=shown, force_terminal=True, width=80)) as bars:
        bars("synthesize_images", 0, 6, f"formulacode/samplelib:14 measure 162/252, extra round 10 {'x' * 60}")
    frames = [line for line in shown.getvalue().splitlines() if "measure 162" in line]
    assert frames and all("0:00:0" in frame for frame in frames)
    assert "measure 162/…" in shown.getvalue()
