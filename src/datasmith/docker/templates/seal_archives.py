"""Inside a sandbox: which archives hold some of the given texts or files, whatever they are called.

What is written otherwise (UTF-16, or the marks of HTML between the words) counts as an archive of its text.

Arguments: a file of texts, one a line; a file with the paths that the tree's commit has, which are not looked into;
a regular expression of the names of files that count; a file with the paths that other distributions list as theirs
(NUL between all of them); a file of whole files, each `SIZE<tab>SHA256<tab>N`; and a file for the paths that were
looked into, or could not be: all that another search for texts needs. Standard input: paths, NUL between them.
Prints `file<tab>PATH` and `has<tab>TEXT`; `same<tab>N<tab>PATH` where file N is there, in an archive or by itself;
`repo<tab>PATH` where objects of git are; and `unread<tab>PATH` where an archive holds more than is read of one, or
cannot be read to its end; these but for what other distributions list. What is damaged inside of one is gone past: data
of tests is so on purpose. Paths are written as seal_common.sh does.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING

from .seal_code import ENOUGH, is_code
from .seal_embedded import beginnings, contents
from .seal_encoded import encoded
from .seal_readers import CLOSED, beginning, is_archive
from .seal_streams import DAMAGE, HEAD, Bounded, TooMuch, Unread, copy
from .seal_texts import QUOTED, written_as

if TYPE_CHECKING:
    from collections.abc import Collection

TREE = "/workspace/repo/"
OBJECTS = f"{TREE}.git/objects/"
GENERATED = re.compile(r"\.(egg|dist)-info/")
"""What tools write from a project's own settings can be what a fix makes of one of its files."""
REPOSITORY = re.compile(rb"# v[23] git bundle\n|PACK\0\0\0[\2\3]")
"""What a bundle and a pack of git begin with."""
PACKS = (".pack", ".bundle")
"""Names of files that seal_search.sh looks at: some are base's own."""


def is_repository(head: bytes) -> bool:
    """Whether a file that begins like this holds objects of git."""
    return bool(REPOSITORY.match(head))


@dataclass
class Found:
    """Texts, numbers of whole files, and objects of git that a file holds; and whether all of it was read.

    `inside` says whether it is more than what lies there, or may be.
    """

    lines: set[bytes] = field(default_factory=set)
    same: set[str] = field(default_factory=set)
    repo: bool = False
    whole: bool = True
    inside: bool = False


class Lines:
    """What grep reads: a NUL ends a line, so that it keeps no gigabyte of machine code for one; no text has any."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.pipe = pipe

    def write(self, data: bytes) -> int:
        """Like any file's."""
        return self.pipe.write(data.replace(b"\0", b"\n"))


class Wanted:
    """What is looked for: texts, in a file one a line; whole files, by size and digest; names of files that count.

    `tracked` are paths of the tree's commit. That no program opens what they hold is base's doing, in its objects, too.
    """

    def __init__(self, texts: str, files: str, names: str = "", tracked: Collection[str] = ()) -> None:
        self.texts = texts
        self.tracked = tracked
        # Where nothing is looked for, grep ends at once, and takes nothing.
        self.any = Path(texts).stat().st_size > 0
        self.names = re.compile(names)
        rows = [line.split("\t") for line in Path(files).read_text().splitlines()]
        self.numbers = {digest: number for _, digest, number in rows}
        self.sizes = {int(size) for size, *_ in rows}

    def feed(self, file: IO[bytes], path: str, sink: Bounded, found: Found) -> None:
        """Write what an archive holds to the sink, and note the whole files and the repositories that are in it."""
        for name, content in contents(file, path, own=self.own if path.startswith(OBJECTS) else ()):
            head = b"" if self.names.search(name) else beginning(content)
            if not head or is_code(head[:ENOUGH]):
                sink.begin()
                sink.write(head)
                with suppress(*DAMAGE):
                    copy(content, sink)
                found.same.update(self.number(name, sink.digest.hexdigest()))
                found.repo |= is_repository(sink.head)
                sink.write(b"\n")

    @cached_property
    def own(self) -> set[str]:
        """Digests of the tree's files that begin like archives."""
        found = set()
        for path in map(Path, (TREE + path for path in self.tracked)):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    head = file.read(HEAD)
                    found |= {sha256(head + file.read()).hexdigest()} if is_archive(head) else set()
        return found

    def number(self, name: str, digest: str) -> set[str]:
        """Of the file with this digest, if it is one of the fix's."""
        return {self.numbers[digest]} if digest in self.numbers and not GENERATED.search(name) else set()

    def plain(self, path: str) -> Found:
        """Which file this one is, by itself."""
        with io.FileIO(path) as file:
            head = file.read(HEAD)
            found = Found(repo=is_repository(head) and not path.endswith(PACKS))
            if os.fstat(file.fileno()).st_size in self.sizes:
                found.same = self.number(path, sha256(head + file.readall()).hexdigest())
        return found

    def held(self, path: str, found: Found) -> None:
        """Add what an archive holds; what can be read counts."""
        with Path(path).open("rb") as file, tempfile.TemporaryFile() as told:
            grep = subprocess.Popen(["grep", "-ohaF", "-f", self.texts], stdin=subprocess.PIPE, stdout=told)
            try:
                self.feed(file, path, Bounded(Lines(grep.stdin or io.BytesIO()), keeps=self.any), found)
            except (TooMuch, Unread):
                found.whole = False
            finally:
                grep.communicate()
            if grep.returncode not in {0, 1}:
                raise SystemExit(f"grep ended with exit code {grep.returncode}")
            told.seek(0)
            found.lines |= set(told.read().split(b"\n")) - {b""}


def looked_into(path: str, *, foreign: bool) -> bool:
    """Whether a file is an archive, has one in it, or its text is written otherwise; another's may be of any kind.

    Raises:
        Unread: nobody could look at all that may be one.
    """
    with io.BufferedReader(io.FileIO(path)) as file:
        head = file.read(HEAD)
        if foreign and (head.startswith(CLOSED) or QUOTED.search(path)):
            return False
        if is_archive(head) or written_as(path, head) or zipfile.is_zipfile(file):
            return True
        # The names in machine code are as long as texts in letters, and too many.
        searches = (beginnings,) if is_code(head[:ENOUGH]) else (beginnings, encoded)
        return not foreign and any(True for search in searches for _ in search(file))


def split(data: bytes) -> list[str]:
    """Paths with NUL between them."""
    return [path.decode("utf-8", "surrogateescape") for path in data.split(b"\0") if path]


def look(wanted: Wanted, path: str, *, foreign: bool) -> Found:
    """Everything that is told of a file; another distribution's can be of any kind, but for its lines."""
    found = Found()
    try:
        found = wanted.plain(path)
        found.inside = looked_into(path, foreign=foreign)
        if found.inside:
            wanted.held(path, found)
    except FileNotFoundError:
        return found
    except (OSError, Unread):
        found.whole, found.inside = False, True
    return Found(found.lines, inside=found.inside) if foreign else found


def main(texts: str, known: str, names: str, listed_by_others: str, files: str, looked: str) -> None:
    """See the module."""
    tracked, others = (set(split(Path(file).read_bytes())) for file in (known, listed_by_others))
    wanted = Wanted(texts, files, names, tracked)
    inside = []
    for path in split(sys.stdin.buffer.read()):
        if path.startswith(TREE) and path[len(TREE) :] in tracked:
            continue
        found = look(wanted, path, foreign=path in others)
        inside += [path.encode("utf-8", "surrogateescape") + b"\0"] if found.inside else []
        shown = path.replace("\\", "\\\\").replace("\n", "\\n").encode("utf-8", "surrogateescape")
        told = [b"same\t" + number.encode() + b"\t" + shown for number in sorted(found.same)]
        told += [] if found.whole else [b"unread\t" + shown]
        told += [b"repo\t" + shown] if found.repo else []
        told += [b"file\t" + shown, *(b"has\t" + line for line in sorted(found.lines))] if found.lines else []
        sys.stdout.buffer.writelines(line + b"\n" for line in told)
    Path(looked).write_bytes(b"".join(inside))
