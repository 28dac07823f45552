"""With --json standard output is one document for programs: the result or, where there is none, the error."""

import json
import math
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from datasmith import cli, process
from datasmith.cli.common import run_app
from datasmith.cli.data import app as fc_data
from datasmith.cli.document import document
from datasmith.cli.entry import INTERRUPTED
from datasmith.cli.eval import app as fc_eval
from datasmith.cli.options import Json
from datasmith.errors import ConfigError, InvalidTask, TaskError
from datasmith.tasks.folder import write_task
from tests.unit.tasks.samples import certificate, sample_task, source_tar


def said(capsys: pytest.CaptureFixture[str], words: str) -> tuple[int, Any, str]:
    """(exit code, the document on standard output, standard error) of an fc-eval command with --json."""
    code = run_app(fc_eval, [*shlex.split(words), "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two task folders in order, one of them without a certificate, in tasks/ of the working directory."""
    monkeypatch.chdir(tmp_path)
    source = source_tar(tmp_path / "source.tar.gz")
    for number in (1, 2):
        name = f"acme_calc_{number}"
        task = sample_task(task_id=name, pr_number=number, certificate=certificate(name) if number == 1 else None)
        write_task(task, tmp_path / "tasks", source=source, provenance={})
    return tmp_path / "tasks"


def commands(app: typer.Typer) -> Iterator[tuple[str, Any]]:
    waiting: list[tuple[str, Any]] = [("", get_command(app))]
    while waiting:
        name, command = waiting.pop()
        waiting += [(f"{name} {word}", child) for word, child in getattr(command, "commands", {}).items()]
        if not getattr(command, "commands", {}):
            yield name, command


@pytest.mark.parametrize("app", [fc_data, fc_eval])
def test_every_command_answers_programs(app: typer.Typer) -> None:
    """Only a shell for a person does not."""
    without = [name for name, command in commands(app) if not any("--json" in each.opts for each in command.params)]
    assert without == ([" tasks interact"] if app is fc_eval else [])


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_document_holds_what_json_has_not(capsys: pytest.CaptureFixture[str], number: float) -> None:
    """NaN and infinities are a defect of ours, and standard output has the error alone: others could not read them."""
    app = typer.Typer()

    @app.command()
    def told(*, json_output: Json = False) -> None:
        print(document({"figures": [number], "json": json_output}))

    assert run_app(app, ["--json"]) == 1
    failed = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert failed["error"]["kind"] == "ValueError"


@pytest.mark.parametrize("flag", ["--json=1", "--json="])
def test_a_flag_that_is_given_a_value_is_told_in_a_document(capsys: pytest.CaptureFixture[str], flag: str) -> None:
    """Whoever writes it wants JSON; it takes no value, as the line says, too."""
    assert run_app(fc_eval, ["runs", "list", flag]) == ConfigError.exit_code
    out, err = capsys.readouterr()
    failed = json.loads(out)["error"]
    assert failed["message"] == "Option '--json' does not take a value (example: --json)"
    assert (failed["exit_code"], err) == (ConfigError.exit_code, f"error: {failed['message']}\n")


def test_documents_are_written_in_one_place() -> None:
    """No other module of the commands writes JSON by itself."""
    folder = Path(next(iter(cli.__path__)))
    assert [path.name for path in folder.glob("*.py") if "json.dump" in path.read_text("utf-8")] == ["document.py"]


def test_what_is_checked_packed_and_exported_is_a_document(capsys: pytest.CaptureFixture[str], tasks: Path) -> None:
    """With nothing beside it; a broken folder is in the document, the code and the line."""
    code, found, err = said(capsys, "tasks check -d tasks")
    rows: list[dict[str, object]] = [
        {"task_id": name, "folder": str(tasks / name), "problems": [], "has_certificate": name == "acme_calc_1"}
        for name in ("acme_calc_1", "acme_calc_2")
    ]
    assert (code, found, err) == (0, rows, "")
    assert said(capsys, "tasks check tasks") == (0, rows, "")
    assert said(capsys, "tasks check tasks/acme_calc_2") == (0, rows[1:], "")
    assert said(capsys, "tasks check tasks/acme_calc_2 tasks/acme_calc_1 tasks") == (0, rows[::-1], "")
    code, found, _ = said(capsys, "tasks show tasks/acme_calc_2")
    assert (code, [row["task_id"] for row in found]) == (0, ["acme_calc_2"])
    code, found, _ = said(capsys, "tasks pack -d tasks --to release --name mine --release 2026-03")
    assert (code, found["to"], found["release"]) == (0, "release", "2026-03")
    assert [*found["tasks"]] == ["acme_calc_1", "acme_calc_2"]
    code, found, _ = said(capsys, "export tasks --harbor --output out")
    assert (code, found) == (0, {"harness": "harbor", "folders": ["out/acme_calc_1", "out/acme_calc_2"]})
    (tasks / "acme_calc_2/task.toml").rename(tasks / "kept.toml")
    code, found, err = said(capsys, "tasks check tasks/acme_calc_2 tasks/acme_calc_1")
    assert found[0]["problems"] == ["acme_calc_2: task.toml is missing"]
    assert (code, err) == (InvalidTask.exit_code, "error: 1 problem in 1 of 2 task folders\n")
    (tasks / "kept.toml").rename(tasks / "acme_calc_2/task.toml")
    (tasks / "acme_calc_2/instruction.md").unlink()
    code, found, err = said(capsys, "tasks check -d tasks")
    assert (code, [bool(row["problems"]) for row in found]) == (InvalidTask.exit_code, [False, True])
    assert err == "error: 1 problem in 1 of 2 task folders\n" and "instruction.md" in found[1]["problems"][0]
    (tasks / "acme_calc_1/instruction.md").unlink()
    (tasks / "acme_calc_1/environment/Dockerfile").unlink()
    code, found, err = said(capsys, "tasks check -d tasks")
    problems = [problem for row in found for problem in row["problems"]]
    assert err == f"error: {len(problems)} problems in 2 of 2 task folders\n" and len(problems) > 2
    assert run_app(fc_eval, ["tasks", "check", "-d", "tasks"]) == InvalidTask.exit_code
    assert capsys.readouterr().out.splitlines() == problems


def test_a_release_without_an_archive_is_not_in_order(
    capsys: pytest.CaptureFixture[str], tasks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing or another one, it is told, though the task was unpacked here before."""
    monkeypatch.setenv("FC_CACHE_DIR", str(tasks.parent / "cache"))
    assert said(capsys, "tasks pack -d tasks --to release --name mine --release 2026-03")[0] == 0
    assert said(capsys, "tasks check -d release")[0] == 0
    archive = tasks.parent / "release/tasks/acme_calc_2.tar.gz"
    archive.write_bytes(archive.read_bytes() + b"x")
    for why in ("acme_calc_2.tar.gz: not the file that release.json names", "acme_calc_2.tar.gz is missing"):
        code, found, err = said(capsys, "tasks check -d release")
        assert (code, found["error"]["kind"]) == (TaskError.exit_code, "TaskError") and why in err
        archive.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "words",
    [
        "tasks list -d gone",
        "tasks check",
        "tasks check gone",
        "tasks check tasks/acme_calc_1 -d tasks",
        "tasks show acme_calc_1",
        "runs status gone",
        "report",
        "compare a",
        "nonsense",
        "export x --output y",
        "run -d x -a y",
    ],
)
def test_an_error_is_a_document_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """Its kind and code as the table has them, and the line of standard error; without --json only that line."""
    monkeypatch.chdir(tmp_path)
    code, found, err = said(capsys, words)
    assert found["error"].keys() == {"kind", "message", "exit_code"}
    assert (found["error"]["kind"], found["error"]["exit_code"], code) == ("ConfigError", ConfigError.exit_code, 2)
    assert err == f"error: {found['error']['message']}\n"
    assert run_app(fc_eval, shlex.split(words)) == code
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [(KeyboardInterrupt(), "Interrupted", INTERRUPTED), (ZeroDivisionError("token=abc\n"), "ZeroDivisionError", 1)],
)
def test_what_was_not_foreseen_is_a_document_too(
    capsys: pytest.CaptureFixture[str], error: BaseException, kind: str, code: int
) -> None:
    """Ctrl-C, and a defect by the name of its class."""
    app = typer.Typer()

    @app.command()
    def fail(as_json: bool = typer.Option(False, "--json")) -> None:
        raise error

    assert run_app(app, ["--json"]) == code
    out, err = capsys.readouterr()
    found = json.loads(out)["error"]
    assert (found["kind"], found["exit_code"], err) == (kind, code, f"error: {found['message']}\n")
    if "details in " in err:
        Path(err.rpartition("details in ")[2].strip().rstrip(")")).unlink()


FULL = "os.open('/dev/full', os.O_WRONLY)"
LEFT = "(ends := os.pipe(), os.close(ends[0]))[0][1]"


@pytest.mark.parametrize(
    ("place", "fails", "ends"),
    [(FULL, False, (1, 1)), (FULL, True, (3, 1)), (LEFT, False, (0, 0)), (LEFT, True, (3, 1))],
)
def test_a_document_that_cannot_be_written_is_told_once(place: str, fails: bool, ends: tuple[int, int]) -> None:
    """A full disk is an error, a reader that left is none; the error of the command itself stays the only line."""
    program = (
        "import os, sys, typer; from datasmith.cli.common import run_app; from datasmith.errors import NothingToDo\n"
        "app = typer.Typer()\n@app.command()\ndef talk(as_json: bool = typer.Option(False, '--json')) -> None:\n"
        f"    if {fails}: raise NothingToDo('x')\n    print('{{}}')\n"
        f"os.dup2({place}, 1); sys.exit(run_app(app, ['--json']))"
    )
    done = process.run([sys.executable, "-c", program], timeout=60)
    assert (done.rc, done.error_text.count("\n")) == ends, done.error_text
