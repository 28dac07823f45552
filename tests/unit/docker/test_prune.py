"""What is deleted from a cache directory, and what stays, on real layers."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import ImageRef, Tier
from datasmith.docker.layers import Layer, LayerStore
from datasmith.docker.prune import prune
from tests.sandboxes import embedded_engine

pytestmark = pytest.mark.engine


def built(engine: BubblewrapEngine, place: Path, name: str, below: ImageRef) -> ImageRef:
    """An image of the pr tier."""
    script = f"echo {name} >$FC_WORKDIR/said\n".encode()
    return engine.build(below, Tier("pr", f"{name}:1", ("s.sh",), {"s.sh": script}), log=place / "log")


def found(store: LayerStore, image: ImageRef) -> Layer:
    """Where an image lies."""
    layer = store.find(image.digest)
    assert layer
    return layer


def aged(store: LayerStore, image: ImageRef, days: int) -> None:
    """Let an image be last used so long ago."""
    layer = found(store, image)
    then = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    for name in ("used", "layer.json"):
        os.utime(layer.path / name, (then, then))


def test_what_was_not_used_goes_and_what_something_stands_on_stays(tmp_path: Path) -> None:
    """By its last use, not by its age; a dry run deletes nothing; what is gone is built again, the same."""
    cache = tmp_path / "cache"
    engine, store = embedded_engine(cache), LayerStore(cache / "layers")
    base = engine.build(None, Tier("base", "base:1", (), {}), log=tmp_path / "log")
    old, used = built(engine, tmp_path, "old", base), built(engine, tmp_path, "used", base)
    (cache / "sources").mkdir()
    source = cache / "sources/a.tar.gz"
    source.write_bytes(b"x" * 100)
    os.utime(source, (0, 0))
    for image in (base, old, used):
        aged(store, image, 40)
    engine.start(used).stop()
    before = datetime.now(UTC) - timedelta(days=30)
    for delete in (False, True):
        told = [(item.kind, item.name) for item in prune(cache, before=before, delete=delete)]
        assert told == [("layer", "old:1"), ("source", "a.tar.gz")]
        assert (source.exists(), engine.inspect("old:1") is None) == (not delete, delete)
    assert used.name == "used:1" and engine.inspect("used:1") == used and engine.inspect("base:1") == base
    assert built(engine, tmp_path, "old", base).digest == old.digest
    for image in (base, old, used):
        aged(store, image, 40)
    gone = [item.name for item in prune(cache, before=before, delete=True)]
    assert gone[-1] == "base:1" and set(gone) == {"old:1", "used:1", "base:1"}
    assert not [path for path in (cache / "layers").iterdir() if path.is_dir() and path.name != ".names"]


def test_a_layer_that_is_being_worked_on_stays(tmp_path: Path) -> None:
    """Another process holds its lock: it is left for the next time."""
    cache = tmp_path / "cache"
    engine, store = embedded_engine(cache), LayerStore(cache / "layers")
    base = engine.build(None, Tier("base", "base:1", (), {}), log=tmp_path / "log")
    aged(store, base, 40)
    with store._lock(found(store, base).key):
        assert list(prune(cache, before=datetime.now(UTC) - timedelta(days=1), delete=True)) == []
    assert engine.inspect("base:1") == base
