"""task.txt of older folders: read as text, whatever it says."""

import gzip
import json
from pathlib import Path

import pytest

from datasmith.errors import InvalidTask
from datasmith.tasks.legacy import LegacyTask, parse_legacy, read_legacy
from tests.real_data import real_data

SHA = "d" * 40
PAYLOAD = json.dumps({"dependencies": ["numpy==1.26.0", "cython==3.0.0"]})
TEXT = f"""Task(
    owner='pandas-dev', repo="pandas", sha='{SHA}', commit_date=1700000000.25, env_payload='{PAYLOAD}',
    python_version='3.10', tag=None, benchmarks='', when=datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc),
    numbers=[1, -2, (3,)], more={{'a': True}},
)
"""


def test_a_constructor_expression_is_read() -> None:
    """Plain values are values, calls are text, pins come out of the payload."""
    task = parse_legacy(TEXT)
    assert (task.owner, task.repo, task.sha) == ("pandas-dev", "pandas", SHA)
    assert task.dependencies == ("numpy==1.26.0", "cython==3.0.0")
    assert task.values["numbers"] == [1, -2, [3]] and task.values["more"] == {"a": True}
    assert task.text("when") == "datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)"
    assert (task.text("tag"), task.text("commit_date"), task.text("no")) == (None, "1700000000.25", None)
    assert parse_legacy(f"tasks.Task('o', 'r', '{SHA}')") == LegacyTask(
        "o", "r", SHA, {"owner": "o", "repo": "r", "sha": SHA}
    )


def test_nothing_in_it_is_evaluated(tmp_path: Path) -> None:
    """An expression with an effect leaves none."""
    mark = tmp_path / "mark"
    task = parse_legacy(f"Task(owner='o', repo='r', sha='s', x=open({str(mark)!r}, 'w'), y=f'{{1/0}}', z=[exit()])")
    assert not mark.exists()
    assert task.text("x") == f"open({str(mark)!r}, 'w')" and task.values["z"] == ["exit()"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no Python expression"),
        ("import os", "no Python expression"),
        ("{'owner': 'o'}", "no constructor expression"),
        ("f()()", "no constructor expression"),
        ("Task(owner='o', repo='', sha=3)", "repo is missing"),
        ("Task('o', 'r', 's', 't')", "more than 3"),
        ("Task('o', 'r', 's', owner='p')", "owner is given twice"),
        ("Task(**{'owner': 'o'})", "no plain argument"),
        ("Task(owner='o', repo='r', sha='s', x=" + "[" * 60 + "]" * 60 + ")", "levels deep"),
        ("Task(x=" + "(" * 5000 + ")" * 5000 + ")", "no Python expression"),
        ("Task(owner='o', repo='r', sha='s', x=" + "-" * 3000 + "1)", "no Python expression|nested too deep"),
        ("Task(x='\0')", "no Python expression"),
    ],
)
def test_anything_else_is_named(text: str, problem: str) -> None:
    """What is no such expression is an error of one line, never a crash."""
    with pytest.raises(InvalidTask, match=problem):
        parse_legacy(text)


def test_a_folder_without_its_files_names_them_all(tmp_path: Path) -> None:
    """All missing files at once; the older spelling of run-tests.sh is as good; bytes that are no text are named."""
    with pytest.raises(InvalidTask) as error:
        read_legacy(tmp_path)
    assert {problem.split()[0] for problem in error.value.problems} == {
        "Dockerfile",
        "profile.sh",
        "task.txt",
        "run-tests.sh",
    }
    for name in ("Dockerfile", "profile.sh", "run_tests.sh"):
        (tmp_path / name).touch()
    (tmp_path / "task.txt").write_bytes(b"Task('\xff')")
    with pytest.raises(InvalidTask, match="not UTF-8"):
        read_legacy(tmp_path)
    (tmp_path / "task.txt").write_text(TEXT)
    assert read_legacy(tmp_path).sha == SHA


def test_published_environments_survive_the_form() -> None:
    """The pins of every published environment come back out of a task.txt that holds them."""
    data = real_data("published_environments.jsonl.gz")
    rows = [json.loads(line) for line in gzip.decompress(data.read_bytes()).splitlines()]
    pins = 0
    for row in rows:
        payload = json.dumps({"dependencies": row["pins"]})
        given = {"owner": row["owner"], "repo": row["repo"], "sha": row["base_sha"], "env_payload": payload}
        text = f"Task({', '.join(f'{name}={value!r}' for name, value in given.items())})"
        task = parse_legacy(text)
        assert (task.owner, task.repo, task.sha) == (row["owner"], row["repo"], row["base_sha"])
        assert task.dependencies == tuple(row["pins"])
        pins += len(task.dependencies)
    assert len(rows) == 782 and pins > 30_000
