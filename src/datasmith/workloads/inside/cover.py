"""What workloads run: `python -m inside.cover '{…}'` prints one line of JSON; nothing of it is timed.

Request: tree, suite, and entries, each in a fork of its own (`forks.py`); prepare (true): run its setup_cache instead.
Reply: replies, one for each entry: imported and called: lists of [path in the tree, first line, name]; names: what the
code looks up; opened, compiled, spawned, jit; or failed: a reason. A workload runs with its setup, a few calls, and its
teardown.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from functools import partial

from . import OWN
from .forks import each_in_a_fork, enter_own, read
from .launch import attributes, set_up
from .report import TYPE_CHECKING, Report, leave_script_path
from .suite import cached, import_module, is_raw, loaded
from .trace import Places, Recorder, described, facts, names

if TYPE_CHECKING:
    import types

    from .suite import Benchmark

__builtins__ = OWN

CALLS = 2
REPEATS = 2
"""Twice two calls: the second may find what the first left in a cache, or on the object that setup made."""


def follow_statement(benchmark: Benchmark, tree: str) -> None:
    """Let the process of a timeraw benchmark note what it runs, too, in a file of its own."""
    original = benchmark.func
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    words = (
        f"import sys; sys.path.insert(0, {home!r}); import inside.cover as cover; cover.follow({tree!r})\n"
        f"sys.path.remove({home!r})\n"
    )

    def followed(*params: object) -> object:
        code = original(*params)
        statement, setup = code if isinstance(code, tuple) else (code, "")
        return statement, words + _dedented(str(setup))

    benchmark.func = followed  # type: ignore[method-assign]


def _dedented(text: str) -> str:
    import textwrap

    return textwrap.dedent(text)


def follow(tree: str) -> None:
    """In the process of a timeraw benchmark: note what is run from here on, and leave it in a file at the end."""
    recorder = Recorder(tree)
    where = os.path.abspath(f"cover-{os.getpid()}.json")
    recorder.start()

    def leave() -> None:
        sys.settrace(None)
        codes, places = recorder.codes, Places(tree)
        said = {"called": described(codes, places), "names": sorted(names(codes)), **facts(recorder, places)}
        with open(where, "w") as stream:
            json.dump(said, stream)

    atexit.register(leave)


def run(benchmark: Benchmark, tree: str) -> int:
    """Run a workload without a clock; returns how many processes of its own it has."""
    refused = set_up(benchmark)
    if refused is not None:
        raise NotImplementedError(refused)
    own = attributes(benchmark)
    raw = is_raw(benchmark)
    benchmark.number = int(str(own["number"])) or CALLS
    benchmark.repeat = 1 if raw else REPEATS
    benchmark.warmup_time = 0.0
    benchmark.min_run_count = 1  # type: ignore[attr-defined]
    benchmark._setup_isolates_timed_calls = False  # type: ignore[attr-defined]
    if raw:
        follow_statement(benchmark, tree)
    benchmark.do_run()
    benchmark.do_teardown()
    return int(raw)


def merged(own: dict[str, object]) -> dict[str, object]:
    """With what processes of a timeraw benchmark left."""
    left = [name for name in os.listdir(".") if name.startswith("cover-")]
    for name in left:
        said = read(name)
        for key in ("called", "names", "opened", "compiled"):
            own[key] = [*own[key], *said[key]]  # type: ignore[misc]
        own["spawned"] = own["spawned"] or said["spawned"]
        own["jit"] = own["jit"] or said["jit"]
    return own


def cover_all(request: dict[str, object]) -> dict[str, object]:
    """Watch all entries, module by module."""
    tree, suite = str(request["tree"]), str(request["suite"])
    entries: list[dict[str, object]] = request["entries"]  # type: ignore[assignment]
    watched, watch = partial(watched_import, tree, suite), partial(cover, tree, suite)
    return {"replies": each_in_a_fork(suite, entries, watched, watch)}


def watched_import(tree: str, suite: str, module: str | None) -> Recorder:
    """Import a module of the suite, watched from the start; returns who goes on watching."""
    recorder = Recorder(tree)
    recorder.start()
    import_module(suite, module)
    recorder.watching_spawns = False
    return recorder


def cover(tree: str, suite: str, recorder: Recorder, entry: dict[str, object]) -> dict[str, object]:
    """Load and run one workload, or its setup_cache; what the import of its module ran is noted already."""
    prepares = bool(entry["prepare"])
    enter_own(None if prepares else entry["cache"])
    recorder.watching_spawns = True
    benchmark = loaded(suite, entry)
    imported = recorder.taken()
    processes = 0
    if prepares:
        benchmark.do_setup_cache()
    else:
        cached(benchmark, entry)
        recorder.watching_spawns = not is_raw(benchmark)
        processes = run(benchmark, tree)
    return _reply(recorder, imported, processes, tree)


def _reply(recorder: Recorder, imported: set[types.CodeType], processes: int, tree: str) -> dict[str, object]:
    called = recorder.taken()
    sys.settrace(None)
    places = Places(tree)
    ours = {code for code in imported if places.of(code.co_filename) is not None}
    own: dict[str, object] = {
        "imported": described(imported, places),
        "called": described(called, places),
        "names": sorted(names(called | ours)),
        **facts(recorder, places),
    }
    if processes and len([name for name in os.listdir(".") if name.startswith("cover-")]) < processes:
        return dict(own, spawned=True)
    return merged(own)


if __name__ == "__main__":
    report = Report()
    leave_script_path()
    report.send(cover_all(json.loads(sys.argv[1])))
