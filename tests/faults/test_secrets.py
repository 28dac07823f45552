"""Secrets of every kind, planted wherever one may come in: none gets into anything that is written or shown."""

import json
import logging
import os
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import polars as pl
import pytest

from datasmith import process
from datasmith.cli.logs import set_up_logging
from datasmith.errors import BuildFailed
from datasmith.github.render import render_instruction
from datasmith.publish.records import record, write_parquet
from datasmith.redact import Redactor
from datasmith.runners.base import Outcome
from datasmith.runners.rows import load_pull_request
from datasmith.settings import secrets_of
from datasmith.storage.sql import SqlStore
from datasmith.tasks.folder import write_task
from tests.clones import Clone
from tests.commands import WINDOW, Ended, FcData
from tests.secrets_made_up import BY_FORM, BY_VALUE, IN_CONTEXT, URL_PASSWORD
from tests.unit.runners.numbers import OPTIONS, Numbers, entered
from tests.unit.tasks.samples import sample_task, source_tar

OPAQUE, ODD = BY_VALUE.values()
ENVIRONMENT = {
    "GH_TOKENS": f"{BY_FORM['github classic']},{BY_FORM['github fine-grained']}",
    "GITHUB_TOKEN": BY_FORM["github app"],
    "HF_TOKEN": BY_FORM["hugging face"],
    "DOCKERHUB_USERNAME": "robot",
    "DOCKERHUB_TOKEN": BY_FORM["docker hub"],
    "DSPY_MODEL": "openai/x",
    "DSPY_API_KEY": OPAQUE,
    "ANTHROPIC_API_KEY": BY_FORM["anthropic"],
    "OPENAI_API_KEY": BY_FORM["openai"],
    "AWS_ACCESS_KEY_ID": BY_FORM["aws key id"],
    "AWS_SECRET_ACCESS_KEY": IN_CONTEXT["aws secret"][0],
    "SUPABASE_SERVICE_KEY": BY_FORM["json web token"],
    "SOME_SERVICE_PASSWORD": ODD,
    "SLACK_TOKEN": BY_FORM["slack"],
    "FC_INDEX_URL": f"http://robot:{URL_PASSWORD}@127.0.0.1:9/simple",
    "https_proxy": f"http://proxy:{URL_PASSWORD}@127.0.0.1:9",
    **dict.fromkeys(("FC_GITHUB_URL", "FC_DOCKERHUB_URL", "HF_ENDPOINT", "DSPY_API_BASE"), "http://127.0.0.1:9"),
}
SECRETS = {**BY_FORM, **{kind: secret for kind, (secret, _) in IN_CONTEXT.items()}, **BY_VALUE}
TEXTS = [f"{kind}: {secret}" for kind, secret in BY_FORM.items()] + [text for _, text in IN_CONTEXT.values()]
"""What a careless person pastes into a pull request, or a program prints: no secret of ours, and all the same."""


def found_in(text: str, where: str) -> list[str]:
    """The secrets that a text holds, also as JSON writes them."""
    return [f"{kind} in {where}" for kind, secret in SECRETS.items() if {secret, json.dumps(secret)[1:-1]} & _in(text)]


def _in(text: str) -> set[str]:
    spelled = {form for secret in SECRETS.values() for form in (secret, json.dumps(secret)[1:-1])}
    return {form for form in spelled if form in text}


def searched(place: Path) -> tuple[list[str], int]:
    """The secrets in all files below a place, with what databases and tables hold; and how many files there were."""
    leaks: list[str] = []
    files = [path for path in sorted(place.rglob("*")) if path.is_file() and not path.is_symlink()]
    for path in files:
        leaks += found_in(path.read_bytes().decode("utf-8", "replace"), path.name)
        if path.suffix == ".sqlite":
            with sqlite3.connect(path) as database:
                leaks += found_in("\n".join(database.iterdump()), f"{path.name}, dumped")
        if path.suffix == ".parquet":
            leaks += found_in(str(pl.read_parquet(path).rows()), f"{path.name}, read")
    return leaks, len(files)


@pytest.fixture
def fc(tmp_path: Path) -> FcData:
    """fc-data with every secret in its environment, and some in tokens.env."""
    home = tmp_path / "home"
    command = FcData(home, tmp_path / "cache", extra={**ENVIRONMENT, "FC_LOG_LEVEL": "DEBUG"})
    (home / "tokens.env").write_text(f"GITLAB_TOKEN={BY_FORM['gitlab']}\nDOCKERHUB_TOKEN={OPAQUE}\n")
    return command


def clone_with_secrets(path: Path) -> Clone:
    """Pull requests whose titles and bodies hold secrets."""
    clone = Clone(path)
    clone.merge(2, f"Speed up all with {BY_FORM['github oauth']}\n")
    clone.merge(3, "Fix typo")
    for number, text in enumerate(TEXTS, 4):
        clone.commit(
            f"Faster lookups {text.splitlines()[0]} (#{number})\n\nIt was slow: {text}\n\nsee {text}",
            {"calc.py": f"value = {number}  # a line that differs\n" * 3},
            f"2026-02-20T12:00:{number:02}+0000",
        )
    return clone


def test_no_artefact_of_a_run_holds_a_secret(fc: FcData, tmp_path: Path) -> None:
    """A run, its failures, all that it prints, its log and ledger; then statements, task folder and dataset."""
    clone = clone_with_secrets(tmp_path / "calc")
    window = (*WINDOW, "--repo", clone.path)
    stages = [word for stage in "123" for word in ("--stage", stage)]
    first = fc.run(*window, *stages)
    assert first.rc == 0, first.err
    (tmp_path / "elsewhere").mkdir()
    commands: list[Ended] = [
        first,
        fc.run(*window, "--stage", "4"),
        fc.run("funnel", *WINDOW, "--json"),
        fc.run("status", *WINDOW, "--json"),
        fc.run("status", *WINDOW),
        fc.run("preflight", "--stage", "1", "--stage", "2", "--stage", "3", "--stage", "6"),
        fc.run("preflight", "--stage", "1", "--stage", "3", "--stage", "6", "--json"),
        fc.run(*window, "--repo", BY_FORM["npm"]),
        fc.run(*WINDOW, f"--{BY_FORM['npm']}"),
        replace(fc, extra={**fc.extra, "DATABASE_URL": f"postgresql://fc:{URL_PASSWORD}@127.0.0.1:9/fc"}).run(*window),
        replace(fc, extra={**fc.extra, "DATABASE_URL": f"oracle://fc:{URL_PASSWORD}@127.0.0.1/x"}).run(
            "funnel", *WINDOW
        ),
        replace(fc, extra={**fc.extra, "FC_MEMORY_MB": BY_FORM["openai"]}).run(*window),
    ]
    assert [ended.rc for ended in commands[-4:]] == [2, 23, 2, 2] and commands[1].rc != 0
    leaks = [leak for n, ended in enumerate(commands) for leak in found_in(ended.out + ended.err, f"command {n}")]
    titles = _dataset(fc.data, tmp_path / "sources")
    assert any("***" in title for title in titles) and any(title.startswith("Faster lookups") for title in titles)
    (fc.home / "tokens.env").unlink()
    in_files, n_files = searched(fc.home)
    assert (fc.data / "logs/fc-data.log").is_file() and (fc.data / "dataset/tasks.parquet").is_file()
    kinds = len(SECRETS)
    print(f"secrets: {kinds} kinds, {len(commands)} commands, {n_files} files: {len(leaks + in_files)} leaks")
    assert kinds >= 12 and leaks + in_files == []


def _dataset(data: Path, sources: Path) -> list[str]:
    """Make statements, folders and the table of what the store holds, as stage 6 does; gives the titles."""
    sources.mkdir()
    tasks = []
    with SqlStore.at(data / "fc.sqlite") as store:
        names = [str(row["item"]) for row in store.select("stage_items", {"stage": 3, "state": "passed"})]
        for name in names:
            pr = load_pull_request(store, name)
            text = render_instruction(pr, repository=pr.repository, benchmark_dir="benchmarks", workloads=("b.time_a",))
            task = sample_task(task_id=f"acme_calc_{pr.issue_number}", pr_number=pr.issue_number, instruction=text)
            tasks.append(task.model_copy(update={"title": pr.title}))
    (data / "dataset").mkdir()
    write_parquet([record(task) for task in tasks], data / "dataset" / "tasks.parquet")
    source = source_tar(sources / "x.tar.gz")
    write_task(sample_task(instruction=tasks[0].instruction), data / "dataset" / "tasks", source=source, provenance={})
    return [task.title for task in tasks]


def test_a_build_log_holds_no_secret(tmp_path: Path) -> None:
    """However the program writes: in pieces, on both streams, without an end of line, over several lines."""
    script = tmp_path / "build.py"
    script.write_text(
        "import sys, time\n"
        f"for text in {TEXTS!r}:\n"
        "    for stream in (sys.stdout, sys.stderr):\n"
        "        half = len(text) // 2\n"
        "        stream.write('step ' + text[:half]); stream.flush(); time.sleep(0.01)\n"
        "        stream.write(text[half:] + '\\n'); stream.flush()\n"
        "sys.stdout.write('last ' + " + repr(TEXTS[0]) + ")\n"
    )
    log = tmp_path / "x.build.log"
    done = process.run([sys.executable, script], log=log, timeout=60)
    assert done.ok and TEXTS[0] in done.text
    written = log.read_text()
    assert found_in(written, "log") == [] and written.count("***") >= 2 * len(TEXTS) and "last github" in written


def test_a_log_that_is_no_text_keeps_every_byte(tmp_path: Path) -> None:
    """A tar that goes through the log is not changed, whatever its bytes look like."""
    log = tmp_path / "x.tar"
    process.run(["printf", "%s", TEXTS[0]], log=log, log_is_text=False)
    assert log.read_text() == TEXTS[0]


def test_tracebacks_and_reasons_in_the_ledger(tmp_path: Path) -> None:
    """What an item fails with is stored without the secrets that its message, its cause and its output hold."""
    texts = [*TEXTS, *(f"key is {secret}" for secret in BY_VALUE.values())]

    async def decide(number: int) -> Outcome[int]:
        text = texts[number // 2]
        if number % 2:
            raise BuildFailed("pkg", 1, "x" * 290 + text)
        try:
            raise ValueError(text)
        except ValueError as error:
            raise RuntimeError(f"again: {text}") from error

    options = replace(OPTIONS, redact=Redactor(secrets_of({**ENVIRONMENT, "OTHER_PASSWORD": ODD})))
    with SqlStore.at(tmp_path / "fc.sqlite") as store:
        store.migrate()
        runner = Numbers(entered(store, 2 * len(texts)), decide, options)
        assert anyio.run(runner.run_stage).failed == 2 * len(texts)
        assert len(store.select("runner_failures")) == 2 * len(texts)
    assert searched(tmp_path)[0] == []


def test_the_log_file_and_the_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Messages, arguments, added fields and tracebacks: lines of JSON in the file, lines for people on the console."""
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    log = tmp_path / "logs" / "fc.log"
    set_up_logging("DEBUG", log)
    logger = logging.getLogger("datasmith.test")
    for text in (*TEXTS, OPAQUE, f"the password is {ODD}"):
        logger.warning("said %s", text, extra={"about": {"deep": [text, (text,)]}, text[:80]: 1})
        try:
            raise ValueError(text)
        except ValueError:
            logger.exception("failed: %s", text)
    set_up_logging("INFO")
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(rows) == 2 * (len(TEXTS) + 2) and all(
        {"event", "level", "logger", "timestamp"} <= set(row) for row in rows
    )
    assert "Traceback" in rows[1]["exception"] and rows[0]["about"]["deep"][1] == rows[0]["about"]["deep"][:1]
    assert searched(tmp_path)[0] == [] and found_in(capfd.readouterr().err, "console") == []


def test_children_see_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that we start has the allow-listed part of our environment, and what it is given."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    seen = process.run(["env"]).text
    assert found_in(seen, "child") == []
    names = {line.partition("=")[0] for line in seen.splitlines()}
    assert names <= {*process.PASSED_VARIABLES, "PWD", "SHLVL", "_", "LC_CTYPE"} and "PATH" in names
    assert process.clean_environment({"A": "b"}).keys() - os.environ.keys() <= {"A"}
