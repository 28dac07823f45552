"""A suite whose truth is known: workloads that do an exact share more work under a patch, and others that do not."""

import difflib
from pathlib import Path

from benchmarks.subjects import Subject, of_files

PLANTED = "planted"
UNTOUCHED = "untouched"
STEPS = 1000
_LIBRARY = '''"""Work in exact numbers of equal steps."""

PLANTED = {planted}
UNTOUCHED = {untouched}


def arithmetic(steps):
    total = 0
    for number in range(steps):
        total += number * number % 7
    return total


def strings(steps):
    for number in range(steps):
        "-".join(("a", "b", str(number))).upper()


def dictionaries(steps):
    for number in range(steps):
        {{"x": number, "y": number + 1}}["y"]


def calls(steps):
    for number in range(steps):
        abs(max(number, 3))


def lists(steps):
    for _ in range(steps):
        sorted([3, 1, 2])
'''
_SUITE = """import steps

WORK = {name: getattr(steps, name) for name in ("arithmetic", "strings", "dictionaries", "calls", "lists")}


class Steps:
    params = list(WORK)

    def setup(self, name):
        self.work = WORK[name]

    def time_planted(self, name):
        self.work(steps.PLANTED)

    def time_untouched(self, name):
        self.work(steps.UNTOUCHED)
"""


def library(share: float) -> str:
    """The library with `share` more steps in what is planted."""
    return _LIBRARY.format(planted=round(STEPS * (1.0 + share)), untouched=STEPS)


def subject(place: Path) -> Subject:
    """The suite: five ways to work, each once as planted and once as untouched."""
    files = {"steps.py": library(0.0), "benchmarks/__init__.py": "", "benchmarks/bench.py": _SUITE}
    return of_files(files, place)


def patch(share: float) -> str:
    """A git diff that makes what is planted do `share` more (0.02: two percent)."""
    lines = difflib.unified_diff(
        library(0.0).splitlines(True), library(share).splitlines(True), "a/steps.py", "b/steps.py"
    )
    return f"diff --git a/steps.py b/steps.py\n{''.join(lines)}"


def is_planted(workload: str) -> bool:
    """Whether the patch slows this workload down."""
    return f".time_{PLANTED}" in workload
