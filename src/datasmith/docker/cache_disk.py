"""What the disk under the cache refuses: one line that names the setting which says where the cache is."""

from datasmith.errors import ContainerError


def unwritable(what: str, error: OSError) -> ContainerError:
    """`cannot WHAT: REASON`, to be raised from `error`; the reason is the system's own words."""
    return ContainerError(f"cannot {what}: {error.strerror or error} (example: FC_CACHE_DIR=/large/disk)")
