"""Delete from the cache directory what nobody has used for long: layers, downloads and prepared trees."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from datasmith import process
from datasmith.docker.layers import Layer, LayerStore

DOWNLOADS = ("uv", "wheels")
"""Caches of uv: of the resolver, and of builds."""
_UV_S = 600.0


@dataclass(frozen=True, slots=True)
class Unused:
    """Something that may go: what it is, where it lies, when it was last used (UTC), and bytes that only it holds."""

    kind: str
    name: str
    path: Path
    used_at: datetime
    size: int


def unused_layers(store: LayerStore, before: datetime) -> tuple[Layer, ...]:
    """Layers that were last used before a moment, and that no other one stands on; those on top first."""
    layers = {layer.key: layer for layer in store.layers()}
    kept = [layer for layer in layers.values() if store.used_at(layer) >= before]
    needed: set[str] = set()
    while kept:
        layer = kept.pop()
        needed.add(layer.key)
        if layer.parent in layers and layer.parent not in needed:
            kept.append(layers[layer.parent])
    gone = [layer for key, layer in layers.items() if key not in needed]
    return tuple(sorted(gone, key=lambda layer: (-_depth(layer, layers), layer.key)))


def prune(cache_dir: Path, *, before: datetime, delete: bool) -> Iterator[Unused]:
    """What was not used since a moment, and is deleted now where `delete` is set; layers that are being made stay."""
    store = LayerStore(cache_dir / "layers")
    for layer in unused_layers(store, before):
        found = Unused("layer", layer.name, layer.path, store.used_at(layer), _own_bytes(layer.path))
        if not delete or store.remove(layer):
            yield found
    for path in sorted((cache_dir / "sources").glob("*.tar.gz")):
        status = path.stat()
        used_at = datetime.fromtimestamp(max(status.st_mtime, status.st_atime), UTC)
        if used_at < before:
            if delete:
                path.unlink(missing_ok=True)
            yield Unused("source", path.name, path, used_at, status.st_size)


def prune_downloads(cache_dir: Path) -> None:
    """Let uv drop what its caches hold and cannot use any more."""
    uv = process.find_uv()
    for name in DOWNLOADS:
        if (cache_dir / name).is_dir():
            process.run([uv, "cache", "prune", "--no-config", "--cache-dir", cache_dir / name], timeout=_UV_S)


def _depth(layer: Layer, layers: dict[str, Layer]) -> int:
    depth = 0
    while layer.parent and layer.parent in layers:
        layer, depth = layers[layer.parent], depth + 1
    return depth


def _own_bytes(root: Path) -> int:
    """Bytes of the files below that no other directory has as well: layers share files."""
    total = 0
    for directory, _, names in os.walk(root):
        for name in names:
            status = os.lstat(os.path.join(directory, name))  # noqa: PTH118 - thousands of files
            total += status.st_blocks * 512 if status.st_nlink == 1 else 0
    return total
