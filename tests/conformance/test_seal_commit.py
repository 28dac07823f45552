"""What only a commit, its directory or a whole file of the fix tells: the seal finds it on each engine."""

import html
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from datasmith.docker import seal
from datasmith.docker.engine import CACHE_DIR, ENV_PREFIX, WORKDIR
from datasmith.docker.seal import SealReport
from datasmith.tasks.telltale import fix_of
from tests.conformance.engines import Built
from tests.conformance.test_seal_leaks import FIXED, NEW, SITE, STRINGS, Leak, commit_fix, git, left_by, zipped
from tests.sandboxes import bare, blob_id, committed

TOP = b"".join(b"x%d = %d\n" % (number, number) for number in range(20))
LEFT = TOP + b"x = 1\ny = 2\n"
BASE = TOP + b"x = 1\nfor i in range(10):\n    the_slow_thing_that_should_go_away(i)\ny = 2\n"
FILES = {"a.py": BASE, "pkg/__init__.py": b"", ".gitignore": b"build\n*.so\n"}
BLOB = blob_id(BASE)
TAKES_AWAY = f"""diff --git a/a.py b/a.py
index {BLOB[:7]}..89abcde 100644
--- a/a.py
+++ b/a.py
@@ -21,4 +21,2 @@
 x = 1
-for i in range(10):
-    the_slow_thing_that_should_go_away(i)
 y = 2
diff --git a/pkg/other.py b/pkg/other.py
new file mode 100644
index 0000000..e69de29
"""
"""A fix that adds no line, but an empty file such as base has already; ids are shortened, the new one of no object."""
ADDS = (
    f"diff --git a/a.py b/a.py\nindex {BLOB[:9]}..89abcde12 100644\n--- a/a.py\n+++ b/a.py\n@@ -21,4 +21,7 @@\n x = 1\n"
)
ADDS += " for i in range(10):\n     the_slow_thing_that_should_go_away(i)\n y = 2\n" + "".join(
    f"+{line}\n" for line in NEW
)


def amended(tree: Path, *words: str) -> None:
    """Another commit instead of the one that is there, which is forgotten."""
    git(tree, "commit", "-qa", "--amend", *words)
    git(tree, "reflog", "expire", "--expire=now", "--all")
    git(tree, "prune", "--expire=now")
    bare(tree)


def is_the_fix(tree: Path) -> None:
    (tree / "a.py").write_bytes(LEFT)
    amended(tree, "-m", "base")


def tells_the_fix(tree: Path) -> None:
    amended(tree, "-m", "\n".join(NEW))


def broken_fetch(tree: Path) -> None:
    """A pack that nobody finished, with the fix: git does not look into it."""
    fixed = commit_fix(tree)
    packs = tree / ".git/objects/pack"
    objects = git(tree, "rev-list", "--objects", "--no-object-names", f"HEAD..{fixed}")
    git(tree, "pack-objects", "-q", str(packs / "pack"), stdin=f"{objects}\n".encode())
    git(tree, "reflog", "expire", "--expire=now", "--all")
    git(tree, "prune", "--expire=now")
    next(packs.glob("pack-*.pack")).rename(packs / "tmp_pack_Xy12ab")
    for path in packs.glob("pack-*"):
        path.unlink()
    bare(tree)


def unlisted(tree: Path) -> None:
    """A pack without its list."""
    broken_fetch(tree)
    packs = tree / ".git/objects/pack"
    (packs / "tmp_pack_Xy12ab").rename(packs / f"pack-{'1' * 40}.pack")


def loose(tree: Path) -> None:
    """A loose object that nobody finished."""
    name = git(tree, "hash-object", "-w", "--stdin", stdin=FIXED)
    place = tree / ".git/objects" / name[:2]
    (place / name[2:]).rename(place / "tmp_obj_AbCdEf")


def heads(tree: Path) -> None:
    for name in ("REVERT_HEAD", "REBASE_HEAD", "BISECT_LOG", "AUTO_MERGE"):
        (tree / ".git" / name).write_text("1" * 40 + "\n")


def further_on(tree: Path) -> None:
    """Another version of the file, to which git would apply the patch some lines further on."""
    (tree / "a.py").write_bytes(b"# another day\n" + BASE)
    amended(tree, "-m", "base")


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "HEAD is the fix": (is_the_fix, "the commit's a.py is not the one that the fix changes"),
    "HEAD is of another day": (further_on, "the commit's a.py is not the one that the fix changes"),
    "the message tells it": (tells_the_fix, "the commit's message is"),
    "a pack of a broken fetch": (broken_fetch, ".git/objects/pack/tmp_pack_Xy12ab is there"),
    "a pack without a list": (unlisted, f".git/objects/pack/pack-{'1' * 40}.pack holds other objects"),
    "an unfinished object": (loose, "/tmp_obj_AbCdEf is there"),
    "heads of operations": (heads, ".git/AUTO_MERGE is there"),
}


def checked(built: Built, tree: Path, *leaks: Leak, patch: str = TAKES_AWAY, names: tuple[str, ...] = ()) -> SealReport:
    """What the seal says of the tree's image after a build that leaves these."""
    made = left_by(built, tree, "commit", b"true\n" + b"".join(leak.script for leak in leaks))
    with built.engine.start(made) as container:
        return seal.check(container, fix=fix_of(patch, {"b" * 40}), import_names=names)


@pytest.mark.parametrize("name", SPOILED)
def test_what_a_commit_or_its_directory_tells_is_found(built: Built, tmp_path: Path, name: str) -> None:
    """Without our own last script, and with a patch whose ids are shortened and which adds no line."""
    spoil, said = SPOILED[name]
    tree = committed(tmp_path / "tree", FILES)
    bare(tree)
    spoil(tree)
    problems = checked(built, tree).problems
    assert any(said in problem for problem in problems), problems


def test_nothing_is_left_beside_the_tree(built: Built, tmp_path: Path) -> None:
    """Pytest would read its configuration there, where a tree has none, and no list of the tree's files names it."""
    script = b"cd /workspace; touch pytest.ini conftest.py repo/kept cache/kept; mkdir .more; touch .more/x"
    made = left_by(built, committed(tmp_path / "tree", FILES), "beside", script, sealed=True)
    with built.engine.start(made) as container:
        found = container.exec(["/usr/bin/find", "/workspace", "-maxdepth", "1", "-mindepth", "1"], timeout=60)
        assert sorted(found.text.split()) == [CACHE_DIR, WORKDIR]
        assert container.exec(["/usr/bin/test", "-f", f"{WORKDIR}/kept"], timeout=60).ok


def test_a_whole_file_of_a_fix_that_only_takes_away_is_found(built: Built, tmp_path: Path) -> None:
    """By itself and in an archive; what could not be looked for is said. What base has is base's."""
    tree = committed(tmp_path / "tree", FILES)
    bare(tree)
    clean = checked(built, tree)
    assert clean.problems == ()
    assert "a.py: the fix adds no line that can be read; only the whole file was" in clean.unknown
    assert "pkg/other.py: the fix adds no line that can be read; nothing of it was" in clean.unknown
    assert "1 files as the fix leaves them" in clean.looked_at
    later, archive = f"{ENV_PREFIX}/later/a.py", f"{WORKDIR}/build/later.zip"
    found = checked(built, tree, Leak("", path=later, content=LEFT), Leak("", path=archive, content=zipped(LEFT)))
    said = {f"{place} holds a.py as the fix leaves it" for place in (later, archive)}
    assert said <= set(found.problems), found.problems


def test_code_and_text_in_other_clothes_is_found(built: Built, tmp_path: Path) -> None:
    """Machine code beside the tree, what pip leaves, indexes, HTML, UTF-16 and zlib; zstd is not opened, and told."""
    tree = committed(tmp_path / "tree", FILES)
    bare(tree)
    text = "\n".join(NEW)
    shown = " ".join(f"<span class='n'>{html.escape(word)}</span>" for word in text.split(" "))
    code = "core.cpython-311-x86_64-linux-gnu.so"
    leaks = {
        f"{ENV_PREFIX}/later/other/{code}": STRINGS,
        f"{SITE}/~kg/{code}": STRINGS,
        f"{SITE}/pkg/{code}": STRINGS,
        f"{WORKDIR}/build/a.html": shown.encode(),
        f"{WORKDIR}/build/b.txt": text.encode("utf-16"),
        f"{WORKDIR}/build/c.z": zlib.compress(text.encode()),
        f"{WORKDIR}/build/d.zst": b"\x28\xb5\x2f\xfd" + b"\0" * 20,
        f"{ENV_PREFIX}/later/tool": STRINGS,
        f"{WORKDIR}/build/cache.db": bytes(100) + zlib.compress(text.encode()) + b"end",
        f"{WORKDIR}/build/docs/objects.inv": b"# Sphinx inventory\n" + zlib.compress(STRINGS),
        f"{WORKDIR}/build/docs/searchindex.js": STRINGS[6:],
        f"{WORKDIR}/build/e.bin": b"# v3 git bundle\n",
        f"{WORKDIR}/build/f.dat": b"7z\xbc\xaf\x27\x1c" + b"\0" * 20,
        f"{SITE}/zope_event-5.0.dist-info/top_level.txt": b"zope\n",
    }
    made = [Leak("", path=path, content=content) for path, content in leaks.items()]
    found = checked(built, tree, *made, patch=ADDS, names=("pkg", "zope.interface"))
    named = {path for path in leaks if any(path in problem for problem in found.problems)}
    assert named == set(list(leaks)[:-1]), found.problems


OWN = b"""set -eu
mkdir -p /opt/env/lib/python3.11/site-packages
cd /opt/env/lib/python3.11/site-packages
mkdir -p pkg pkg-1.dist-info sphinxcontrib_x-1.dist-info
printf 'no name of the fix' >pkg/core.cpython-311-x86_64-linux-gnu.so
printf 'pkg/core.cpython-311-x86_64-linux-gnu.so,,\\npkg-1.dist-info/RECORD,,\\n' >pkg-1.dist-info/RECORD
printf 'Name: pkg\\n' >pkg-1.dist-info/METADATA
printf '{"url": "file:///workspace/repo", "dir_info": {"editable": true}}' >pkg-1.dist-info/direct_url.json
echo shared | tee sphinxcontrib_x-1.dist-info/top_level.txt >sphinxcontrib_x-1.dist-info/namespace_packages.txt
mkdir shared_y-1.dist-info
echo shared >shared_y-1.dist-info/top_level.txt
echo 'shared/y/__init__.py,,' >shared_y-1.dist-info/RECORD
cd /workspace/repo
mkdir pkg.egg-info
cp a.py pkg.egg-info/SOURCES.txt
git -c safe.directory='*' -c gc.writeCommitGraph=true gc -q
git -c safe.directory='*' pack-refs --all
"""
"""What honest builds leave: machine code of an editable installation, metadata, and what git makes of its objects."""


def test_an_honest_build_is_sealed(built: Built, tmp_path: Path) -> None:
    """After our own last script; archives of base's own may have any name."""
    data = zipped(b"data of tests")
    tree = committed(
        tmp_path / "tree", {**FILES, "tests/d\u00e4ta \\ 1.zip": data, "tests/site-packages/pkg/x.py": b""}
    )
    made = left_by(built, tree, "honest", OWN, sealed=True)
    with built.engine.start(made) as container:
        fix, below = fix_of(ADDS, {"b" * 40}), built.engine.below(made)
        report = seal.check(container, fix=fix, import_names=("pkg", "shared"), below=below)
    assert (report.problems, report.unknown) == ((), ())


def test_an_interpreter_where_everybody_may_write_is_looked_into(built: Built, tmp_path: Path) -> None:
    """A build can make its environment point to one of its own."""
    tree = committed(tmp_path / "tree", FILES)
    bare(tree)
    script = b"mkdir -p /var/tmp/own/bin\ncp /bin/true /var/tmp/own/bin/python3\n"
    script += b"ln -sfn /var/tmp/own/bin/python3 /opt/env/bin/python\n"
    leak = Leak("", path="/var/tmp/own/notes.txt", content="\n".join(NEW).encode())
    with built.engine.start(left_by(built, tree, "own", script + leak.script)) as container:
        found = seal.check(container, fix=fix_of(ADDS, {"b" * 40}))
        kept = container.exec(["test", "-e", leak.path], timeout=60.0).ok
    assert kept is (built.engine.name != "bubblewrap")
    assert any(problem.startswith(f"{leak.path} holds") for problem in found.problems) is kept, found.problems


def test_what_a_sandbox_mounts_over_is_searched(built: Built, tmp_path: Path) -> None:
    """What a build leaves in /tmp and HOME is in an image of docker's, though no sandbox of ours shows it."""
    tree = committed(tmp_path / "tree", FILES)
    bare(tree)
    leaks = [
        Leak("", path=f"{place}/pkg-2.0/a.py", content="\n".join(NEW).encode()) for place in ("/tmp", "/home/agent")
    ]
    made = left_by(built, tree, "mounted", b"".join(leak.script for leak in leaks), sealed=True)
    with built.engine.start(made) as container:
        report = seal.check(
            container, fix=fix_of(ADDS, {"b" * 40}), import_names=["pkg"], below=built.engine.below(made)
        )
    own = [problem for problem in report.problems if problem.startswith("where a sandbox has its own: ")]
    found = {problem.partition(" holds ")[0].rpartition(": ")[2] for problem in own}
    expected = {leak.path for leak in leaks} if built.engine.name != "bubblewrap" else set()
    assert found == expected, report.problems


SHARED = b"from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)\n"


def test_a_namespace_that_others_bring_as_well_is_no_copy(built: Built, tmp_path: Path) -> None:
    """Each of its distributions has the same __init__.py; a later version of what base has in it is one."""
    base = {"src/backports/__init__.py": SHARED, "src/backports/pkg/__init__.py": b"", "src/backports/one.py": b""}
    tree = committed(tmp_path / "tree", {**FILES, **base})
    bare(tree)
    others = {
        "backports/__init__.py": SHARED,
        "backports/tarfile/__init__.py": b"",
        "backports_tarfile-1.dist-info/RECORD": b"backports/__init__.py,,\nbackports/tarfile/__init__.py,,\n",
        "backports_x-1.egg-info/top_level.txt": b"backports\n",
    }
    later = {"backports/pkg/__init__.py": b"later = 2\n", "backports/one.py": b"later = 2\n"}
    made = [Leak("", path=f"{SITE}/{path}", content=content) for path, content in others.items()]
    clean = checked(built, tree, *made, patch=ADDS, names=("backports",))
    assert clean.problems == ()
    made += [Leak("", path=f"{SITE}/{path}", content=content) for path, content in later.items()]
    found = checked(built, tree, *made, patch=ADDS, names=("backports",))
    assert {*found.problems} == {f"a second copy of the package: {SITE}/{path}" for path in later}
