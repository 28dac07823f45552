"""Reading a clone."""

import gzip
import subprocess
import tarfile
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from datasmith.errors import ConfigError, ForgeError, NotFound
from datasmith.github import git as git_module
from datasmith.github import git_diffs
from datasmith.github.git import Git
from datasmith.github.git_source import split_batch
from tests.unit.github.scripted import ScriptedRepository

DATE = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture
def scripted(tmp_path: Path) -> ScriptedRepository:
    return ScriptedRepository(tmp_path / "clone.git")


def test_a_directory_that_is_no_clone_is_refused(tmp_path: Path) -> None:
    """The message names the flag, the path and an example; a repository further up is not taken for it."""
    ScriptedRepository(tmp_path / "outer" / ".git")
    (tmp_path / "outer" / "inner").mkdir()
    for path in (tmp_path / "missing", tmp_path / "outer" / "inner", tmp_path):
        with pytest.raises(ConfigError, match=r"--repo .* is not a git clone \(example: --repo \./packaging\)"):
            Git(path)


@pytest.mark.parametrize("address", ["https://github.com/pypa/packaging", "git@github.com:pypa/packaging.git"])
def test_an_address_is_told_to_be_cloned_first(address: str) -> None:
    """As it was given: a path keeps one slash of two."""
    with pytest.raises(ConfigError) as caught:
        Git(Path(address))
    assert f"--repo {address} is an address" in str(caught.value)
    assert f"git clone --mirror {address} " in str(caught.value)


def test_a_machine_without_git_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked of a clone first."""
    ScriptedRepository(tmp_path / "clone.git")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"git is not installed.* \(example: apt-get install git\)"):
        Git(tmp_path / "clone.git")


def test_a_clone_without_commits_is_refused_when_it_is_read(scripted: ScriptedRepository) -> None:
    """An empty clone opens, and has no head."""
    with pytest.raises(ConfigError, match="has no commits"):
        Git(scripted.path).head()


def test_bare_and_ordinary_clones_read_alike(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """A clone with a working tree gives the same head, branch and files, and its origin."""
    scripted.commit("one", {"a.py": b"1\n"})
    scripted.git("clone", "-q", str(scripted.path), str(tmp_path / "work"))
    bare, work = Git(scripted.path), Git(tmp_path / "work")
    assert bare.head() == work.head() == scripted.tip
    assert bare.default_branch() == work.default_branch() == "main"
    assert bare.origin() is None
    assert work.origin() == str(scripted.path)
    assert work.read(scripted.tip, "a.py") == b"1\n"


def test_commits_and_history(scripted: ScriptedRepository) -> None:
    """A commit has its dates in UTC, author, parents and whole message; history follows first parents."""
    first = scripted.commit("one", {"a.py": b"1\n"})
    merge = scripted.merge("Merge pull request #4 from ann/x\n\nT\u00fctle\n\nBody\n", {"a.py": b"2\n"})
    git = Git(scripted.path)
    commit = git.commit(merge)
    assert (commit.subject, commit.author, len(commit.parents)) == ("Merge pull request #4 from ann/x", "Mira Toll", 2)
    assert commit.message.splitlines()[2] == "T\u00fctle"
    assert commit.committed_at == datetime(2026, 1, 1, 3, tzinfo=UTC)
    assert [commit.sha for commit in git.log(merge)] == [merge, first]


def test_a_commit_that_claims_an_impossible_date_is_read(scripted: ScriptedRepository) -> None:
    """A date beyond what can be represented becomes the last one that can."""
    tree = scripted.git("write-tree", env={"GIT_INDEX_FILE": str(scripted.path / "none")})
    raw = f"tree {tree}\nauthor A <a@b> 999999999999 +0000\ncommitter A <a@b> 999999999999 +0000\n\nx\n"
    sha = scripted.git("hash-object", "-w", "-t", "commit", "--literally", "--stdin", stdin=raw.encode())
    assert Git(scripted.path).commit(sha).committed_at.year in {1970, 9999}


@pytest.mark.parametrize("sha", ["HEAD", "--all", "", "abc", "0" * 39, "0" * 40 + "\n", "A" * 40, "refs/heads/main"])
def test_only_full_commit_ids_are_taken(scripted: ScriptedRepository, sha: str) -> None:
    """Anything that git could take for an option, a name or a range is refused before git sees it."""
    scripted.commit("one", {"a.py": b"1\n"})
    git = Git(scripted.path)
    for ask in (
        git.commit,
        git.tree_id,
        git.paths,
        lambda text: list(git.log(text)),
        lambda text: git.diff(text, text),
    ):
        with pytest.raises(NotFound):
            ask(sha)


def test_an_unknown_commit_is_not_found(scripted: ScriptedRepository) -> None:
    """A well-formed id that the clone lacks is NotFound."""
    scripted.commit("one", {"a.py": b"1\n"})
    with pytest.raises(NotFound, match="does not hold"):
        Git(scripted.path).commit("1" * 40)


def test_reading_files(scripted: ScriptedRepository) -> None:
    """A file's bytes; None for what is missing, a directory, or a link; odd names are names."""
    odd = "a b\nc\u202e$(x).py"
    scripted.commit("one", {"dir/a.py": b"\x00\xff", odd: b"odd", "-x": b"dash", b"\xff.py": b"latin"})
    tip = scripted.commit("two", {"link": b"/etc/passwd"}, mode="120000")
    git = Git(scripted.path)
    assert git.read(tip, "dir/a.py") == b"\x00\xff"
    assert git.read(tip, odd) == b"odd"
    assert [git.read(tip, path) for path in ("nope", "dir", "link", "../x", "")] == [None] * 5
    assert git.read_many(tip, ["-x", "nope", odd]) == {"-x": b"dash", odd: b"odd"}
    assert set(git.paths(tip)) == {"dir/a.py", odd, "link", "-x", "\udcff.py"}
    assert git.read(tip, "\udcff.py") == b"latin"


def test_diffs_apply_and_numbers_agree(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """Base and diff give head's tree, with text, binary, moved, emptied, deleted, odd and non-UTF-8 files."""
    base = scripted.commit("one", {"a.py": b"1\n2\n", "gone.py": b"x\n", "bin": b"\0\1", "moved.py": b"same\n" * 20})
    changes: dict[str | bytes, bytes | None] = {
        "a.py": b"1\n3\n4",
        "gone.py": None,
        "bin": b"\0\2",
        "moved.py": None,
        "new/moved.py": b"same\n" * 20,
        't\u00fc "q"\n.py': "\u00e4\n".encode(),
        "empty": b"",
    }
    head = scripted.commit("two", changes)
    git = Git(scripted.path)
    patch = git.diff(base, head)
    scripted.git("clone", "-q", str(scripted.path), str(tmp_path / "work"))
    git_dir = ["--git-dir", str(tmp_path / "work/.git"), "--work-tree", str(tmp_path / "work")]
    subprocess.run(["git", *git_dir, "checkout", "-q", base], check=True, cwd=tmp_path / "work")
    subprocess.run(["git", *git_dir, "apply", "--index", "-"], input=patch.encode(), check=True, cwd=tmp_path / "work")
    written = subprocess.run(["git", *git_dir, "write-tree"], capture_output=True, text=True, check=True)
    assert written.stdout.strip() == git.tree_id(head)
    counted = {change.path: (change.additions, change.deletions, change.status) for change in git.numstat(base, head)}
    assert counted == {
        "a.py": (2, 1, "modified"),
        "gone.py": (0, 1, "removed"),
        "bin": (None, None, "modified"),
        "moved.py": (0, 20, "removed"),
        "new/moved.py": (20, 0, "added"),
        't\u00fc "q"\n.py': (1, 0, "added"),
        "empty": (0, 0, "added"),
    }
    counts_with_the_move_as_one = [(0, 0), (0, 0), (0, 0), (0, 1), (1, 0), (2, 1)]
    assert sorted(git.line_counts(base, head)) == counts_with_the_move_as_one


def test_text_in_another_encoding_becomes_a_binary_patch(scripted: ScriptedRepository) -> None:
    """A Latin-1 file, and one with a late NUL, give a patch of plain characters that any store can hold."""
    base = scripted.commit("one", {"latin.py": b"# caf\xe9\n", "nul.txt": b"a\n" * 5000 + b"\0\n"})
    head = scripted.commit("two", {"latin.py": b"# th\xe9\n", "nul.txt": b"a\n" * 5000 + b"\0\0\n"})
    patch = Git(scripted.path).diff(base, head)
    assert "GIT binary patch" in patch
    assert patch.isascii()
    assert "\0" not in patch


def test_many_diffs_in_one_go(scripted: ScriptedRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches, empty diffs, contents that imitate a border and oversized patches give what single diffs give."""
    shas = [scripted.commit("start", {"a.py": b"0\n"})]
    for number in range(7):
        imitation = f"\n{'f' * 40}\0:100644\n{shas[-1]}\n".encode()
        shas.append(scripted.commit(f"c{number}", {"a.py": b"x" * number, f"f{number}.py": imitation}))
    shas.append(scripted.commit("empty", {}))
    shas.append(scripted.commit("last", {"big.py": b"long line\n" * 3000}))
    pairs = list(pairwise(shas))
    git = Git(scripted.path)
    together = git.changes(pairs)
    assert together == [git.changes([pair])[0] for pair in pairs]
    assert together[-2] == git_diffs.Change((), "")
    monkeypatch.setattr(git_diffs, "BATCH", 3)
    monkeypatch.setattr(git_diffs, "BATCH_BYTES", 2_000)
    monkeypatch.setattr(git_module, "MAX_PATCH", 20_000)
    small = git.changes(pairs)
    assert [change.files for change in small] == [change.files for change in together]
    assert small[:-1] == together[:-1]
    assert small[-1].patch is None
    with pytest.raises(ForgeError, match="larger than"):
        git.diff(*pairs[-1])


def test_objects_of_the_fix(scripted: ScriptedRepository) -> None:
    """Everything that base's tree lacks is listed: commits, trees, blobs, an old blob that came back; nothing else."""
    scripted.commit("zero", {"a.py": b"old\n", "same.py": b"same\n"})
    base = scripted.commit("one", {"a.py": b"1\n"})
    merge = scripted.merge("Merge", {"a.py": b"old\n", "new.py": b"new\n"})
    found = Git(scripted.path).objects_between(base, merge)
    assert {scripted.blob(b"old\n"), scripted.blob(b"new\n"), merge, scripted.git("rev-parse", f"{merge}^2")} <= found
    assert not found & {scripted.blob(b"same\n"), scripted.blob(b"1\n"), base}
    assert len(found) == 5


def test_sealed_source_holds_the_tree_and_one_commit(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """The tar's tree is the commit's tree, clean for git, with one commit, no remote and nothing of the fix."""
    base = scripted.commit("one", {"pkg/a.py": b"1\r\n", ".gitignore": b"*.log\n", "kept.log": b"tracked\n"})
    base = scripted.commit("two", {"run.sh": b"#!/bin/sh\n"}, mode="100755")
    fix = scripted.commit("three (#3)", {"pkg/a.py": b"fixed\n"})
    git = Git(scripted.path)
    assert git.sealed_source(base, tmp_path / "repo.tar", commit_date=DATE) == git.tree_id(base)
    tree = tmp_path / "tree"
    with tarfile.open(tmp_path / "repo.tar") as archive:
        assert {(member.uid, member.gid, member.mtime) for member in archive} == {(0, 0, int(DATE.timestamp()))}
    tree.mkdir()
    subprocess.run(["tar", "-xf", str(tmp_path / "repo.tar"), "-C", str(tree)], check=True)
    sealed = ScriptedRepository.__new__(ScriptedRepository)
    sealed.path, sealed.moment = tree / ".git", DATE
    assert sealed.git("rev-parse", "HEAD^{tree}") == git.tree_id(base)
    assert sealed.git("--work-tree", str(tree), "status", "--porcelain", "--ignored") == ""
    assert sealed.git("log", "--all", "--format=%s %an %cI") == "base base 2026-02-03T04:05:06+00:00"
    assert sealed.git("fsck", "--full", "--strict") == ""
    held = sealed.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    assert not set(held) & git.objects_between(base, fix)
    assert sealed.git("remote") == ""
    assert not (tree / ".git/logs").exists()


def test_sealed_source_is_the_same_every_time(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """Bytes do not vary between runs, between plain and gzipped tar, or with how the clone packs its objects."""
    for number in range(5):
        scripted.commit(f"c{number}", {f"f{number}.py": b"x = 1\n" * 100 * number, "a/b/c.py": bytes([number])})
    tip = scripted.tip
    Git(scripted.path).sealed_source(tip, tmp_path / "1.tar", commit_date=DATE)
    Git(scripted.path).sealed_source(tip, tmp_path / "2.tar.gz", commit_date=DATE)
    scripted.git("repack", "-adfq", "--depth=50", "--window=50")
    scripted.git("-c", "core.compression=9", "repack", "-aFdq")
    Git(scripted.path).sealed_source(tip, tmp_path / "3.tar.gz", commit_date=DATE)
    assert (tmp_path / "2.tar.gz").read_bytes() == (tmp_path / "3.tar.gz").read_bytes()
    assert gzip.decompress((tmp_path / "2.tar.gz").read_bytes()) == (tmp_path / "1.tar").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"clone.git", "1.tar", "2.tar.gz", "3.tar.gz"}


def test_a_partial_clone_is_an_error_and_nothing_is_fetched(scripted: ScriptedRepository, tmp_path: Path) -> None:
    """Blobs that the clone left out are named as missing."""
    scripted.commit("one", {"a.py": b"1\n"})
    scripted.git("config", "uploadpack.allowFilter", "true")
    words = ["clone", "-q", "--bare", "--filter=blob:none", f"file://{scripted.path}", str(tmp_path / "partial")]
    scripted.git(*words)
    git = Git(tmp_path / "partial")
    for read in (
        lambda: git.read(scripted.tip, "a.py"),
        lambda: git.sealed_source(scripted.tip, tmp_path / "x.tar", commit_date=DATE),
    ):
        with pytest.raises(ForgeError):
            read()
    assert not (tmp_path / "x.tar").exists()


def test_a_clone_with_a_hole_in_it_says_what_to_do(scripted: ScriptedRepository) -> None:
    """A file of one commit is gone: the differences of that commit cannot be told, and git alone only names a hash."""
    before = scripted.commit("one", {"a.py": b"1\n"})
    after = scripted.commit("two", {"a.py": b"2\n"})
    blob = scripted.git("rev-parse", f"{after}:a.py").strip()
    (scripted.path / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(ForgeError, match=rf"{blob} \(the clone lacks objects; example: .*git fetch --refetch origin\)"):
        Git(scripted.path).changes([(before, after)])


def test_a_hole_takes_its_own_commit_away_and_no_other(
    scripted: ScriptedRepository, caplog: pytest.LogCaptureFixture
) -> None:
    """Of many, that one has no patch and no counts, and its files' names all the same."""
    commits = [
        scripted.commit(f"c{number}", {f"f{number}.py": b"x = %d\n" % number, "a.py": b"%d\n" % number})
        for number in range(5)
    ]
    blob = scripted.git("rev-parse", f"{commits[2]}:f2.py").strip()
    pairs = list(pairwise(commits))
    whole = Git(scripted.path).changes(pairs)
    (scripted.path / "objects" / blob[:2] / blob[2:]).unlink()
    found = Git(scripted.path).changes(pairs)
    assert [at for at, change in enumerate(found) if change.patch is None] == [1]
    assert [found[at] for at in (0, 2, 3)] == [whole[at] for at in (0, 2, 3)]
    told = [(file.path, file.status, file.additions) for file in found[1].files]
    assert told == [("a.py", "modified", None), ("f2.py", "added", None)]
    assert [record.getMessage().startswith(f"{commits[2]}: its patch cannot be read") for record in caplog.records] == [
        True
    ]


def test_what_it_keeps_on_disk_goes_with_it(
    scripted: ScriptedRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory of our own is deleted when the object is closed, and the clone is never written to."""
    scripted.commit("one", {"a.py": b"1\n"})
    before = sorted(path.name for path in scripted.path.rglob("*"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    git = Git(scripted.path)
    git.sealed_source(scripted.tip, tmp_path / "x.tar", commit_date=DATE)
    assert len(list(scratch.iterdir())) == 1
    git.close()
    assert list(scratch.iterdir()) == []
    assert sorted(path.name for path in scripted.path.rglob("*")) == before


def test_split_batch_reads_contents_of_any_bytes() -> None:
    """Contents with newlines and headers in them are cut by their length."""
    answer = b"a blob 3\n\n\n\n\nb blob 8\nx blob 1\nc blob 0\n\n"
    assert list(split_batch(answer, 3)) == [b"\n\n\n", b"x blob 1", b""]
    with pytest.raises(ForgeError, match="missing"):
        list(split_batch(b"a missing\n", 1))
