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
import posixpath
import re
import site
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asv_runner.benchmarks._base import Benchmark

CONFIG = re.compile(r"\.?asv[^/]*\.jsonc?")
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
LAST_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[]}])')
REFUSED = 3


def suite(tree: Path, directory: str) -> Path:
    """The suite's directory: the given one, else the one that the asv configuration names, else asv's `benchmarks`.

    Which configuration that is and how it is read is as the host has it (datasmith.workloads.config), which is not
    there in a sandbox.
    """
    config = "" if directory else configuration(tree)
    if not config:
        return tree / (directory or "benchmarks")
    text = LAST_COMMA.sub(kept, COMMENT.sub(kept, (tree / config).read_text(encoding="utf-8", errors="replace")))
    named = str(json.loads(text).get("benchmark_dir") or "benchmarks").strip()
    found = posixpath.normpath(posixpath.join(posixpath.dirname(config), named))
    if found == "." or found.startswith(("/", "..")):
        raise SystemExit(f"{config}: benchmark_dir {named!r} is not a directory below the tree's root")
    return tree / found


def configuration(tree: Path) -> str:
    """The path of the tree's asv configuration: the shallowest, then the first by name; empty where there is none."""
    places = ((os.path.relpath(place, tree), names) for place, _, names in os.walk(tree))
    found = (posixpath.normpath(posixpath.join(place, name)) for place, names in places for name in names)
    configs = [path for path in found if CONFIG.fullmatch(posixpath.basename(path)) and not path.startswith(".git/")]
    return min(configs, key=lambda path: (path.count("/"), path), default="")


def kept(found: re.Match[str]) -> str:
    """A text of JSON as it is, instead of anything else nothing."""
    return found.group(1) or " "


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
