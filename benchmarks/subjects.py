"""Suites to measure for a figure: a clone's own, the integration tests', or a planted one whose truth is known."""

import io
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.integration.planted import planted_image

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import Container, ContainerEngine, ImageRef, Tier
from datasmith.github.git import Git
from datasmith.process import run
from datasmith.workloads.arms import prepare, start_arm
from datasmith.workloads.base import BASE, CONTROL, SCORED_KINDS, Measurement, Workload
from datasmith.workloads.config import AsvConfig, find_config
from datasmith.workloads.discover import discover
from datasmith.workloads.measure import measure
from datasmith.workloads.mounts import inside_mounts
from datasmith.workloads.plan import MeasurePlan

Run = list[Measurement]
ENV_SCRIPT = b'uv venv --quiet --clear --no-config --python "$UV_PYTHON" "$FC_ENV"\n'
INSTALL = b'[ -z "$FC_NEEDS" ] || uv pip install --quiet --python "$FC_ENV/bin/python" $FC_NEEDS\n'
PACKAGE_SCRIPT = b"""tar -xf /build/tree.tar -C "$FC_WORKDIR"
for place in "$FC_WORKDIR" "$FC_WORKDIR/src"; do
    [ ! -d "$place" ] || echo "$place" >> "$(echo "$FC_ENV"/lib/python3*/site-packages)/tree.pth"
done
"""
TREE_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Subject:
    """An image, and the workloads of its suite that can be measured."""

    engine: ContainerEngine
    image: ImageRef
    workloads: tuple[Workload, ...]
    benchmark_dir: str

    @contextmanager
    def arms(self, patches: Mapping[str, str]) -> Iterator[dict[str, Container]]:
        """Frozen arms by name: base, base2, and one for each of the patches."""
        with ExitStack() as stack:
            made = {}
            for name, patch in {BASE: "", CONTROL: "", **patches}.items():
                started = start_arm(
                    self.engine, self.image, patch=patch, rebuild_script=None, build_args={}, limits=None, timeout=60
                )
                made[name] = stack.enter_context(prepare(started, self.workloads, self.benchmark_dir))
            yield made

    def measured(self, plan: MeasurePlan, patches: Mapping[str, str] | None = None) -> Run:
        """The launches of one measurement in fresh containers."""
        kept: Run = []
        with self.arms(patches or {}) as arms:
            measure(arms, self.workloads, plan, benchmark_dir=self.benchmark_dir, sink=kept.append)
        return kept


def of_tests(place: Path) -> Subject:
    """The small suite of the integration tests."""
    engine = BubblewrapEngine(place / "cache")
    image = planted_image(engine, place)
    return _subject(engine, image, "benchmarks", skip=("faulty.", "plain.Told"))


def of_clone(clone: Path, place: Path, *, needs: Sequence[str] = (), skip: Sequence[str] = ()) -> Subject:
    """The suite of a clone's newest state; `needs`: packages to install beside it; `skip`: beginnings of names."""
    git = Git(clone)
    head = git.head()
    done = run(["git", "archive", "--format=tar", head], cwd=clone, timeout=TREE_TIMEOUT_S)
    if not done.ok:
        raise SystemExit(f"{clone}: {done.error_text}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tree:
        path = find_config(tree.getnames())
        stream = tree.extractfile(path) if path else None
        if path is None or stream is None:
            raise SystemExit(f"{clone}: no asv configuration at {head}")
        config = AsvConfig.parse(stream.read().decode(), path)
    return _built(place, done.stdout, config.benchmark_dir, needs, skip)


def of_files(files: Mapping[str, str], place: Path) -> Subject:
    """A tree made of these texts, with its suite in benchmarks/."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tree:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tree.addfile(member, io.BytesIO(text.encode()))
    return _built(place, buffer.getvalue(), "benchmarks", (), ())


def _built(place: Path, tree: bytes, benchmark_dir: str, needs: Sequence[str], skip: Sequence[str]) -> Subject:
    engine, log = BubblewrapEngine(place / "cache"), place / "build.log"
    (place / "tree.tar").write_bytes(tree)
    args = {
        "FC_PYTHON": engine.pythons()[-1] if "3.11" not in engine.pythons() else "3.11",
        "FC_NEEDS": " ".join(needs),
    }
    base = engine.build(None, Tier("base", "figure-base", (), {}), log=log)
    scripts: dict[str, bytes | Path] = {"env.sh": ENV_SCRIPT + INSTALL}
    env = engine.build(base, Tier("env", "figure-env", ("env.sh",), scripts, args=args, network="build"), log=log)
    laid: dict[str, bytes | Path] = {"pkg.sh": PACKAGE_SCRIPT, "tree.tar": place / "tree.tar"}
    image = engine.build(env, Tier("pr", "figure-pr", ("pkg.sh",), laid), log=log)
    return _subject(engine, image, benchmark_dir, skip=skip)


def _subject(engine: ContainerEngine, image: ImageRef, benchmark_dir: str, *, skip: Sequence[str]) -> Subject:
    with engine.start(image, mounts=inside_mounts()) as container:
        found = discover(container, benchmark_dir)
    scored = [workload for workload in found.workloads if workload.kind in SCORED_KINDS]
    chosen = tuple(workload for workload in scored if not workload.benchmark.startswith(tuple(skip)))
    if not chosen:
        raise SystemExit(f"no workload found: {'; '.join(found.errors)}")
    return Subject(engine, image, chosen, benchmark_dir)


def repeated(
    budget_s: float, most: int, once: Callable[[int], None], clock: Callable[[], float] = time.monotonic
) -> None:
    """Call `once` with 0, 1, ... up to `most` times, and not again where that would leave the budget."""
    started = clock()
    for number in range(most):
        before = clock()
        once(number)
        if clock() - started + (clock() - before) > budget_s:
            return


def seeded(plan: MeasurePlan, number: int) -> MeasurePlan:
    """The same plan with another order of arms."""
    return replace(plan, seed=plan.seed + number)
