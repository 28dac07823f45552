"""Problem statements per second: six issues, 15.8 KB, anonymised (target: 2,000).

Usage: python benchmarks/render.py [PYTHON], where PYTHON has fc-data 0.2.2, pandas and uv: then its figure and the
ratio are printed too. Rates are per second of CPU time.
"""

import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from datasmith.github.models import PR, Issue
from datasmith.github.render import render_problem_statement

ROUNDS = 300
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
CLOSING = "I can look into it next month, if nobody is faster; any hint about where to start is welcome. " * 2 + "\n"


def main() -> None:
    """Time the rendering and print the rate."""
    day = datetime(2026, 3, 1, tzinfo=UTC)
    issues = [
        Issue(
            repository="o/r", issue_number=n, title=f"merge is slow ({n})", body=PARAGRAPH * 3 + CLOSING, created_at=day
        )
        for n in range(6)
    ]
    pr = PR(repository="o/r", issue_number=99, title="Sort once", body="## Problem\nslow\n", author="bob")
    text = render_problem_statement(pr, issues=issues, repo_description="A library.", anonymize=True)
    best = 0.0
    for _ in range(9):
        started = time.process_time()
        for _ in range(ROUNDS):
            render_problem_statement(pr, issues=issues, repo_description="A library.", anonymize=True)
        best = max(best, ROUNDS / (time.process_time() - started))
    print(f"text: {len(text)} characters")
    print(f"render, anonymised: {best:,.0f} /s (target 2,000)")
    if len(sys.argv) > 1:
        words = [sys.argv[1], str(Path(__file__).with_name("incumbent_text.py")), "render"]
        case = json.dumps({"texts": [issue.body for issue in issues]})
        done = subprocess.run(words, input=case, stdout=subprocess.PIPE, text=True, check=True)
        print(f"fc-data 0.2.2:      {float(done.stdout):,.0f} /s, ratio {best / float(done.stdout):,.1f}")


if __name__ == "__main__":
    main()
