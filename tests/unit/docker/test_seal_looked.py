"""What the seal's search in archives tells the next one, which looks for other texts."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from datasmith.docker.templates.seal_archives import main
from tests.unit.docker.packed import FIX, FRONT, zipped


def test_what_was_looked_into_is_all_that_a_second_search_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Other texts are found in the same files, and in no others."""
    names = {"a b\n.zip": zipped({"x": FIX}), "plain.py": FIX, "gone.zip": b"", "code": FRONT + gzip.compress(FIX)}
    for name, content in names.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "gone.zip").unlink()
    texts, other, empty, looked = (tmp_path / name for name in ("texts", "other", "empty", "looked"))
    texts.write_bytes(b"nothing of this kind\n")
    other.write_bytes(FIX.strip() + b"\n")
    empty.write_bytes(b"")

    def search(wanted: Path, paths: bytes) -> bytes:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(paths)))
        main(str(wanted), str(empty), "", str(empty), str(empty), str(looked))
        sys.stdout.flush()
        return capfdbinary.readouterr().out

    every = b"".join(str(tmp_path / name).encode() + b"\0" for name in names)
    assert search(texts, every) == b""
    inside = looked.read_bytes()
    assert inside.split(b"\0")[:-1] == [str(tmp_path / name).encode() for name in ("a b\n.zip", "code")]
    found = search(other, inside)
    assert found.count(b"has\t") == 2 and search(other, every) == found
