"""The program of the seal that tells which of the objects that a lower layer holds are the tree's own."""

import io
import sys
import zlib
from hashlib import sha1, sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from datasmith.docker.templates import seal_former

OBJECT = b"blob 8\0one\ntwo\n"
SHA1, SHA256 = sha1(OBJECT).hexdigest(), sha256(OBJECT).hexdigest()


def own(place: Path, monkeypatch: pytest.MonkeyPatch, known: list[str], *paths: Path) -> list[Path]:
    """What the program prints."""
    (place / "known").write_text("".join(f"{name}\n" for name in known))
    said = io.BytesIO()
    given = io.BytesIO(b"".join(bytes(path) + b"\0" for path in paths))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=given))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=said))
    seal_former.main(str(place / "known"))
    return [Path(path.decode()) for path in said.getvalue().split(b"\0")[:-1]]


def loose(place: Path, name: str, data: bytes) -> Path:
    """A file where git would keep an object of that name."""
    path = place / "objects" / name[:2] / name[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", [SHA1, SHA256])
def test_an_object_of_the_trees_is_its_own(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of either kind of id, where the tree has it; another one is not."""
    path = loose(tmp_path, name, zlib.compress(OBJECT))
    assert own(tmp_path, monkeypatch, [name], path) == [path]
    assert own(tmp_path, monkeypatch, ["0" * len(name)], path) == []


@pytest.mark.parametrize("data", [zlib.compress(OBJECT + b"three"), zlib.compress(OBJECT)[:-6], OBJECT, b""])
def test_what_only_has_the_name_of_one_is_not(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another content, one without its end, and what is no object at all."""
    assert own(tmp_path, monkeypatch, [SHA1], loose(tmp_path, SHA1, data)) == []


def test_a_large_object_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it unpacks to; of more than the limit nobody knows whose it is."""
    content = bytes(3_000_000)
    name = sha1(content).hexdigest()
    path = loose(tmp_path, name, zlib.compress(content))
    assert own(tmp_path, monkeypatch, [name], path) == [path]
    monkeypatch.setattr(seal_former, "MOST", 2_999_999)
    assert own(tmp_path, monkeypatch, [name], path) == []
