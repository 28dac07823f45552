"""Read what a source distribution says of itself: a hostile archive, read up to limits, of which nothing is run."""

import gzip
import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from packaging.metadata import RawMetadata, parse_email
from packaging.utils import canonicalize_name
from packaging.version import Version

from datasmith.errors import ResolutionError
from datasmith.resolution.base import SourceRelease, SourceTree
from datasmith.resolution.metadata import read_metadata
from datasmith.resolution.native import apt_packages, is_compiled
from datasmith.resolution.needs import backend_needs
from datasmith.resolution.reading import MAX_FILES, decoded, texts_to_read
from datasmith.resolution.requirements import conditional, read_lines, under
from datasmith.tar_members import DAMAGE, open_tar

MOST_BYTES = 1_000_000_000
"""What an archive may unpack to."""
MOST_MEMBERS = 100_000
MOST_TEXT_BYTES = 2_000_000
"""A text is read so far, and no further."""
MOST_KEPT_BYTES = 50_000_000
"""Of all texts together."""
_STATIC_SINCE = Version("2.2")
"""From this version of the metadata on, what is not called dynamic is the same in every wheel."""
_DAMAGE = (*DAMAGE, zipfile.BadZipFile, OSError, NotImplementedError)
_BOUNDS = (
    (r"\buse_2to3\b", "setuptools<58"),
    (r"setuptools\.command\.test\b|\btest_loader\b", "setuptools<72"),
    (r"\bpkg_resources\b", "setuptools<81"),
)
"""What a setup.py uses -> the setuptools that still have it."""


@dataclass(frozen=True, slots=True)
class _Unpacked:
    """Paths without the archive's one directory, and the texts among them that say something."""

    paths: tuple[str, ...]
    texts: Mapping[str, str]


def read_sdist(name: str, version: str, file_name: str, data: bytes) -> SourceRelease:
    """What the archive of a release says that it needs.

    In this order: metadata that is declared static, the egg-info that the sdist was made with, metadata of any other
    kind, its own pyproject.toml, setup.cfg and setup.py as far as they are constants.

    Raises:
        ResolutionError: it is no such archive, is larger than the limits, or computes what it needs.
    """
    try:
        unpacked = _unpack(file_name, data)
    except _DAMAGE as error:
        raise ResolutionError(f"{file_name}: cannot be read: {error}") from error
    tree = SourceTree(unpacked.texts, unpacked.paths)
    metadata = read_metadata(tree, f"sdist/{name}")
    requires = _told(unpacked, name)
    if requires is None and not metadata.dependencies_known:
        raise ResolutionError(f"{file_name}: its dependencies are computed by setup.py, which is not run")
    if requires is None:
        requires = (*metadata.dependencies, *_marked(metadata.extras))
    compiled = is_compiled(tree, metadata)
    setup = unpacked.texts.get("setup.py", "")
    bounds = tuple(bound for sign, bound in _BOUNDS if re.search(sign, setup))
    build = (*metadata.build_requires, *backend_needs(metadata.build_backend), *bounds)
    return SourceRelease(
        name=name,
        version=version,
        requires=read_lines(requires, tree.texts, keep_names=True).requirements,
        build_requires=tuple(dict.fromkeys(read_lines(build, tree.texts).requirements)),
        compiled=compiled,
        apt_packages=apt_packages(tree, metadata, compiled, ()),
    )


def _told(unpacked: _Unpacked, name: str) -> tuple[str, ...] | None:
    """Requirements that metadata inside the archive lists, extras as markers; None where there is none."""
    raw, _ = parse_email(unpacked.texts.get("PKG-INFO", ""))
    listed = tuple(raw.get("requires_dist", ()))
    if _is_static(raw):
        return listed
    egg = _egg_info(unpacked.paths, name)
    if egg is not None:
        return tuple(_egg_lines(unpacked.texts.get(f"{egg}/requires.txt", "")))
    return listed or None


def _is_static(raw: RawMetadata) -> bool:
    dynamic = {field.lower() for field in raw.get("dynamic", ())}
    try:
        return Version(raw.get("metadata_version", "0")) >= _STATIC_SINCE and "requires-dist" not in dynamic
    except ValueError:
        return False


def _egg_info(paths: tuple[str, ...], name: str) -> str | None:
    """The directory of setuptools' metadata: the one that is called like the project, the shallowest first."""
    found = {posixpath.dirname(path) for path in paths if path.endswith(".egg-info/PKG-INFO")}
    own = [path for path in found if canonicalize_name(posixpath.basename(path).removesuffix(".egg-info")) == name]
    return min(own, key=lambda path: (path.count("/"), path), default=None)


def _egg_lines(text: str) -> Iterator[str]:
    """PEP 508 lines of a requires.txt, whose sections are `[extra]`, `[:marker]` and `[extra:marker]`."""
    condition = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("[") and stripped.endswith("]"):
            extra, marker = conditional(stripped[1:-1])
            condition = " and ".join([*filter(None, [marker]), *([_extra(extra)] if extra else [])])
        elif stripped:
            yield under(stripped, condition)


def _marked(extras: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for extra, lines in sorted(extras.items()):
        yield from (under(line, _extra(extra)) for line in lines)


def _extra(name: str) -> str:
    return f"extra == '{canonicalize_name(name)}'"


def _unpack(file_name: str, data: bytes) -> _Unpacked:
    if file_name.endswith(".zip"):
        return _gather(_zip_members(data))
    return _gather(_tar_members(gzip.GzipFile(fileobj=io.BytesIO(data))))


def _gather(members: Iterator[tuple[str, Callable[[], bytes]]]) -> _Unpacked:
    paths, texts, kept = list[str](), dict[str, str](), 0
    for path, read in members:
        if len(paths) >= MOST_MEMBERS:
            raise ValueError(f"more than {MOST_MEMBERS} members")
        inside = posixpath.normpath(path).partition("/")[2]
        if not inside or inside.startswith("../"):
            continue
        paths.append(inside)
        if len(texts) < MAX_FILES and kept < MOST_KEPT_BYTES and _says_something(inside):
            data = read()
            kept += len(data)
            texts[inside] = decoded(data)
    return _Unpacked(tuple(paths), texts)


def _says_something(path: str) -> bool:
    told = path == "PKG-INFO" or path.endswith((".egg-info/PKG-INFO", ".egg-info/requires.txt"))
    return told or bool(texts_to_read([path]))


def _tar_members(stream: io.BufferedIOBase) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Regular files in their order; the stream is read once, MOST_BYTES of it."""
    with open_tar(_Limited(stream), mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, partial(content.read, MOST_TEXT_BYTES)


def _zip_members(data: bytes) -> Iterator[tuple[str, Callable[[], bytes]]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                yield member.filename, partial(_read_zipped, archive, member)


def _read_zipped(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as content:
        return content.read(MOST_TEXT_BYTES)


class _Limited(io.RawIOBase):
    """A stream that refuses to be read past MOST_BYTES."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self._left = MOST_BYTES

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Like any stream's.

        Raises:
            ValueError: more than MOST_BYTES were asked for.
        """
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise ValueError(f"it unpacks to more than {MOST_BYTES} bytes")
        return data
