"""What a patch is recognised by wherever it turns up: the input of the seal."""

import re
from collections.abc import Collection

from datasmith.docker.seal import Fix
from datasmith.tasks.gitdiff import split_diff

_ID = re.compile(r"[0-9a-f]{7,64}")
"""Git shortens an id as far as no other object of the repository has the beginning, and to seven digits at least."""
_NO_CONTENT = re.compile(r"0+")


def fix_of(patch: str, objects: Collection[str] = ()) -> Fix:
    """The blobs that a git diff makes, with other objects; the lines that it adds; and the diff of each file.

    Raises:
        MalformedDiff: the text is no git diff.
    """
    pieces = split_diff(patch)
    named = {change.blob for change, _ in pieces if _ID.fullmatch(change.blob)}
    return Fix(
        objects=frozenset({*objects, *(blob for blob in named if not _NO_CONTENT.fullmatch(blob))}),
        lines={change.path: [line[1:] for line in change.lines if line.startswith("+")] for change, _ in pieces},
        patches={change.path: piece for change, piece in pieces},
    )
