"""Inside a sandbox: which archives hold some of the given texts or files, whatever they are called.

What is written otherwise (UTF-16, or the marks of HTML between the words) counts as an archive of its text.

Arguments: a file of texts, one a line; a file with the paths that the tree's commit has, which are not looked into;
a regular expression of the names of files that count; a file with the paths that other distributions list as theirs
(NUL between all of them); and a file of whole files, each `SIZE<tab>SHA256<tab>N`. Standard input: paths, NUL between
them. Prints `file<tab>PATH` and `has<tab>TEXT`; `same<tab>N<tab>PATH` where file N is there, in an archive or by
itself; and `unread<tab>PATH` where an archive holds more than is read of one, or cannot be read to its end; both but
for what other distributions list. What is damaged inside of one is gone past: data of tests is so on purpose. Paths are
written as seal_common.sh does.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

from .seal_readers import (
    DAMAGE,
    HEAD,
    ZSTD,
    Bounded,
    TooMuch,
    Unread,
    contents,
    copy,
    encoding_of,
    is_archive,
)

if TYPE_CHECKING:
    from .seal_readers import Whole

TREE = "/workspace/repo/"
GENERATED = re.compile(r"\.(egg|dist)-info/")
"""What tools write from a project's own settings can be what a fix makes of one of its files."""


class Wanted:
    """What is looked for: texts, in a file one a line; whole files, by size and digest; names of files that count."""

    def __init__(self, texts: str, files: str, names: str = "") -> None:
        self.texts = texts
        self.names = re.compile(names)
        rows = [line.split("\t") for line in Path(files).read_text().splitlines()]
        self.numbers = {digest: number for _, digest, number in rows}
        self.sizes = {int(size) for size, *_ in rows}

    def feed(self, file: Whole, path: str, sink: Bounded, same: set[str]) -> None:
        """Write what an archive holds to the sink, and note the whole files that are in it."""
        for name, content in contents(file, path):
            if self.names.search(name):
                sink.digest = sha256()
                with suppress(*DAMAGE):
                    copy(content, sink)
                same.update(self.number(name, sink.digest.hexdigest()))
                sink.write(b"\n")

    def number(self, name: str, digest: str) -> set[str]:
        """Of the file with this digest, if it is one of the fix's."""
        return {self.numbers[digest]} if digest in self.numbers and not GENERATED.search(name) else set()

    def plain(self, path: str) -> set[str]:
        """Which file this one is, by itself."""
        file = Path(path)
        if file.stat().st_size not in self.sizes:
            return set()
        return self.number(path, sha256(file.read_bytes()).hexdigest())

    def held(self, path: str) -> tuple[set[bytes], set[str], bool]:
        """Texts and whole files that an archive holds, and whether all of it was read; what can be read counts."""
        whole, same = True, cast("set[str]", set())
        with Path(path).open("rb") as file, tempfile.TemporaryFile() as found:
            grep = subprocess.Popen(["grep", "-ohaF", "-f", self.texts], stdin=subprocess.PIPE, stdout=found)
            try:
                self.feed(cast("Whole", file), path, Bounded(grep.stdin or io.BytesIO()), same)
            except (TooMuch, Unread):
                whole = False
            finally:
                grep.communicate()
            if grep.returncode not in {0, 1}:
                raise SystemExit(f"grep ended with exit code {grep.returncode}")
            found.seek(0)
            return set(found.read().splitlines()), same, whole


def looked_into(path: str, *, foreign: bool) -> bool:
    """Whether a file is an archive, or its text is written otherwise; another distribution's may be of any kind."""
    with Path(path).open("rb") as file:
        head = file.read(HEAD)
        if foreign and head.startswith(ZSTD):
            return False
        return is_archive(head) or bool(encoding_of(path, head)) or zipfile.is_zipfile(file)


def split(data: bytes) -> list[str]:
    """Paths with NUL between them."""
    return [path.decode("utf-8", "surrogateescape") for path in data.split(b"\0") if path]


def main(texts: str, known: str, names: str, listed_by_others: str, files: str) -> None:
    """See the module."""
    wanted = Wanted(texts, files, names)
    tracked, others = (set(split(Path(file).read_bytes())) for file in (known, listed_by_others))
    for path in split(sys.stdin.buffer.read()):
        foreign = path in others
        if path.startswith(TREE) and path[len(TREE) :] in tracked:
            continue
        lines, inside, whole = cast("set[bytes]", set()), cast("set[str]", set()), True
        try:
            same, opened = wanted.plain(path), looked_into(path, foreign=foreign)
        except FileNotFoundError:
            continue
        except OSError:
            same, opened, whole = inside, False, False
        if opened:
            lines, inside, whole = wanted.held(path)
        shown = path.replace("\\", "\\\\").replace("\n", "\\n").encode("utf-8", "surrogateescape")
        told = [b"same\t" + number.encode() + b"\t" + shown for number in sorted(same | inside) if not foreign]
        told += [] if whole or foreign else [b"unread\t" + shown]
        told += [b"file\t" + shown, *(b"has\t" + line for line in sorted(lines))] if lines else []
        sys.stdout.buffer.writelines(line + b"\n" for line in told)
