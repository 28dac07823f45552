"""fc-data seal-check from the outside."""

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.data import app
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ImageRef, Tier
from datasmith.errors import ContainerError
from datasmith.settings import known_variables
from datasmith.tasks.folder import write_task
from tests.sandboxes import committed, embedded_engine, tree_image, tree_task
from tests.unit.tasks.samples import source_tar

pytestmark = pytest.mark.engine

NEW = "x = the_only_way_to_do_this_in_less_than_a_second()"
PATCH = f"""diff --git a/a.py b/a.py
index 7d4290a..2a2f1f0 100644
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-x = 1
+{NEW}
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BubblewrapEngine:
    """The engine that the command will open, and nothing of this machine's settings."""
    for name in known_variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FC_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("FC_ENGINE", "bubblewrap")
    return embedded_engine(tmp_path / "cache")


def image_of(engine: BubblewrapEngine, place: Path, notes: str) -> ImageRef:
    """A tree whose build left notes behind, sealed but for git's own sample hooks and log."""
    place.mkdir()
    return tree_image(engine, place, {"a.py": b"x = 1\n", ".gitignore": b"notes\n"}, {"notes": notes.encode()})


def task_folder(image: ImageRef, place: Path) -> Path:
    """A task around the image, which is found by its digest."""
    build = {"python_version": "3.11", "files": DockerContext.default(lock="").texts}
    task = tree_task(image, expert_patch=PATCH, build=build)
    return write_task(task, place / "tasks", source=source_tar(place / "repo.tar.gz"), provenance={})


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = run_app(app, ["seal-check", *map(str, words)])
    return (code, *capsys.readouterr())


def test_a_task_is_searched_for_its_own_fix(
    capsys: pytest.CaptureFixture[str], engine: BubblewrapEngine, tmp_path: Path
) -> None:
    """A line of the expert's patch in the image is a leak, named with its file; without it that problem is gone."""
    leaking = task_folder(image_of(engine, tmp_path / "one", f"to do:\n{NEW}\n"), tmp_path / "one")
    code, out, err = asked(capsys, leaking, "--json")
    assert not err
    found = json.loads(out)
    assert (code, found["sealed"], found["solution"]) == (1, False, "known")
    leak = "/workspace/repo/notes holds 1 of 1 lines that the fix adds to a.py"
    assert leak in found["problems"]
    assert json.loads(asked(capsys, leaking.parent, "--json")[1]) == found
    shutil.copytree(leaking, leaking.with_name("another"))
    code, _, err = asked(capsys, leaking.parent)
    assert code == 2 and f"IMAGE|TASK {leaking.parent}: holds 2 tasks, and one is needed" in err
    assert "1 lines that the fix adds and base does not have" in found["looked_at"]
    clean = task_folder(image_of(engine, tmp_path / "two", "nothing\n"), tmp_path / "two")
    others = json.loads(asked(capsys, clean, "--json")[1])["problems"]
    assert [problem for problem in found["problems"] if problem not in others] == [leak]


def test_an_image_is_searched_without_a_fix(
    capsys: pytest.CaptureFixture[str], engine: BubblewrapEngine, tmp_path: Path
) -> None:
    """An image by name: what was looked at, what was found, and exit code 1; an unknown one is one line."""
    image = image_of(engine, tmp_path / "one", "")
    code, out, _ = asked(capsys, image.name)
    assert code == 1
    assert "  looked at commits and their trees\n" in out
    assert "  LEAK .git/logs/HEAD is there\n" in out
    assert out.endswith("not sealed\n")
    assert "  not looked for: lines and names of the fix" in out and "of the fix are" not in out
    code, out, err = asked(capsys, "no/such:image")
    assert (code, out) == (2, "")
    assert "IMAGE|TASK no/such:image: is no task folder, and bubblewrap holds no such image (example: " in err


def test_an_image_without_a_tree_is_told(capsys: pytest.CaptureFixture[str], engine: BubblewrapEngine) -> None:
    """It says that there is nothing to check, and no words of a shell or of git."""
    engine.build(None, Tier("base", "test-base", (), {}), log=Path("/dev/null"))
    code, out, err = asked(capsys, "test-base")
    said = "error: cannot check the seal: /workspace/repo holds no repository, or the image has no shell\n"
    assert (code, out, err) == (ContainerError.exit_code, "", said)


def test_without_the_fix_nothing_is_said_about_the_solution(
    capsys: pytest.CaptureFixture[str], engine: BubblewrapEngine, tmp_path: Path
) -> None:
    """An image in which nothing was found is not called sealed: its fix, which lies open in it, was not looked for."""
    tree = committed(tmp_path / "tree", {"a.py": b"x = 1\n", ".gitignore": b"notes\n"}, {"notes": NEW.encode()})
    with tarfile.open(tmp_path / "repo.tar", "w") as archive:
        archive.add(tree, arcname=".")
    final = "docker_build_final.sh"
    files: dict[str, bytes | Path] = {final: DockerContext.default(lock="").texts[final].encode()}
    base = engine.build(None, Tier("base", "test-base", (), {}), log=tmp_path / "log")
    tier = Tier("pr", "test-sealed", (final,), {**files, "repo.tar": tmp_path / "repo.tar"})
    image = engine.build(base, tier, log=tmp_path / "log")
    code, out, _ = asked(capsys, image.name)
    assert code == 0 and "this does not say that the solution is absent" in out.splitlines()[-1]
    assert "sealed: nothing found" not in out
    found = json.loads(asked(capsys, image.name, "--json")[1])
    assert (found["sealed"], found["solution"], found["problems"]) == (None, "not known", [])
    assert len(found["not_looked_for"]) == 2
