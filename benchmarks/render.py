"""Problem statements per second: six issues, 15.8 KB, anonymised (target: 2,000)."""

import time
from datetime import UTC, datetime

from datasmith.github.models import PR, Issue
from datasmith.github.render import render_problem_statement

ROUNDS = 2_000
PARAGRAPH = """Since the last release `merge` takes much longer on my data, see the profile below. @alice said in
https://github.com/alice/notes/issues/12 that the index is sorted twice; the file /home/carol/data.csv shows it.

```python
@njit
def total(values):
    return values.sum()
```

It takes 3.2 s with version 2.1.0, and 12.9 s with the main branch, on a machine with four cores and 16 GB. What I
would expect is that the time grows with the number of rows, as it did before; what I see is that it grows with its
square. The profile says that nearly all of it goes into a helper that is called once per row and looks every label up
again, although the labels do not change between two calls. Sorting the input beforehand makes no difference.
"""


def main() -> None:
    """Time the rendering and print the rate."""
    day = datetime(2026, 3, 1, tzinfo=UTC)
    issues = [
        Issue(repository="o/r", issue_number=n, title=f"merge is slow ({n})", body=PARAGRAPH * 3, created_at=day)
        for n in range(6)
    ]
    pr = PR(repository="o/r", issue_number=99, title="Sort once", body="## Problem\nslow\n", author="bob")
    text = render_problem_statement(pr, issues=issues, repo_description="A library.", anonymize=True)
    best = 0.0
    for _ in range(3):
        started = time.perf_counter()
        for _ in range(ROUNDS):
            render_problem_statement(pr, issues=issues, repo_description="A library.", anonymize=True)
        best = max(best, ROUNDS / (time.perf_counter() - started))
    print(f"text: {len(text)} characters")
    print(f"render, anonymised: {best:,.0f} /s (target 2,000)")


if __name__ == "__main__":
    main()
