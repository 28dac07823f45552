"""What a suite's workloads run at base and which files patches change there: all that it takes to leave some out."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from datasmith.docker.engine import WORKDIR, Container
from datasmith.errors import ContainerError, EngineUnavailable
from datasmith.workloads.base import Workload
from datasmith.workloads.coverage import coverage_key, suite_coverage
from datasmith.workloads.impact import Coverage, changed_files, impact_of

LISTING_S = 60.0


@dataclass(frozen=True, slots=True)
class Suite:
    """The workloads of a task as its base arm has them, and what else their coverage depends on."""

    workloads: Sequence[Workload]
    benchmark_dir: str
    print: str
    image_digest: str


@dataclass(frozen=True, slots=True)
class Seen:
    """Coverage by workload; the text at base of each file that a patch names (None: no text); seconds to watch.

    `sources` names the other Python files of the tree, too, without their text.
    """

    coverage: Mapping[str, Coverage]
    sources: Mapping[str, str | None]
    coverage_s: float


def look(
    base: Container, suite: Suite, patches: Sequence[str], *, kept_in: Path, say: Callable[[str, int, int], None]
) -> Seen:
    """Watch the workloads in the prepared base arm, where a file in `kept_in` does not know yet what they run.

    Nothing is watched, and no coverage is known, where that cannot matter: one patch selects everything, or none does
    anything.

    Raises:
        EngineUnavailable: the engine is gone.
        ContainerError: the tree cannot be listed.
    """
    sources = _sources(base, patches)
    impacts = [impact_of(patch, sources, benchmark_dir=suite.benchmark_dir) for patch in patches]
    if any(impact.everything for impact in impacts) or all(impact.nothing for impact in impacts):
        return Seen({workload.id: Coverage() for workload in suite.workloads}, sources, 0.0)
    started = time.monotonic()
    key = coverage_key(suite.image_digest, suite.print, suite.workloads)
    watched = suite_coverage(base, suite.workloads, suite.benchmark_dir, kept=kept_in / f"{key}.json.gz", say=say)
    took_s = 0.0 if watched.known else time.monotonic() - started
    known = {workload.id: watched.by_workload[workload.id] for workload in suite.workloads}
    return Seen(known, sources, took_s)


def _sources(base: Container, patches: Iterable[str]) -> dict[str, str | None]:
    names = dict.fromkeys(name for patch in patches for name in changed_files(patch))
    kinds = [word for kind in ("py", "pyx", "so") for word in ("-o", "-name", f"*.{kind}")][1:]
    found = base.exec(["find", WORKDIR, "-maxdepth", "4", "-type", "f", "(", *kinds, ")"], timeout=LISTING_S)
    if not found.stdout:
        raise ContainerError(f"cannot list the files of the tree: {found.error_text[-300:]}")
    tree = [path.removeprefix(f"{WORKDIR}/") for path in found.text.splitlines()]
    return dict.fromkeys(tree) | {name: _text(base, name) for name in names}


def _text(base: Container, name: str) -> str | None:
    """A file of the tree as text; None where it is none."""
    try:
        return base.read_file(f"{WORKDIR}/{name}").decode("utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    except EngineUnavailable:
        raise
    except ContainerError:
        return None
