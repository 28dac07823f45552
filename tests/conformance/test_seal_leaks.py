"""Images that leak the fix in every way we know of, built on each engine: the seal finds all of them."""

import io
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from datasmith import process
from datasmith.cli.common import run_app
from datasmith.cli.data import app
from datasmith.docker import seal
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import CACHE_DIR, ENV_PREFIX, WORKDIR, ImageRef, Limits, Tier
from datasmith.docker.seal import Fix
from datasmith.errors import ContainerError
from datasmith.settings import known_variables
from tests.conformance.engines import CA_BUNDLE, ENV_SCRIPT, LONG, Built, build_all, every_builder
from tests.sandboxes import GIT_ENV, committed

NEW = (
    "    cached = table.get(key) or build_the_table_once(key)",
    "    for row in rows: yield cached.lookup_identifier(row.identifier)",
    "    return numpy.fromiter(found, dtype=float, count=len(rows))",
)
NOTE = "Reading a table is thirty times faster, because its index is kept."
FIXED = "\n".join(NEW).encode()
FILES = {"a.py": b"x = 1\n", "pkg/__init__.py": b"", ".gitignore": b"build\n*.egg-info\n_build\n*.so\n"}
FINAL = "docker_build_final.sh"
SITE = f"{ENV_PREFIX}/lib/python3.11/site-packages"


def git(tree: Path, *words: str, stdin: bytes = b"") -> str:
    done = process.run(["git", *words], cwd=tree, env=GIT_ENV, stdin=stdin)
    assert done.ok, done.error_text
    return done.text.strip()


def commit_fix(tree: Path) -> str:
    """The fix as a commit on top; the tree goes back to base, as a clone at its base commit would."""
    (tree / "a.py").write_bytes(FIXED)
    git(tree, "commit", "-qam", "fix")
    fixed = git(tree, "rev-parse", "HEAD")
    git(tree, "reset", "-q", "--hard", "HEAD~1")
    return fixed


def tag(tree: Path) -> None:
    git(tree, "tag", "v2", commit_fix(tree))


def orig_head(tree: Path) -> None:
    """Only the name of a commit that is not there: where to ask for it."""
    (tree / ".git/ORIG_HEAD").write_text("1" * 40 + "\n")


def alternates(tree: Path) -> None:
    """The fix in another object store, which git reads as if it were this one's."""
    name = git(tree, "hash-object", "-w", "--stdin", stdin=FIXED)
    objects, other = tree / ".git/objects", tree / ".git/other" / name[:2]
    other.mkdir(parents=True)
    (objects / name[:2] / name[2:]).rename(other / name[2:])
    (objects / "info").mkdir(exist_ok=True)
    (objects / "info/alternates").write_text("../other\n")


def packed(tree: Path) -> None:
    """A pack with the fix that nothing refers to."""
    fixed = commit_fix(tree)
    objects = git(tree, "rev-list", "--objects", "--no-object-names", fixed)
    git(tree, "pack-objects", "-q", ".git/objects/pack/pack", stdin=f"{objects}\n".encode())
    git(tree, "reflog", "expire", "--expire=now", "--all")
    git(tree, "prune", "--expire=now")


def repositories(tree: Path) -> None:
    """A clone below the tree, a bare one under another name, one in a file, and an object store without a HEAD."""
    git(tree, "clone", "-q", ".", "build/clone")
    git(tree, "clone", "-q", "--bare", ".", "build/cache")
    git(tree, "clone", "-q", "--bare", ".", "build/store")
    git(tree / "build/store", "hash-object", "-w", "--stdin", stdin=FIXED)
    (tree / "build/store/HEAD").unlink()
    git(tree, "bundle", "create", "-q", "fix.bundle", "--all")


def zipped(content: bytes = FIXED) -> bytes:
    """A zip with the fixed file."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pkg-2.0/a.py", content)
    return target.getvalue()


def tarred(mode: Literal["w", "w:gz", "w:bz2", "w:xz"], name: str = "pkg-2.0/a.py", content: bytes = FIXED) -> bytes:
    """A tar with one file, packed or not."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


@dataclass(frozen=True)
class Leak:
    """A file that a build leaves, and what the seal has to say of it."""

    says: str
    path: str
    content: bytes

    @property
    def script(self) -> bytes:
        """Writes the file, byte by byte in octal, as a build would leave it."""
        octal = "".join(f"\\0{byte:03o}" for byte in self.content)
        return f"set -eu\nmkdir -p '{self.path.rpartition('/')[0]}'\nprintf '%b' '{octal}' >'{self.path}'\n".encode()


STRINGS = b"\x7fELF\x02\0" + b"\0".join((b"build_the_table_once", b"lookup_identifier", b"fromiter")) + b"\0"
"""What of the fix can be read in its machine code: the names that it brought."""
SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "full clone": (commit_fix, "commits 2"),
    "tag": (tag, "refs/tags/v2"),
    "ORIG_HEAD": (orig_head, ".git/ORIG_HEAD is there"),
    "alternates": (alternates, "objects of the fix are present"),
    "packed and unreachable": (packed, "objects do not belong to the commit"),
}
"""Trees that lead to the fix, and what the seal has to say; each alone in its image, as each may hide another."""
LEFT = {
    "a later wheel in a cache": Leak(
        "cached package", path="/workspace/cache/pip/pkg-2.0-py3-none-any.whl", content=b"PK"
    ),
    "a later version in site-packages": Leak("a second copy", path=f"{SITE}/pkg/__init__.py", content=b"v = 2\n"),
    "the fix in built documentation": Leak(
        "lines that the fix adds", path=f"{WORKDIR}/docs/_build/index.html", content=f"<p>{NOTE}</p>".encode()
    ),
    "the fix in metadata": Leak(
        "lines that the fix adds", path=f"{WORKDIR}/pkg.egg-info/PKG-INFO", content=f"Version: 2\n{NOTE}\n".encode()
    ),
    "a compiled module in site-packages": Leak(
        "a second copy", path=f"{SITE}/pkg.cpython-311-x86_64-linux-gnu.so", content=STRINGS
    ),
    "a compiled module in build": Leak(
        "names that the fix brings", path=f"{WORKDIR}/build/lib/pkg/core.cpython-311-x86_64-linux-gnu.so",
        content=STRINGS,
    ),
    "a compiled module in the tree": Leak(
        "names that the fix brings", path=f"{WORKDIR}/pkg/core.cpython-311-x86_64-linux-gnu.so", content=STRINGS
    ),
    "a later sdist": Leak("cached package", path="/workspace/cache/pkg-2.0.zip", content=zipped()),
    "another distribution": Leak(
        "another distribution brings", path=f"{SITE}/pkg_nightly-2.0.dist-info/RECORD", content=b"pkg/__init__.py,,\n"
    ),
}  # fmt: skip
"""What builds leave, all in one image: each is named by its path."""


def fix(tree: Path) -> Fix:
    """What the host knows of the fix: the blob of its file, and its lines."""
    blob = git(tree, "hash-object", "--stdin", stdin=FIXED)
    return Fix(frozenset({blob}), {"a.py": NEW, "CHANGES.md": [NOTE]})


def left_by(built: Built, tree: Path, name: str, script: bytes, *, sealed: bool = False) -> ImageRef:
    """The image of a tree after a build of this script alone; nothing of ours seals it, unless `sealed`."""
    source = tree.parent / "repo.tar"
    with tarfile.open(source, "w") as archive:
        archive.add(tree, arcname=".")
    texts = {"leak.sh": script, **({FINAL: DockerContext.default(lock="").texts[FINAL].encode()} if sealed else {})}
    tier = Tier("pr", f"fc-conformance/{name}:1", tuple(texts), {**texts, "repo.tar": source})
    return built.engine.build(built.env, tier, log=built.log)


def spoiled(built: Built, place: Path, name: str) -> tuple[ImageRef, Fix]:
    """The image of a spoiled tree, sealed by our own last script unless the leak is one that it would take away."""
    tree = committed(place / "tree", FILES)
    SPOILED[name][0](tree)
    sealed = name not in {"ORIG_HEAD", "alternates", "tag"}
    return left_by(built, tree, f"leak-{[*SPOILED].index(name)}", b"true\n", sealed=sealed), fix(tree)


def test_an_image_without_a_leak_is_sealed(built: Built, tmp_path: Path) -> None:
    """A build's own machine code, documentation and metadata at base are no sign of the fix."""
    ours = Leak("", path=f"{WORKDIR}/build/lib/pkg/core.so", content=b"\x7fELF\0PyInit_core\0build_a_table\0")
    tree = committed(tmp_path / "tree", FILES)
    made = left_by(built, tree, "sealed", ours.script, sealed=True)
    with built.engine.start(made) as container:
        report = seal.check(container, fix=fix(tree), import_names=["pkg"], below=built.engine.below(made))
    assert report.ok, report.problems


@pytest.mark.figure("leaking images found")
@pytest.mark.parametrize("name", SPOILED)
def test_every_spoiled_tree_is_found(built: Built, tmp_path: Path, name: str) -> None:
    """Whichever engine built it, and whether or not our own last script ran: the image is not sealed, and says why."""
    made, known = spoiled(built, tmp_path, name)
    with built.engine.start(made) as container:
        report = seal.check(container, fix=known, import_names=["pkg"])
    assert any(SPOILED[name][1] in problem for problem in report.problems), report.problems


@pytest.mark.figure("leaking images found", len(LEFT))
def test_everything_that_a_build_leaves_is_found(built: Built, tmp_path: Path) -> None:
    """Each file by its own path, though our own last script ran after the build."""
    tree = committed(tmp_path / "tree", FILES)
    made = left_by(built, tree, "left", b"".join(leak.script for leak in LEFT.values()), sealed=True)
    with built.engine.start(made) as container:
        problems = seal.check(container, fix=fix(tree), import_names=["pkg"]).problems
    for name, leak in LEFT.items():
        path = leak.path.removesuffix("/RECORD")
        assert any(leak.says in problem and path in problem for problem in problems), (name, problems)


LYING = b"""set -eu
for name in find git bash sh grep sort xargs sed head cut readlink prlimit; do
    printf '#!/bin/true\\n' >/opt/env/bin/$name
    chmod +x /opt/env/bin/$name
done
mkdir -p /opt/env/hidden/bin /opt/env/hidden/notes
printf '#!/bin/true\\n' >/opt/env/hidden/bin/python
ln -sf /opt/env/hidden/bin/python /opt/env/bin/python
"""
"""A build that leaves programs of its own before the system's, and an interpreter that lies elsewhere."""


def test_no_program_of_a_build_answers_for_the_image(built: Built, tmp_path: Path) -> None:
    """The seal asks the system's programs, and looks into what calls itself the interpreter's installation."""
    tree = committed(tmp_path / "tree", FILES)
    leak = Leak("", path=f"{ENV_PREFIX}/hidden/notes/a.txt", content=NOTE.encode())
    made = left_by(built, tree, "lying", leak.script + LYING)
    with built.engine.start(made) as container:
        problems = seal.check(container, fix=fix(tree), import_names=["pkg"]).problems
    assert any("hidden/notes/a.txt" in problem and "lines that the fix adds" in problem for problem in problems), (
        problems
    )


HIDING = b"""
chmod 0 /workspace/cache/notes.txt
mkdir /workspace/cache/closed
cp /etc/passwd /workspace/cache/closed/
chmod 0 /workspace/cache/closed
"""
"""A build that takes the right to read from what it leaves; the same user can give it back."""


def test_what_nobody_may_read_hides_nothing(built: Built, tmp_path: Path) -> None:
    """What the user of sandboxes can make readable is read, or told as unread."""
    tree = committed(tmp_path / "tree", FILES)
    leak = Leak("", path="/workspace/cache/notes.txt", content=NOTE.encode())
    made = left_by(built, tree, "hiding", leak.script + HIDING)
    with built.engine.start(made) as container:
        problems = seal.check(container, fix=fix(tree), import_names=["pkg"]).problems
    if built.engine.name == "bubblewrap":  # it opens what a build leaves
        assert any("notes.txt holds 1 of 1 lines" in problem for problem in problems), problems
    else:
        unread = {"/workspace/cache/notes.txt", "/workspace/cache/closed"}
        assert unread <= {problem.removeprefix("cannot be read to its end: ") for problem in problems}, problems


def test_a_search_that_breaks_off_is_no_answer(built: Built, tmp_path: Path) -> None:
    """A line that is longer than the sandbox's memory ends grep: then nobody knows what it would have found."""
    tree = committed(tmp_path / "tree", FILES)
    made = left_by(built, tree, "sparse", b"set -eu\ntruncate -s 700M /workspace/cache/a\n")
    limits = Limits(memory_mb=300)
    with (
        built.engine.start(made, limits=limits) as container,
        pytest.raises(ContainerError, match="cannot check the seal"),
    ):
        seal.check(container, fix=fix(tree), import_names=["pkg"])


@pytest.fixture(scope="module", params=every_builder)
def layered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Like `built`, by whatever makes layers of its own kind."""
    return build_all(str(request.param), tmp_path_factory.mktemp(str(request.param)))


OWN_SCRIPT = b"""set -eu
rm "$FC_ENV/notes.txt"
printf 'other\\n' >"$FC_ENV/other.txt"
"""
"""A build that takes away one file of the tier below, and replaces another."""


def test_what_an_upper_layer_hides_is_found(layered: Built, tmp_path: Path) -> None:
    """No sandbox shows it, and whoever pulls the image reads it: a file that is gone, and one that was written over."""
    tree = committed(tmp_path / "tree", FILES)
    contents = {"notes": NOTE.encode(), "other": zipped()}
    leaks = [Leak("", path=f"{ENV_PREFIX}/{name}.txt", content=content) for name, content in contents.items()]
    script = ENV_SCRIPT + b"\n".join(leak.script for leak in leaks)
    env = Tier("env", "fc-conformance/env:hiding", ("env.sh",), {"env.sh": script}, {"FC_PYTHON": "3.11"})
    with tarfile.open(tmp_path / "repo.tar", "w") as archive:
        archive.add(tree, arcname=".")
    files: dict[str, bytes | Path] = {"own.sh": OWN_SCRIPT, "repo.tar": tmp_path / "repo.tar"}
    tier = Tier("pr", "fc-conformance/hiding:1", ("own.sh",), files)
    made = layered.engine.build(layered.engine.build(layered.base, env, log=layered.log), tier, log=layered.log)
    with layered.engine.start(made) as container:
        seen = seal.check(container, fix=fix(tree), import_names=["pkg"])
        found = seal.check(container, fix=fix(tree), import_names=["pkg"], below=layered.engine.below(made))
        assert not container.exec(["find", CACHE_DIR, "-mindepth", "1"], timeout=LONG).text
    assert not any(".txt" in problem for problem in seen.problems) and seal._NOT_BELOW in seen.unknown
    hidden = [problem for problem in found.problems if problem not in seen.problems]
    assert len(hidden) == 2, found.problems
    for name in contents:
        assert any(problem.startswith(f"in a lower layer: {ENV_PREFIX}/{name}.txt holds ") for problem in hidden)


OWN_DOCKERFILE = """ARG PARENT
FROM ${{PARENT}}
USER 0:0
ENV NOTE="{note}"
LABEL fixed="{short}"
COPY own.sh /build/
ADD repo.tar /workspace/repo/
RUN rm /workspace/repo/.git/objects/{loose}
USER 1000:1000
"""


def test_what_an_image_says_of_itself_is_read(layered: Built, tmp_path: Path) -> None:
    """ENV and LABEL of a Dockerfile of its own, and an object that it took away again; our own say nothing."""
    tree = committed(tmp_path / "tree", FILES)
    blob = git(tree, "hash-object", "-w", "--stdin", stdin=FIXED)
    known = fix(tree)
    merge = "5ea1" * 10
    known = Fix(known.objects | {merge}, known.lines)
    with tarfile.open(tmp_path / "repo.tar", "w") as archive:
        archive.add(tree, arcname=".")
    files: dict[str, bytes | Path] = {"own.sh": b"true\n", "repo.tar": tmp_path / "repo.tar"}
    own = OWN_DOCKERFILE.format(note=NOTE, short=f"see {merge[:9]}", loose=f"{blob[:2]}/{blob[2:]}")
    text = own if layered.engine.runs_dockerfiles else ""
    tier = Tier("pr", "fc-conformance/saying:1", ("own.sh",), files, dockerfile=text)
    made = layered.engine.build(layered.env, tier, log=layered.log)
    with layered.engine.start(made) as container:
        report = seal.check(container, fix=known, import_names=["pkg"], below=layered.engine.below(made))
    said = [problem for problem in report.problems if "the image's configuration" in problem]
    if layered.engine.runs_dockerfiles:
        assert said == [
            "the image's configuration holds 1 of 1 lines that the fix adds to CHANGES.md",
            f"the image's configuration names {merge}, an object of the fix",
        ]
        assert "another repository: in a lower layer: /workspace/repo/.git/objects" in report.problems
    else:
        assert said == []


ARCHIVES = {
    f"{WORKDIR}/build/pkg.zip": zipped(),
    f"{WORKDIR}/build/pkg.tar": tarred("w"),
    f"{WORKDIR}/build/pkg.tgz": tarred("w:gz"),
    f"{WORKDIR}/pkg.tar.bz2": tarred("w:bz2"),
    f"{WORKDIR}/pkg.tar.xz": tarred("w:xz"),
    f"{SITE}/other/no-name": tarred("w:gz", "inner", tarred("w:xz", "deeper", zipped())),
    f"{WORKDIR}/build/app.pyz": b"#!/usr/bin/env python3\n" + zipped(),
    f"{WORKDIR}/build/lib.tgz": tarred("w:gz", "pkg/core.so", STRINGS),
}
"""Places in an image, and archives that hold the fix; the last one its machine code."""


def test_no_archive_and_no_other_repository_hides_the_fix(built: Built, tmp_path: Path) -> None:
    """Archives of every kind are opened, whatever they are called; a repository beside the tree's own is none to have.

    Those that base's own commit has are base's.
    """
    tree = committed(tmp_path / "tree", {**FILES, "tests/data.zip": zipped(), "tests/dot_git/HEAD": b"ref: x\n"})
    repositories(tree)
    leaks = [Leak("", path=path, content=content).script for path, content in ARCHIVES.items()]
    made = left_by(built, tree, "archives", b"".join(leaks))
    with built.engine.start(made) as container:
        problems = seal.check(container, fix=fix(tree), import_names=["pkg"]).problems
    for path in ARCHIVES:
        kind = "names that the fix brings" if path.endswith("lib.tgz") else "lines that the fix adds"
        assert any(problem.startswith(f"{path} holds") and kind in problem for problem in problems), (path, problems)
    found = {problem.partition(": ")[2] for problem in problems if problem.startswith("another repository")}
    below = ("build/clone/.git", "build/cache", "build/store/objects", "fix.bundle")
    assert found == {f"{WORKDIR}/{path}" for path in below}
    assert not any(f"{WORKDIR}/tests/" in problem for problem in problems), problems


def test_the_command_looks_into_images_of_every_engine(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`fc-data seal-check IMAGE` finds a leak that needs no knowledge of the fix, and exits with 1."""
    for variable in known_variables():
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("FC_CACHE_DIR", str(built.place / "cache"))
    monkeypatch.setenv("FC_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("FC_CA_BUNDLE", str(CA_BUNDLE) if CA_BUNDLE.exists() else "")
    made, _ = spoiled(built, tmp_path, "tag")
    code = run_app(app, ["seal-check", made.name, "--engine", built.engine.name])
    out, err = capsys.readouterr()
    assert (code, err) == (1, "")
    assert "  LEAK ref refs/tags/v2\n" in out and out.endswith("not sealed\n")
