"""Inside a sandbox: list the benchmarks of an asv suite, or call one of them.

Arguments: the tree, the suite's directory in it (empty: as the tree's asv configuration says), the benchmark to call,
and the position of its parameters (the first, where none is given); without a benchmark, the names of all are told.
Exit code 3: the benchmark's own setup refuses to run it.
The answer is a line of JSON, with the token that stood on standard input, written last; what the suite prints goes to
standard error. Run with -I and -S: before the token is read nothing of the image runs, then what the interpreter
starts with follows.
"""

from __future__ import annotations

import json
import os
import re
import site
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asv_runner.benchmarks._base import Benchmark

BENCHMARK_DIR = re.compile(r'(?:^|[{,])\s*"benchmark_dir"\s*:\s*"([^"]+)"', re.MULTILINE)
REFUSED = 3


def suite(tree: Path, directory: str) -> Path:
    """The suite's directory: the given one, else the one that an asv configuration names, else asv's `benchmarks`."""
    if directory:
        return tree / directory
    configs = sorted([*tree.glob("*asv*.json*"), *tree.glob("*/*asv*.json*")])
    for config in configs:
        named = BENCHMARK_DIR.search(config.read_text(encoding="utf-8", errors="replace"))
        if named:
            return config.parent / named.group(1)
    beside = [config.parent / "benchmarks" for config in configs]
    return next((path for path in beside if path.is_dir()), tree / "benchmarks")


def call(benchmark: Benchmark, index: int) -> int:
    """Call one benchmark with the parameters at this position of their product; the exit code."""
    if benchmark.params:
        benchmark.set_param_idx(index)
    if benchmark.setup_cache_key is not None:
        benchmark.set_cache(benchmark.do_setup_cache())
    if benchmark.do_setup():
        return REFUSED
    try:
        benchmark.func(*benchmark._current_params)
    finally:
        benchmark.do_teardown()
    return 0


def main(tree: Path, directory: str, name: str | None = None, index: str = "0") -> int:
    """See the module."""
    token, answer = sys.stdin.readline().strip(), os.dup(1)
    os.dup2(2, 1)
    sys.path[:0] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    site.main()
    from asv_runner.discovery import disc_benchmarks, update_sys_path

    root = str(suite(tree, directory).resolve())
    update_sys_path(root)
    found = {benchmark.name: benchmark for benchmark in disc_benchmarks(root, ignore_import_errors=True)}
    code = 0 if name is None else call(found[name], int(index))
    if code == 0:
        said = {"token": token, "names": sorted(found) if name is None else [name]}
        rest = memoryview(json.dumps(said).encode() + b"\n")
        while rest:
            rest = rest[os.write(answer, rest) :]
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
