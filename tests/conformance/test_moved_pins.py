"""The second image of a repository with other pins, on bubblewrap: made of what is there, the same as from nothing."""

import hashlib
from pathlib import Path

import pytest

from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ImageRef
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.docker.layers import LayerStore
from tests.conformance.indexed import opened
from tests.integration.loopback_index import Index, Release, serving

pytestmark = pytest.mark.engine
SITE = "env/lib/python3.11/site-packages"
RELEASES = [
    Release("alpha", "1", None, modules=("alpha",)),
    Release("beta", "1", None, modules=("beta", "beta_old")),
    Release("beta", "2", None, modules=("beta", "beta_new")),
    Release("gamma", "1", None, modules=("gamma",)),
    Release("delta", "1", None, modules=("alpha", "delta")),
]


def lock(*pins: tuple[str, str]) -> str:
    """A lock of some of the releases."""
    found = [release for release in RELEASES if (release.name, release.version) in pins]
    hashed = [(each, hashlib.sha256(each.content()).hexdigest()) for each in found]
    return "".join(f"{each.name}=={each.version} --hash=sha256:{digest}\n" for each, digest in hashed)


FIRST = lock(("alpha", "1"), ("beta", "1"), ("gamma", "1"))


def env(place: Path, index: Index, text: str) -> ImageRef:
    """The env tier of a repository."""
    engine = opened("bubblewrap", place, index)
    context = DockerContext.default(lock=text)
    plan = ImagePlan("o", "moved", "1", "3.11", (), context, place / "repo.tar")
    images = ImageManager(engine, namespace="fc-conformance")
    return images.build_env(images.build_base((), context, log=place / "log"), plan, log=place / "log")


@pytest.mark.parametrize(
    ("second", "asked"),
    [
        (lock(("alpha", "1"), ("beta", "2"), ("gamma", "1")), {"/simple/beta/"}),
        (lock(("alpha", "1"), ("gamma", "1")), set()),
        (
            lock(("alpha", "1"), ("beta", "1"), ("delta", "1")),
            {f"/simple/{name}/" for name in ("alpha", "beta", "delta")},
        ),
    ],
    ids=["another version", "one gone", "a file of two"],
)
def test_a_moved_pin_gives_what_a_build_from_nothing_gives(second: str, asked: set[str], tmp_path: Path) -> None:
    """One digest over every file; what stays is kept once.

    Of the index nothing is asked but what moved, unless two distributions have the same file: then all is installed.
    """
    places = [tmp_path / "warm", tmp_path / "cold"]
    for place in places:
        place.mkdir()
    with serving(RELEASES) as index:
        first = env(places[0], index, FIRST)
        index.requests.clear()
        warm = env(places[0], index, second)
        assert {path for path in index.requests if path.startswith("/simple/")} == asked
        assert warm.digest == env(places[1], index, second).digest != first.digest
    layers = LayerStore(places[0] / "cache/layers")
    one, other = layers.find(first.digest), layers.find(warm.digest)
    assert one and other and (other.path / SITE / "alpha.py").samefile(one.path / SITE / "alpha.py")
    assert not (other.path / SITE / "beta_old.py").exists() or "beta==1" in second
