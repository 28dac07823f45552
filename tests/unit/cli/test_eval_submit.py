"""fc-eval submit: what is given together is used, or refused in one line."""

from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import ConfigError


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "submit: give a RUN to pack, or --check FILE (example: fc-eval submit my-run)"),
        (
            ["r", "--check", "f.tar.gz"],
            "submit: RUN r is to be packed, and --check f.tar.gz is to be checked: these are two commands "
            "(example: fc-eval submit --check f.tar.gz)",
        ),
        (
            ["--check", "f.tar.gz", "--to", "g.tar.gz"],
            "--to g.tar.gz: with --check nothing is written (example: fc-eval submit --check f.tar.gz)",
        ),
        (
            ["runs/r", "-d", "tasks"],
            "--dataset tasks: a run is packed without it, a file is checked with it "
            "(example: fc-eval submit --check r.submission.tar.gz --dataset tasks)",
        ),
        (["--check", "gone"], "--check gone: no such file (example: --check my-run.submission.tar.gz)"),
        (
            ["--check", "."],
            "--check .: is a directory, and a submission is expected (example: --check my-run.submission.tar.gz)",
        ),
    ],
)
def test_nothing_that_is_given_is_left_unused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    says: str,
) -> None:
    """One line and exit code 2, before any file is looked at."""
    monkeypatch.chdir(tmp_path)
    assert run_app(app, ["submit", *words]) == ConfigError.exit_code
    assert capsys.readouterr() == ("", f"error: {says}\n")
