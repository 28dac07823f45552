"""What a command writes to: a reader that leaves stops nothing, and what cannot be written is told as that."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BufferedWriter, FileIO, StringIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

from datasmith.errors import DatasmithError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import ReadableBuffer


_SPELLED = "datasmith.spelled"
_SIGNS = {
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{MIDDLE DOT}": ".",
    "\N{MICRO SIGN}": "u",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
}
"""The signs of our tables and lines, for terminals without them."""


@contextmanager
def standard_streams() -> Iterator[None]:
    """Standard output and standard error for the time of a command, which flushes the former at its end.

    Once a reader has left, what is written is dropped, so that the command goes on to its own end and exit code. Of
    standard output a disk that is full is a DatasmithError; what standard error cannot take is dropped for that, too,
    as there is nowhere to tell of it. What the terminal's encoding lacks is spelled: our own signs so that they can be
    read, other characters as their numbers. Where a stream is closed from the start, nobody reads what is written.
    """
    codecs.register_error(_SPELLED, _spelled)
    with redirect_stdout(_lasting(sys.stdout, _Output)), redirect_stderr(_lasting(sys.stderr, _Descriptor)):
        yield


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """What stands in the place of characters that an encoding lacks, and where it goes on behind them."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    shown = (_SIGNS.get(char) or char.encode("ascii", "backslashreplace").decode() for char in lacking)
    return "".join(shown), error.end


def _lasting(out: TextIO | None, kind: type[_Descriptor]) -> TextIO:
    if out is None:
        return StringIO()
    if not isinstance(out, TextIOWrapper):
        return out
    out.reconfigure(errors=_SPELLED)
    raw = getattr(out.buffer, "raw", out.buffer)  # python -u has no buffer between
    if not isinstance(raw, FileIO):
        return out
    out.flush()
    return TextIOWrapper(
        BufferedWriter(kind(raw.fileno(), "w", closefd=False)),
        encoding=out.encoding,
        errors=out.errors,
        # What python -u writes goes through to our buffer, and has to leave that, too.
        line_buffering=out.line_buffering or out.write_through,
    )


class _Descriptor(FileIO):
    """Takes what is written after the first failure, too: the interpreter would tell of it again at its end."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write, or drop what cannot be written; returns how many bytes are done with."""
        try:
            return super().write(data)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            self.lost(error)
            return memoryview(data).nbytes

    def lost(self, error: OSError) -> None:
        """Say, where it has to be said, that something could not be written."""


class _Output(_Descriptor):
    def lost(self, error: OSError) -> None:
        """See _Descriptor.

        Raises:
            DatasmithError: for another reason than that nobody reads it.
        """
        if not isinstance(error, BrokenPipeError):
            raise DatasmithError(f"cannot write standard output: {error.strerror}") from error
