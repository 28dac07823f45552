"""The room on a sandbox's disk: a full one is an outage, and says nothing about the code that failed on it."""

from datasmith.docker.engine import WORKDIR, Container
from datasmith.errors import ContainerError

LEAST_FREE_MB = 64
"""What runs with less room than this may fail for it alone."""
_TIMEOUT_S = 60.0


def check_room(container: Container) -> None:
    """Return where there is room for what commands write.

    `container` has to be a pristine one: what code of others wrote is gone with its own.

    Raises:
        ContainerError: there is not, or nobody can say.
    """
    done = container.exec(["/usr/bin/stat", "-f", "-c", "%a %S", WORKDIR], timeout=_TIMEOUT_S)
    words = done.text.split()
    if not done.ok or len(words) != 2 or not all(word.isdigit() for word in words):
        raise ContainerError(f"the sandbox does not say how much room its disk has: {done.text[-200:]!r}")
    free = int(words[0]) * int(words[1]) // 1024**2
    if free < LEAST_FREE_MB:
        raise ContainerError(f"no space left on the disk of the sandboxes ({free} MB, {LEAST_FREE_MB} are needed)")
