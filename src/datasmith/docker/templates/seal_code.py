"""Inside a sandbox: which files are machine code or byte code, whatever they are called.

Standard input: paths, NUL between them; prints those that begin like code, with NUL behind each.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

ENOUGH = 16
"""Bytes."""
CODE = (
    *(b"\x7fELF", b"!<arch>\n", b"\0asm", b"BC\xc0\xde", b"MZ\x90\0"),
    *(b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"),
)
"""ELF, static libraries, WebAssembly, LLVM's bit code, Windows' programs, macOS's and Java's classes."""


def is_code(head: bytes) -> bool:
    """Whether a file that begins like this holds names of what it was made of; Python's has a number and flags."""
    is_python = head[2:4] == b"\r\n" and head[4:8] in {b"\0\0\0\0", b"\1\0\0\0", b"\3\0\0\0"}
    return head.startswith(CODE) or (is_python and len(head) == ENOUGH)


def main() -> None:
    """See the module."""
    for path in filter(None, sys.stdin.buffer.read().split(b"\0")):
        with suppress(OSError), Path(path.decode("utf-8", "surrogateescape")).open("rb") as file:
            if is_code(file.read(ENOUGH)):
                sys.stdout.buffer.write(path + b"\0")


if __name__ == "__main__":
    main()
