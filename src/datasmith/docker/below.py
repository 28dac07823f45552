"""What who pulls an image can read, and no sandbox of it shows: its configuration, what layers and mounts hide."""

import hashlib
import json
import tarfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from datasmith.errors import ContainerError
from datasmith.tar_members import DAMAGE, open_tar

CONFIGURATION = "configuration"
"""Stands for the path of what an image says of itself and of how it was built."""
MOST_BYTES = 2**29
"""Of all that is hidden in one image; of what is beyond only the path is known."""
PART = 2**24
"""Bytes of a file that are in memory at once."""
COVERED = "covered"
"""Stands for the number of a layer with what no layer hides, but what a sandbox mounts."""
_GONE = ".wh."
_ALL_GONE = ".wh..wh..opq"

Hidden = tuple[str, bytes | None]
"""The number of a layer, or COVERED, with a path ("3/etc/motd"), and the content; None where there is too much of it.

A large file comes in parts, one right after the other, each with the same path.
Where a layer has a path more than once, the last one counts, and the others have higher numbers than all layers.
"""


def hidden_in(archive: Path, mounted: Collection[str] = ()) -> Iterator[Hidden]:
    """The texts of the configuration, then the files that no sandbox shows: what `docker save` wrote.

    Upper layers replace them or take them away, or they lie where a sandbox has something of its own, at the paths
    `mounted`. A file that looks as it does further up is not hidden; one that only stands for another's absence is.

    Raises:
        ContainerError: the archive is damaged, or holds not exactly one image.
    """
    try:
        with open_tar(archive) as tar, ExitStack() as opened:
            (said,) = json.loads(_member(tar, "manifest.json").read())
            yield CONFIGURATION, texts_of(_member(tar, said["Config"]).read())
            layers = [opened.enter_context(open_tar(_member(tar, name))) for name in said["Layers"]]
            yield from bounded(_hidden(layers, mounted))
    except (*DAMAGE, KeyError, TypeError) as error:
        raise ContainerError(f"the saved image cannot be read: {type(error).__name__}: {error}") from error


def texts_of(document: bytes) -> bytes:
    """All names and texts of a JSON document, one after the other."""
    found, waiting = list[str](), [json.loads(document)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
    return "".join(f"{text}\n" for text in found).encode("utf-8", "surrogateescape")


def bounded(files: Iterator[tuple[str, int, IO[bytes]]]) -> Iterator[Hidden]:
    """The content of files (path, size, opened), as far as they fit into MOST_BYTES."""
    held = 0
    for path, size, file in files:
        held += size
        with file:
            if held > MOST_BYTES:
                yield path, None
                continue
            yield path, file.read(PART)
            while part := file.read(PART):
                yield path, part


@dataclass(slots=True)
class _Above:
    """What the layers from the top down to here show, and what they take away from those below."""

    shown: dict[str, tuple[tarfile.TarFile, tarfile.TarInfo]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    emptied: set[str] = field(default_factory=set)

    def hides(self, path: str) -> bool:
        parts = path.split("/")
        places = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        return any(place in self.gone for place in places) or not self.emptied.isdisjoint(["", *places[:-1]])

    def add(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
        place, _, name = path.rpartition("/")
        if name == _ALL_GONE:
            self.emptied.add(place)
        elif name.startswith(_GONE):
            self.gone.add(f"{place}/{name.removeprefix(_GONE)}".lstrip("/"))
        elif not member.isdir():
            self.gone.add(path)
        if member.isreg():
            self.shown.setdefault(path, (tar, member))


def _hidden(layers: list[tarfile.TarFile], mounted: Collection[str]) -> Iterator[tuple[str, int, IO[bytes]]]:
    above = _Above()
    for number, tar in reversed([*enumerate(layers)]):
        own = [("/".join(part for part in one.name.split("/") if part not in {"", "."}), one) for one in tar]
        copies, found = Counter[str](), list[tuple[str, tarfile.TarInfo]]()
        for path, member in reversed(own):
            is_seen = not (copies[path] or above.hides(path) or path.rpartition("/")[2].startswith(_GONE))
            place = COVERED if is_seen and _is_covered(path, mounted) else str(number + len(layers) * copies[path])
            told = place == COVERED or not (is_seen or _is_same(tar, member, above.shown.get(path)))
            if member.isreg() and member.size and told:
                found.append((f"{place}/{path}", member))
            copies[path] += 1
        for shown, member in reversed(found):
            yield shown, member.size, _content(tar, member)
        for path, member in own:
            above.add(tar, member, path)


def _is_covered(path: str, mounted: Collection[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:count]) in mounted for count in range(1, len(parts) + 1))


def _is_same(
    tar: tarfile.TarFile, member: tarfile.TarInfo, other: tuple[tarfile.TarFile, tarfile.TarInfo] | None
) -> bool:
    if other is None or other[1].size != member.size:
        return False
    return _digest(tar, member) == _digest(*other)


def _digest(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    whole = hashlib.sha256()
    with _content(tar, member) as file:
        while part := file.read(2**20):
            whole.update(part)
    return whole.digest()


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    found = tar.extractfile(member)
    if found is None:
        raise KeyError(member.name)
    return found


def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    return _content(tar, tar.getmember(name))
