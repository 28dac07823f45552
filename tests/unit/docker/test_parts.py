"""Which layers an environment has, and that nothing but the last one depends on what is small."""

from pathlib import Path

import pytest

from datasmith.docker.cli_build import dockerfile, write_context
from datasmith.docker.engine import Tier
from datasmith.docker.parts import LARGE, MIDDLING, parts_of

ENTRY = "{} \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"


def env(*pins: str, options: str = "--only-binary :all:\n") -> Tier:
    """An env tier with these pins."""
    lock = options + "".join(map(ENTRY.format, pins))
    return Tier("env", "n/n:1", ("env.sh",), {"env.sh": b"1", "lock.txt": lock.encode()}, network="build")


def test_each_large_package_is_a_part_with_its_hashes() -> None:
    """In one order, whatever that of the lock is; a family is one; small ones, and names that begin so, are none."""
    tier = env("numpy==2.1", "numpydoc==1.8", "nvidia-b==1", "scipy==1.14", "nvidia-a==2", "attrs==25.1")
    family = ENTRY.format("nvidia-b==1") + ENTRY.format("nvidia-a==2")
    assert parts_of(tier) == (family, ENTRY.format("scipy==1.14"), ENTRY.format("numpy==2.1"))


def test_the_middling_ones_are_one_part_after_the_large() -> None:
    """In the order of the lock; no project is large and middling."""
    tier = env("tzdata==2025.1", "attrs==25.1", "setuptools==80.9.0", "numpy==2.1")
    assert parts_of(tier) == (
        ENTRY.format("numpy==2.1"),
        ENTRY.format("tzdata==2025.1") + ENTRY.format("setuptools==80.9.0"),
    )
    assert not MIDDLING & set(LARGE)


@pytest.mark.parametrize(
    "tier",
    [
        env("attrs==25.1"),
        env("numpy==2.1", options="--only-binary :all:\n--no-binary numpy\n"),
        Tier("env", "n/n:1", (), {}, network="build"),
        Tier("pr", "n/n:1", (), {"lock.txt": ENTRY.format("numpy==2.1").encode()}),
    ],
    ids=["small", "from sources", "no lock", "another tier"],
)
def test_no_parts(tier: Tier) -> None:
    """Where nothing large is installed as a wheel, the environment is one layer."""
    assert parts_of(tier) == ()


def test_only_the_last_layer_knows_the_whole_lock(tmp_path: Path) -> None:
    """What is copied before a part is installed is the same whatever else a lock holds; each part is laid out."""
    texts, copied = [], []
    for small in ("attrs==25.1", "attrs==25.3"):
        tier = env("numpy==2.1", "scipy==1.14", small)
        place = tmp_path / small
        place.mkdir()
        found = parts_of(tier)
        write_context(tier, place, uv=place, ca_bundle=None, environment="", parts=found)
        assert tuple((place / f"part-{number}.lock").read_text() for number in range(2)) == found
        texts.append(dockerfile(tier, cache=False, parts=len(found)))
        names = [name for line in texts[-1].splitlines() if line.startswith("COPY") for name in line.split()[1:-1]]
        copied.append([(place / name).read_bytes() for name in names[: names.index("*.sh")]])
    assert texts[0] == texts[1] and copied[0] == copied[1]


@pytest.mark.parametrize("cache", [False, True])
def test_each_part_goes_on_with_the_one_before(cache: bool) -> None:
    """The first one makes the environment; all others, the last layer too, are told that it is there."""
    runs = [line for line in dockerfile(env(), cache=cache, parts=2).splitlines() if line.startswith("RUN")]
    assert ["FC_BEGUN=1" in line for line in runs] == [False, True, True]
    assert ["FC_LOCK=" in line for line in runs] == [True, True, False]
    assert all(("--mount=type=cache" in line) is cache and "tier.sh close" in line for line in runs)
