"""Other files in place of a directory of a commit: as a git diff, so that every sandbox can apply it."""

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from datasmith.errors import ForgeError
from datasmith.github.git import Git, full_sha

MOST_BYTES = 20_000_000
"""No directory larger than this is taken from anywhere."""
_DIFF = (
    *("diff-tree", "-p", "-r", "--binary", "--full-index", "--no-renames", "--no-color"),
    *("--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"),
)


@dataclass(frozen=True, slots=True)
class File:
    """A regular file: its content, and whether it can be run."""

    data: bytes
    executable: bool = False


def directory_at(git: Git, sha: str, directory: str) -> dict[str, File]:
    """The regular files below a directory of a commit, by path relative to it; links and submodules are left out.

    Raises:
        ForgeError: they are larger than MOST_BYTES, or the clone does not hold one of them.
    """
    prefix = f"{directory}/".encode("utf-8", "surrogateescape")
    found = [entry for entry in git.entries(sha) if entry.path.startswith(prefix) and entry.mode.startswith("100")]
    files: dict[str, File] = {}
    size = 0
    for entry, data in zip(found, git.contents([entry.oid for entry in found]), strict=True):
        size += len(data)
        if size > MOST_BYTES:
            raise ForgeError(f"{directory} at {sha[:12]} is larger than {MOST_BYTES} bytes")
        path = entry.path.removeprefix(prefix).decode("utf-8", "surrogateescape")
        files[path] = File(data, entry.mode == "100755")
    return files


def overlay_patch(git: Git, base: str, place: str, files: Mapping[str, File]) -> str:
    """The git diff after which the directory `place` of `base` holds `files` (by path below it) and nothing else.

    A path that no checkout may write is left out.

    Raises:
        ForgeError: the clone lacks a part of the tree, or cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="fc-overlay-") as scratch:
        home = Path(scratch, "git")
        git.scratch_git_dir(home)
        index = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}

        def made(*words: str, stdin: bytes = b"") -> bytes:
            done = git.git(*words, stdin=stdin, env=index, git_dir=home)
            if not done.ok:
                raise ForgeError(f"laying files over {place}: git {words[0]}: {done.error_text.strip()[-300:]}")
            return done.stdout

        made("read-tree", full_sha(base))
        made("update-index", "-z", "--index-info", stdin=_gone(git, base, place))
        names = _stored(made, Path(scratch), [file.data for file in files.values()])
        entries = [
            b"%s %s\t%s\0" % (b"100755" if file.executable else b"100644", name.encode(), _path(place, path))
            for (path, file), name in zip(files.items(), names, strict=True)
        ]
        made("update-index", "-z", "--index-info", stdin=b"".join(entries))
        tree = made("write-tree").decode().strip()
        return made(*_DIFF, git.tree_id(base), tree).decode("utf-8", "surrogateescape")


def _path(place: str, path: str) -> bytes:
    return f"{place}/{path}".encode("utf-8", "surrogateescape")


def _gone(git: Git, base: str, place: str) -> bytes:
    """What takes all that base has below `place`, or at it, out of an index."""
    at = place.encode("utf-8", "surrogateescape")
    below = [entry for entry in git.entries(base) if entry.path == at or entry.path.startswith(at + b"/")]
    return b"".join(b"0 %s\t%s\0" % (b"0" * len(entry.oid), entry.path) for entry in below)


class _Made(Protocol):
    """Runs a git command that must succeed, and returns what it prints."""

    def __call__(self, *words: str, stdin: bytes = b"") -> bytes: ...


def _stored(made: _Made, scratch: Path, contents: list[bytes]) -> list[str]:
    """The names of blobs with these contents, once they are stored."""
    if not contents:
        return []
    paths = []
    for number, data in enumerate(contents):
        paths.append(scratch / f"blob-{number}")
        paths[-1].write_bytes(data)
    listed = "".join(f"{path}\n" for path in paths).encode()
    return made("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=listed).decode().split()


def lines_at(git: Git, sha: str, lines: Collection[str]) -> frozenset[str]:
    """Those of the lines that some file of a commit holds, as a whole line or as a part of one."""
    left, found = set(lines), set[str]()
    while left:
        # A line may be part of another one, and then hide behind it: again, until nothing more is found.
        asked = "".join(f"{line}\n" for line in sorted(left)).encode("utf-8", "surrogateescape")
        done = git.git("grep", "--threads=1", "-ohaF", "-f", "-", full_sha(sha), stdin=asked)
        if done.rc not in (0, 1):
            raise ForgeError(f"git grep on {git.path}: {done.error_text.strip()[-300:]}")
        known = left & set(done.stdout.decode("utf-8", "surrogateescape").split("\n"))
        if not known:
            break
        found |= known
        left -= known
    return frozenset(found)
