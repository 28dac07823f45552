"""Standard output of a command: a reader that leaves stops nothing, and what cannot be written is told as that."""

from __future__ import annotations

import os
import sys
from io import BufferedWriter, FileIO, StringIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

from datasmith.errors import DatasmithError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def standard_output() -> TextIO:
    """Standard output for the time of a command, to be flushed at its end.

    Once its reader has left, what is written is dropped, so that the command goes on to its own end and exit code; a
    disk that is full is a DatasmithError. What the terminal's encoding lacks is spelled, as on standard error. Where
    it is closed from the start, nobody reads what is written.
    """
    out: TextIO | None = sys.stdout
    if out is None:
        return StringIO()
    if not isinstance(out, TextIOWrapper):
        return out
    out.reconfigure(errors="backslashreplace")
    raw = getattr(out.buffer, "raw", out.buffer)  # python -u has no buffer between
    if not isinstance(raw, FileIO):
        return out
    out.flush()
    return TextIOWrapper(
        BufferedWriter(_Descriptor(raw.fileno(), "w", closefd=False)),
        encoding=out.encoding,
        errors=out.errors,
        line_buffering=out.line_buffering,
        write_through=out.write_through,
    )


class _Descriptor(FileIO):
    """Takes what is written after the first failure, too: the interpreter would tell of it again at its end."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write, and return how many bytes are done with.

        Raises:
            DatasmithError: they cannot be written, for another reason than that nobody reads them.
        """
        try:
            return super().write(data)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                return memoryview(data).nbytes
            raise DatasmithError(f"cannot write standard output: {error.strerror}") from error
