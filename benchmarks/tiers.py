"""Time the first and the second image of a repository on each engine, and what the second one adds to the disk.

Run: `PYTHONPATH=. python benchmarks/tiers.py [--engine bubblewrap docker buildkit]`. Target: the second one takes at
most 20 % of the first one's time and adds at most 100 MB. Needs the package index, and Debian's packages for docker.
The second one has another tree; it is built with the same lock, then with one pin moved, and the target is for both.
`buildkit` is the system's docker in /usr/bin, whose cache of downloads is emptied first. What earlier images still have
to write to the disk is not counted as a later one's time.
"""

import argparse
import os
import resource
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.sandboxes import committed
from tests.support.base_image import ensure_base_image

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.cli_build import CACHE_MOUNT, CACHE_PLACE
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ContainerEngine, ImageRef
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.process import find_uv, run
from datasmith.settings import load_settings

PINS = ("setuptools==80.9.0", "pytest==8.4.2", "numpy==1.26.4", "pandas==2.2.3", "scipy==1.13.1")
MOVED = "pytest==8.4.1"
TARGET_SHARE, TARGET_MB = 0.20, 100.0
NAMESPACE = "fc-bench"
EMPTY = "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"
"""A layer's tar that holds nothing."""
ENGINES = ("bubblewrap", "docker", "buildkit")
WHAT = ("first", "second, same lock", "second, one pin moved")
TREE = {
    "pyproject.toml": b'[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
    b'[project]\nname = "adder"\nversion = "1.0"\n',
    "src/adder/__init__.py": b"import numpy\n",
}


def lock(pins: tuple[str, ...], place: Path) -> str:
    """A lock with hashes."""
    (place / "in.txt").write_text("\n".join(pins))
    words = [str(find_uv()), "pip", "compile", "--quiet", "--generate-hashes", "--only-binary=:all:", "--no-header"]
    done = run([*words, "--python-version", "3.11", "in.txt"], cwd=place, timeout=300)
    if not done.ok:
        sys.exit(done.error_text)
    return done.text


def source(place: Path, name: str, files: Mapping[str, bytes]) -> Path:
    """A tree as a tar with its git repository."""
    tree = committed(place / name, files)
    with tarfile.open(place / f"{name}.tar", "w") as archive:
        archive.add(tree, arcname=".")
    return place / f"{name}.tar"


def engine_of(name: str, place: Path) -> ContainerEngine:
    """An engine whose own cache is empty."""
    settings = load_settings()
    if name == "bubblewrap":
        return BubblewrapEngine(place / "cache", ca_bundle=settings.ca_bundle, index_url=settings.index_url)
    return CliEngine(
        "docker",
        base_image=ensure_base_image(place),
        ca_bundle=settings.ca_bundle,
        index_url=settings.index_url,
        environment={"PATH": os.defpath} if name == "buildkit" else {},
    )


def forget_downloads(place: Path) -> None:
    """Empty what builds keep beside the images: a first one has none of it."""
    text = f"FROM {ensure_base_image(place)}\nRUN {CACHE_MOUNT} find {CACHE_PLACE} -mindepth 1 -delete # {place}\n"
    (place / "forget").mkdir()
    (place / "forget" / "Dockerfile").write_text(text)
    told = {"DOCKER_BUILDKIT": "1", "PATH": os.defpath}
    done = run(["docker", "build", "--quiet", "--network", "none", place / "forget"], env=told, timeout=600)
    if not done.ok:
        sys.exit(done.error_text)


def cpu_seconds() -> float:
    """What this process and its children have used so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Disk:
    """How much the images of one run take, in MB, where several share a layer counted once."""

    def __init__(self, engine: ContainerEngine, place: Path) -> None:
        self._engine = engine
        self._place = place
        self._layers: dict[str, float] = {}

    def added(self, image: ImageRef) -> float:
        """What has come with this image since the last call."""
        before = sum(self._layers.values())
        if self._engine.name == "bubblewrap":
            said = run(["du", "--summarize", "--block-size=1K", self._place / "cache" / "layers"], timeout=600)
            self._layers = {"all": int(said.text.split()[0]) / 1024}
        else:
            self._layers |= self._of(image)
        return sum(self._layers.values()) - before

    def _of(self, image: ImageRef) -> dict[str, float]:
        """Sizes of an image's layers that hold anything, by the layers below and their own."""
        layers = run(["docker", "inspect", "--format", "{{json .RootFS.Layers}}", image.digest], timeout=60).text
        digests = layers.strip().strip("[]").replace('"', "").split(",")
        words = ["docker", "history", "--human=false", "--format", "{{.Size}}\t{{.CreatedBy}}", image.digest]
        rows = [row.split("\t") for row in run(words, timeout=60).text.splitlines()][::-1]
        sizes = [int(row[0]) / 1e6 for row in rows if int(row[0])]
        # Steps that write nothing have no layer, or this one.
        return dict(zip((digest for digest in digests if digest != EMPTY), sizes, strict=True))


def measure(name: str, locks: tuple[str, str], trees: tuple[Path, Path], place: Path) -> bool:
    """Print the figures of one engine; True where the targets are met."""
    engine = engine_of(name, place)
    if name == "buildkit":
        forget_downloads(place)
    images = ImageManager(engine, namespace=NAMESPACE)
    disk, seconds, spent, added = Disk(engine, place), [], [], []
    own = DockerContext.default(lock="").texts
    # A lock of its own, not a script: scripts that do not ship share no downloads.
    base = "docker_build_base.sh"
    cold = {base: f"{own[base]}# {place}\n"} if engine.runs_dockerfiles else {}
    built = []
    for number, (which, tree) in enumerate(((locks[0], trees[0]), (locks[0], trees[1]), (locks[1], trees[1]))):
        context = DockerContext({**own, **cold, "lock.txt": f"{which}# {place}\n"})
        args = {"FC_IMPORT_NAMES": "adder"}
        plan = ImagePlan("own", f"adder-{place.name}", str(number), "3.11", (), context, tree, args)
        os.sync()
        began, used = time.perf_counter(), cpu_seconds()
        image = images.build(plan, log=place / "log")
        seconds.append(time.perf_counter() - began)
        spent.append(cpu_seconds() - used)
        added.append(disk.added(image))
        built.append(image.name)
    if engine.name != "bubblewrap":
        run(["docker", "rmi", "--force", *built], timeout=120)
    for what, second, cpu, megabytes in zip(WHAT, seconds, spent, added, strict=True):
        # A daemon's work is not ours to count.
        work = f", {cpu / spent[0]:.0%} of its cpu time ({cpu:.1f} s)" if engine.name == "bubblewrap" else ""
        share = f"{second / seconds[0]:4.0%} of the first one's time{work}"
        print(f"{name:11} {what:22} {second:6.1f} s  {megabytes:7.1f} MB  {share}")
    return max(seconds[1:]) <= TARGET_SHARE * seconds[0] and max(added[1:]) <= TARGET_MB


def main() -> None:
    """One block of figures for each engine; the exit code tells whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=ENGINES[:2])
    parser.add_argument("--pins", nargs="+", default=PINS, help="what the first environment holds")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fc-tiers-") as name:
        place = Path(name)
        locks = (
            lock(tuple(chosen.pins), place),
            lock((*(pin for pin in chosen.pins if not pin.startswith("pytest==")), MOVED), place),
        )
        changed = {**TREE, "src/adder/__init__.py": b"import numpy\n\nchanged = True\n"}
        trees = source(place, "one", TREE), source(place, "two", changed)
        met = []
        for engine in chosen.engine:
            (place / engine).mkdir()
            met.append(measure(engine, locks, trees, place / engine))
    print(f"target: {TARGET_SHARE:.0%} of the time, {TARGET_MB:g} MB: {'met' if all(met) else 'MISSED'}")
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
