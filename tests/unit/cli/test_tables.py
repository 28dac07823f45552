"""The terminal tables: text from outside is text."""

import io
from pathlib import Path

from rich.console import Console

from datasmith.cli.tables import print_report
from datasmith.evaluation.report import build_report
from tests.unit.evaluation.sample_run import SampleRun


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
