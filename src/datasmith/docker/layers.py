"""Layers as directories whose name is the hash of what they were made from, whole or not there."""

import errno
import fcntl
import gzip
import hashlib
import json
import logging
import os
import struct
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from datasmith.docker.cache_disk import unwritable
from datasmith.docker.engine import ImageRef, Tier
from datasmith.docker.overlay import Overlay, is_possible
from datasmith.docker.trees import Stamp, Tree, copy_tree, read_tree, remove_tree, share, stamps_of
from datasmith.errors import BuildFailed

_log = logging.getLogger(__name__)
_RECORD = "layer.json"
_NAMES = ".names"
_USED = "used"
"""A file whose time says when its layer was last worked with."""
_FILES = "files-{}.gz"
_FILE = struct.Struct("!H32s")
"""In a layer's list of a tree's files: the length of a path and its content's sha256; the path follows."""
_UNREADABLE = frozenset({errno.ENAMETOOLONG, errno.ELOOP})


@dataclass(frozen=True, slots=True)
class Layer:
    """A finished layer: where it lies, its digest, and what it stands on.

    `facts` hold what the engine remembers; `tree:<name>` is the digest of the subdirectory `<name>`, which lies
    here or, where this layer did not change it, in the nearest layer below that has it.
    """

    key: str
    kind: str
    name: str
    digest: str
    parent: str | None
    facts: Mapping[str, str]
    path: Path

    @property
    def created_at(self) -> datetime | None:
        """When it was made (UTC), if that is known."""
        return datetime.fromisoformat(self.facts["created_at"]) if "created_at" in self.facts else None

    def called(self, reference: str) -> ImageRef:
        """The layer as the image that was asked for: it has many names, and remembers its first, which digests give."""
        name = self.name if reference in {self.key, self.digest} else reference
        return ImageRef("bubblewrap", name, self.digest)


class LayerStore:
    """All layers of one directory; several processes may use it at once."""

    def __init__(self, root: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._root = root
        self._now = now
        self._overlays: bool | None = None

    def get(self, key: str) -> Layer | None:
        """The finished layer with this key, or None."""
        try:
            record = json.loads((self._root / key / _RECORD).read_text())
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Layer(path=self._root / key, **record)

    def find(self, reference: str) -> Layer | None:
        """The finished layer with this key, digest or name; the newest where a name is given twice."""
        if not reference:
            return None
        called = self._called(reference)
        if called:
            return called
        for record in sorted(self._root.glob(f"*/{_RECORD}"), key=lambda path: path.stat().st_mtime, reverse=True):
            layer = self.get(record.parent.name)
            if layer and reference in {layer.key, layer.digest, layer.name}:
                return layer
        return None

    def call(self, layer: Layer, names: Sequence[str]) -> None:
        """Let `names` mean this layer from now on, whatever they meant before.

        Raises:
            ContainerError: the disk is full or cannot be written; names the directory.
        """
        self.note_use(layer)
        try:
            for name in names:
                place = self._place_of(name)
                if not place.is_file() or place.read_text() != layer.key:
                    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    draft = place.with_name(f".{place.name}-{os.urandom(8).hex()}")
                    _write_safely(draft, layer.key)
                    draft.rename(place)
        except OSError as error:
            raise unwritable(f"write names under {self._root}", error) from error

    def note_use(self, layer: Layer) -> None:
        """Remember that somebody works with a layer now; where that cannot be written, it was not used."""
        with suppress(OSError):
            (layer.path / _USED).touch()
            moment = self._now().timestamp()
            os.utime(layer.path / _USED, (moment, moment))

    def used_at(self, layer: Layer) -> datetime:
        """When somebody last worked with a layer, or made it (UTC)."""
        mark = layer.path / (_USED if (layer.path / _USED).exists() else _RECORD)
        return datetime.fromtimestamp(mark.stat().st_mtime, UTC)

    def layers(self) -> tuple[Layer, ...]:
        """All finished layers."""
        found = (self.get(record.parent.name) for record in sorted(self._root.glob(f"*/{_RECORD}")))
        return tuple(layer for layer in found if layer)

    def remove(self, layer: Layer) -> bool:
        """Delete a layer and the names that mean it; False where somebody is at work on it.

        It goes by one rename first: what a killed process leaves of it is a draft, which the next sweep deletes.
        """
        with self._lock(layer.key, wait=False) as held:
            if not held:
                return False
            gone = self._root / f".draft-{layer.key}-{os.urandom(4).hex()}"
            layer.path.rename(gone)
            for place in (self._root / _NAMES).glob("[!.]*"):
                if place.read_text() == layer.key:
                    place.unlink(missing_ok=True)
            remove_tree(gone)
        return True

    def _called(self, name: str) -> Layer | None:
        place = self._place_of(name)
        return self.get(place.read_text()) if place.is_file() else None

    def _place_of(self, name: str) -> Path:
        return self._root / _NAMES / hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()

    def below(self, layer: Layer) -> Layer | None:
        """The layer that this one stands on."""
        return self.get(layer.parent) if layer.parent else None

    def lowest(self, layer: Layer) -> Layer:
        """The base layer that a layer stands on; itself where it is one."""
        while below := self.below(layer):
            layer = below
        return layer

    def tree(self, layer: Layer | None, name: str) -> Path | None:
        """The subdirectory `name` of a layer or of the nearest one below that has it."""
        while layer:
            if (layer.path / name).is_dir():
                return layer.path / name
            layer = self.below(layer)
        return None

    def copy(self, layer: Layer | None, name: str, target: Path) -> "Origin | None":
        """A private copy of a tree of `layer`, or of the nearest layer below that has it; None where none has."""
        source = self.tree(layer, name)
        if source is None:
            return None
        copy_tree(source, target)
        return Origin(_known_files(source), stamps_of(target))

    def overlay(self, layer: Layer | None, name: str, draft: Path, bwrap: Sequence[str]) -> Overlay | None:
        """The same in a new directory `name` of a draft, without a copy; None where no overlay can be made, too.

        bwrap: the first words of sandboxes, see `is_possible`.
        """
        if self._overlays is None:
            self._overlays = is_possible(draft / "probe", bwrap)
            if not self._overlays:
                _log.info(f"no overlay can be mounted in {self._root}: each build copies its environment first")
        source = self.tree(layer, name) if self._overlays else None
        return Overlay.over(source, _known_files(source), draft / name, draft / f"{name}.apart") if source else None

    def files(self, layer: Layer, name: str) -> Mapping[bytes, bytes]:
        """The contents of the files of a tree that lies in this very layer, as sha256 by path."""
        return _known_files(layer.path / name)

    def sibling(self, tier: Tier, **facts: str) -> Layer | None:
        """The newest layer of the same kind and of the same repository with these facts; None where there is none."""
        repository = tier.name.rpartition(":")[0]
        for record in sorted(self._root.glob(f"*/{_RECORD}"), key=lambda path: path.stat().st_mtime, reverse=True):
            layer = self.get(record.parent.name)
            alike = layer and layer.kind == tier.kind and layer.name.rpartition(":")[0] == repository
            if layer and alike and facts.items() <= layer.facts.items():
                return layer
        return None

    def make(
        self,
        key: str,
        tier: Tier,
        parent: Layer | None,
        fill: "Callable[[Path, dict[str, Origin]], Mapping[str, str]]",
        trees: tuple[str, ...],
    ) -> Layer:
        """The layer `key`, made by `fill(directory, origins)` where it is not there yet.

        `fill` returns facts to remember, and notes in `origins` what it copied from a layer. The digest covers the
        content of the subdirectories `trees` and the parent's digest. A subdirectory that is as it was below is not
        kept again, nor is a file that the layer below has, or the newest one of the same repository. One process makes
        a layer, others wait; it appears by one rename, so a killed build leaves a draft that the next one deletes,
        never a layer.

        Raises:
            ContainerError: the disk is full or cannot be written; names the directory.
            BuildFailed: `fill` says so, or what it left cannot be read.
        """
        try:
            with self._lock(key):
                found = self.get(key)
                return found or self._make(key, tier, parent, fill, trees)
        except OSError as error:
            raise unwritable(f"write layers under {self._root}", error) from error

    def _make(
        self,
        key: str,
        tier: Tier,
        parent: Layer | None,
        fill: "Callable[[Path, dict[str, Origin]], Mapping[str, str]]",
        trees: tuple[str, ...],
    ) -> Layer:
        self._remove_drafts(key)
        draft = Path(tempfile.mkdtemp(prefix=f".draft-{key}-", dir=self._root))
        try:
            origins: dict[str, Origin] = {}
            facts = dict(fill(draft, origins))
            with what_is_left(tier):
                read = {name: _read_tree(draft / name, origins.get(name)) for name in trees}
            facts |= {f"tree:{name}": tree.digest for name, tree in read.items()}
            for name, tree in read.items():
                linked = origins[name].files if name in origins and origins[name].stamps is None else ()
                self._share(draft / name, tree, parent, self.sibling(tier) if tier.kind == "env" else None, linked)
            digest = chained([parent.digest if parent else key, *(facts[f"tree:{name}"] for name in trees)])
            facts["created_at"] = self._now().isoformat(timespec="seconds")
            below = parent.key if parent else None
            layer = Layer(key, tier.kind, tier.name, digest, below, facts, self._root / key)
            record = {name: value for name, value in asdict(layer).items() if name != "path"}
            _write_safely(draft / _RECORD, json.dumps(record, sort_keys=True))
            draft.chmod(0o755)
            draft.rename(self._root / key)
            return layer
        finally:
            remove_tree(draft)

    def _share(
        self, made: Path, tree: Tree, parent: Layer | None, sibling: Layer | None, linked: Collection[bytes]
    ) -> None:
        """Keep once what a layer has in common with others: the whole directory, or single files but those `linked`.

        Nothing runs in `made` any more, and layers are only ever shown read-only or copied.
        """
        if parent and self._known(parent, made.name) == tree.digest and self.tree(parent, made.name):
            remove_tree(made)
            return
        _write_files(made.with_name(_FILES.format(made.name)), tree.files)
        for other, times in ((parent, True), (sibling, False)):
            original = self.tree(other, made.name)
            if original:
                alike = tree.like(_known_files(original)).difference(linked)
                share(made, original, alike, sure=tree.untouched if other is parent else (), times=times)

    def _known(self, layer: Layer | None, name: str) -> str | None:
        while layer:
            if f"tree:{name}" in layer.facts:
                return layer.facts[f"tree:{name}"]
            layer = self.below(layer)
        return None

    def sweep(self) -> None:
        """Delete the drafts of builds that were killed; those of running builds stay."""
        for draft in self._root.glob(".draft-*"):
            key = draft.name.removeprefix(".draft-").rpartition("-")[0]
            with self._lock(key, wait=False) as held:
                if held:
                    remove_tree(draft)

    def _remove_drafts(self, key: str) -> None:
        for draft in self._root.glob(f".draft-{key}-*"):
            remove_tree(draft)

    @contextmanager
    def _lock(self, key: str, *, wait: bool = True) -> Iterator[bool]:
        """Be the only one at work on a layer; yields False where another one is and `wait` is not set."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._root / f".{key}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                yield True


@dataclass(frozen=True, slots=True)
class Origin:
    """Where files of a tree are from: their contents there, and their stamps in the copy.

    `stamps` None: they are the very files, linked when nothing ran in the tree any more.
    """

    files: Mapping[bytes, bytes]
    stamps: Mapping[bytes, Stamp] | None


def _read_tree(path: Path, origin: Origin | None) -> Tree:
    return read_tree(path, known=origin.files, stamps=origin.stamps) if origin else read_tree(path)


@contextmanager
def what_is_left(tier: Tier) -> Iterator[None]:
    """What scripts leave that has no path is their failure.

    Raises:
        BuildFailed: something cannot be read for its path.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _UNREADABLE:
            raise
        raise BuildFailed(tier.name, 1, f"what the scripts left cannot be read: {error.strerror}") from error


def _write_files(target: Path, files: Mapping[bytes, bytes]) -> None:
    whole = b"".join(_FILE.pack(len(path), identity) + path for path, identity in files.items())
    target.write_bytes(gzip.compress(whole, compresslevel=1))


def _known_files(tree: Path) -> Mapping[bytes, bytes]:
    """The list that `_write_files` wrote beside a tree; empty where a layer of an older version has none."""
    source = tree.with_name(_FILES.format(tree.name))
    if not source.is_file():
        return {}
    data, at, found = gzip.decompress(source.read_bytes()), 0, {}
    while at < len(data):
        length, identity = _FILE.unpack_from(data, at)
        at += _FILE.size
        found[data[at : at + length]] = identity
        at += length
    return found


def _write_safely(path: Path, text: str) -> None:
    """Write a file, and return when it is on the disk."""
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def chained(parts: list[str]) -> str:
    """sha256:<hex> over a list of texts."""
    return "sha256:" + hashlib.sha256("\0".join(parts).encode()).hexdigest()


def digest_of(layer: Layer | None) -> str:
    """The digest of a layer; empty for none."""
    return layer.digest if layer else ""


def tier_key(tier: Tier, parent: str, salt: Mapping[str, str]) -> str:
    """The address of a layer: the same parent (its digest), scripts, files, arguments and network give the same one."""
    said = {
        "parent": parent,
        "kind": tier.kind,
        "scripts": list(tier.scripts),
        "files": {name: _hash_of(data) for name, data in sorted(tier.files.items())},
        "args": dict(sorted(tier.args.items())),
        "network": tier.network,
        "salt": dict(sorted(salt.items())),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:40]


def _hash_of(data: bytes | Path) -> str:
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    with data.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content(data: bytes | Path) -> bytes:
    """The bytes of a tier's file."""
    return data if isinstance(data, bytes) else data.read_bytes()
