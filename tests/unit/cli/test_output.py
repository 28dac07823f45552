"""What the commands write to: a reader that leaves changes nothing, a full disk is told as that."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from datasmith.settings import known_variables
from tests.unit.evaluation.sample_run import sample_run

WINDOW = "--start-date 2026-02-01 --end-date 2026-03-01"
TALKATIVE = """
import sys, typer
from datasmith.cli.common import run_app
app = typer.Typer()

@app.command()
def talk(code: int, flush: bool = False) -> None:
    for _ in range(5):
        print("x" * 9_000, flush=flush)
    print("done", file=sys.stderr)
    raise typer.Exit(code)

sys.exit(run_app(app))
"""
"""A command that says more than any buffer holds."""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory with a run in runs/."""
    sample_run(tmp_path / "runs/mine")
    return tmp_path


def ended(words: list[str], place: Path, output: int | Path) -> tuple[int, str]:
    """(exit code, standard error) of a command with this standard output; a descriptor is closed after the start."""
    descriptor = os.open(output, os.O_WRONLY) if isinstance(output, Path) else output
    env = {name: value for name, value in os.environ.items() if name not in known_variables()}
    env["FC_CACHE_DIR"] = str(place / "cache")
    try:
        child = subprocess.Popen(words, cwd=place, env=env, stdout=descriptor, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(descriptor)
    _, err = child.communicate(timeout=120)
    return child.returncode, err


def ended_unheard(words: list[str], place: Path, output: Path | None) -> tuple[int, str]:
    """(exit code, standard output) of a command whose standard error is `output`, or a pipe whose reader has left."""
    descriptor = os.open(output, os.O_WRONLY) if output else unread()
    try:
        child = subprocess.Popen(words, cwd=place, stdout=subprocess.PIPE, stderr=descriptor, text=True)
    finally:
        os.close(descriptor)
    out, _ = child.communicate(timeout=120)
    return child.returncode, out


def unread() -> int:
    """The end to write to of a pipe whose reader has left."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def command(line: str, *python: str) -> list[str]:
    name, *words = line.split()
    module = {"fc-data": "datasmith.cli.data", "fc-eval": "datasmith.cli.eval"}[name]
    return [sys.executable, *python, "-c", f"from {module} import main; main()", *words]


LINES = (
    f"fc-data funnel {WINDOW}",
    f"fc-data status {WINDOW}",
    "fc-data preflight --stage 6",
    "fc-data --help",
    "fc-eval report mine",
    "fc-eval report mine --json",
    "fc-eval runs list",
    "fc-eval runs status mine",
)


@pytest.mark.parametrize("line", LINES)
def test_a_command_without_a_reader_has_succeeded(here: Path, line: str) -> None:
    """`fc-data … | head -1` ends quietly with 0, tables and helps too; with and without a buffer between."""
    assert ended(command(line), here, unread()) == (0, "")
    assert ended(command(line, "-u"), here, unread()) == (0, "")


@pytest.mark.parametrize("line", LINES)
def test_a_full_disk_is_told_of_standard_output(here: Path, line: str) -> None:
    """It is not the database: one line, exit code 1."""
    told = (1, "error: cannot write standard output: No space left on device\n")
    assert ended(command(line), here, Path("/dev/full")) == told


@pytest.mark.parametrize("line", LINES)
def test_a_command_whose_standard_output_is_closed_has_succeeded(here: Path, line: str) -> None:
    """`>&-`: nobody reads, as where the reader has left."""
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command(line)]
    assert ended(closed, here, unread()) == (0, "")


@pytest.mark.parametrize("code", [0, 1, 17])
@pytest.mark.parametrize("flush", [(), ("--flush",)])
def test_a_command_without_a_reader_goes_on_to_its_end(tmp_path: Path, code: int, flush: tuple[str, ...]) -> None:
    """Its exit code is its own: what failed is not hidden by a reader that saw enough."""
    words = [sys.executable, "-c", TALKATIVE, *flush, str(code)]
    assert ended(words, tmp_path, unread()) == (code, "done\n")


@pytest.mark.parametrize(("output", "ends"), [("pipe", (0, "")), ("/dev/full", (1, "error: cannot write"))])
def test_the_preflight_module_ends_as_the_command_does(tmp_path: Path, output: str, ends: tuple[int, str]) -> None:
    """Without a reader, and on a full disk."""
    words = [sys.executable, "-m", "datasmith.preflight", "--stage", "6"]
    code, err = ended(words, tmp_path, unread() if output == "pipe" else Path(output))
    assert code == ends[0] and err.startswith(ends[1]) and err.count("\n") == code


NOISY = """
import sys, time, typer
from datasmith.cli.common import run_app
from datasmith.cli.progress import StageBars
from datasmith.cli.trial_progress import TrialBars
from datasmith.errors import ConfigError
app = typer.Typer()

@app.command()
def work(fails: bool = False) -> None:
    with StageBars() as stages, TrialBars() as trials:
        for done in range(3):
            stages(f"stage {done}", 1, 1, "")
            trials.step("a_task", f"step {done}")
    if fails:
        raise ConfigError("wrong")
    print("the result")

sys.exit(run_app(app))
"""
"""A command that tells of its progress."""


@pytest.mark.parametrize("output", [None, Path("/dev/full")])
def test_a_command_whose_progress_nobody_reads_goes_on_to_its_end(tmp_path: Path, output: Path | None) -> None:
    """`fc-eval run … 2>&1 | head -3` does its work: what cannot be told on standard error changes no exit code."""
    noisy = [sys.executable, "-c", NOISY]
    assert ended_unheard(noisy, tmp_path, output) == (0, "the result\n")
    assert ended_unheard([*noisy, "--fails"], tmp_path, output) == (2, "")
    assert ended_unheard(command("fc-eval report nothing"), tmp_path, output) == (2, "")


@pytest.mark.parametrize(
    ("settings", "spelled"),
    [
        ({"PYTHONIOENCODING": "ascii"}, True),
        ({"LC_ALL": "C"}, False),
        ({"LC_ALL": "POSIX", "PYTHONUTF8": "0"}, True),
        ({"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}, False),
        ({"LC_ALL": "C.UTF-8"}, False),
    ],
)
def test_a_terminal_without_our_signs_gets_them_spelled(here: Path, settings: dict[str, str], spelled: bool) -> None:
    """Tables and lines are ASCII that can be read, with no question marks or numbers of characters; JSON is as ever."""
    for path in here.glob("runs/mine/trials/*/command-breaks/1/trial.json"):
        path.write_text(path.read_text().replace("2 of 3: a::", f"{'word ' * 40}a::"))
    ours = {*known_variables(), "LANG", "LC_ALL", "LC_CTYPE", "PYTHONIOENCODING", "PYTHONUTF8"}
    env = {name: value for name, value in os.environ.items() if name not in ours} | settings

    def told(line: str) -> str:
        done = subprocess.run(command(line), cwd=here, env=env, capture_output=True, check=True)
        assert not done.stderr
        return done.stdout.decode("ascii" if spelled else "utf-8")

    shown = told("fc-eval report mine")
    signs = ("\N{MULTIPLICATION SIGN}", "\N{PLUS-MINUS SIGN}", "\N{MINUS SIGN}", "\N{HORIZONTAL ELLIPSIS}")
    for sign, letters in zip(signs, (r"\dx ", r"half-width \+-\d", r" -0\.\d", r"word\.\.\."), strict=True):
        assert (bool(re.search(letters, shown)), sign in shown) == (spelled, not spelled), sign
    wrong = command(f"fc-eval run -d tasks -a nop --run-id {'x' * 101}")
    said = subprocess.run(wrong, cwd=here, env=env, capture_output=True, check=False).stderr.decode()
    assert ("x...'" in said, "x\N{HORIZONTAL ELLIPSIS}'" in said) == (spelled, not spelled)
    assert "?" not in shown and "\\" not in shown
    assert json.loads(told("fc-eval report mine --json"))["run_id"] == "mine"
