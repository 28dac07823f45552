"""Tell what is as it was before, or has only more in it, as where something is kept for the next time."""

from __future__ import annotations

from . import OWN

__builtins__ = OWN


def only_grown(before: object, after: object) -> bool:
    """Whether all that was there stands as it was: objects may have more attributes, and other private parts."""
    if before == after or not isinstance(before, list) or not isinstance(after, list):
        return before == after
    if before[:1] == after[:1] == ["object"] and len(before) == len(after) == 4:
        theirs = dict(map(tuple, after[2]))
        kept = [] if before[3] is True else before[2]
        return before[1] == after[1] and all(name in theirs and only_grown(own, theirs[name]) for name, own in kept)
    return len(before) == len(after) and all(map(only_grown, before, after))
