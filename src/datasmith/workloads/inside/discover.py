"""List the benchmarks of a suite: `python -m inside.discover SUITE_DIR [MODULE...]` prints lines of JSON.

Each module is told before it is imported: where the interpreter ends or hangs, it is the last one told. The modules
that are given are left out.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import sys
import traceback
from typing import TYPE_CHECKING

from . import OWN
from .report import Report, failure, leave_script_path
from .suite import import_asv_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

__builtins__ = OWN

KINDS = {
    "TimeBenchmark": "time",
    "TimerawBenchmark": "timeraw",
    "PeakMemBenchmark": "peakmem",
    "MemBenchmark": "mem",
    "TrackBenchmark": "track",
}
LONGEST_ID = 1000
"""The host refuses longer ones by name; a parameter is cut just above it, and pushes no other out of the reply."""


def describe(benchmark: object) -> dict[str, object]:
    """What the host must know of an asv_runner benchmark object; everything is a plain JSON value."""

    def plain(name: str, otherwise: object) -> object:
        value = getattr(benchmark, name, otherwise)
        return value if isinstance(value, (int, float, str)) else otherwise

    repeat = getattr(benchmark, "repeat", 0)
    return {
        "name": str(benchmark.name),  # type: ignore[attr-defined]
        "kind": KINDS.get(type(benchmark).__name__, "other"),
        "params": [[str(value)[: LONGEST_ID + 1] for value in axis] for axis in benchmark.params],  # type: ignore[attr-defined]
        "unit": str(plain("unit", "unit")),
        "timeout": plain("timeout", None),
        "setup_cache_key": plain("setup_cache_key", None),
        "number": plain("number", 0),
        "repeat": repeat if isinstance(repeat, int) else 0,
        "warmup_time": plain("warmup_time", -1.0),
        "sample_time": plain("sample_time", 0.01),
        "rounds": plain("rounds", 0),
        "min_run_count": plain("min_run_count", 0),
    }


def modules(
    name: str,
    broken: list[tuple[str, str]],
    left_out: Collection[str] = (),
    tell: Callable[[dict[str, object]], None] = lambda _message: None,
) -> Iterator[object]:
    """Import a package and all below it, in asv's order; one that cannot be imported is noted with its reason."""
    if name in left_out:
        return
    tell({"importing": name})
    try:
        module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        traceback.print_exc()
        broken.append((name, failure(error)))
        return
    yield module
    for _, below, _ in pkgutil.iter_modules(getattr(module, "__path__", []), name + "."):
        yield from modules(below, broken, left_out, tell)


def candidates(module: object) -> Iterator[tuple[str, object, object]]:
    """Everything in a module that may be a benchmark: (attribute, class or None, function)."""
    for name, value in list(vars(module).items()):
        if name.startswith("_"):
            continue
        if inspect.isclass(value) and not inspect.isabstract(value):
            members = inspect.getmembers(value, lambda member: inspect.isfunction(member) or inspect.ismethod(member))
            yield from ((attribute, value, member) for attribute, member in members)
        elif inspect.isfunction(value):
            yield name, None, value


def described(module: object, errors: list[str]) -> Iterator[dict[str, object]]:
    """The benchmarks of one module; one that cannot be made becomes an error."""
    from asv_runner.discovery import _get_benchmark

    for attribute, owner, member in candidates(module):
        try:
            benchmark = _get_benchmark(attribute, module, owner, member)
            described = None if benchmark is None else describe(benchmark)
        except Exception as error:
            place = ".".join(getattr(part, "__name__", "?") for part in (module, owner) if part is not None)
            errors.append(f"{place}.{attribute}: {failure(error)}")
            continue
        if described is not None:
            yield described


def discover(
    root: str, left_out: Collection[str] = (), tell: Callable[[dict[str, object]], None] = lambda _message: None
) -> dict[str, object]:
    """The benchmarks below `root`, modules that do not import, and other errors; none hides another module's."""
    import_asv_runner()
    from asv_runner._aux import update_sys_path

    update_sys_path(root)
    errors: list[str] = []
    broken: list[tuple[str, str]] = []
    imported = modules(os.path.basename(root), broken, left_out, tell)
    found = [benchmark for module in imported for benchmark in described(module, errors)]
    return {"benchmarks": found, "errors": errors, "broken": broken}


if __name__ == "__main__":
    report = Report()
    leave_script_path()
    report.send(discover(os.path.abspath(sys.argv[1]), sys.argv[2:], report.say))
