"""What a launch says is its own: each line is signed with a key that only the launch and the host had.

The launch reads the key before any code of the arm is there, and keeps it where that code would have to look for it.
Whoever finds the pipe, and knows nothing else, can say nothing that is believed.
"""

import secrets
from bisect import bisect_left
from collections.abc import Sequence
from hashlib import blake2b
from hmac import compare_digest
from itertools import accumulate, takewhile

SIGN_BYTES = 16
MARK = b"."
"""Of a launch's line it is told when it came, and nothing else."""


def new_key() -> str:
    """A key for one launch, in hexadecimal."""
    return secrets.token_hex(SIGN_BYTES)


def sign(line: bytes, number: int, key: str) -> bytes:
    """The signature of the line with this number (from 0), in hexadecimal; `inside/report.py` makes the same one."""
    signer = blake2b(b"%d " % number, key=bytes.fromhex(key), digest_size=SIGN_BYTES)
    signer.update(line)
    return signer.hexdigest().encode()


def signed(lines: bytes, key: str) -> bytes:
    """Lines as a launch writes them."""
    return b"".join(sign(line, at, key) + b" " + line + b"\n" for at, line in enumerate(lines.splitlines()))


def own_lines(output: bytes, key: str, *, cut_off: bool) -> bytes | None:
    """The lines without their signatures; None where one was not written by the launch, or is out of its order.

    `cut_off`: the launch was ended, so what comes after its last whole line counts for nothing.
    """
    found = []
    for number, text in enumerate(output.splitlines()):
        signature, _, line = text.partition(b" ")
        if not compare_digest(signature, sign(line, number, key)):
            if cut_off:
                break
            return None
        found.append(line + b"\n")
    return b"".join(found)


def when(output: bytes, arrivals: Sequence[tuple[int, float]]) -> list[float]:
    """Seconds after which each line of an output had come whole; of the first lines that are known to have come."""
    sizes = [size for size, _ in arrivals]
    ends = accumulate(len(line) for line in output.splitlines(keepends=True))
    came = (bisect_left(sizes, end) for end in ends)
    return [arrivals[at][1] for at in takewhile(len(sizes).__gt__, came)]
