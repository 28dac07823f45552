"""The sealed source: one commit's tree and a repository that knows nothing else, as a tar whose bytes never vary."""

import gzip
import io
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from datasmith.errors import ForgeError

if TYPE_CHECKING:
    from datasmith.github.git import Entry, Git

BRANCH = "main"
AUTHOR = "base"
EMAIL = "base@example.org"
MESSAGE = "base\n"
OWNER = 0
"""uid and gid of everything in the tar: the build runs as root of the sandbox, and git only trusts its own user."""

_SUBMODULE, _LINK = "160000", "120000"
_PACK_OPTIONS = ("--window=0", "--no-reuse-object", "--no-reuse-delta", "--threads=1", "--no-write-bitmap-index")
_FIXED = (
    "-c",
    "pack.writeReverseIndex=false",
    "-c",
    "index.threads=1",
    "-c",
    "index.version=2",
    "-c",
    "core.compression=6",
)


def config_text(*, bare: bool, sha256: bool = False) -> str:
    """A git configuration with the least that makes a directory a repository."""
    extension = "[extensions]\n\tobjectformat = sha256\n" if sha256 else ""
    core = f"\trepositoryformatversion = {int(sha256)}\n\tfilemode = true\n\tbare = {str(bare).lower()}\n"
    return f"[core]\n{core}{extension}"


def split_batch(answer: bytes, count: int) -> Iterator[bytes]:
    """The contents out of the answer of `git cat-file --batch`, in order.

    Raises:
        ForgeError: one is missing: the clone is a partial one.
    """
    at = 0
    for _ in range(count):
        end = answer.find(b"\n", at)
        header = answer[at:end].decode("ascii", "replace").split()
        if len(header) != 3 or header[1] != "blob":
            what = " ".join(header) or "(no answer)"
            raise ForgeError(f"the clone does not hold the object {what}: is it a partial clone?")
        at = end + 1 + int(header[2]) + 1
        yield answer[end + 1 : at - 1]


def write_sealed_source(git: "Git", sha: str, target: Path, *, commit_date: datetime) -> str:
    """Write the tree of commit `sha` and a fresh `.git` to the tar `target` (gzipped for .gz and .tgz).

    Files hold the bytes of their blobs: no attribute, filter, line-end conversion or export rule is applied, links
    stay links and are never followed, a submodule is an empty directory. `.git` holds one commit (message "base",
    dated `commit_date`) on `main`, the objects of its tree in one pack, and an index; no remote and no reflog. The
    same commit and date give the same bytes on every run with the same git. Returns the tree's id.

    Raises:
        NotFound: the clone does not hold the commit.
        ForgeError: the tree holds a path that no checkout may write, or the clone lacks a part of it.
    """
    tree = git.tree_id(sha)
    entries = sorted(git.entries(sha), key=lambda entry: entry.path)
    check_paths(entries)
    stamp = int(commit_date.astimezone(UTC).timestamp())
    with tempfile.TemporaryDirectory(prefix="fc-source-") as scratch:
        files = _fresh_repository(git, tree, stamp, Path(scratch))
        draft = target.with_name(f".{target.name}.part")
        try:
            with _tar(draft, target.suffix in {".gz", ".tgz"}) as archive:
                _Writer(archive, stamp).write(files, entries, git.contents)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    return tree


def check_paths(entries: Sequence["Entry"]) -> None:
    """Refuse trees that git itself would not check out.

    Raises:
        ForgeError: a path leaves the tree, reaches into .git, appears twice, or lies below a link or file.
    """
    leaves = {entry.path for entry in entries}
    if len(leaves) != len(entries):
        raise ForgeError("the tree holds one path twice")
    for entry in entries:
        parts = entry.path.split(b"/")
        if any(part in {b"", b".", b".."} or part.lower() == b".git" for part in parts):
            raise ForgeError(f"the tree holds the path {entry.path!r}, which no checkout may write")
        if any(b"/".join(parts[:depth]) in leaves for depth in range(1, len(parts))):
            raise ForgeError(f"the tree holds the path {entry.path!r} below a link or file")


def _fresh_repository(git: "Git", tree: str, stamp: int, scratch: Path) -> list[tuple[str, bytes]]:
    """Files of a `.git` directory whose only commit is `tree`, by path."""
    home = scratch / "git"
    git.scratch_git_dir(home)
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _identity(stamp).items()}

    def made(*words: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> bytes:
        done = git.git(*_FIXED, *words, stdin=stdin, env=env, git_dir=home)
        if not done.ok:
            raise ForgeError(f"sealing {tree}: git {words[0]}: {done.error_text.strip()[-300:]}")
        return done.stdout

    commit = made("commit-tree", tree, stdin=MESSAGE.encode(), env=who).decode().strip()
    objects = made("rev-list", "--objects", "--no-object-names", commit)
    made("pack-objects", *_PACK_OPTIONS, "-q", str(scratch / "pack"), stdin=objects)
    made("read-tree", commit, env={"GIT_INDEX_FILE": str(scratch / "index")})
    files = [
        (".git/HEAD", f"ref: refs/heads/{BRANCH}\n".encode()),
        (".git/config", config_text(bare=False, sha256=len(tree) == 64).encode()),
        (".git/index", (scratch / "index").read_bytes()),
        (f".git/refs/heads/{BRANCH}", f"{commit}\n".encode()),
    ]
    packs = sorted(path for path in scratch.glob("pack-*") if path.suffix in {".pack", ".idx"})
    files += [(f".git/objects/pack/{path.name}", path.read_bytes()) for path in packs]
    return sorted(files)


def _identity(stamp: int) -> dict[str, str]:
    return {"NAME": AUTHOR, "EMAIL": EMAIL, "DATE": f"@{stamp} +0000"}


@contextmanager
def _tar(path: Path, gzipped: bool) -> Iterator[tarfile.TarFile]:
    """A new tar at `path`; no time and no file name of this machine gets into it."""
    with path.open("wb") as raw:
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) if gzipped else raw
        try:
            with tarfile.open(
                fileobj=packed, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
            ) as archive:
                yield archive
        finally:
            if gzipped:
                packed.close()


@dataclass
class _Writer:
    """Adds members with fixed owner, mode and time."""

    archive: tarfile.TarFile
    stamp: int

    def write(
        self,
        files: Sequence[tuple[str, bytes]],
        entries: Sequence["Entry"],
        read: Callable[[Sequence[str]], Iterator[bytes]],
    ) -> None:
        """First `.git`, then the tree; a directory comes before what it holds."""
        made: set[str] = set()
        for path, content in files:
            self._parents(path, made)
            self._file(path, content, 0o644)
        contents = read([entry.oid for entry in entries if entry.mode != _SUBMODULE])
        for entry in entries:
            path = entry.path.decode("utf-8", "surrogateescape")
            self._parents(f"{path}/" if entry.mode == _SUBMODULE else path, made)
            if entry.mode != _SUBMODULE:
                self._entry(entry.mode, path, next(contents))

    def _entry(self, mode: str, path: str, content: bytes) -> None:
        if mode == _LINK:
            link = self._member(path, 0o777, tarfile.SYMTYPE)
            link.linkname = content.decode("utf-8", "surrogateescape")
            self.archive.addfile(link)
        else:
            self._file(path, content, 0o755 if mode == "100755" else 0o644)

    def _parents(self, path: str, made: set[str]) -> None:
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            parent = "/".join(parts[:depth])
            if parent not in made:
                made.add(parent)
                self.archive.addfile(self._member(parent, 0o755, tarfile.DIRTYPE))

    def _file(self, path: str, content: bytes, mode: int) -> None:
        member = self._member(path, mode, tarfile.REGTYPE)
        member.size = len(content)
        self.archive.addfile(member, io.BytesIO(content))

    def _member(self, path: str, mode: int, kind: bytes) -> tarfile.TarInfo:
        member = tarfile.TarInfo(path)
        member.mode, member.type, member.mtime = mode, kind, self.stamp
        member.uid = member.gid = OWNER
        return member
