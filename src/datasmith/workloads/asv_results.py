"""Which benchmarks asv has measured, by the result files that it wrote or the lines that it printed: untrusted data."""

import io
import json
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress

from datasmith.errors import ContainerError
from datasmith.tar_members import DAMAGE, members, open_tar

MOST_BYTES = 200_000_000
"""An archive of results that unpacks to more is not read to its end."""
_GZIP = 31
"""zlib's code for a gzip stream."""
_LINE = re.compile(
    r"^\[\s*\d+\.\d+%\] ·+ ([\w.<>-]+)[ \t]+(?:\d[\d.,]*(?:±[\d.,]+)?\s?(?:ns|μs|us|ms|s|m|h|[kMGT]?B?)|[\d.]+)[ \t]*$",
    re.MULTILINE,
)
_NAME = re.compile(r"[\w.<>-]{1,500}")


def printed(output: str) -> frozenset[str]:
    """Names of the benchmarks that asv's own lines give a result for: `[ 50.00%] ··· bench.time_a   1.2±0.1ms`."""
    return frozenset(_LINE.findall(output))


def in_archive(data: bytes) -> frozenset[str]:
    """Names of the benchmarks with a result in the asv result files of a gzipped tar; none of what is damaged."""
    if not data:
        return frozenset()
    try:
        plain = zlib.decompressobj(_GZIP).decompress(data, MOST_BYTES)
    except zlib.error:
        return frozenset()
    found: set[str] = set()
    for text in _members(plain):
        found |= in_file(text)
    return frozenset(found)


def _members(plain: bytes) -> Iterator[bytes]:
    """The files of a tar up to where it ends or is damaged."""
    with suppress(ContainerError, *DAMAGE), open_tar(io.BytesIO(plain)) as tar:
        for member in members(tar, MOST_BYTES):
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                yield content.read()


def in_file(text: bytes) -> frozenset[str]:
    """Names of the benchmarks with a number in one asv result file (versions 1 and 2); none of any other file."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return frozenset()
    results = said.get("results") if isinstance(said, dict) else None
    if not isinstance(results, dict):
        return frozenset()
    return frozenset(name for name, value in results.items() if _NAME.fullmatch(name) and _measured(value))


def _measured(value: object) -> bool:
    """Whether a result holds a number: by itself, as the first column, or under `result`."""
    if isinstance(value, dict):
        value = value.get("result")
    elif isinstance(value, list):
        value = value[0] if value else None
    several = value if isinstance(value, list) else [value]
    return any(_is_number(each) for each in several)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
