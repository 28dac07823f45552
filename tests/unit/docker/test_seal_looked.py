"""What the seal's search in archives tells the next one, which looks for other texts."""

import gzip
import io
import sys
import zlib
from pathlib import Path

import pytest

from datasmith.docker.templates import seal_archives
from datasmith.docker.templates.seal_archives import Wanted, look, main
from tests.unit.docker.packed import FIX, FRONT, NOISE, zipped


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


@pytest.mark.parametrize(("tracked", "whole"), [("tests/data.lz4", True), ("other.lz4", False)])
def test_what_base_itself_holds_and_nobody_opens_is_no_hiding_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracked: str, whole: bool
) -> None:
    """The tree's pack has its files once more; of another one's content nobody knows what it is."""
    closed = b"\x04\x22\x4d\x18" + NOISE
    tree = tmp_path / "repo"
    pack = tree / ".git/objects/pack/pack-1.pack"
    pack.parent.mkdir(parents=True)
    pack.write_bytes(b"PACK\0\0\0\2\0\0\0\1" + zlib.compress(closed) + b"\x36" + zlib.compress(b"a text\n" + FIX))
    (tree / "tests").mkdir()
    (tree / "tests/data.lz4").write_bytes(closed)
    (tree / "other.lz4").write_bytes(closed[:-1])
    monkeypatch.setattr(seal_archives, "TREE", f"{tree}/")
    monkeypatch.setattr(seal_archives, "OBJECTS", f"{tree}/.git/objects/")
    texts, files = tmp_path / "texts", tmp_path / "files"
    texts.write_bytes(FIX.strip() + b"\n")
    files.write_bytes(b"")
    found = look(Wanted(str(texts), str(files), "", [tracked, "gone"]), str(pack), foreign=False)
    assert found.whole is whole
    assert not whole or found.lines == {FIX.strip()}
