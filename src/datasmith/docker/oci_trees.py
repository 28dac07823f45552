"""Layers of the embedded engine as OCI layers: what each directory changes against the one below, as a tar."""

import filecmp
import io
import os
import platform
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from datasmith.docker.below import Hidden, bounded
from datasmith.docker.engine import ENV_PREFIX, SANDBOX_USER, WORKDIR
from datasmith.docker.environment import CLEAN_ENVIRONMENT
from datasmith.docker.layers import Layer, LayerStore
from datasmith.docker.oci import CONFIG, Manifest, OciLayout, image_config

PLACES = {"root": "", "env": ENV_PREFIX.lstrip("/"), "workspace": "workspace"}
"""Directories of a layer -> where they lie in the image."""
HOST_BASE = "org.formulacode.host-base"
"""Label of an image whose base is the /usr of the host that built it: it names that system, which is not in it."""
_FIXED_TIME = 315_532_800
_WHITEOUT = ".wh."


def save_layers(store: LayerStore, image: Layer, layout: OciLayout, name: str) -> Manifest:
    """Lay out an image of the embedded engine: one OCI layer for each of its tiers that changes files.

    Owners are the sandbox's user, times are fixed. Where the base tier is the host's own system, that is not laid out:
    the label HOST_BASE names it.
    """
    chain = _chain(store, image)
    layers, diffs = [], []
    shown: dict[str, Path] = {}
    for tier in chain:
        trees = _trees(tier)
        if trees:
            with tempfile.TemporaryFile(dir=layout.root) as file:
                _write_layer(trees, shown, file)
                layer, diff = layout.add_layer(file)
            layers.append(layer)
            diffs.append(diff)
        shown |= trees
    config = image_config(
        diffs,
        environment=CLEAN_ENVIRONMENT,
        labels=_labels(chain[0], image),
        user=f"{SANDBOX_USER}:{SANDBOX_USER}",
        workdir=WORKDIR,
    )
    return layout.finish(name, layout.add(config, CONFIG), layers, {})


def hidden_files(store: LayerStore, image: Layer) -> Iterator[Hidden]:
    """The files of lower tiers that upper ones take away or replace."""
    return bounded(_hidden(_chain(store, image)))


def _hidden(chain: list[Layer]) -> Iterator[tuple[str, int, IO[bytes]]]:
    shown: dict[str, Path] = {}
    for number, tier in enumerate(chain):
        trees = _trees(tier)
        for part in sorted(trees.keys() & shown.keys()):
            for file in _replaced(trees[part], shown[part]):
                name = f"{number}/{PLACES[part]}/{file.relative_to(shown[part])}"
                yield name, file.stat().st_size, file.open("rb")
        shown |= trees


def _replaced(tree: Path, below: Path) -> Iterator[Path]:
    """The files of a tree below that another one takes away, or whose content it replaces."""
    for relative, path, gone in _changes(tree, below):
        if gone:
            yield from _files(path)
        elif not _is_dir(path):
            yield from (file for file in _files(below / relative) if not _has_content_of(path, file))
        elif not _is_dir(below / relative):
            yield from _files(below / relative)


def _has_content_of(path: Path, file: Path) -> bool:
    return path.is_file() and not path.is_symlink() and filecmp.cmp(path, file, shallow=False)


def _chain(store: LayerStore, image: Layer) -> list[Layer]:
    """The tiers of an image, the lowest first."""
    chain = [image]
    while below := store.below(chain[0]):
        chain.insert(0, below)
    return chain


def _trees(tier: Layer) -> dict[str, Path]:
    return {part: tier.path / part for part in PLACES if (tier.path / part).is_dir()}


def _files(path: Path) -> Iterator[Path]:
    """A file, or those below a directory; no link is followed."""
    if _is_dir(path):
        for one in sorted(path.iterdir()):
            yield from _files(one)
    elif path.is_file() and not path.is_symlink():
        yield path


def _labels(base: Layer, image: Layer) -> dict[str, str]:
    labels = {"org.formulacode.digest": image.digest, "org.formulacode.machine": platform.machine()}
    if base.facts.get("root") == "host":
        labels[HOST_BASE] = base.facts.get("os", "unknown")
        labels["org.formulacode.python"] = image.facts.get("python", "")
    return labels


def _write_layer(trees: dict[str, Path], below: dict[str, Path], file: IO[bytes]) -> None:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for part, tree in trees.items():
            place = PLACES[part]
            for depth in range(1, len(place.split("/")) + 1 if place else 1):
                archive.addfile(_member("/".join(place.split("/")[:depth]), tarfile.DIRTYPE, 0o755))
            for relative, path, was in _changes(tree, below.get(part)):
                _add(archive, f"{place}/{relative}".lstrip("/"), path, gone=was)
    file.seek(0)


def _changes(tree: Path, below: Path | None) -> Iterator[tuple[str, Path, bool]]:
    """(relative path, path, whether it is gone) of all that is new, other than below, or not there any more."""
    pending = [""]
    while pending:
        at = pending.pop(0)
        old = below / at if below else None
        names = {path.name: path for path in (tree / at).iterdir()}
        known = {path.name: path for path in old.iterdir()} if old and _is_dir(old) else {}
        for name in sorted({*names, *known}):
            relative = f"{at}/{name}".lstrip("/")
            if name not in names:
                yield f"{at}/{_WHITEOUT}{name}".lstrip("/"), known[name], True
                continue
            if not _same(names[name], known.get(name)):
                yield relative, names[name], False
            if _is_dir(names[name]):
                pending.append(relative)


def _is_dir(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _same(path: Path, old: Path | None) -> bool:
    """Whether an entry, without what it may hold, is as it was below."""
    if old is None:
        return False
    one, other = path.lstat(), old.lstat()
    if one.st_mode != other.st_mode:
        return False
    if stat.S_ISLNK(one.st_mode):
        return path.readlink() == old.readlink()
    if stat.S_ISREG(one.st_mode):
        return one.st_ino == other.st_ino or filecmp.cmp(path, old, shallow=False)
    return True


def _member(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.mode = mode
    member.mtime = _FIXED_TIME
    member.uid = member.gid = SANDBOX_USER
    return member


def _add(archive: tarfile.TarFile, name: str, path: Path, *, gone: bool) -> None:
    """One entry; what is neither file, directory nor link (a socket) is left out."""
    if gone:
        archive.addfile(_member(name, tarfile.REGTYPE, 0o644), io.BytesIO())
        return
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        archive.addfile(_member(name, tarfile.DIRTYPE, stat.S_IMODE(mode)))
    elif stat.S_ISLNK(mode):
        link = _member(name, tarfile.SYMTYPE, 0o777)
        link.linkname = os.fsdecode(os.fsencode(path.readlink()))
        archive.addfile(link)
    elif stat.S_ISREG(mode):
        member = _member(name, tarfile.REGTYPE, stat.S_IMODE(mode))
        with path.open("rb") as content:
            member.size = os.fstat(content.fileno()).st_size
            archive.addfile(member, content)
