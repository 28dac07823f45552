"""The seal: every way from an image to the fix that we know of is made here, and has to be found."""

import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from datasmith import process
from datasmith.docker import seal
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import Container, ImageRef, Tier
from datasmith.docker.seal import Fix
from datasmith.errors import ContainerError
from datasmith.github.git_source import config_text
from tests.sandboxes import GIT_ENV, committed, embedded_engine

pytestmark = pytest.mark.engine

FILES = {"a.py": b"x = 1\n", "pkg/__init__.py": b""}
FIX = b"x = 2\n"
NEW = "diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 2\n"
BUILD = "blind.sh"
"""A script of a build, in BLIND."""


def known(*objects: str) -> Fix:
    """A fix of which these ids are known."""
    return Fix(frozenset(objects))


def git(tree: Path, *words: str, stdin: bytes = b"") -> str:
    done = process.run(["git", *words], cwd=tree, env=GIT_ENV, stdin=stdin)
    assert done.ok, done.error_text
    return done.text.strip()


def fix_blob(tree: Path) -> str:
    """Write the fixed file into the object database, with nothing that refers to it."""
    return git(tree, "hash-object", "-w", "--stdin", stdin=FIX)


def fix_commit(tree: Path) -> str:
    """Commit the fix on top, and go back to base as a clone at its base commit would."""
    (tree / "a.py").write_bytes(FIX)
    git(tree, "commit", "-qam", "fix")
    fixed = git(tree, "rev-parse", "HEAD")
    git(tree, "reset", "-q", "--hard", "HEAD~1")
    return fixed


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> BubblewrapEngine:
    return embedded_engine(tmp_path_factory.mktemp("engine"))


class Images(Protocol):
    """Makes an image of a tree that something was done to before our own script sealed it (or no script did)."""

    def __call__(self, spoil: Callable[[Path], object], scripts: tuple[str, ...] = ...) -> ImageRef: ...


@pytest.fixture
def sealed_after(engine: BubblewrapEngine, tmp_path: Path) -> Images:
    """See Images."""

    def make(spoil: Callable[[Path], object], scripts: tuple[str, ...] = ("docker_build_final.sh",)) -> ImageRef:
        tree = committed(tmp_path / "tree", FILES)
        spoil(tree)
        with tarfile.open(tmp_path / "repo.tar", "w") as archive:
            archive.add(tree, arcname=".")
        texts = DockerContext.default(lock="").texts
        files: dict[str, bytes | Path] = {name: texts.get(name, BLIND).encode() for name in scripts}
        log = tmp_path / "log"
        base = engine.build(None, Tier("base", "test-base", (), {}), log=log)
        tier = Tier("pr", "test-tree", scripts, {**files, "repo.tar": tmp_path / "repo.tar"})
        return engine.build(base, tier, log=log)

    return make


@pytest.fixture
def start(engine: BubblewrapEngine) -> Iterator[Callable[[ImageRef], Container]]:
    """Starts containers, and stops them at the end."""
    started: list[Container] = []

    def go(image: ImageRef) -> Container:
        started.append(engine.start(image))
        return started[-1]

    yield go
    for container in started:
        container.stop()


Start = Callable[[ImageRef], Container]


def test_a_fresh_commit_is_sealed(sealed_after: Images, start: Start) -> None:
    """A tree with one commit has no problem; git's own sample hooks, logs and build products are no obstacle."""
    trees: list[str] = []

    def spoil(tree: Path) -> None:
        trees.append(git(tree, "rev-parse", "HEAD^{tree}"))
        (tree / "build").mkdir()
        (tree / "build" / "lib.so").write_bytes(b"ELF")
        (tree / "a.py").write_bytes(b"rewritten by the build")

    container = start(sealed_after(spoil))
    report = seal.check(container, fix=known("0" * 40, "1" * 40), base_tree=trees[0], import_names=["pkg"])
    assert report.ok, report.problems
    assert any("2 of the fix" in line for line in report.looked_at)
    assert container.read_file("/workspace/repo/a.py") == FILES["a.py"]


def test_half_an_answer_is_none(sealed_after: Images, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree of any size is sealed, as far as answers are kept; of one whose list is longer nothing is said."""
    tops: list[str] = []

    def spoil(tree: Path) -> None:
        deep = tree.joinpath(*["d" * 250] * 10)
        deep.mkdir(parents=True)
        for number in range(900):
            (deep / f"{number}.py").touch()
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "--amend", "--no-edit")
        forget(tree)
        tops.extend(git(tree, "rev-parse", "HEAD", "HEAD^{tree}", "HEAD:a.py").split())

    container = start(sealed_after(spoil))
    paths = container.exec(["git", "-C", "/workspace/repo", "ls-tree", "-r", "--name-only", "HEAD"], timeout=20)
    assert len(paths.stdout) >= process.KEPT_BYTES
    report = seal.check(container, fix=Fix(frozenset(tops[1:]), patches={"new.py": NEW}), import_names=["pkg"])
    assert report.ok, report.problems
    monkeypatch.setattr(seal, "MOST_ANSWER", 1_000_000)
    with pytest.raises(ContainerError, match="bytes of answer"):
        seal.check(container, fix=known("0" * 40), import_names=["pkg"])


def forget(tree: Path) -> None:
    """Delete what nothing refers to."""
    git(tree, "reflog", "expire", "--expire=now", "--all")
    git(tree, "prune", "--expire=now")


def pack_away(tree: Path) -> None:
    """Put the fix into a pack that nothing refers to."""
    fixed = fix_commit(tree)
    git(tree, "pack-objects", "-q", ".git/objects/pack/pack", stdin=f"{fixed}\n{fix_blob(tree)}\n".encode())
    forget(tree)


def borrow(tree: Path) -> None:
    """Keep the fix in another object store, which this one names as an alternate."""
    name = fix_blob(tree)
    here, there = tree / ".git" / "objects", tree / ".git" / "more" / name[:2]
    there.mkdir(parents=True)
    (here / name[:2] / name[2:]).rename(there / name[2:])
    (here / "info").mkdir(exist_ok=True)
    (here / "info" / "alternates").write_text("../more\n")


LEAKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "full clone": (fix_commit, "commits 2"),
    "second branch": (lambda tree: git(tree, "branch", "next", fix_commit(tree)), "commits 2"),
    "tag": (lambda tree: git(tree, "tag", "v2", fix_commit(tree)), "commits 2"),
    "dangling blob": (fix_blob, "objects do not belong"),
    "packed and unreachable": (pack_away, "objects do not belong"),
    "stash": (lambda tree: ((tree / "a.py").write_bytes(FIX), git(tree, "stash", "-q")), "commits"),
    "replaced commit": (lambda tree: git(tree, "replace", "HEAD", fix_commit(tree)), "commits 2"),
    "note": (lambda tree: git(tree, "notes", "add", "-m", "the fix is x = 2"), "commits 2"),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_found_even_after_our_own_sealing(sealed_after: Images, start: Start, leak: str) -> None:
    """What the last script does not take away, the check names."""
    spoil, said = LEAKS[leak]
    report = seal.check(start(sealed_after(spoil)))
    assert not report.ok
    assert any(said in problem for problem in report.problems), report.problems


BLIND = """
printf 'x = 2\\n' >$FC_WORKDIR/b.py; mkdir -p /workspace/other; cp -r $FC_WORKDIR/a.py /workspace/other
cd $FC_WORKDIR && git config core.worktree /workspace/other && git config remote.origin.url https://example.org/x
git config core.fileMode false && git config include.path /workspace/more && git config extensions.worktreeConfig true
echo 'x = 3' >a.py; echo '* -diff' >.git/info/attributes; git config -f .git/config.worktree core.bare true
"""


def test_settings_of_a_build_do_not_blind_the_seal(sealed_after: Images, start: Start) -> None:
    """Another tree, includes, attributes and a remote: our sealing makes all anew; unsealed, each of them is named."""
    container = start(sealed_after(lambda tree: None, (BUILD, "docker_build_final.sh")))
    report = seal.check(container)
    assert report.ok, report.problems
    assert container.read_file("/workspace/repo/a.py") == FILES["a.py"]
    config = container.read_file("/workspace/repo/.git/config").decode()
    assert config == config_text(bare=False)
    exclude = container.read_file("/workspace/repo/.git/info/exclude").decode()
    assert exclude == "__pycache__/\n.pytest_cache/\n/b.py\n"


def test_settings_that_blind_are_problems(sealed_after: Images, start: Start) -> None:
    """The changed file is found nevertheless, also where the index says that it never changes."""

    def spoil(tree: Path) -> None:
        git(tree, "update-index", "--assume-unchanged", "a.py")

    problems = seal.check(start(sealed_after(spoil, (BUILD,)))).problems
    names = ("core.worktree", "remote.origin.url", "core.filemode", "include.path", "extensions.worktreeconfig")
    assert {f".git/config sets {name}" for name in names} <= set(problems)
    assert {".git/info/attributes is there", ".git/config.worktree is there", "remote origin"} <= set(problems)
    assert any("2 paths differ from the commit:  M a.py, ?? b.py" in problem for problem in problems), problems


def test_what_only_the_tree_has_is_still_a_line_of_the_fix(engine: BubblewrapEngine, sealed_after: Images) -> None:
    """Base is what the commit holds: a line that lies in a tracked file of the tree is not known from there."""
    with engine.start(sealed_after(lambda tree: None)) as container:
        for path in ("/workspace/repo/a.py", "/workspace/cache/copy.py"):
            container.write_file(path, "\n".join(LINES).encode())
        problems = seal.check(container, fix=Fix(lines=ADDED)).problems
    assert any("/workspace/cache/copy.py holds" in problem for problem in problems), problems


UNSEALED: dict[str, Callable[[Path], object]] = {
    "ORIG_HEAD": lambda tree: (tree / ".git" / "ORIG_HEAD").write_text("0" * 40),
    "FETCH_HEAD": lambda tree: (tree / ".git" / "FETCH_HEAD").write_text("0" * 40),
    "logs/HEAD": lambda tree: git(tree, "reflog"),
    "hooks/post-checkout": lambda tree: (tree / ".git" / "hooks" / "post-checkout").write_text("#!/bin/sh\n"),
    "packed-refs": lambda tree: git(tree, "pack-refs", "--all"),
    "objects/info/alternates": borrow,
}


@pytest.mark.parametrize("leftover", UNSEALED)
def test_leftovers_of_git_are_found(sealed_after: Images, start: Start, leftover: str) -> None:
    """Each file that can name another commit, or run, is a problem by itself."""
    report = seal.check(start(sealed_after(UNSEALED[leftover], ())))
    assert f".git/{leftover} is there" in report.problems


@pytest.mark.parametrize(("leak", "ref"), [("replaced commit", "replace/"), ("note", "notes/"), ("tag", "tags/v2")])
def test_every_other_ref_is_found(sealed_after: Images, start: Start, leak: str, ref: str) -> None:
    """Our own last script takes them away; without it they are named."""
    problems = seal.check(start(sealed_after(LEAKS[leak][0], ()))).problems
    assert any(problem.startswith(f"ref refs/{ref}") for problem in problems), problems


def test_an_object_of_the_fix_is_found_by_its_id(sealed_after: Images, start: Start) -> None:
    """The ids that the host knows the fix by are asked for one by one."""
    found: list[str] = []
    image = sealed_after(lambda tree: found.append(fix_blob(tree)))
    report = seal.check(start(image), fix=known("0" * 40, found[0]))
    assert f"1 objects of the fix are present: {found[0]}" in report.problems


def test_an_object_in_a_borrowed_store_is_found_by_its_id(sealed_after: Images, start: Start) -> None:
    """It does not matter where git would find an object of the fix, only that it would."""
    found: list[str] = []

    def spoil(tree: Path) -> None:
        borrow(tree)
        found.append(git(tree, "hash-object", "--stdin", stdin=FIX))

    report = seal.check(start(sealed_after(spoil, ())), fix=known(*found))
    assert f"1 objects of the fix are present: {found[0]}" in report.problems


def test_another_tree_than_bases_is_found(sealed_after: Images, start: Start) -> None:
    """An image built at the wrong commit is not sealed, however clean its history is."""
    report = seal.check(start(sealed_after(lambda tree: None)), base_tree="0" * 40)
    assert [problem for problem in report.problems if f"not base's {'0' * 40}" in problem]


def test_a_changed_tree_and_caches_are_found(sealed_after: Images, start: Start) -> None:
    """Changed files and downloaded packages are problems."""
    container = start(sealed_after(lambda tree: None))
    script = "echo y >>a.py; echo >../cache/pkg-2.0-py3-none-any.whl"
    assert container.exec(["sh", "-c", script], timeout=20).ok
    problems = seal.check(container).problems
    assert any("1 paths differ from the commit:  M a.py" in problem for problem in problems), problems
    assert "cached package /workspace/cache/pkg-2.0-py3-none-any.whl" in problems


def test_a_second_copy_of_the_package_is_found(sealed_after: Images, start: Start, engine: BubblewrapEngine) -> None:
    """A later version beside the tree would hold the fix: the environment may have no copy of the package."""
    with engine.start(sealed_after(lambda tree: None), writable_env=True) as container:
        script = 'd=$0/lib/python3.11/site-packages/pkg; mkdir -p "$d"; echo "x = 2" >"$d/__init__.py"'
        assert container.exec(["sh", "-c", script, "/opt/env"], timeout=20).ok
        assert seal.check(container).ok
        problems = seal.check(container, import_names=["pkg", "other"]).problems
    assert problems == ("a second copy of the package: /opt/env/lib/python3.11/site-packages/pkg/__init__.py",)


LINES = (
    "    cached = table.get(key) or build_the_table_once(key)",
    "    for row in rows: yield cached.lookup(row.identifier)",
    "    return numpy.fromiter(found, dtype=float, count=len(rows))",
)
"""What the fix adds to a.py."""
NOTE = "Reading a table is thirty times faster, because its index is kept."
"""... and to the change log."""
ADDED = {"a.py": [*LINES, "import numpy as np, itertools as it", "    pass"], "CHANGES.md": [NOTE]}
PLACES: dict[str, tuple[str, str]] = {
    "documentation that was built": ("/workspace/repo/docs/_build/changes.html", f"<p>{NOTE}</p>"),
    "metadata of the package": ("/workspace/repo/pkg.egg-info/PKG-INFO", f"Version: 2\n{NOTE}\n"),
    "a later version for another interpreter": ("/opt/env/other/dist-packages/pkg2/a.py", "\n".join(LINES)),
    "a vendored copy": ("/opt/env/lib/python3.11/site-packages/pip/_vendor/a.py", "x\n" + "\n".join(LINES[:2])),
    "a compiled file": ("/opt/env/lib/python3.11/site-packages/pkg.pyc", "\0\1" + "\0".join(LINES)),
    "a cache": ("/workspace/cache/a b\n.txt", "\r\n".join(LINES)),
}
"""Each is named by its path, so that none hides another."""


def test_lines_of_the_fix_are_found_anywhere(engine: BubblewrapEngine, sealed_after: Images) -> None:
    """A file that holds what the fix adds is a problem, whatever it is called and wherever it lies in the image."""
    script = 'mkdir -p "$(dirname "$0")" && cat >"$0" && printf "%s\n" "/*" >/workspace/repo/.git/info/exclude'
    with engine.start(sealed_after(lambda tree: None), writable_env=True) as container:
        for path, text in PLACES.values():
            assert container.exec(["sh", "-c", script, path], stdin=text.encode(), timeout=20).ok
        found = seal.check(container, fix=Fix(lines=ADDED)).problems
    problems = [problem for problem in found if "names that the fix brings" not in problem]
    assert len(problems) == len(PLACES), problems
    for where, (path, _) in PLACES.items():
        begin = f"{path} holds "
        told = [one for one in problems if one.startswith(begin) and "lines that the fix adds to" in one]
        assert len(told) == 1, (where, problems)


def test_what_base_has_is_no_sign_of_the_fix(engine: BubblewrapEngine, sealed_after: Images) -> None:
    """Lines that the tree's commit has, or that are found by chance, say nothing; a line behind a longer one does."""
    moved = "def a_function_that_only_moves(to, another, file):"

    def spoil(tree: Path) -> None:
        (tree / "a.py").write_text(f"{moved}\n    pass  # {LINES[1]} and more\n")
        git(tree, "commit", "-qam", "base", "--amend")
        forget(tree)

    container = engine.start(sealed_after(spoil))
    with container:
        text = f"{moved}\n{LINES[0]}\n{LINES[1]}\n".encode()
        container.write_file("/workspace/cache/copy.py", text)
        report = seal.check(container, fix=Fix(lines={"b.py": [moved, *LINES, f"{LINES[1]} and more"]}))
        assert report.ok, report.problems
        assert any(line.startswith("2 lines that the fix adds") for line in report.looked_at), report.looked_at
        container.write_file("/workspace/cache/copy.py", text + f"{LINES[2]}\n".encode())
        problems = seal.check(container, fix=Fix(lines={"b.py": [moved, *LINES]})).problems
    assert problems == ("/workspace/cache/copy.py holds 2 of 2 lines that the fix adds to b.py",)


def test_a_line_with_a_form_feed_is_one_line(engine: BubblewrapEngine, sealed_after: Images) -> None:
    """Only a line feed ends what the fix adds: its other control characters belong to the line."""
    line = "PAGE = 'the first page of the table\x0c\x0c' + the_second_page"
    with engine.start(sealed_after(lambda tree: None)) as container:
        container.write_file("/workspace/cache/copy.py", f"x\n{line}\n".encode())
        problems = seal.check(container, fix=Fix(lines={"b.py": [line]})).problems
    assert problems == ("/workspace/cache/copy.py holds 1 of 1 lines that the fix adds to b.py",)


def test_a_package_of_another_name_in_the_system_is_no_leak(engine: BubblewrapEngine, sealed_after: Images) -> None:
    """Archives that locked packages bring are theirs; one of this package is a leak even there."""
    with engine.start(sealed_after(lambda tree: None), writable_env=True) as container:
        for name in ("other-1.0-py3-none-any.whl", "my_pkg-2.0-py3-none-any.whl", "pkgs-1.0.tar.gz"):
            words = ["sh", "-c", 'mkdir -p "$0" && : >"$0/$1"', "/opt/env/lib/python3.11/x", name]
            assert container.exec(words, timeout=20).ok
        problems = seal.check(container, import_names=["my_pkg", "pkg"]).problems
    assert problems == ("cached package /opt/env/lib/python3.11/x/my_pkg-2.0-py3-none-any.whl",)


def test_what_cannot_be_asked_is_not_sealed(sealed_after: Images, start: Start) -> None:
    """A tree without a repository raises: there is no report that could be taken for a good one."""

    def no_repository(tree: Path) -> None:
        process.run(["rm", "-r", str(tree / ".git")])

    image = sealed_after(no_repository, ())
    with pytest.raises(ContainerError, match="cannot check the seal"):
        seal.check(start(image))


def test_the_question_that_has_no_answer_is_named(sealed_after: Images, start: Start) -> None:
    """With what git says of it, and not with the program that asked."""
    image = sealed_after(lambda tree: git(tree, "symbolic-ref", "HEAD", "refs/heads/none"), ())
    with pytest.raises(ContainerError) as caught:
        seal.check(start(image))
    assert str(caught.value).startswith("cannot check the seal: the repository: fatal: ")
    assert str(caught.value).endswith("no answer about objects: exit code 128")
