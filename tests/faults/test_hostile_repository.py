"""Repositories made to attack: nothing of theirs runs, nothing of the host is read or written."""

import asyncio
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.errors import ForgeError
from datasmith.github.base import Window
from datasmith.github.git import Git
from datasmith.github.git_forge import GitForge
from datasmith.github.models import PR
from datasmith.process import run
from tests.unit.github.scripted import ScriptedRepository

pytestmark = pytest.mark.figure("hostile repositories")

DATE = datetime(2026, 2, 1, tzinfo=UTC)
SECRET = "the host's own secret"

HOSTILE_NAMES = (
    *("--upload-pack=touch pwned", "--output=pwned", "-o pwned", "--exec=touch pwned", "-c core.pager=touch pwned"),
    *(
        "$(touch pwned)",
        "`touch pwned`",
        "; touch pwned",
        "| touch pwned",
        "&& touch pwned",
        "> pwned",
        "\n touch pwned",
    ),
    *("ext::sh -c touch% pwned", "file:etc/passwd", ":(glob)**", ":!x", ":", "HEAD", "@{-1}", "main..", "^main"),
    *(
        "a\nb",
        "a\tb",
        "a\rb",
        "a\\nb",
        'a"b',
        "a'b",
        "a b",
        " ",
        "\u202egnp.exe",
        "\u200b",
        "\u0130",
        "e\u0301",
        "\x7f",
    ),
    *("~", "~root", "*", "?", "[a-z]", "{a,b}", "%s", "%x00", "\\", "con", "aux.txt", "-", "--", "-rf", "=", "..."),
    *("x" * 250, "a/" * 40 + "deep", "\u2028", "tab\there", "\x01\x02", ".gitmodules", ".mailmap", ".lfsconfig"),
)


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedRepository:
    """A repository in a directory of its own; tests run in an empty one beside it."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    repository = ScriptedRepository(tmp_path / "clone.git")
    repository.commit("Start", {"src/a.py": b"0\n"})
    return repository


def use_everything(path: Path, target: Path) -> list[PR]:
    """Run every command that the pipeline runs on a clone."""
    git = Git(path)
    head = git.head()
    git.default_branch()
    git.origin()
    base = git.commit(head).parents[0] if git.commit(head).parents else head
    git.read_many(head, git.paths(head))
    git.objects_between(base, head)
    git.diff(base, head)
    git.sealed_source(head, target, commit_date=DATE)
    forge = GitForge(path, "o/r")

    async def collect() -> list[PR]:
        window = Window.parse("2000-01-01", "2100-01-01")
        return [pr async for pr in forge.merged_pull_requests(forge.repository, window)]

    return asyncio.run(collect())


def assert_untouched(tmp_path: Path) -> None:
    """No marker of an execution exists anywhere below the test's directory."""
    found = [path for path in tmp_path.rglob("*") if path.name.startswith("pwned")]
    assert found == []
    assert list((tmp_path / "cwd").iterdir()) == []


def test_hostile_file_names(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """More than fifty file names are files like others: read back, listed in patches, kept in the tar."""
    names = [name for name in HOSTILE_NAMES if name.strip("/")]
    assert len(names) >= 50
    scripted.commit("Names (#1)", {name: f"content of {number}".encode() for number, name in enumerate(names)})
    (pr,) = use_everything(scripted.path, tmp_path / "repo.tar")
    git = Git(scripted.path)
    assert git.read_many(scripted.tip, names) == {
        name: f"content of {number}".encode() for number, name in enumerate(names)
    }
    assert {file.path for file in pr.files} == set(names)
    with tarfile.open(tmp_path / "repo.tar") as archive:
        files = {member.name for member in archive if member.isfile() and not member.name.startswith(".git/")}
    assert files == {*names, "src/a.py"}
    assert_untouched(tmp_path)


def test_hostile_refs_and_messages(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """Branch names and messages with shell, options and control characters change nothing."""
    words = ["$(touch${IFS}pwned)", "`touch-pwned`", "--upload-pack=touch", ";touch-pwned", "\u202eevil", "a|b", "'\"&"]
    for word in words:
        (scripted.path / "refs/heads" / word).write_text(f"{scripted.tip}\n")
    message = "\x1b[31m$(touch pwned) \u202e `touch pwned` (#5)\n\n--trailer: x\n\udcff\n"
    scripted.commit(message, {"src/a.py": b"1\n"})
    (scripted.path / "HEAD").write_text(f"ref: refs/heads/{words[0]}\n")
    assert Git(scripted.path).default_branch() == words[0]
    (scripted.path / "HEAD").write_text("ref: refs/heads/main\n")
    (pr,) = use_everything(scripted.path, tmp_path / "repo.tar")
    assert pr.issue_number == 5
    assert_untouched(tmp_path)


def test_a_clone_whose_configuration_runs_things(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """Every setting that can name a program, every hook and every attribute: none is used."""
    pwn = tmp_path / "pwn.sh"
    pwn.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned-$$\ncat\n")
    pwn.chmod(0o755)
    attributes = b"* filter=evil diff=evil merge=evil text eol=crlf ident export-subst working-tree-encoding=UTF-16\n"
    scripted.commit("Attributes (#1)", {".gitattributes": attributes, "src/a.py": b"$Id$ $Format:%H$\n"})
    (scripted.path / "info").mkdir(exist_ok=True)
    (scripted.path / "info/attributes").write_bytes(attributes)
    (scripted.path / "hooks").mkdir(exist_ok=True)
    for hook in ("post-checkout", "pre-commit", "reference-transaction", "post-index-change", "fsmonitor-watchman"):
        (scripted.path / "hooks" / hook).write_bytes(pwn.read_bytes())
        (scripted.path / "hooks" / hook).chmod(0o755)
    programs = """
        core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy core.alternateRefsCommand
        diff.external diff.evil.command diff.evil.textconv filter.evil.clean filter.evil.smudge filter.evil.process
        gpg.program credential.helper pager.log pager.diff uploadpack.packObjectsHook interactive.diffFilter
        alias.log alias.diff-tree alias.cat-file log.showSignature merge.evil.driver gpg.ssh.defaultKeyCommand
    """
    for name in programs.split():
        assert run(["git", "config", "--file", scripted.path / "config", name, pwn]).ok
    for name, value in (
        ("core.hooksPath", str(scripted.path / "hooks")),
        ("log.showSignature", "true"),
        ("filter.evil.required", "true"),
    ):
        assert run(["git", "config", "--file", scripted.path / "config", name, value]).ok
    (pr,) = use_everything(scripted.path, tmp_path / "repo.tar")
    assert pr.patch is not None
    assert "+$Id$ $Format:%H$" in pr.patch
    with tarfile.open(tmp_path / "repo.tar") as archive:
        content = archive.extractfile("src/a.py")
        assert content is not None
        assert content.read() == b"$Id$ $Format:%H$\n"
    assert_untouched(tmp_path)
    # The traps are armed: git as everybody calls it runs them.
    run(["git", f"--git-dir={scripted.path}", "diff", f"{scripted.tip}~1", scripted.tip])
    assert list(tmp_path.glob("pwned*"))


def test_export_ignore_hides_nothing(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """A file marked export-ignore is part of the tree like any other."""
    scripted.commit("x", {".gitattributes": b"src/** export-ignore\n* -diff\n"})
    Git(scripted.path).sealed_source(scripted.tip, tmp_path / "repo.tar", commit_date=DATE)
    with tarfile.open(tmp_path / "repo.tar") as archive:
        assert "src/a.py" in archive.getnames()


def test_links_are_kept_and_never_followed(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """Links out of the tree stay links in the tar; what they point to is neither read nor written."""
    (tmp_path / "secret").write_text(SECRET)
    targets: dict[str | bytes, bytes | None] = {
        "passwd": b"/etc/passwd",
        "up": b"../../../../../secret",
        "abs": str(tmp_path / "secret").encode(),
    }
    scripted.commit("links (#1)", targets, mode="120000")
    (pr,) = use_everything(scripted.path, tmp_path / "repo.tar")
    assert Git(scripted.path).read(scripted.tip, "abs") is None
    with tarfile.open(tmp_path / "repo.tar") as archive:
        links = {member.name: member.linkname.encode() for member in archive if member.issym()}
    assert links == targets
    assert SECRET.encode() not in (tmp_path / "repo.tar").read_bytes()
    assert SECRET not in (pr.patch or "")


def test_submodules_are_not_followed(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """A submodule from file:// or ext:: is an empty directory; nothing is cloned."""
    host = ScriptedRepository(tmp_path / "host.git")
    host.commit("secret", {"secret.txt": SECRET.encode()})
    modules = (
        f'[submodule "a"]\n\tpath = a\n\turl = file://{host.path}\n\tupdate = !touch {tmp_path}/pwned\n'
        f'[submodule "../../b"]\n\tpath = b\n\turl = ext::sh -c touch% {tmp_path}/pwned\n'
    )
    scripted.commit("modules", {".gitmodules": modules.encode()})
    scripted.commit("links (#1)", {"a": host.tip.encode(), "b": b"1" * 40}, mode="160000")
    (pr,) = use_everything(scripted.path, tmp_path / "repo.tar")
    assert "Subproject commit" in (pr.patch or "")
    with tarfile.open(tmp_path / "repo.tar") as archive:
        assert archive.getmember("a").isdir()
        assert not [name for name in archive.getnames() if name.startswith(("a/", "b/"))]
    assert SECRET.encode() not in (tmp_path / "repo.tar").read_bytes()
    assert_untouched(tmp_path)


@pytest.mark.parametrize("name", [b"..", b".", b".git", b".GIT", b""])
def test_trees_that_no_checkout_may_write_are_refused(
    scripted: ScriptedRepository, tmp_path: Path, name: bytes
) -> None:
    """Entries named .., . or .git, at the top or below, make no tar."""
    blob = scripted.blob(b"#!/bin/sh\ntouch pwned\n")
    inner = scripted.tree([("100755", blob, name)])
    for tree in (inner, scripted.tree([("40000", inner, b"dir")])):
        sha = scripted.commit_tree("evil (#1)", tree, [scripted.tip])
        with pytest.raises(ForgeError):
            Git(scripted.path).sealed_source(sha, tmp_path / "repo.tar", commit_date=DATE)
    assert [path.name for path in tmp_path.iterdir() if "repo.tar" in path.name] == []


def test_writing_through_a_link_of_the_tree_is_refused(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """A tree that holds a link and a directory of the same name cannot send files elsewhere."""
    link = scripted.blob(str(tmp_path).encode())
    inner = scripted.tree([("100644", scripted.blob(b"x"), b"pwned")])
    tree = scripted.tree([("120000", link, b"out"), ("40000", inner, b"out")])
    sha = scripted.commit_tree("evil", tree, [scripted.tip])
    with pytest.raises(ForgeError):
        Git(scripted.path).sealed_source(sha, tmp_path / "repo.tar", commit_date=DATE)
    assert_untouched(tmp_path)


def test_replacements_and_grafts_do_not_exist(scripted: ScriptedRepository) -> None:
    """A clone that replaces objects or rewrites parents still shows the commits that the ids name."""
    base = scripted.tip
    tip = scripted.commit("real (#1)", {"src/a.py": b"1\n"})
    fake = scripted.commit_tree("fake (#2)", scripted.tree([]), [])
    scripted.git("update-ref", "refs/heads/main", tip)
    scripted.git("update-ref", f"refs/replace/{tip}", fake)
    (scripted.path / "info").mkdir(exist_ok=True)
    (scripted.path / "info/grafts").write_text(f"{tip}\n")
    commit = Git(scripted.path).commit(tip)
    assert commit.subject == "real (#1)"
    assert commit.parents == (base,)


def test_foreign_alternates_open_no_path(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """Alternates that point to ordinary files and to another repository give nothing but objects asked for by id."""
    host = ScriptedRepository(tmp_path / "host.git")
    host.commit("secret", {"secret.txt": SECRET.encode()})
    scripted.commit("one (#1)", {"src/a.py": b"1\n"})
    alternates = f"/etc\n/proc/self/root\n{host.path}/objects\n"
    (scripted.path / "objects/info").mkdir(exist_ok=True)
    (scripted.path / "objects/info/alternates").write_text(alternates)
    use_everything(scripted.path, tmp_path / "repo.tar")
    assert SECRET.encode() not in (tmp_path / "repo.tar").read_bytes()
    assert_untouched(tmp_path)


def test_secrets_of_our_environment_do_not_reach_git(
    scripted: ScriptedRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIT_ variables and tokens of the caller are not passed on: they change no result."""
    for name, value in {
        "GIT_DIR": "/nonexistent",
        "GIT_EXTERNAL_DIFF": f"touch {tmp_path}/pwned",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "diff.external",
        "GIT_CONFIG_VALUE_0": f"touch {tmp_path}/pwned",
        "GIT_OBJECT_DIRECTORY": "/nonexistent",
        "GIT_TRACE": str(tmp_path / "cwd" / "trace"),
    }.items():
        monkeypatch.setenv(name, value)
    scripted.commit("one (#1)", {"src/a.py": b"1\n"})
    assert len(use_everything(scripted.path, tmp_path / "repo.tar")) == 1
    assert_untouched(tmp_path)


def test_a_hundred_thousand_files(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """A tree of 100,000 files is listed and compared within seconds."""
    blob = scripted.blob(b"x\n")
    inner = scripted.tree([("100644", blob, f"{number:04}".encode()) for number in range(1000)])
    tree = scripted.tree([("40000", inner, f"{number:03}".encode()) for number in range(100)])
    sha = scripted.commit_tree("many (#1)", tree, [scripted.tip])
    git = Git(scripted.path)
    assert len(git.paths(sha)) == 100_000
    assert len(git.objects_between(git.commit(sha).parents[0], sha)) == 4
