"""What a patch is recognised by wherever it turns up: the input of the seal."""

import re
from collections.abc import Collection

from datasmith.docker.seal import Fix
from datasmith.tasks.gitdiff import parse_diff

_FULL_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NO_CONTENT = re.compile(r"0+")


def fix_of(patch: str, objects: Collection[str] = ()) -> Fix:
    """The blobs that a git diff makes, where it names them in full, with other objects; and the lines that it adds.

    Raises:
        MalformedDiff: the text is no git diff.
    """
    changes = parse_diff(patch)
    named = {change.blob for change in changes if _FULL_ID.fullmatch(change.blob)}
    return Fix(
        objects=frozenset({*objects, *(blob for blob in named if not _NO_CONTENT.fullmatch(blob))}),
        lines={change.path: [line[1:] for line in change.lines if line.startswith("+")] for change in changes},
    )
