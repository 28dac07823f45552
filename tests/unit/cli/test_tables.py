"""The terminal tables: text from outside is text."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from datasmith.cli.tables import print_report
from datasmith.evaluation.html import interval
from datasmith.evaluation.report import build_report
from datasmith.evaluation.run_folder import RunFolder
from tests.unit.evaluation.sample_run import SampleRun, sample_run


def test_markup_and_escape_codes_in_names_are_not_obeyed(tmp_path: Path) -> None:
    """A reason from a hostile patch cannot colour, link or clear the terminal."""
    run = SampleRun(tmp_path / "r", ["t"], ["good"])
    session = run.session("t", {"m.time_a": 2.0})
    run.trial(session, "command-good", "failed_tests", reason="[red]x[/red] \x1b[2J [link=https://example.org]y")
    record = run.folder.read_run()
    assert record is not None
    target = io.StringIO()
    print_report(build_report(run.folder, record, "floor"), Path("p"), Console(file=target, width=200))
    text = target.getvalue()
    assert "\x1b" not in text
    assert "[red]x[/red]" in text


@pytest.mark.parametrize(
    ("reason", "ends"),
    [
        ("the sandbox failed twice " + "and again " * 20, " again and…"),
        ("x" * 300, "x…"),
        ("at most this long" + " x" * 51 + "y", " xy"),
    ],
)
def test_a_reason_is_never_cut_in_silence(tmp_path: Path, reason: str, ends: str) -> None:
    """What is left out is shown by an ellipsis, behind a whole word where there is one."""
    run = SampleRun(tmp_path / "r", ["t"], ["good"])
    run.trial(run.session("t", {"m.time_a": 2.0}), "command-good", "failed_tests", reason=reason)
    record = run.folder.read_run()
    assert record is not None
    target = io.StringIO()
    console = Console(file=target, width=400, force_terminal=True, no_color=True)
    print_report(build_report(run.folder, record, "floor"), Path("p"), console)
    shown = next(cell.strip() for cell in target.getvalue().split("│") if reason[:12] in cell)
    assert shown.endswith(ends) and len(shown) <= 120


def test_a_run_without_any_trial_is_printed(tmp_path: Path) -> None:
    """As it is right after a run was stopped: tables without rows, and no failure."""
    run = SampleRun(tmp_path / "r", ["t"], ["good"])
    record = run.folder.read_run()
    assert record is not None
    target = io.StringIO()
    print_report(build_report(run.folder, record, "floor"), Path("p"), Console(file=target, width=200))
    assert "0 of 1" in target.getvalue() and "trials" in target.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of three agents."""
    root = tmp_path_factory.mktemp("runs") / "r"
    sample_run(root)
    return RunFolder(root)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 130, 200])
def test_a_terminal_of_any_width_shows_everything(folder: RunFolder, width: int) -> None:
    """No line but that of the page is wider than the terminal, and no number and no name is cut."""
    record = folder.read_run()
    assert record is not None
    target = io.StringIO()
    console = Console(file=target, width=width, force_terminal=True, color_system=None, highlight=False)
    report = build_report(folder, record, "floor")
    print_report(report, Path("p"), console)
    *lines, page = target.getvalue().splitlines()
    assert max(map(len, lines)) <= width and page.endswith("page: p")
    shown = " ".join(target.getvalue().split())
    assert "…" not in shown
    ends = interval(report.agents[1].intervals.speedup)
    for words in ("command-breaks", "1.188×", ends, "failed_tests", "acme_fast_2", "outside timed calls"):
        assert words in shown


def test_a_run_in_which_nothing_has_ended_says_so(tmp_path: Path) -> None:
    """Its trials are a line, and no head without rows; so they are on a terminal of any width."""
    folder = SampleRun(tmp_path / "r", ["t"], ["good"]).folder
    record = folder.read_run()
    assert record is not None
    for width in (40, 200):
        target = io.StringIO()
        print_report(
            build_report(folder, record, "floor"), None, Console(file=target, width=width, force_terminal=True)
        )
        assert "trials (failed trials: floor; by task, agent and attempt n): none" in " ".join(
            target.getvalue().split()
        )
