"""Environments on bubblewrap that go on with an earlier one of the same repository."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from datasmith.docker.context import LOCK
from datasmith.docker.engine import Tier
from datasmith.docker.layers import Layer, LayerStore, Origin, content, digest_of, tier_key
from datasmith.docker.moved_pins import moved, take_over
from datasmith.docker.origin import runs_only_ours
from datasmith.docker.trees import remove_tree


def made_by(tier: Tier, parent: Layer | None, python: Path, uv: Path) -> str:
    """Stands for all that an environment is made of beside its lock, the program that installs included."""
    found = uv.stat()
    rest = replace(tier, files={name: data for name, data in tier.files.items() if name != LOCK})
    salt = {"python": str(python), "uv": f"{uv} {found.st_size} {found.st_mtime_ns}"}
    return tier_key(rest, digest_of(parent), salt)


def fill_env(
    tier: Tier,
    install: Callable[[Tier, Path], None],
    layers: LayerStore,
    facts: Mapping[str, str],
    draft: Path,
    origins: dict[str, Origin],
) -> Mapping[str, str]:
    """Fill `draft` with an environment and its lock; of the last one with the same `facts` it has what did not move.

    `install` runs a tier's scripts with a directory as the environment, in the time that the tier has; where it is
    called twice, that is the time for both.
    """
    end = time.monotonic() + tier.timeout_s
    env = draft / "env"
    env.mkdir()
    lock = content(tier.files.get(LOCK, b""))
    (draft / LOCK).write_bytes(lock)
    earlier = layers.sibling(tier, **facts) if runs_only_ours(tier) else None
    place = earlier.path / LOCK if earlier else None
    change = moved(place.read_bytes().decode(), lock.decode()) if place and place.is_file() else None
    if earlier and change:
        install(replace(tier, files={**tier.files, LOCK: change.part.encode()}), env)
        linked = take_over(env, earlier.path / "env", layers.files(earlier, "env"), change)
        if linked is not None:
            origins["env"] = Origin(linked, None)
            return facts
        remove_tree(env)
        env.mkdir()
    install(replace(tier, timeout_s=end - time.monotonic()), env)
    return facts
