"""What an image says of itself is searched for ids of the fix; what its upper layers hide is laid into a sandbox."""

import hashlib
import io
import tracemalloc
from pathlib import Path
from typing import IO

import pytest

from datasmith.docker.below import PART, bounded
from datasmith.docker.seal_below import PLACE, Below, named_in
from tests.sandboxes import embedded_engine, tree_image

FIX = "deadbee" + "0" * 33


@pytest.mark.parametrize("said", ["deadbee", "1.2.dev3+gdeadbee", "v1-3-gDEADBEE0", "rev_deadbee00", FIX])
def test_an_id_of_the_fix_is_found(said: str) -> None:
    """However short, in capitals, and as versions that are made of git's state have it."""
    assert named_in(f"VERSION={said}\n", [FIX, "f" * 40]) == [FIX]


@pytest.mark.parametrize("said", ["", "deadbe", "adeadbee1", "0" * 40])
def test_another_id_is_none_of_the_fix(said: str) -> None:
    """Too short for one, or of something else."""
    assert named_in(f"VERSION={said}\n", [FIX]) == []


class Counting(io.RawIOBase):
    """A large file that no disk holds: each byte is the number of its block."""

    def __init__(self, size: int) -> None:
        self.left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = min(len(buffer), self.left, 2**16)
        buffer[:count] = bytes([self.left >> 20]) * count
        self.left -= count
        return count


@pytest.mark.engine
def test_a_large_hidden_file_is_laid_out_in_parts(tmp_path: Path) -> None:
    """Whole, among others, and with no more in memory than a few parts of it, as tracemalloc counts."""
    size = PART * 8
    hidden: list[tuple[str, int, IO[bytes]]] = [("0/small", 2, io.BytesIO(b"1\n"))]
    hidden += [
        ("0/a b/large", size, io.BufferedReader(Counting(size))),
        ("1/empty", 0, io.BytesIO()),
        ("1/small", 2, io.BytesIO(b"2\n")),
    ]
    engine = embedded_engine(tmp_path / "cache")
    with engine.start(tree_image(engine, tmp_path, {"a.py": b""})) as container:
        below = Below(container)
        tracemalloc.start()
        try:
            below.lay_out(bounded(iter(hidden)))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        words = ["find", PLACE, "-type", "f", "-printf", "%P %s\n"]
        found = container.exec(words, timeout=60).text.splitlines()
        summed = container.exec(["sha256sum", f"{PLACE}/0/a b/large"], timeout=60).text.split()[0]
    assert sorted(found) == [f"0/a b/large {size}", "0/small 2", "1/empty 0", "1/small 2"]
    assert summed == hashlib.file_digest(io.BufferedReader(Counting(size)), "sha256").hexdigest()
    assert below.files == 4
    assert peak < PART * 5
