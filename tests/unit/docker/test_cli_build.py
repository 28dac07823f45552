"""Dockerfiles from tiers: what is run as whom, and what a failing build says."""

import tarfile
from pathlib import Path

import pytest

from datasmith.docker.cli_build import build_failure, dockerfile, failed_script, write_context
from datasmith.docker.engine import Tier
from datasmith.errors import ConfigError

PR = Tier("pr", "n/n:1", ("one.sh", "two.sh"), {"one.sh": b"1", "two.sh": b"2"}, {"SAID": "it's $HOME"})


def text_of(tier: Tier) -> str:
    """The Dockerfile of a tier on some parent."""
    return dockerfile(tier, "parent", "key", index_url="https://index.example/simple", ca_bundle=True)


def test_scripts_of_the_repository_run_as_the_sandboxes_user() -> None:
    """In a pr tier the user changes before the scripts; in an env tier it does not."""
    text = text_of(PR)
    assert text.index("USER 1000:") < text.index("bash /build/one.sh") < text.index("bash /build/two.sh")
    env = text_of(Tier("env", "n/n:1", ("one.sh",), {"one.sh": b"1"}))
    assert env.index("bash /build/one.sh") < env.index("USER 1000:")


def test_all_scripts_are_one_step() -> None:
    """What a later script deletes must be in no layer: there is one RUN for them."""
    steps = [step for step in text_of(PR).split("\nRUN ") if "bash /build/" in step]
    assert len(steps) == 1 and "one.sh" in steps[0] and "two.sh" in steps[0]


def test_only_tiers_with_network_are_told_of_the_index() -> None:
    """Without network, package tools are told not to try."""
    assert "UV_OFFLINE=1" in text_of(PR) and "index.example" not in text_of(PR)
    online = text_of(Tier("env", "n/n:1", ("one.sh",), {"one.sh": b"1"}, network="build"))
    assert "UV_DEFAULT_INDEX=https://index.example/simple" in online and "UV_OFFLINE" not in online


def test_arguments_are_quoted() -> None:
    """A value is one word for the shell, whatever is in it."""
    assert """export SAID='it'"'"'s $HOME'""" in text_of(PR)


def test_the_same_tier_is_the_same_context(tmp_path: Path) -> None:
    """Contents, modes and times of the files do not depend on when they were written."""
    (tmp_path / "uv").write_bytes(b"uv")
    seen = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        base = Tier("base", "n/n:1", ("one.sh",), {"one.sh": b"1"})
        write_context(base, tmp_path / name, uv=tmp_path / "uv", ca_bundle=None)
        files = sorted((tmp_path / name).iterdir())
        seen.add(tuple((file.name, file.read_bytes(), file.stat().st_mode, file.stat().st_mtime) for file in files))
    assert len(seen) == 1
    assert [entry[0] for entry in seen.pop()] == ["ca.pem", "one.sh", "uv"]


def test_the_tree_belongs_to_the_sandboxes_user(tmp_path: Path) -> None:
    """repo.tar is written anew: owners, modes and odd members of the given one do not survive."""
    with tarfile.open(tmp_path / "given.tar.gz", "w:gz") as archive:
        for name, kind in (("file", tarfile.REGTYPE), ("disk", tarfile.BLKTYPE), ("link", tarfile.SYMTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.mode, member.uid, member.linkname = kind, 0o4777, 0, "file"
            archive.addfile(member)
    (tmp_path / "context").mkdir()
    tier = Tier("pr", "n/n:1", (), {"repo.tar": tmp_path / "given.tar.gz"})
    write_context(tier, tmp_path / "context", uv=tmp_path, ca_bundle=None)
    with tarfile.open(tmp_path / "context/repo.tar") as archive:
        members = {member.name: member for member in archive}
    assert set(members) == {".", "file", "link"}
    assert {(member.uid, member.gid) for member in members.values()} == {(1000, 1000)}
    assert members["file"].mode == 0o755


def test_a_file_name_cannot_be_an_instruction(tmp_path: Path) -> None:
    """A name that a Dockerfile would read as something else is refused."""
    with pytest.raises(ConfigError, match="example"):
        write_context(Tier("pr", "n/n:1", (), {"a /x\nRUN y": b""}), tmp_path, uv=tmp_path, ca_bundle=None)


@pytest.mark.parametrize(
    ("output", "script"),
    [
        ("Step 3/4 : RUN printf 'fc-script=%s\\n' one.sh\n ---> Running in 1\nfc-script=one.sh\nboom\n", "one.sh"),
        ("#7 0.311 fc-script=one.sh\n#7 0.4 fine\n#7 0.500 fc-script=two.sh\n#7 ERROR: 1", "two.sh"),
        ("Step 1/4 : FROM parent\npull access denied", None),
        ("Step 3/4 : RUN printf 'fc-script=%s\\n' one.sh && bash /build/one.sh", None),
    ],
)
def test_the_script_that_failed_is_read_from_the_output(output: str, script: str | None) -> None:
    """Both builders' output names the script that ran last; what is only quoted does not count."""
    assert failed_script(output) == script
    failure = build_failure(PR, output, 1, timed_out=False)
    assert (failure.stage if failure else None) == script
