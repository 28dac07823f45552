"""A task of those workloads alone that the expert's patch can touch: for suites that nobody can measure as a whole."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from datasmith.counted import counted
from datasmith.docker.engine import Container
from datasmith.runners.agenda import NONE_IMPACTED
from datasmith.runners.order import Refusal, Verified
from datasmith.workloads.impact import impact_of, select
from datasmith.workloads.touched import Suite, look


def only_impacted(
    verified: Verified,
    base: Container,
    suite: Suite,
    patch: str,
    *,
    kept_in: Path,
    say: Callable[[str, int, int], None],
) -> Verified | Refusal:
    """The same with fewer workloads, by what they run in the prepared base arm; a refusal where none is left.

    Raises:
        EngineUnavailable: the engine is gone.
        ContainerError: the tree cannot be listed.
    """
    seen = look(base, suite, [patch], kept_in=kept_in, say=say)
    chosen = select([impact_of(patch, seen.sources, benchmark_dir=suite.benchmark_dir)], seen.coverage)
    kept = tuple(workload for workload in verified.workloads if workload.id in chosen)
    if not kept:
        return Refusal(f"{NONE_IMPACTED} ({counted(len(suite.workloads), 'workload')})")
    return replace(verified, workloads=kept, not_impacted=len(verified.workloads) - len(kept))
