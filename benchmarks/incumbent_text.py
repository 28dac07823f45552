"""fc-data 0.2.2 on the texts of filters.py, references.py and render.py; those scripts run it, not we.

Usage: PYTHON benchmarks/incumbent_text.py filters|references|render < case.json, where PYTHON has fc-data 0.2.2, pandas
and uv. Prints calls per second of CPU time, the best of several rounds.
"""

import json
import sys
import time
from collections.abc import Callable


def rate(action: Callable[[int], object], n: int) -> float:
    """Calls per second of CPU time, the best of five rounds."""
    best = 0.0
    for _ in range(5):
        started = time.process_time()
        for number in range(n):
            action(number)
        best = max(best, n / (time.process_time() - started))
    return best


def filters(case: dict[str, list[str]]) -> float:
    """Titles in turn, with the same files and patch."""
    from datasmith.filters import symbolic_compliance  # type: ignore[import-not-found,unused-ignore]

    titles, paths, (patch,) = case["titles"], case["paths"], case["patch"]
    changes = [{"filename": path, "additions": 10, "deletions": 3, "changes": 13} for path in paths]
    if not symbolic_compliance(titles[0], patch=patch, file_changes=changes):
        raise SystemExit("the incumbent refuses the case: the comparison would be of different work")
    return rate(lambda n: symbolic_compliance(titles[n % 3], patch=patch, file_changes=changes), 100)


def references(case: dict[str, list[str]]) -> float:
    """One text again and again."""
    from datasmith.github.links import extract_references  # type: ignore[attr-defined,unused-ignore]

    (text,) = case["text"]
    return rate(lambda _: extract_references(text, "o", "r"), 2_000)


def render(case: dict[str, list[str]]) -> float:
    """Issues of one text each, anonymised; observations are given, so that nobody asks a model."""
    from datasmith.github import models
    from datasmith.github.render import render_problem_statement

    issue = models.IssueExpanded  # type: ignore[attr-defined,unused-ignore]
    issues = [issue(number=n, title=f"merge is slow ({n})", description=text) for n, text in enumerate(case["texts"])]
    pr = models.PR(repository="o/r", issue_number=99, title="Sort once", body="## Problem\nslow\n")

    def statement(_: int) -> str:
        return render_problem_statement(
            pr, issues=issues, repo_description="A library.", anonymize=True, initial_observations="slow"
        )

    return rate(statement, 50)


if __name__ == "__main__":
    what = {"filters": filters, "references": references, "render": render}[sys.argv[1]]
    print(what(json.load(sys.stdin)))
