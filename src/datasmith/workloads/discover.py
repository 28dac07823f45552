"""Find a suite's workloads by running asv_runner's discovery in a sandbox, and believing none of it unchecked."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import get_args

from datasmith.docker.engine import Container, ExecResult
from datasmith.printable import ending, printable
from datasmith.workloads.base import Workload, WorkloadKind
from datasmith.workloads.inside.discover import LONGEST_ID
from datasmith.workloads.launch import suite_path
from datasmith.workloads.mounts import INSIDE_HOME, SCRIPT_ENV, script

MOST_WORKLOADS = 20_000
MOST_ERRORS = 200
MOST_TRIES = 5
"""How often a suite is listed anew, without the module that ended the interpreter."""
MOST_MODULES = 2000
"""Modules that cannot be imported; a suite with more is cut there."""
LONGEST_TIMEOUT_S = 3600.0
DEFAULT_TIMEOUT_S = 60.0
"""asv's own default for a benchmark."""
LISTING_TIMEOUT_S = 600.0
"""Suites that build their graphs and tables while they are imported take minutes where the machine is busy."""
_IMPORTING = b'{"importing":'
_NAME = re.compile(r"[^\W\d][\w\-<>]*(\.[^\W\d][\w\-<>]*)*")


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a suite holds: workloads in asv's order, benchmarks refused as (name, reason), and errors met on the way.

    `broken` are the modules that cannot be imported, as (dotted name, reason); they are among the errors, too.
    """

    workloads: tuple[Workload, ...]
    refused: tuple[tuple[str, str], ...]
    errors: tuple[str, ...]
    broken: tuple[tuple[str, str], ...] = ()


def discover(
    container: Container,
    benchmark_dir: str,
    *,
    timeout: float = LISTING_TIMEOUT_S,
    default_timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Discovery:
    """Every workload of the suite in `benchmark_dir` (relative to the tree's root).

    A module that ends the interpreter, or does not let go of it, is broken: the suite is listed without it. A suite
    that cannot be listed at all has no workloads and says why in `errors`. `timeout` is that of one listing;
    `default_timeout_s` is the time limit of benchmarks that name none (asv.conf.json: default_benchmark_timeout).

    Raises:
        EngineUnavailable: the engine is gone; says nothing about the suite.
    """
    fatal: dict[str, str] = {}
    for _ in range(MOST_TRIES):
        words = script("discover", suite_path(benchmark_dir), *fatal)
        result = container.exec(words, timeout=timeout, env=SCRIPT_ENV, cwd=INSIDE_HOME)
        module, said = read_progress(result.stdout)
        if result.ok and (said or not module):
            return _with_fatal(read_discovery(said, default_timeout_s), fatal)
        reason = _end(result, timeout)
        if not module or module in fatal:
            return _with_fatal(Discovery((), (), (reason,)), fatal)
        fatal[module] = reason
        if "." not in module:
            break
    return _with_fatal(Discovery((), (), ()), fatal)


def read_progress(stdout: bytes) -> tuple[str, bytes]:
    """The module that was imported last, empty where none is named, and the reply, empty where none came."""
    module = ""
    for line in stdout.splitlines(keepends=True):
        if not line.startswith(_IMPORTING):
            return module, line
        name = _told_module(line)
        module = name if len(name) <= LONGEST_ID and _NAME.fullmatch(name) else ""
    return module, b""


def _told_module(line: bytes) -> str:
    try:
        name = json.loads(line)["importing"]
    except (ValueError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""


def _end(result: ExecResult, timeout: float) -> str:
    """Why a listing that gave nothing ended."""
    if result.timed_out:
        return f"listing the benchmarks took longer than {timeout:g} s"
    tail = ending(result.error_text, 300)
    return f"listing the benchmarks ended with exit code {result.rc}: {tail}"


def _with_fatal(found: Discovery, fatal: Mapping[str, str]) -> Discovery:
    """With the modules that ended the interpreter, or did not let go of it, among the broken ones."""
    ended = tuple((name, _clean(reason)) for name, reason in fatal.items())
    errors = (*(f"{name}: {reason}" for name, reason in ended), *found.errors)[:MOST_ERRORS]
    return replace(found, broken=(*ended, *found.broken), errors=errors)


def read_discovery(stdout: bytes, default_timeout_s: float = DEFAULT_TIMEOUT_S) -> Discovery:
    """Turn what the discovery script printed into workloads; anything malformed is refused by name."""
    try:
        said = json.loads(stdout)
    except (ValueError, RecursionError):
        return Discovery((), (), ("the list of benchmarks is not one line of JSON",))
    if not isinstance(said, dict) or not isinstance(said.get("benchmarks"), list):
        return Discovery((), (), ("the list of benchmarks has the wrong form",))
    workloads: list[Workload] = []
    refused: list[tuple[str, str]] = []
    seen: set[str] = set()
    for entry in said["benchmarks"]:
        found = _unroll(entry, default_timeout_s, MOST_WORKLOADS - len(workloads))
        if isinstance(found, tuple):
            refused.append(found)
        elif found[0].benchmark in seen:
            refused.append((found[0].benchmark, "a second benchmark has this name"))
        else:
            seen.add(found[0].benchmark)
            workloads += found
    errors = said.get("errors")
    told = [_clean(error) for error in errors[:MOST_ERRORS]] if isinstance(errors, list) else []
    broken = _broken(said.get("broken"))
    told = [*(f"{name}: {reason}" for name, reason in broken), *told][:MOST_ERRORS]
    return Discovery(tuple(workloads), tuple(refused[:MOST_ERRORS]), tuple(told), broken)


def _broken(value: object) -> tuple[tuple[str, str], ...]:
    """Modules that cannot be imported, with reasons; an entry that cannot be a module's is left out."""
    entries = value[:MOST_MODULES] if isinstance(value, list) else []
    pairs = [entry for entry in entries if isinstance(entry, list) and len(entry) == 2]
    return tuple(
        (name, _clean(reason))
        for name, reason in pairs
        if isinstance(name, str) and len(name) <= LONGEST_ID and _NAME.fullmatch(name)
    )


def _unroll(entry: object, default_timeout_s: float, room: int) -> list[Workload] | tuple[str, str]:
    """All parameter combinations of one benchmark, or (name, reason) where it is refused."""
    if not isinstance(entry, dict):
        return ("?", "the entry is no object")
    name, kind, params = entry.get("name"), _kind(entry.get("kind")), _params(entry.get("params"))
    if not isinstance(name, str) or len(name) > LONGEST_ID or not _NAME.fullmatch(name):
        return (_clean(name), "the name is not one of a benchmark")
    if kind is None:
        return (name, f"benchmarks of kind {_clean(entry.get('kind'))!r} are not known")
    if params is None:
        return (name, "its parameters are not lists of texts")
    count = math.prod(len(axis) for axis in params)
    if count == 0:
        return (name, "a list of parameter values is empty")
    if count > room:
        return (name, f"{count} parameter combinations are too many (at most {MOST_WORKLOADS} workloads in all)")
    workloads = list(_combinations(entry, name, kind, params, default_timeout_s))
    if any(len(workload.id) > LONGEST_ID for workload in workloads):
        return (name, f"a parameter's text is longer than {LONGEST_ID} characters")
    if len({workload.id for workload in workloads}) < count:
        return (name, "two parameter combinations have the same text")
    return workloads


def _combinations(
    entry: dict[str, object], name: str, kind: WorkloadKind, params: list[list[str]], default_timeout_s: float
) -> Iterator[Workload]:
    key = entry.get("setup_cache_key")
    for index, values in enumerate(islice(product(*params), MOST_WORKLOADS)):
        yield Workload(
            benchmark=name,
            kind=kind,
            params=values,
            index=index if params else None,
            unit=_clean(entry.get("unit"))[:50],
            timeout_s=_bounded(entry.get("timeout"), 0.001, LONGEST_TIMEOUT_S, default_timeout_s),
            setup_cache_key=key[:LONGEST_ID] if isinstance(key, str) else None,
            number=int(_bounded(entry.get("number"), 0, 1e9, 0)),
            repeat=int(_bounded(entry.get("repeat"), 0, 1000, 0)),
            warmup_s=_bounded(entry.get("warmup_time"), 0, 60.0, -1.0),
            sample_time_s=_bounded(entry.get("sample_time"), 1e-6, 60.0, 0.01),
        )


def _kind(value: object) -> WorkloadKind | None:
    kinds: tuple[WorkloadKind, ...] = get_args(WorkloadKind)
    return next((kind for kind in kinds if kind == value), None)


def _params(value: object) -> list[list[str]] | None:
    if not isinstance(value, list) or not all(isinstance(axis, list) for axis in value):
        return None
    if not all(isinstance(text, str) for axis in value for text in axis):
        return None
    return [[printable(text) for text in axis] for axis in value]


def _bounded(value: object, lowest: float, highest: float, otherwise: float) -> float:
    """The value where it is a number in the range, else `otherwise`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return otherwise
    return float(value) if lowest <= value <= highest else otherwise


def _clean(value: object) -> str:
    """Text from a sandbox, made one printable line of at most 300 characters."""
    return printable(str(value)[:300]).strip()
