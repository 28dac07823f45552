"""An image as an OCI layout: blobs named by their sha256, a manifest, an index; the same image is the same bytes."""

import gzip
import hashlib
import json
import platform
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from datasmith.errors import ContainerError
from datasmith.tar_members import DAMAGE, open_tar

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
EMPTY = "application/vnd.oci.empty.v1+json"
REF_NAME = "org.opencontainers.image.ref.name"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_COMPRESSION = 6
_PART = 1 << 20
_MOST_DOCUMENT = 16 << 20
"""Bytes of a manifest that are read."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What names a blob: its kind, its digest ("sha256:<hex>") and its size in bytes."""

    media_type: str
    digest: str
    size: int

    def document(self) -> dict[str, object]:
        """As it stands in a manifest."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.size}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as it was written, and the blobs that it names, the configuration first."""

    descriptor: Descriptor
    data: bytes
    blobs: tuple[Descriptor, ...]


class OciLayout:
    """A directory of blobs in the form of the OCI image layout, 1.0.0."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "blobs/sha256").mkdir(parents=True, exist_ok=True)

    def blob(self, digest: str) -> Path:
        """Where a blob lies."""
        return self.root / "blobs/sha256" / digest.removeprefix("sha256:")

    def add(self, data: bytes, media_type: str) -> Descriptor:
        """Put a small blob."""
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self.blob(digest).write_bytes(data)
        return Descriptor(media_type, digest, len(data))

    def add_layer(self, tar: IO[bytes]) -> tuple[Descriptor, str]:
        """Put a layer, compressed where it is not yet; returns it with the digest of the tar itself."""
        head = tar.read(2)
        tar.seek(0)
        with tempfile.NamedTemporaryFile(dir=self.root, delete=False) as draft:
            place = Path(draft.name)
            if head == b"\x1f\x8b":
                shutil.copyfileobj(tar, draft, _PART)
            else:
                # Neither a name nor a time: the same tar is the same blob.
                with gzip.GzipFile("", "wb", _COMPRESSION, draft, mtime=0) as packed:
                    shutil.copyfileobj(tar, packed, _PART)
        with gzip.open(place) as plain:
            diff = hashlib.file_digest(plain, "sha256").hexdigest()
        with place.open("rb") as whole:
            digest = f"sha256:{hashlib.file_digest(whole, 'sha256').hexdigest()}"
        size = place.stat().st_size
        place.rename(self.blob(digest))
        return Descriptor(LAYER, digest, size), f"sha256:{diff}"

    def finish(
        self, name: str, config: Descriptor, layers: Sequence[Descriptor], annotations: Mapping[str, str]
    ) -> Manifest:
        """Write the manifest, and the index that names it `name`."""
        document = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.document(),
            "layers": [layer.document() for layer in layers],
            "annotations": dict(sorted(annotations.items())),
        }
        data = json.dumps(document, sort_keys=True).encode()
        descriptor = self.add(data, MANIFEST)
        entry = {**descriptor.document(), "annotations": {REF_NAME: name}}
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}
        (self.root / "index.json").write_text(json.dumps(index, sort_keys=True))
        (self.root / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        return Manifest(descriptor, data, (config, *layers))

    def annotate(self, annotations: Mapping[str, str]) -> None:
        """Say something of the whole layout, once its image is finished."""
        place = self.root / "index.json"
        said = {**json.loads(place.read_text()), "annotations": dict(annotations)}
        place.write_text(json.dumps(said, sort_keys=True))

    def pack(self, target: Path) -> None:
        """Write the layout as one tar (an OCI archive), which appears by one rename; the same bytes each time."""
        draft = target.with_name(f".{target.name}")
        try:
            with tarfile.open(draft, "w", format=tarfile.PAX_FORMAT) as archive:
                self._add_files(archive)
            draft.rename(target)
        finally:
            draft.unlink(missing_ok=True)

    def _add_files(self, archive: tarfile.TarFile) -> None:
        for path in sorted(path for path in self.root.rglob("*") if path.is_file()):
            member = tarfile.TarInfo(path.relative_to(self.root).as_posix())
            member.size = path.stat().st_size
            member.mode = 0o644
            with path.open("rb") as content:
                archive.addfile(member, content)


def is_packed(path: Path) -> bool:
    """Whether a file is a tar of such a layout."""
    try:
        with tarfile.open(path) as archive:
            return "oci-layout" in archive.getnames()
    except (OSError, *DAMAGE):
        return False


def image_config(
    diffs: Iterable[str], *, environment: Mapping[str, str], labels: Mapping[str, str], user: str, workdir: str
) -> bytes:
    """The configuration of an image that we lay out ourselves; it holds no time."""
    document = {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {
            "Env": [f"{name}={value}" for name, value in environment.items()],
            "Labels": dict(labels),
            "User": user,
            "WorkingDir": workdir,
        },
        "rootfs": {"type": "layers", "diff_ids": list(diffs)},
    }
    return json.dumps(document, sort_keys=True).encode()


def read_saved(archive: Path, layout: OciLayout, name: str) -> Manifest:
    """Lay out what `docker save` wrote; the configuration stays byte for byte, so its digest is the image's id.

    Raises:
        ContainerError: the archive is damaged, or holds not exactly one image.
    """
    try:
        with open_tar(archive) as tar:
            (said,) = json.loads(_member(tar, "manifest.json").read())
            config = layout.add(_member(tar, said["Config"]).read(), CONFIG)
            layers = [layout.add_layer(_member(tar, path))[0] for path in said["Layers"]]
    except (*DAMAGE, KeyError, TypeError) as error:
        raise ContainerError(f"the saved image cannot be read: {type(error).__name__}: {error}") from error
    return layout.finish(name, config, layers, {})


def is_saved_as(archive: Path, digest: str, config: str) -> bool:
    """Whether `digest` is the id of the image that `docker save` wrote with this configuration.

    It is the configuration's; in Docker's containerd store that of a manifest which names it, or of an index over that.
    """
    asked, seen = [digest], set[str]()
    with open_tar(archive) as tar:
        while asked:
            name = asked.pop()
            if name == config:
                return True
            said = None if name in seen else _document(tar, name)
            seen.add(name)
            if said is not None:
                asked += [_digest_of(said.get("config")), *map(_digest_of, said.get("manifests") or [])]
    return False


def _digest_of(descriptor: object) -> str:
    return str(descriptor.get("digest", "")) if isinstance(descriptor, dict) else ""


def _document(tar: tarfile.TarFile, digest: str) -> dict[str, Any] | None:
    """The manifest or index of a saved archive with this digest; None where there is none, or other bytes."""
    try:
        data = _member(tar, f"blobs/{digest.replace(':', '/', 1)}").read(_MOST_DOCUMENT)
        said = json.loads(data)
    except (*DAMAGE, KeyError, ValueError):
        return None
    return said if isinstance(said, dict) and f"sha256:{hashlib.sha256(data).hexdigest()}" == digest else None


def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    """A file of the archive; the older form links layers that are the same to one another."""
    found = tar.extractfile(name)
    if found is None:
        raise KeyError(name)
    return found
