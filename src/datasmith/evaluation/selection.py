"""Fast mode: which of a task's workloads a session measures, and how that is said of its scores."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from datasmith.counted import counted
from datasmith.docker.engine import Container
from datasmith.evaluation.records import SelectionRecord, SessionRecord
from datasmith.workloads.impact import NOT_IMPACTED, Coverage, impact_of, select
from datasmith.workloads.touched import Suite, look

EARLIER = "selected by an earlier session of this task"
ALL = "no workload seems to be touched by any patch, so that all are measured"


def impacted(
    base: Container,
    suite: Suite,
    patches: Sequence[str],
    *,
    earlier: Collection[str],
    kept_in: Path,
    say: Callable[[str, int, int], None],
) -> SelectionRecord:
    """The workloads that any of the patches can touch, by what they run in the prepared base arm.

    All arms of a session are timed on the same workloads, so the patches are those of all of them, the expert's among
    them. `earlier` are the workloads that other sessions of this task selected: they stay, so that agents of one run
    are scored on the same ones. Where nothing is left everything is measured.

    Raises:
        EngineUnavailable: the engine is gone.
        ContainerError: the tree cannot be listed.
    """
    seen = look(base, suite, patches, kept_in=kept_in, say=say)
    return decided(
        seen.coverage, patches, seen.sources, suite.benchmark_dir, earlier=earlier, coverage_s=seen.coverage_s
    )


def decided(
    coverage: Mapping[str, Coverage],
    patches: Iterable[str],
    sources: Mapping[str, str | None],
    benchmark_dir: str,
    *,
    earlier: Collection[str] = (),
    coverage_s: float = 0.0,
) -> SelectionRecord:
    """The same from what is known: pure."""
    impacts = [impact_of(patch, sources, benchmark_dir=benchmark_dir) for patch in patches]
    chosen = select(impacts, coverage)
    chosen |= {name: EARLIER for name in earlier if name in coverage and name not in chosen}
    chosen = chosen or dict.fromkeys(coverage, ALL)
    return SelectionRecord(
        selected={name: chosen[name] for name in coverage if name in chosen},
        not_selected={name: NOT_IMPACTED for name in coverage if name not in chosen},
        coverage_s=coverage_s,
    )


def scope(sessions: Sequence[SessionRecord]) -> str | None:
    """How scores over selected workloads are labelled; None where all workloads of all suites were measured.

    A speed-up over the selected workloads is no estimate of one over the suite: what was left out is not 1.0, it is
    not there. So the label stands wherever such scores are shown, and beside scores of full runs above all.
    """
    made = [session.selection for session in sessions if session.selection is not None]
    chosen = sum(len(selection.selected) for selection in made)
    total = sum(len(selection.selected) + len(selection.not_selected) for selection in made)
    parts = [f"scores over {chosen} selected of {total} workloads (--select impacted)"] if made else []
    left_out = {session.task_id: session.not_impacted + session.screened_out for session in sessions}
    reduced = {task: count for task, count in left_out.items() if count}
    if reduced:
        of = ("leaves", "its suite") if len(reduced) == 1 else ("leave", "their suites")
        what = counted(sum(reduced.values()), "workload")
        parts.append(f"{counted(len(reduced), 'task')} {of[0]} out {what} of {of[1]}")
    return "; ".join([*parts, "not comparable with full runs"]) if parts else None
