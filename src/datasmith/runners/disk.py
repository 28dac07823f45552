"""A full disk is an outage: it says nothing about the pull request that was under way when it filled up."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datasmith.docker.room import LEAST_FREE_MB
from datasmith.errors import FULL, DiskFull, StoreUnavailable


@contextmanager
def needing_room(*places: Path) -> Iterator[None]:
    """Let the body run where every place has room, and tell a disk that fills up meanwhile from other errors.

    Nothing is begun with too little: a build that runs out of it would look like one that fails.

    Raises:
        StoreUnavailable: a disk is full; names the place.
        DiskFull: a build says so, and here there is room: by now, or as it was the engine's disk, or not true.
    """
    for place in places:
        _check_room(place)
    try:
        yield
    except DiskFull:
        for place in places:
            _check_room(place)
        raise
    except Exception as error:
        full = _full_disk(error)
        if full is not None:
            raise StoreUnavailable(f"{full.filename or places[0]}: {full.strerror}") from error
        raise


def _check_room(place: Path) -> None:
    there = next(path for path in (place, *place.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free // 1024**2
    if free < LEAST_FREE_MB:
        raise StoreUnavailable(f"{place}: no space left on the disk ({free} MB free, {LEAST_FREE_MB} MB are needed)")


def _full_disk(error: BaseException | None) -> OSError | None:
    """The error itself, or one that caused it, if it tells of a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return error
        error = error.__cause__
    return None
