"""Symbolic filters: pull requests per second, with a title, 20 files and an 8.4 KB patch (target: 20,000).

Usage: python benchmarks/filters.py [PYTHON], where PYTHON has fc-data 0.2.2, pandas and uv: then its figure and the
ratio are printed too. Rates are per second of CPU time.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from datasmith.github.filters import symbolic_compliance
from datasmith.github.models import FileChange

TITLES = (
    "PERF: speed up groupby aggregation",
    "Refactor internal modules of the resolver",
    "Fix a corner case in merge",
)
ROUNDS = 10_000


def main() -> None:
    """Time the worst case (the only core file comes last) and print the rate."""
    tests = [FileChange(path=f"package/tests/test_{number}.py", additions=10, deletions=3) for number in range(19)]
    files = [*tests, FileChange(path="package/core/frame.py", additions=40, deletions=None)]
    patch = "+    total = sum(values[index] for index in range(len(values)))\n" * 131
    best = 0.0
    for _ in range(9):
        started = time.process_time()
        for number in range(ROUNDS):
            if not symbolic_compliance(TITLES[number % 3], file_changes=files, patch=patch):
                raise SystemExit("a pull request was refused that must pass")
        best = max(best, ROUNDS / (time.process_time() - started))
    print(f"patch: {len(patch)} characters, files: {len(files)}")
    print(f"symbolic filter: {best:,.0f} PR/s (target 20,000)")
    if len(sys.argv) > 1:
        case = {"titles": TITLES, "paths": [change.path for change in files], "patch": [patch]}
        words = [sys.argv[1], str(Path(__file__).with_name("incumbent_text.py")), "filters"]
        done = subprocess.run(words, input=json.dumps(case), stdout=subprocess.PIPE, text=True, check=True)
        print(f"fc-data 0.2.2:   {float(done.stdout):,.0f} PR/s, ratio {best / float(done.stdout):,.1f}")


if __name__ == "__main__":
    main()
