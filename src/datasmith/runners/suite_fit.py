"""The workloads of an order: of base's own suite, or of another one as far as it goes with base."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from datasmith.docker.engine import Container
from datasmith.docker.seal import Fix
from datasmith.errors import ForgeError
from datasmith.github.git import Git
from datasmith.github.overlay import File, lines_at, overlay_patch
from datasmith.runners.order import Order, Refusal
from datasmith.runners.suites import ForeignSuite
from datasmith.tasks.suite import LeftOut, SuiteRecord, files_of_the_fix, patch_digest, wanted_lines
from datasmith.workloads.base import Workload
from datasmith.workloads.discover import Discovery, discover

MOST_TRIES = 5
"""How often modules are left out before a suite whose modules break one another is given up."""

Start = Callable[[str], Container]
"""Starts a sandbox at base with a suite laid over it; the caller stops it."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The workloads of a suite; `record` and `patch` where it is not base's own."""

    workloads: tuple[Workload, ...]
    record: SuiteRecord | None = None
    patch: str = ""


def fitted(order: Order, base: Container, start: Start, *, fix: Fix) -> Fitted | Refusal:
    """What can be measured; `base` is a sandbox of the untouched tree.

    Raises:
        MeasurementFailed: the suite cannot be laid over the tree.
        EngineUnavailable: the engine is gone.
    """
    if order.suite is None:
        found = discover(base, order.benchmark_dir, default_timeout_s=order.benchmark_timeout_s)
        return Fitted(found.workloads) if found.workloads else _empty("at base", found)
    try:
        return _fit(order, order.suite, start, fix)
    except ForgeError as error:
        return Refusal(f"the suite cannot be used: {error}")


def _fit(order: Order, suite: ForeignSuite, start: Start, fix: Fix) -> Fitted | Refusal:
    """Leave out what does not import at base, until all that is left does."""
    git, place = Git(order.clone), suite.record.benchmark_dir
    files, left_out = dict(suite.files), dict[str, str]()
    whence = f"in the suite of {suite.record.repository} at {suite.record.commit[:12]}"
    for _ in range(MOST_TRIES):
        patch = overlay_patch(git, order.pr.base_sha, place, files)
        with start(patch) as container:
            found = discover(container, place, default_timeout_s=order.benchmark_timeout_s)
        if not found.broken:
            break
        kept = _without(files, [_inner(name) for name, _ in found.broken])
        if len(kept) == len(files) or not kept:
            return _empty(whence, found)
        left_out |= dict(found.broken)
        files = kept
    else:
        return Refusal(f"no suite that imports at base is found {whence}: its modules break one another")
    if not found.workloads:
        return _empty(whence, found, left_out)
    return Fitted(found.workloads, _record(order, suite, files, left_out=left_out, fix=fix, patch=patch), patch)


def _record(
    order: Order,
    suite: ForeignSuite,
    files: Mapping[str, File],
    *,
    left_out: Mapping[str, str],
    fix: Fix,
    patch: str,
) -> SuiteRecord:
    place = suite.record.benchmark_dir
    known = lines_at(Git(order.clone), order.pr.base_sha, wanted_lines(fix))
    whole = {f"{place}/{path}": file.data for path, file in files.items()}
    return suite.record.model_copy(
        update={
            "left_out": tuple(LeftOut(module=name, reason=reason) for name, reason in sorted(left_out.items())),
            "hidden": files_of_the_fix(whole, fix, at_base=known),
            "digest": patch_digest(patch),
        }
    )


def _inner(module: str) -> str:
    """The path of a module below the suite's directory, without its ending: "a/b" of "benchmarks.a.b"."""
    return "/".join(module.split(".")[1:])


def _without(files: Mapping[str, File], modules: list[str]) -> dict[str, File]:
    """The files that are neither of these modules nor in one of these packages; of the whole suite: none."""
    if "" in modules:
        return {}
    return {
        path: file
        for path, file in files.items()
        if not any(path == f"{name}.py" or path.startswith(f"{name}/") for name in modules)
    }


def _empty(where: str, found: Discovery, left_out: Mapping[str, str] | None = None) -> Refusal:
    reasons = [*(f"{name}: {reason}" for name, reason in (left_out or {}).items()), *found.errors]
    return Refusal(f"no benchmarks found {where}: {'; '.join(reasons) or 'the suite is empty'}")
