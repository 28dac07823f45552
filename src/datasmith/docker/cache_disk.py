"""What the disk under the cache refuses: one line that names the setting which says where the cache is."""

import tempfile
from pathlib import Path

from datasmith.errors import ContainerError, EngineUnavailable


def unwritable(what: str, error: OSError) -> ContainerError:
    """`cannot WHAT: REASON`, to be raised from `error`; the reason is the system's own words."""
    return ContainerError(f"cannot {what}: {error.strerror or error} (example: FC_CACHE_DIR=/large/disk)")


def see_that_it_can_be_written(cache: Path) -> None:
    """Make the cache's directory, and a file in it that is gone at once.

    Raises:
        EngineUnavailable: nothing can be built there.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            pass
    except OSError as error:
        raise EngineUnavailable(str(unwritable(f"write to the cache {cache}", error))) from error
