"""fc-data images from the outside, with a registry that wants a login."""

import json
import os
import shutil
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.data import app
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import Tier
from datasmith.errors import ConfigError, InvalidTask, PublishError, TaskError
from datasmith.misfits import LONGEST
from datasmith.printable import cut
from datasmith.settings import known_variables
from tests.loopback.registry import PASSWORD, USER, free_port, registry
from tests.sandboxes import embedded_engine
from tests.unit.publish.test_images import task_folder

pytestmark = pytest.mark.engine


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BubblewrapEngine:
    """The engine that the command will open, and nothing of this machine's settings."""
    for name in known_variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FC_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("FC_ENGINE", "bubblewrap")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return embedded_engine(tmp_path / "cache")


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A registry with a login that Docker's file holds, and the settings that name it."""
    with registry(tmp_path / "registry", login=True) as found:
        auth = {"auth": b64encode(f"{USER}:{PASSWORD}".encode()).decode()}
        (tmp_path / "config.json").write_text(json.dumps({"auths": {f"127.0.0.1:{found}": auth}}))
        monkeypatch.setenv("FC_REGISTRIES", f"127.0.0.1:{found}/formulacode")
        yield found


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = run_app(app, ["images", *map(str, words)])
    return (code, *capsys.readouterr())


def test_an_image_is_pushed_and_then_there(
    capsys: pytest.CaptureFixture[str], engine: BubblewrapEngine, port: int, tmp_path: Path
) -> None:
    """Unpublished before, available after, one line each; no password in any output or file."""
    folder = task_folder(engine, tmp_path)
    assert asked(capsys, "check", folder)[:2] == (1, f"unpublished {folder}\n")
    code, out, err = asked(capsys, "push", tmp_path / "tasks", "--skip-existing")
    assert code == 0 and out.startswith(f"pushed     {folder}: 127.0.0.1:{port}/formulacode/all:acme-fast-"), err
    code, out, err = asked(capsys, "check", tmp_path / "tasks", "--json")
    assert (code, [row["state"] for row in json.loads(out)["images"]]) == (0, ["available"])
    assert "1 of 1 available" in err
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    (folder / "task.toml").unlink()
    assert [row["state"] for row in json.loads(asked(capsys, "check", folder.parent, "--json")[1])["images"]] == [
        "available"
    ]
    assert not any(PASSWORD.encode() in text for text in [out.encode(), err.encode(), *texts])


def test_what_does_not_arrive_or_cannot_be_asked_for_has_its_code(
    capsys: pytest.CaptureFixture[str],
    engine: BubblewrapEngine,
    port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A refused login fails the push; an image whose registry is gone is unknown, not missing."""
    folder = task_folder(engine, tmp_path)
    (tmp_path / "config.json").write_text("{}")
    code, out, err = asked(capsys, "push", folder)
    assert code == PublishError.exit_code and "failed" in out and "HTTP 401" in out
    assert err == "error: 1 of 1 images did not arrive\n" and not (folder / "published.json").exists()
    monkeypatch.setattr("datasmith.publish.registry.ATTEMPTS", 1)
    reference = {"host": f"127.0.0.1:{free_port()}", "repository": "a/all", "tag": "t"}
    digest = "sha256:" + "1" * 64
    document = {"manifest_digest": digest, "config_digest": digest, "engine_digest": digest, "references": [reference]}
    (folder / "published.json").write_text(json.dumps(document))
    code, out, err = asked(capsys, "check", folder)
    assert code == PublishError.exit_code and out.startswith("unknown")


def test_an_archive_needs_no_registry(
    capsys: pytest.CaptureFixture[str], engine: BubblewrapEngine, tmp_path: Path
) -> None:
    """`save` writes one file and names the digest; `push` without a registry says which setting is missing."""
    folder = task_folder(engine, tmp_path)
    code, out, _ = asked(capsys, "save", folder, "--out", tmp_path / "one.oci.tar", "--json")
    assert code == 0 and json.loads(out)["manifest_digest"].startswith("sha256:")
    assert (tmp_path / "one.oci.tar").stat().st_size > 0
    code, _, err = asked(capsys, "push", folder)
    assert code == 2 and "FC_REGISTRIES is not set (example: FC_REGISTRIES=docker.io/formulacode)" in err
    assert asked(capsys, "check", tmp_path / "nothing")[0] == 2


def test_an_archive_is_of_one_task_in_a_place_that_can_be(
    capsys: pytest.CaptureFixture[str], engine: BubblewrapEngine, tmp_path: Path
) -> None:
    """Two tasks, and a place that a file bars, are each refused in one line; a directory that is missing is made.

    An archive is written again, and no other file is replaced.
    """
    folder = task_folder(engine, tmp_path)
    assert asked(capsys, "save", folder, "--out", tmp_path / "new/one.tar")[0] == 0
    code, _, err = asked(capsys, "save", folder, "--out", tmp_path / "new/one.tar/two.tar")
    assert code == 2 and err.endswith("(example: --out image.tar)\n") and "a defect" not in err
    assert asked(capsys, "save", folder, "--out", tmp_path / "new/one.tar")[0] == 0
    (tmp_path / "run.json").write_text("mine")
    code, _, err = asked(capsys, "save", folder, "--out", tmp_path / "run.json")
    assert code == 2 and "run.json: is there already, and is no archive" in err
    assert (tmp_path / "run.json").read_text() == "mine"
    shutil.copytree(folder, folder.with_name("another"))
    code, _, err = asked(capsys, "save", folder.parent, "--out", tmp_path / "two.tar")
    assert code == 2 and f"TASK {folder.parent}: holds 2 tasks" in err
    code, _, err = asked(capsys, "save", tmp_path / "new", "--out", tmp_path / "two.tar")
    assert code == 2 and f"TASK {tmp_path / 'new'}: no task folder is there" in err


def test_the_cache_is_tidied_up(capsys: pytest.CaptureFixture[str], engine: BubblewrapEngine, tmp_path: Path) -> None:
    """Nothing that was used just now goes; a dry run says so; a time that is none is one line."""
    engine.build(None, Tier("base", "base:1", (), {}), log=tmp_path / "log")
    code, out, err = asked(capsys, "prune", "--dry-run", "--json")
    assert (code, json.loads(out)) == (0, {"dry_run": True, "pruned": []})
    assert err == f"0 would go, 0 MB or more, of {tmp_path / 'cache'}\n"
    (record,) = (tmp_path / "cache/layers").glob("*/used")
    os.utime(record, (0, 0))
    code, out, err = asked(capsys, "prune", "--older-than", "24h")
    assert (code, out) == (0, "deleted  layer base:1, last used 1970-01-01T00:00:00+00:00\n")
    assert engine.inspect("base:1") is None
    assert asked(capsys, "prune", "--older-than", "1d")[:2] == (0, "")
    assert "1d at least" in " ".join(asked(capsys, "prune", "--help")[1].split())
    assert asked(capsys, "prune", "--older-than", "99999d")[:2] == (0, "")
    for wrong in ("0d", "23h", "soon", "30", "99999999d", "٣d", "9" * 5000 + "d"):
        code, out, err = asked(capsys, "prune", "--older-than", wrong)
        why = "must be days or hours, 1d at least and 99999d or 99999h at most (example: --older-than 30d)"
        assert (code, out, err) == (2, "", f"error: --older-than {cut(wrong, LONGEST)!r}: {why}\n")


def test_a_cache_that_is_not_there_is_not_tidied_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt setting is named, and nothing is said to be deleted."""
    monkeypatch.setenv("FC_CACHE_DIR", str(tmp_path / "misspelt"))
    code, out, err = asked(capsys, "prune")
    assert (code, out) == (ConfigError.exit_code, "")
    assert err.startswith(f"error: FC_CACHE_DIR {tmp_path / 'misspelt'}: no such directory") and "example" in err


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"manifest_digest": "m", "config_digest": "c", "engine_digest": "e", "references": '
        '[{"host": "%", "repository": "r", "tag": "t"}]}',
    ],
)
def test_a_damaged_record_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    """It is told with its path, the others are looked at, and the code is its own."""
    monkeypatch.setenv("FC_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.toml").write_text("")
    (tmp_path / "a" / "published.json").write_text(text)
    code, out, err = asked(capsys, "check", tmp_path)
    assert code == InvalidTask.exit_code and "published.json" in err
    assert f"{tmp_path}/a/published.json" in out and f"unpublished {tmp_path}/b" in out


def test_a_folder_that_may_not_be_read_is_not_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever reads that all are there would take it for one of them."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.toml").touch()
    closed, access = str(tmp_path / "a"), os.access
    monkeypatch.setattr(os, "access", lambda path, *rest, **more: str(path) != closed and access(path, *rest, **more))
    for command in ("check", "push"):
        monkeypatch.setenv("FC_REGISTRIES", "127.0.0.1:1/formulacode")
        code, _, err = asked(capsys, command, tmp_path)
        assert code == TaskError.exit_code and f"{closed} may not be read (example: chmod" in err
