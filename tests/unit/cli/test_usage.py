"""Words that make no sense: one line that names the flag, an example that is right, exit code 2."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.exceptions import TyperException
from typer.main import get_command

from datasmith.cli.common import run_app
from datasmith.cli.data import app as fc_data
from datasmith.cli.eval import app as fc_eval
from datasmith.cli.usage import EXAMPLES, example_of
from datasmith.executors.executors import EXECUTORS

APPS = {"fc-data": fc_data, "fc-eval": fc_eval}


def said(capsys: pytest.CaptureFixture[str], name: str, *words: str) -> str:
    """The line that a command ends with; its exit code is 2 and nothing else is printed."""
    assert run_app(APPS[name], words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1
    return err.removeprefix("error: ").strip()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("fc-data status", "Missing option '--start-date' (example: --start-date 2026-02-01)"),
        ("fc-data --start-date", "Option '--start-date' requires an argument (example: --start-date 2026-02-01)"),
        ("fc-eval certify", "Missing argument 'TASK' (example: work/dataset/tasks/shapely_shapely_2283)"),
        ("fc-eval report", "Missing argument 'RUN' (example: runs/my-run)"),
        ("fc-eval compare", "Missing argument 'RUN1[:AGENT]' (example: runs/my-run:oracle)"),
        ("fc-eval compare a", "Missing argument 'RUN2[:AGENT]' (example: runs/my-run:nop)"),
        ("fc-eval run", "Missing option '--dataset' / '-d' (example: --dataset work/dataset/tasks)"),
        ("fc-eval run -d x -c", "Option '-c' requires an argument (example: --config agents.json)"),
        ("fc-data statu", "No such command 'statu'. Did you mean 'status'? (example: fc-data --help)"),
        ("fc-eval tasks lst -d x", "No such command 'lst'. Did you mean 'list'? (example: fc-eval tasks --help)"),
        ("fc-data funnel --nonsense", "No such option: --nonsense (example: fc-data funnel --help)"),
        ("fc-data images save x", "Missing option '--out' (example: --out image.oci.tar)"),
        ("fc-eval submit x --to", "Option '--to' requires an argument (example: --to my-run.submission.tar.gz)"),
        ("fc-eval tasks pack -d x --to", "Option '--to' requires an argument (example: --to release)"),
        (
            "fc-data",
            "--start-date and --end-date are needed, or a command, which fc-data --help lists "
            "(example: fc-data --start-date 2026-02-01 --end-date 2026-03-01)",
        ),
        ("fc-eval export x --policy", "No such option: --policy (example: fc-eval export --help)"),
    ],
)
def test_a_wrong_line_is_explained(capsys: pytest.CaptureFixture[str], line: str, says: str) -> None:
    """What is wrong, and what would be right."""
    name, *words = shlex.split(line)
    assert said(capsys, name, *words) == says


@pytest.mark.parametrize(
    ("line", "flag", "example"),
    [
        ("fc-data --stage x", "--stage", "--stage 4"),
        ("fc-data --max-rounds 1.5", "--max-rounds", "--max-rounds 12"),
        ("fc-data --seed=", "--seed", "--seed 0"),
        ("fc-data discover --min-stars -3", "--min-stars", "--min-stars 50"),
        ("fc-eval run -d x -c y --n-attempts 0", "--n-attempts", "--n-attempts 1"),
        ("fc-eval run -d x -c y --max-rounds 5", "--max-rounds", "--max-rounds 12"),
        ("fc-eval run -d x -c y --timeout soon", "--timeout", "--timeout 3600"),
        ("fc-eval run -d x -c y --timeout inf", "--timeout", "--timeout 3600"),
        ("fc-eval run -d x -c y --test-timeout inf", "--test-timeout", "--test-timeout 1800"),
        ("fc-eval run -d x -c y --benchmark-timeout inf", "--benchmark-timeout", "--benchmark-timeout 4"),
        ("fc-eval run -d x -c y --max-cost inf", "--max-cost", "--max-cost 4"),
        ("fc-eval tasks interact x -d y --timeout inf", "--timeout", "--timeout 3600"),
        ("fc-data verify --task x --build-timeout inf", "--build-timeout", "--build-timeout 3600"),
    ],
)
def test_a_wrong_value_is_explained(capsys: pytest.CaptureFixture[str], line: str, flag: str, example: str) -> None:
    """The flag by its name, and a value that it takes."""
    name, *words = shlex.split(line)
    told = said(capsys, name, *words)
    assert f"'{flag}'" in told and told.endswith(f"(example: {example})")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "fc-eval run -d x -c y --max-rounds few",
            "Invalid value for '--max-rounds': must be a whole number, not 'few'",
        ),
        ("fc-eval run -d x -c y --seed -1", "Invalid value for '--seed': must be at least 0, not '-1'"),
    ],
)
def test_a_wrong_value_is_told_in_our_words(capsys: pytest.CaptureFixture[str], line: str, says: str) -> None:
    """What it must be and what was given, not what the library that found it says."""
    name, *words = shlex.split(line)
    assert said(capsys, name, *words).startswith(f"{says} (example: ")


def options() -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(command, words that lead to a subcommand, an option of it that takes a value)."""
    waiting: list[tuple[str, tuple[str, ...], Any]] = [(name, (), get_command(app)) for name, app in APPS.items()]
    while waiting:
        name, path, command = waiting.pop()
        names = [each.opts[0] for each in command.params if not vars(each).get("is_flag")]
        yield from ((name, path, option) for option in names if option.startswith("--"))
        waiting += [(name, (*path, word), child) for word, child in getattr(command, "commands", {}).items()]


@pytest.mark.parametrize(("name", "path", "flag"), list(options()), ids=str)
def test_every_option_has_an_example_that_it_takes(
    capsys: pytest.CaptureFixture[str], name: str, path: tuple[str, ...], flag: str
) -> None:
    """Without its value each is explained with one; what the example says is parsed without complaint."""
    example = re.search(r"\(example: (.*)\)$", said(capsys, name, *path, flag))
    assert example is not None
    command = get_command(APPS[name])
    for word in path:
        command = command.commands[word]  # type: ignore[attr-defined]
    (parameter,) = [each for each in command.params if flag in each.opts]
    assert example[1].startswith(f"{flag} ") and example_of(parameter).startswith(f"{flag} "), "add it to EXAMPLES"
    try:
        command.make_context(name, shlex.split(example[1]))
    except TyperException as error:
        assert flag not in str(getattr(error, "format_message", lambda: "")()), error


@pytest.mark.parametrize("words", ["FLAG=", "FLAG ''"])
def test_no_path_is_nothing(capsys: pytest.CaptureFixture[str], words: str) -> None:
    """Not the working directory, which nobody named: every option that takes a path refuses an empty text."""
    seen = set()
    for name, path, flag in options():
        command = get_command(APPS[name])
        for word in path:
            command = command.commands[word]  # type: ignore[attr-defined]
        (parameter,) = [each for each in command.params if flag in each.opts]
        if vars(parameter)["type_descriptor"].annotation in (Path, list[Path]):
            told = said(capsys, name, *path, *shlex.split(words.replace("FLAG", flag)))
            assert told.startswith(f"{flag} '': is empty") and f"(example: {flag} " in told
            seen.add(flag)
    assert {"--data-dir", "--runs-dir", "--config", "--out", "--output", "--to", "--task"} <= seen


ARGUMENTS = {
    "fc-data images push": "TASK|DIR",
    "fc-data images save --out x": "TASK",
    "fc-data seal-check": "IMAGE|TASK",
    "fc-eval certify": "TASK",
    "fc-data --forge git --agent '' seal-check": "IMAGE|TASK",
    "fc-eval compare": "RUN1[:AGENT]",
    "fc-eval compare report": "RUN2[:AGENT]",
    "fc-eval compare runs/a": "RUN2[:AGENT]",
    "fc-eval export --harbor --output x": "TASK",
    "fc-eval redteam": "TASK",
    "fc-eval redteam --past-policy": "TASK",
    "fc-eval report": "RUN",
    "fc-eval runs status": "RUN",
    "fc-eval submit": "RUN",
    "fc-eval tasks check": "TASK",
    "fc-eval tasks show": "ID",
}


@pytest.mark.parametrize(("line", "metavar"), ARGUMENTS.items())
def test_no_argument_is_nothing(capsys: pytest.CaptureFixture[str], line: str, metavar: str) -> None:
    """As no option: the line names what is missing, with an example."""
    told = said(capsys, *shlex.split(line), "")
    assert re.fullmatch(rf"{re.escape(metavar)} '': is empty, as .* \(example: \w.*\)", told), told


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("fc-data --forge git --repo", "--repo"),
        ("fc-data preflight --repo", "--repo"),
        ("fc-data --suite-repo", "--suite-repo"),
        ("fc-data --suite-from", "--suite-from"),
        ("fc-eval runs resume runs/a --dataset", "--dataset"),
        ("fc-eval run -a nop -d x -t", "--task-id"),
    ],
)
def test_what_to_work_on_is_not_left_empty(capsys: pytest.CaptureFixture[str], line: str, flag: str) -> None:
    """Else a script with an unset variable mines the working directory, or measures by another suite."""
    told = said(capsys, *shlex.split(line), "")
    assert re.fullmatch(rf"{flag} '': is empty, as .* \(example: \S.*\)", told), told


def test_what_is_no_path_may_be_empty(capsys: pytest.CaptureFixture[str]) -> None:
    """An engine without a name is the default."""
    assert said(capsys, "fc-eval", "redteam", "nowhere", "--engine", "").startswith("TASK nowhere: no task folder")


def test_no_example_is_of_this_projects_own_machines() -> None:
    """A user has no files beside a checkout."""
    assert [text for text in EXAMPLES.values() if ".." in text or "shared" in text] == []


@pytest.mark.parametrize("line", ["fc-eval", "fc-eval runs", "fc-eval tasks", "fc-data images"])
def test_without_a_command_there_is_help_and_an_error(capsys: pytest.CaptureFixture[str], line: str) -> None:
    """The help whole, the error in one line, the exit code of wrong words."""
    name, *words = shlex.split(line)
    assert run_app(APPS[name], words) == 2
    out, err = capsys.readouterr()
    assert err == f"error: {line}: no command is given (example: {line} --help)\n"
    assert "Commands:" in out and out.count("\n") > 5


@pytest.mark.parametrize("words", ["fc-data", "fc-eval run", "fc-eval runs resume"])
def test_every_executor_is_documented(words: str) -> None:
    """What the error of --executor offers is in its help."""
    name, *path = words.split()
    command = get_command(APPS[name])
    for word in path:
        command = command.commands[word]  # type: ignore[attr-defined]
    (told,) = [vars(each)["help"] for each in command.params if "--executor" in each.opts]
    assert [executor for executor in EXECUTORS if executor not in told] == []


@pytest.mark.parametrize("line", ["fc-eval submit --help", "fc-eval export --help", "fc-eval certify --help"])
def test_the_usage_of_a_command_has_no_signs_twice(capsys: pytest.CaptureFixture[str], line: str) -> None:
    """What may be left out or repeated is marked once, as it is for every other command."""
    name, *words = shlex.split(line)
    assert run_app(APPS[name], words) == 0
    usage = capsys.readouterr().out.splitlines()[0]
    assert usage.endswith((" [RUN]", " {TASK}...")), usage
