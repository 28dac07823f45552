"""Read many diffs with few git processes: files with their counts, and the patch where it is not too large."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from datasmith.errors import ForgeError
from datasmith.github.models import FileChange
from datasmith.process import Completed

BATCH = 200
BATCH_BYTES = 64_000_000
"""At most this much of one git process's answer is held; a batch that is larger is read diff by diff."""

Pair = tuple[str, str]
"""(base, head): full commit ids."""

_LISTING = ("--raw", "--numstat", "-z", "-r", "--no-renames", "--no-ext-diff", "--no-textconv")
_PATCH = (
    *("-p", "--binary", "--full-index", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"),
    *("--src-prefix=a/", "--dst-prefix=b/", "-U3", "--diff-algorithm=myers"),
)
_NO_OBJECT = "unable to read"
_NOT_WHOLE = " (the clone lacks objects; example: clone it without --filter, or git fetch --refetch origin)"
_NAMES = ("--raw", "-z", "-r", "--no-renames")
"""Asks trees alone, and no file's content."""
_ALL_BINARY = Path(__file__).with_name("templates") / "all-binary.gitattributes"


_log = logging.getLogger(__name__)


class _LackingError(Exception):
    """The clone lacks an object that a diff needs."""


class GitCommand(Protocol):
    """Runs one git command (`Git.git`)."""

    def __call__(self, *words: str, stdin: bytes = b"", kept_bytes: int = ...) -> Completed:
        """How the command ended; a non-zero exit code is a value."""


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two commits; `patch` is a git diff, None where it was too large to read.

    It is None, too, and no file has counts, where the clone lacks one of their contents.
    """

    files: tuple[FileChange, ...]
    patch: str | None


class DiffReader:
    """Asks one clone for diffs; patches of more than `max_patch` bytes are not read."""

    def __init__(self, git: GitCommand, max_patch: int) -> None:
        self._git = git
        self._max_patch = max_patch

    def changes(self, pairs: Sequence[Pair]) -> list[Change]:
        """The change of each pair, in order.

        Raises:
            ForgeError: git failed, or the clone lacks an object of every one.
        """
        found: list[Change] = []
        for start in range(0, len(pairs), BATCH):
            batch = pairs[start : start + BATCH]
            try:
                found += self._batch(batch)
            except _LackingError as error:
                found += self._around_holes(batch, error)
        return found

    def _batch(self, pairs: Sequence[Pair]) -> list[Change]:
        answer = self._diff_tree(pairs, (*_LISTING, *_PATCH), BATCH_BYTES)
        if answer is None:
            return [self._alone(pair) for pair in pairs]
        return [self._change(*record) for record in split_answer(answer, pairs)]

    def _diff_tree(self, pairs: Sequence[Pair], words: Sequence[str], most: int, *options: str) -> bytes | None:
        """What diff-tree prints for the pairs; None where that is more than `most` bytes."""
        stdin = "".join(f"{head} {base}\n" for base, head in pairs).encode()
        done = self._git(*options, "diff-tree", "--stdin", *words, stdin=stdin, kept_bytes=most)
        if not done.ok:
            said = done.error_text.strip()[-300:]
            if _NO_OBJECT in said:
                raise _LackingError(f"git diff-tree: {said}{_NOT_WHOLE}")
            raise ForgeError(f"git diff-tree: {said}")
        return done.stdout if len(done.stdout) <= most else None

    def _around_holes(self, pairs: Sequence[Pair], error: _LackingError) -> list[Change]:
        """One by one: a large file that a mirror left out takes its own commit away, and no other."""
        found = [self._or_none(pair) for pair in pairs]
        if not any(found):
            raise ForgeError(str(error))
        try:
            return [change or Change(self._names(pair), None) for pair, change in zip(pairs, found, strict=True)]
        except _LackingError as lacks_a_tree:
            raise ForgeError(str(lacks_a_tree)) from lacks_a_tree

    def _or_none(self, pair: Pair) -> Change | None:
        try:
            return self._alone(pair)
        except _LackingError as error:
            _log.warning("%s: its patch cannot be read: %s", pair[1], error)
            return None

    def _names(self, pair: Pair) -> tuple[FileChange, ...]:
        answer = self._diff_tree([pair], _NAMES, BATCH_BYTES) or b""
        words = answer.removeprefix(f"{pair[1]}\0".encode()).split(b"\0")
        named = zip(words[::2], words[1::2], strict=False)
        return tuple(_file_change(path, b"-", b"-", meta.rsplit(b" ", 1)[-1].decode()[:1]) for meta, path in named)

    def _alone(self, pair: Pair) -> Change:
        listing = self._diff_tree([pair], _LISTING, BATCH_BYTES)
        if listing is None:
            raise ForgeError(f"the list of files that {pair[1]} changes is larger than {BATCH_BYTES} bytes")
        _, files, _ = next(split_answer(listing, [pair]))
        return self._change(pair, files, self._patch(pair))

    def _patch(self, pair: Pair, *options: str) -> bytes | None:
        header = f"{pair[1]}\n".encode()
        answer = self._diff_tree([pair], _PATCH, self._max_patch + len(header), *options)
        return None if answer is None else answer.removeprefix(header)

    def _change(self, pair: Pair, files: tuple[FileChange, ...], patch: bytes | None) -> Change:
        if patch is not None and not _is_text(patch):
            # Text in another encoding: as a binary patch it survives every store, and still applies.
            patch = self._patch(pair, "-c", f"core.attributesFile={_ALL_BINARY}")
        if patch is None or len(patch) > self._max_patch:
            return Change(files, None)
        return Change(files, patch.decode())


def split_answer(answer: bytes, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, tuple[FileChange, ...], bytes]]:
    """Cut the answer of one diff-tree into (pair, files, patch) for each pair; an empty diff prints nothing.

    No content can fake a border: every line of a patch that comes from a file has a prefix, and a border is a line
    that begins with the commit id expected next.
    """
    at = 0
    for number, pair in enumerate(pairs):
        header = f"{pair[1]}\0".encode()
        if not answer.startswith(header, at):
            yield pair, (), b""
            continue
        files, start = _listing(answer, at + len(header))
        at = _next_border(answer, start, pairs[number + 1 :])
        yield pair, files, answer[start:at]


def _next_border(answer: bytes, start: int, following: Sequence[Pair]) -> int:
    for _, head in following:
        header = f"{head}\0".encode()
        if answer.startswith(header, start):
            return start
        found = answer.find(b"\n" + header, start)
        if found >= 0:
            return found + 1
    return len(answer)


def _listing(answer: bytes, at: int) -> tuple[tuple[FileChange, ...], int]:
    """The files of one record, and where its patch starts."""
    statuses: list[str] = []
    while answer.startswith(b":", at):
        meta_end = answer.index(b"\0", at)
        statuses.append(answer[at:meta_end].rsplit(b" ", 1)[1][:1].decode())
        at = answer.index(b"\0", meta_end + 1) + 1
    files = []
    for status in statuses:
        end = answer.index(b"\0", at)
        added, deleted, path = answer[at:end].split(b"\t", 2)
        files.append(_file_change(path, added, deleted, status))
        at = end + 1
    return tuple(files), at + 1 if answer.startswith(b"\0", at) else at


def _file_change(path: bytes, added: bytes, deleted: bytes, status: str) -> FileChange:
    kinds: dict[str, Literal["added", "removed"]] = {"A": "added", "D": "removed"}
    return FileChange(
        path=path.decode("utf-8", "backslashreplace"),
        additions=None if added == b"-" else int(added),
        deletions=None if deleted == b"-" else int(deleted),
        status=kinds.get(status, "modified"),
    )


def _is_text(patch: bytes) -> bool:
    if b"\0" in patch:
        return False
    try:
        patch.decode()
    except UnicodeDecodeError:
        return False
    return True
