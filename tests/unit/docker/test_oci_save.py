"""What an engine saved is the image that was asked for, whatever the engine calls its id."""

import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from datasmith.docker import oci_save
from datasmith.docker.engine import ImageRef
from datasmith.docker.oci import OciLayout
from datasmith.errors import ContainerError
from datasmith.settings import Settings


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def packed(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return target.getvalue()


LAYER = packed({"a": b"b"})
CONFIG = json.dumps({"os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest(LAYER)]}}).encode()
MANIFEST = json.dumps({"config": {"digest": digest(CONFIG)}, "layers": [{"digest": digest(LAYER)}]}).encode()
INDEX = json.dumps({"manifests": [{"digest": digest(b"attestation")}, {"digest": digest(MANIFEST)}]}).encode()
OTHER = json.dumps({"config": {"digest": digest(b"{}")}}).encode()


def blob(data: bytes) -> str:
    return f"blobs/{digest(data).replace(':', '/')}"


def save(monkeypatch: pytest.MonkeyPatch, place: Path, image: str, *, lies: bool = False) -> str:
    """The digest of the configuration that comes of an archive as Docker's containerd store writes it."""
    said = [{"Config": blob(CONFIG), "RepoTags": None, "Layers": [blob(LAYER)]}]
    files = {blob(one): one for one in (LAYER, CONFIG, MANIFEST, INDEX, OTHER)}
    if lies:
        files[blob(OTHER)] = MANIFEST
    archive = packed({**files, "manifest.json": json.dumps(said).encode()})

    class SavesIt:
        program = "docker"

        def __init__(self, *_: object) -> None:
            pass

        def ask(self, words: Sequence[str | Path], *, timeout: float) -> str:
            Path(words[words.index("--output") + 1]).write_bytes(archive)
            return ""

    monkeypatch.setattr(oci_save, "Cli", SavesIt)
    layout = OciLayout(place / "layout")
    return oci_save.save_image(Settings(), ImageRef("docker", "x", image), layout, "t").blobs[0].digest


@pytest.mark.parametrize("named", [CONFIG, MANIFEST, INDEX], ids=["configuration", "manifest", "index"])
def test_an_image_is_known_by_any_of_its_digests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: bytes) -> None:
    """The id is the configuration's, or, in the containerd store, that of the manifest or of an index over it."""
    assert save(monkeypatch, tmp_path, digest(named)) == digest(CONFIG)


@pytest.mark.parametrize(("named", "lies"), [(OTHER, False), (OTHER, True), (b"not there", False), (LAYER, False)])
def test_another_image_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: bytes, lies: bool) -> None:
    """One with another configuration, one whose bytes have another digest, one that is not there, no manifest."""
    with pytest.raises(ContainerError, match="saved another image"):
        save(monkeypatch, tmp_path, digest(named), lies=lies)
