"""What the seal looks for in all files of an image: packages that downloads left, other copies, lines of the fix."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from datasmith.docker.engine import ENV_PREFIX
from datasmith.docker.seal_below import is_below

SHORTEST_LINE = 25
"""Characters; a shorter line is found anywhere by chance."""
SHORTEST_ALONE = 40
"""... and so is one of this length, where it is all that the fix adds to a file."""
TELLING_SHARE = 0.2
"""A file with this share of the lines (compiled code: of the names) that the fix adds to one file, and at least two of
them, has them from it."""
MOST_LINES = 500
_IMPORT = re.compile(r"(import|from|using|use|#\s*include)\b")
_WORDS = ("looked", "cache", "copy", "part", "line", "repo", "own", "dist", "unread", "same", "whole", "other")
"""What seal_search.sh begins its lines with, beside `file` and `has`."""
_PATHS = ("cache", "copy", "part", "repo", "dist", "unread")
_PLAIN_ARCHIVE = re.compile(r"\.(zip|tgz|tbz2|txz|tar|tar\.(xz|zst))$")
"""Ends of names that data has as well as packages."""
_SITE = re.compile(r"(.*/(?:site|dist)-packages/[^/]+/).*")
_INSTALLED = re.compile(r"/usr/|.*/lib/python3\.\d+t?/")
"""The system, and what belongs to an interpreter or an environment."""


@dataclass(frozen=True, slots=True)
class Search:
    """What seal_search.sh found: lines as they stand in the fix."""

    looked_at: int
    caches: tuple[str, ...]
    copies: tuple[str, ...]
    lines: frozenset[str]
    """Lines of the fix that base does not have."""
    files: Mapping[str, frozenset[str]]
    """Files and archives that hold some of them."""
    repositories: tuple[str, ...] = ()
    """Repositories, packs and object stores beside the tree's own."""
    own: tuple[str, ...] = ()
    """Names of distributions that were installed from the tree."""
    others: tuple[str, ...] = ()
    """Metadata of other distributions that bring the package's modules."""
    unread: tuple[str, ...] = ()
    """Archives that are too large to be read, or damaged; what is kept from being read."""
    parts: tuple[str, ...] = ()
    """Files below an installed module of the package that no other distribution lists."""
    same: tuple[tuple[int, str], ...] = ()
    """Which file of the fix is where, as the fix leaves it."""
    whole: tuple[int, ...] = ()
    """The files that were looked for as a whole."""
    other: tuple[int, ...] = ()
    """The files of the commit to which the fix does not apply."""

    @classmethod
    def read(cls, answer: str) -> "Search":
        """Read what the script printed.

        Raises:
            ValueError: that is something else.
        """
        found: dict[str, list[str]] = {word: [] for word in _WORDS}
        files: dict[str, set[str]] = {}
        path = ""
        for line in answer.split("\n")[:-1]:
            word, _, text = line.partition("\t")
            if word == "file":
                path = path_of(text)
                files.setdefault(path, set())
            elif word == "has":
                files[path].add(text)
            elif word in found:
                found[word].append(path_of(text) if word in _PATHS else text)
            else:
                raise ValueError(f"unknown answer {line[:80]!r}")
        (looked_at,) = found["looked"]
        return cls(
            int(looked_at),
            tuple(found["cache"]),
            tuple(found["copy"]),
            frozenset(found["line"]),
            {path: frozenset(lines) for path, lines in files.items()},
            repositories=tuple(found["repo"]),
            own=tuple(found["own"]),
            others=tuple(found["dist"]),
            unread=tuple(found["unread"]),
            parts=tuple(found["part"]),
            same=tuple(
                (int(number), path_of(path)) for number, _, path in (text.partition("\t") for text in found["same"])
            ),
            whole=tuple(map(int, found["whole"])),
            other=tuple(map(int, found["other"])),
        )


def path_of(text: str) -> str:
    r"""A path as the scripts print it, with `\n` for the end of a line and two backslashes for one."""
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def telling(added: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Of the lines that the fix adds, by file, those that can be recognised elsewhere; the longest, where too many."""
    stripped = {path: {line.strip() for line in lines} for path, lines in added.items()}
    kept = {
        path: {line for line in lines if len(line) >= SHORTEST_LINE and not _IMPORT.match(line)}
        for path, lines in stripped.items()
    }
    return longest(kept, MOST_LINES)


def longest(texts: Mapping[str, set[str]], most: int) -> dict[str, frozenset[str]]:
    """The same with the `most` longest texts of all."""
    ordered = sorted({text for some in texts.values() for text in some}, key=lambda text: (-len(text), text))
    chosen = frozenset(ordered[:most])
    return {path: frozenset(some & chosen) for path, some in texts.items() if some & chosen}


def texts(wanted: Mapping[str, frozenset[str]]) -> list[str]:
    """All texts, each once."""
    return sorted({text for some in wanted.values() for text in some})


def places(names: Sequence[str]) -> str:
    """Where modules lie below site-packages, as a regular expression; and what pip leaves of one it cannot delete."""
    found = [re.escape(name).replace(r"\.", "/") for name in names]
    return "|".join((*found, *(f"~{re.escape(name[1:])}" for name in names if "." not in name)))


def problems(
    search: Search, wanted: Mapping[str, frozenset[str]], names: Sequence[str], files: Sequence[str]
) -> Iterator[str]:
    """What speaks against the seal.

    `wanted` is what `telling` gave, `names` the modules of the package, `files` those of the fix by their numbers.
    """
    yield from (f"the commit's {files[number]} is not the one that the fix changes" for number in search.other)
    yield from (f"{path} holds {files[number]} as the fix leaves it" for number, path in search.same)
    for path in search.caches:
        if not _is_harmless(path, (*names, *search.own)):
            yield f"cached package {path}"
    yield from (f"another repository: {path}" for path in search.repositories)
    # A lower layer may hold an older release, which the build replaced; of a newer one the lines are found.
    others, copies = (
        [path for path in paths if not is_below(path)] for paths in (search.others, (*search.copies, *_alone(search)))
    )
    yield from (f"another distribution brings the package: {path}" for path in others)
    yield from (f"cannot be read to its end: {path}" for path in search.unread)
    yield from (f"a second copy of the package: {path}" for path in copies)
    for path, found in search.files.items():
        for source, lines in wanted.items():
            added = lines & search.lines
            if is_telling(found & added, added):
                yield f"{path} holds {len(found & added)} of {len(added)} lines that the fix adds to {source}"


def _alone(search: Search) -> list[str]:
    """One file of each directory of a module's that has no __init__.py."""
    known = tuple(path.removesuffix("__init__.py") for path in search.copies if path.endswith("/__init__.py"))
    firsts: dict[str, str] = {}
    for path in search.parts:
        if not path.startswith(known or "\0"):
            firsts.setdefault(_SITE.sub(r"\1", path), path)
    return list(firsts.values())


def untold(
    search: Search, added: Mapping[str, Sequence[str]], wanted: Mapping[str, frozenset[str]], files: Sequence[str]
) -> Iterator[str]:
    """Of which files something could not be looked for; `added` is the fix, `wanted` what `telling` gave of it."""
    whole = {files[number] for number in search.whole}
    for path, lines in added.items():
        new = wanted.get(path, frozenset()) & search.lines
        if is_telling(new, new):
            continue
        reason = f"the lines that the fix adds are too short, too common, too few, or not of the {MOST_LINES} longest"
        if not any(line.strip() for line in lines):
            reason = "the fix adds no line that can be read"
        yield f"{path}: {reason}; {'only the whole file was' if path in whole else 'nothing of it was'}"


def is_telling(found: frozenset[str], added: frozenset[str], *, alone: int = SHORTEST_ALONE) -> bool:
    """True where these are too many of the added texts to be there by chance; `alone`: characters of a single one."""
    if len(added) == 1:
        return any(len(text) >= alone for text in found)
    return len(found) >= max(2, math.ceil(TELLING_SHARE * len(added)))


def _is_harmless(path: str, names: Sequence[str]) -> bool:
    """True for archives that the system or a locked package brought, of others."""
    plain = [re.sub(r"[-_.]+", "-", name).lower() for name in names]
    file = re.sub(r"[-_.]+", "-", path.rpartition("/")[2]).lower()
    installed = (
        is_below(path) or _INSTALLED.match(path) or (_PLAIN_ARCHIVE.search(path) and path.startswith(f"{ENV_PREFIX}/"))
    )
    return bool(installed) and not any(file.startswith(f"{name}-") for name in plain)
