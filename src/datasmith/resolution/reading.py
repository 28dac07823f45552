"""Which files of a tree the resolver wants to read: tell this to whatever holds the tree."""

import codecs
import re
from collections.abc import Iterable

from datasmith.resolution import imports, native
from datasmith.resolution.conda import is_environment_file
from datasmith.resolution.layout import METADATA_FILES, is_product
from datasmith.resolution.metadata import is_changelog
from datasmith.resolution.requirements import is_requirements_file, may_be_named

_PYTEST_FILES = re.compile(r"(?:.*/)?(?:pytest\.ini|tox\.ini)")
MAX_FILES = 3000
"""More texts than this say nothing new; metadata and requirements come first."""


_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""What a file begins with, the longer marks first -> what it is encoded in, and pip takes it for."""


def decoded(data: bytes) -> str:
    """The text of a file: UTF-8, but for one whose mark says UTF-16 or UTF-32, as PowerShell writes them."""
    codec = next((codec for mark, codec in _MARKS if data.startswith(mark)), "utf-8-sig")
    return data.decode(codec, "replace")


def texts_to_read(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths whose texts make a SourceTree complete, at most MAX_FILES, the weightiest first."""
    ranked = [(rank, path) for path in paths if (rank := _rank(path)) is not None]
    return tuple(path for _, path in sorted(ranked)[:MAX_FILES])


def _rank(path: str) -> int | None:
    if path.rsplit("/", 1)[-1] in METADATA_FILES or is_requirements_file(path) or is_environment_file(path):
        return 0
    if _PYTEST_FILES.fullmatch(path) or is_changelog(path) or may_be_named(path):
        return 1
    if imports.is_scanned(path):
        return 2
    return 3 if native.is_build_file(path) and is_product(path) else None
