"""Where a socket of this machine lies that sandboxes are shown: they can reach it, and nobody else who works here."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datasmith.errors import ConfigError

MOST_PATH = 107
"""Bytes of a socket's path on Linux."""


@contextmanager
def doorway(kind: str, socket: str) -> Iterator[Path]:
    """The path for a socket of that name, in a directory that is to be mounted; both are gone in the end.

    A sandbox may have another user than this process, so that the directory lets everybody in. The one around it is
    this user's alone, and no mount shows it: others who work on this machine see neither.

    Raises:
        ConfigError: the directory for temporary files is too long for a socket.
    """
    around = Path(tempfile.mkdtemp(prefix=f"fc-{kind}-"))
    try:
        path = around / "shown" / socket
        if len(os.fsencode(path)) > MOST_PATH:
            raise ConfigError(
                f"TMPDIR={around.parent} is too long: a socket's path has {MOST_PATH} bytes (example: TMPDIR=/tmp)"
            )
        path.parent.mkdir()
        path.parent.chmod(0o711)
        yield path
    finally:
        shutil.rmtree(around, ignore_errors=True)
