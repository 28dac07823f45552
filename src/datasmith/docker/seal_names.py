"""What the seal looks for in machine code, which has no lines: names that the fix brings."""

import builtins
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from datasmith.docker.seal_search import is_telling, longest, path_of

SHORTEST = 10
"""Characters; a shorter name is found anywhere by chance."""
SHORTEST_ALONE = 16
"""... and so is one of this length, where it is the only one that the fix brings."""
MOST_NAMES = 500
_NAME = re.compile(r"[A-Za-z_]\w*")
_COMPOSED = re.compile(r"[^\W_]_+[^\W_]|[a-z0-9][A-Z]")
_OF_THE_INTERPRETER = re.compile(r"_*(Py[A-Z_]|NPY_|npy_|pyx)")


def brought(added: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Of the lines that the fix adds, by file, the names by which compiled code can be recognised.

    They are composed of words (`build_index`, `buildIndex`), and none of the interpreter's own interface.
    """
    kept = {
        path: {name for line in lines for name in _NAME.findall(line) if _tells(name)} for path, lines in added.items()
    }
    return longest(kept, MOST_NAMES)


def _tells(name: str) -> bool:
    return (
        len(name) >= SHORTEST
        and name.isascii()
        and bool(_COMPOSED.search(name))
        and not _OF_THE_INTERPRETER.match(name)
        and name not in _of_python()
    )


@cache
def _of_python() -> frozenset[str]:
    """Names of the interpreter's own objects (`co_varnames`): generated code holds them, whatever its source."""
    kinds = [kind for kind in (*vars(types).values(), *vars(builtins).values()) if isinstance(kind, type)]
    return frozenset(dir(builtins)).union(*map(dir, kinds))


@dataclass(frozen=True, slots=True)
class Names:
    """What seal_names.sh found: names that base does not have, and compiled files that hold some of them."""

    names: frozenset[str]
    files: Mapping[str, frozenset[str]]
    unread: tuple[str, ...] = ()

    @classmethod
    def read(cls, answer: str) -> "Names":
        """Read what the script printed.

        Raises:
            ValueError, KeyError: that is something else.
        """
        names: set[str] = set()
        unread: list[str] = []
        files: dict[str, set[str]] = {}
        path = ""
        for line in answer.split("\n")[:-1]:
            word, _, text = line.partition("\t")
            if word == "name":
                names.add(text)
            elif word == "file":
                path = path_of(text)
                files.setdefault(path, set())
            elif word == "has":
                files[path].add(text)
            elif word == "unread":
                unread.append(path_of(text))
            elif word != "repo":  # Which seal_search.sh tells.
                raise ValueError(f"unknown answer {line[:80]!r}")
        return cls(frozenset(names), {path: frozenset(found) for path, found in files.items()}, tuple(unread))


def problems(search: Names, wanted: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """What speaks against the seal; `wanted` is what `brought` gave."""
    yield from (f"cannot be read to its end: {path}" for path in search.unread)
    for path, found in search.files.items():
        for source, names in wanted.items():
            new = names & search.names
            if is_telling(found & new, new, alone=SHORTEST_ALONE):
                yield f"{path} holds {len(found & new)} of {len(new)} names that the fix brings in {source}"
