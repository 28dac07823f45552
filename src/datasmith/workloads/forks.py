"""Have one of our scripts work on many workloads in forks of one process: see `inside/forks.py`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from datasmith.docker.engine import WORKDIR, Container, ExecResult
from datasmith.workloads.base import Workload
from datasmith.workloads.launch import START_ALLOWANCE_S, cache_path, suite_path
from datasmith.workloads.mounts import COMPILED_ENV, COMPILED_HOME, script

LONGEST_REPLY = 200_000_000
NO_REPLY = "the reply is not what was asked for"
IMPORTS = 3.0
"""The limit of all workloads together is so many times the sum of theirs: modules are imported, some of them anew for
each workload after they were imported for all."""

Entry = Mapping[str, object]


def entry(
    workload: Workload,
    *,
    slower: float = 1.0,
    prepare: bool = False,
    longest_s: float | None = None,
    longest_import_s: float | None = None,
) -> dict[str, object]:
    """What is asked of one workload, or (`prepare`) of its setup_cache; it may take `slower` times its time limit.

    `longest_s`: ... but no longer than this once its module is imported, for which `longest_import_s` is the limit.
    """
    key = workload.setup_cache_key
    return {
        "name": workload.benchmark,
        "index": None if prepare else workload.index,
        "cache": None if key is None else cache_path(key),
        "limit_s": slower * workload.timeout_s + START_ALLOWANCE_S,
        "longest_s": longest_s,
        "longest_import_s": longest_import_s,
        "prepare": prepare,
    }


def in_forks(
    container: Container, what: str, entries: Sequence[Entry], benchmark_dir: str, *, cpu: int | None = None
) -> Sequence[Mapping[str, Any]]:
    """What the script `what` says of each entry, on `cpu` (None: on any core): its own words, or failed: a reason.

    Raises:
        EngineUnavailable: the engine is gone.
    """
    words = script(what, json.dumps({"tree": WORKDIR, "suite": suite_path(benchmark_dir), "entries": list(entries)}))
    limit_s = START_ALLOWANCE_S + IMPORTS * sum(float(str(each["limit_s"])) for each in entries)
    cpus = () if cpu is None else (cpu,)
    done = container.exec(words, timeout=limit_s, env=COMPILED_ENV, cwd=COMPILED_HOME, cpus=cpus)
    return read_replies(done, limit_s, len(entries))


def read_replies(result: ExecResult, limit_s: float, expected: int) -> Sequence[Mapping[str, Any]]:
    """What the script said of each entry, where there is as much of it as was asked for."""
    if result.timed_out:
        return _all_failed(f"not done after {limit_s:g} s", expected)
    if not result.ok or len(result.stdout) > LONGEST_REPLY:
        return _all_failed(f"the process ended with exit code {result.rc}", expected)
    try:
        replies = json.loads(result.stdout)["replies"]
        if len(replies) == expected and all(isinstance(reply, dict) for reply in replies):
            return list(replies)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return _all_failed(NO_REPLY, expected)


def _all_failed(reason: str, expected: int) -> Sequence[Mapping[str, Any]]:
    return [{"failed": reason}] * expected
