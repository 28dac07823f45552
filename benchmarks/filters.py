"""Symbolic filters: pull requests per second, with a title, 20 files and an 8.4 KB patch (target: 20,000)."""

import time

from datasmith.github.filters import symbolic_compliance
from datasmith.github.models import FileChange

TITLES = (
    "PERF: speed up groupby aggregation",
    "Refactor internal modules of the resolver",
    "Fix a corner case in merge",
)
ROUNDS = 30_000


def main() -> None:
    """Time the worst case (the only core file comes last) and print the rate."""
    tests = [FileChange(path=f"package/tests/test_{number}.py", additions=10, deletions=3) for number in range(19)]
    files = [*tests, FileChange(path="package/core/frame.py", additions=40, deletions=None)]
    patch = "+    total = sum(values[index] for index in range(len(values)))\n" * 131
    best = 0.0
    for _ in range(3):
        started = time.perf_counter()
        for number in range(ROUNDS):
            if not symbolic_compliance(TITLES[number % 3], file_changes=files, patch=patch):
                raise SystemExit("a pull request was refused that must pass")
        best = max(best, ROUNDS / (time.perf_counter() - started))
    print(f"patch: {len(patch)} characters, files: {len(files)}")
    print(f"symbolic filter: {best:,.0f} PR/s (target 20,000)")


if __name__ == "__main__":
    main()
