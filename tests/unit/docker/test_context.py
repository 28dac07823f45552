"""Build contexts: what goes into a directory comes out of it."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.context import BOUND, DOCKERFILES, LOCK, SCRIPTS, DockerContext, has_sources
from datasmith.docker.recipes import recipe_of
from datasmith.errors import ConfigError


def test_a_context_survives_a_directory(tmp_path: Path) -> None:
    """What is written is read back equal, with line ends and non-ASCII text as they were."""
    context = DockerContext({"Dockerfile.base": "FROM x\r\n", "docker_build_pkg.sh": "écho\n", "task.txt": ""})
    assert DockerContext.from_directory(context.to_directory(tmp_path / "new" / "place")) == context


def test_scripts_of_a_directory_can_be_run(tmp_path: Path) -> None:
    """As those of the tar, also one that was there and could not."""
    (tmp_path / "b.sh").touch(0o600)
    place = DockerContext({"b.sh": "#!/bin/sh\necho run\n", "lock.txt": ""}).to_directory(tmp_path)
    assert process.run([str(place / "b.sh")]).text == "run\n"
    assert not os.access(place / "lock.txt", os.X_OK)


def test_what_a_context_was_made_of_may_change() -> None:
    """It is a value of its own."""
    texts = {"a.sh": "1"}
    context = DockerContext(texts)
    texts["a.sh"] = "2"
    assert context == DockerContext({"a.sh": "1"})


def test_the_default_context_holds_every_template() -> None:
    """A lock file and our own scripts and Dockerfiles make a whole context."""
    context = DockerContext.default(lock="numpy==2.0.0 --hash=sha256:00\n")
    assert set(context.texts) == {*DOCKERFILES, *SCRIPTS, "lock.txt"}
    assert context.texts["lock.txt"].startswith("numpy==2.0.0")


def test_older_names_are_read_as_todays(tmp_path: Path) -> None:
    """run_tests.sh is run-tests.sh; where both are there, today's wins."""
    (tmp_path / "run_tests.sh").write_text("old")
    assert DockerContext.from_directory(tmp_path).texts == {"run-tests.sh": "old"}
    (tmp_path / "run-tests.sh").write_text("new")
    assert DockerContext.from_directory(tmp_path).texts == {"run-tests.sh": "new"}


def test_archives_and_hidden_files_are_left_alone(tmp_path: Path) -> None:
    """Source archives are not part of a context."""
    (tmp_path / "repo.tar.gz").write_bytes(b"\xff\xfe")
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.sh").write_text("a")
    assert DockerContext.from_directory(tmp_path).texts == {"a.sh": "a"}


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_what_a_context_cannot_hold_is_refused(tmp_path: Path, kind: str) -> None:
    """A Dockerfile that copies it would fail far from here, or build something else."""
    if kind == "directory":
        (tmp_path / "extra").mkdir()
    else:
        (tmp_path / "extra").symlink_to("/etc/hostname")
    with pytest.raises(ConfigError, match=f"extra is a {kind}"):
        DockerContext.from_directory(tmp_path)


@pytest.mark.parametrize("name", ["absent", "loop", "zero\0byte", "file"])
def test_what_is_no_directory_is_an_error(tmp_path: Path, name: str) -> None:
    """It is missing, leads to itself, cannot be named, or is a file: one line that says so."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=f"{name} is not a directory"):
        DockerContext.from_directory(tmp_path / name)


@pytest.mark.parametrize("size", [0, 65_535, 65_536, 65_537, 5_000_000])
def test_a_file_is_read_to_its_end(tmp_path: Path, size: int) -> None:
    """Whatever number of calls that takes."""
    text = "".join(f"{number:07d}\n" for number in range(size // 8)).ljust(size, "x")
    (tmp_path / "long.txt").write_text(text)
    assert DockerContext.from_directory(tmp_path).texts["long.txt"] == text


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * 5_000_001])
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    """A binary or huge file is named, not read as something else."""
    (tmp_path / "odd.sh").write_bytes(content)
    with pytest.raises(ConfigError, match=r"odd\.sh"):
        DockerContext.from_directory(tmp_path)


@pytest.mark.parametrize("name", ["../x", "a/b", "/etc/passwd", "", ".", ".git", "-rf", "a\nb"])
def test_a_name_cannot_lead_out_of_a_directory(name: str) -> None:
    """A context from a record cannot write elsewhere: the name is refused before anything is written."""
    with pytest.raises(ConfigError, match="cannot be a file"):
        DockerContext({name: ""})


def test_the_same_context_is_the_same_bytes(tmp_path: Path) -> None:
    """Tar and digest depend on names and contents alone, not on order, times or owners."""
    one = DockerContext({"b.sh": "1", "a.sh": "2"})
    other = DockerContext.from_directory(DockerContext({"a.sh": "2", "b.sh": "1"}).to_directory(tmp_path))
    assert one.tar() == other.tar()
    assert one.digest == other.digest and len({one, other, DockerContext({"a.sh": "2"})}) == 2
    with tarfile.open(fileobj=io.BytesIO(one.tar())) as archive:
        assert [(member.name, member.mode, member.mtime) for member in archive] == [
            ("a.sh", 0o755, 0),
            ("b.sh", 0o755, 0),
        ]


def test_content_cannot_move_between_files() -> None:
    """Two contexts whose names and texts only concatenate to the same are different."""
    assert DockerContext({"a": "b", "c": ""}).digest != DockerContext({"a": "", "bc": ""}).digest


def test_what_builds_sources_is_there_where_the_lock_has_some() -> None:
    """Two files more; the digest of a context without sources does not change by them."""
    plain, built = DockerContext.default(lock="six==1\n"), DockerContext.default(lock="--no-binary six\n\nsix==1\n")
    assert built.texts.keys() - plain.texts.keys() == {"fetch_sources.py", "docker_build_sources.sh"}
    assert not has_sources("# --no-binary six\n--only-binary :all:\n")


def test_pins_make_an_environment_and_not_what_a_project_asks_of_them() -> None:
    """Two locks with the same pins share the env tier."""
    pins = "numpy==2.0.0 --hash=sha256:00\n"
    locks = (pins, f"{pins}{BOUND}numpy<3\n", f"{pins}{BOUND}numpy<2.1\n", pins.replace("2.0.0", "2.0.1"))
    recipes = [recipe_of(DockerContext.default(lock=lock), "env", LOCK) for lock in locks]
    assert recipes[0].digest == recipes[1].digest == recipes[2].digest != recipes[3].digest
    assert recipes[1].files[LOCK] == pins.encode()
