"""What upper layers hide in a saved image, and what its configuration says."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from datasmith.docker import below
from datasmith.docker.below import CONFIGURATION, hidden_in
from datasmith.errors import ContainerError

CONFIG = {
    "config": {"Env": ["A=one"], "Labels": {"two": "three"}},
    "history": [{"created_by": "RUN echo 'four\nfive'"}],
}


def layer(*files: tuple[str, bytes | None]) -> bytes:
    """A tar of these; None is a link to elsewhere."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size, member.linkname = len(content or b""), "" if content is not None else "/elsewhere"
            member.type = tarfile.REGTYPE if content is not None else tarfile.SYMTYPE
            tar.addfile(member, io.BytesIO(content or b""))
    return target.getvalue()


def saved(place: Path, *layers: bytes) -> Path:
    """As `docker save` writes an image."""
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    manifest = json.dumps([{"Config": "c.json", "Layers": names}]).encode()
    files = {"manifest.json": manifest, "c.json": json.dumps(CONFIG).encode(), **dict(zip(names, layers, strict=True))}
    (place / "image.tar").write_bytes(layer(*files.items()))
    return place / "image.tar"


LOWER = layer(
    ("a", b"1"), ("./d/b", b"2"), ("d/e/c", b"3"), ("same", b"4"), ("l/f", b"5"), ("o/g", b"6"), ("kept", b"7")
)
MIDDLE = layer(("a", b"8"), ("d/.wh.b", b""), ("same", b"4"), ("l", None), ("o/.wh..wh..opq", b""), ("o/h", b"9"))
UPPER = layer((".wh.a", b""), (".wh.d", b""))


def test_what_is_replaced_or_taken_away_is_hidden(tmp_path: Path) -> None:
    """With its layer: by a file, a link, a whiteout, above a directory too; what looks the same further up is not."""
    found = dict(hidden_in(saved(tmp_path, LOWER, MIDDLE, UPPER)))
    told = (found.pop(CONFIGURATION) or b"").decode().splitlines()
    assert {"A=one", "two", "three", "RUN echo 'four", "five'"} <= {*told}
    assert found == {
        "1/a": b"8", "0/a": b"1", "0/d/b": b"2", "0/d/e/c": b"3", "0/l/f": b"5", "0/o/g": b"6",
    }  # fmt: skip


def test_what_a_sandbox_mounts_over_is_hidden(tmp_path: Path) -> None:
    """Who runs the image without us sees its own /tmp and home; of each path the topmost is the one that is covered."""
    lower = layer(
        ("tmp/a", b"1"), ("home/agent/.x/b", b"2"), ("home/other/c", b"3"), ("tmpfile", b"4"), ("etc/hosts", b"5")
    )
    found = dict(hidden_in(saved(tmp_path, lower, layer(("tmp/a", b"6"))), {"tmp", "home/agent", "etc/hosts"}))
    del found[CONFIGURATION]
    assert found == {"covered/tmp/a": b"6", "0/tmp/a": b"1", "covered/home/agent/.x/b": b"2", "covered/etc/hosts": b"5"}


def test_what_no_sandbox_would_show_is_hidden(tmp_path: Path) -> None:
    """A path that one layer has again, as often as it does, and what stands in a file that says another is gone."""
    odd = layer(("a", b"1"), ("a", b"2"), ("a", b"3"), ("d/.wh.b", b"4"), ("d/b", b"5"))
    found = dict(hidden_in(saved(tmp_path, odd, layer(("c", b"6")))))
    del found[CONFIGURATION]
    assert found == {"2/a": b"2", "4/a": b"1", "0/d/.wh.b": b"4"}


def test_too_much_is_told_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path without a content."""
    monkeypatch.setattr(below, "MOST_BYTES", 1)
    assert [content for _, content in hidden_in(saved(tmp_path, LOWER, MIDDLE))][1:] == [b"1", None, None, None]


def test_a_damaged_archive_is_no_answer(tmp_path: Path) -> None:
    """Nothing is known of such an image."""
    (tmp_path / "image.tar").write_bytes(layer(("manifest.json", b"[]")))
    with pytest.raises(ContainerError, match="cannot be read"):
        list(hidden_in(tmp_path / "image.tar"))
