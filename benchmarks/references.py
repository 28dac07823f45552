"""References out of a 1.2 KB text, per second (target: 30,000).

Usage: python benchmarks/references.py [PYTHON], where PYTHON has fc-data 0.2.2, pandas and uv: then its figure and the
ratio are printed too. Rates are per second of CPU time.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from datasmith.github.references import extract_references

ROUNDS = 8_000
TEXT = (
    """Closes #1234. This follows up on pandas-dev/pandas#5678 and GH-910, where the slow path was first seen, and on
https://github.com/numpy/numpy/issues/4321#issuecomment-99 which has a longer explanation of the same thing.

Colours like #123456 and entities like &#39; are no references. `#77` in code is none either.

```python
# see #888
values = [row for row in table if row.key == 1]
```

"""
    + "The rest of the text talks about the change in plain words, without any numbers, as most texts do.\n" * 8
)


def main() -> None:
    """Time the extraction and print the rate."""
    found = extract_references(TEXT, "o", "r")
    best = 0.0
    for _ in range(9):
        started = time.process_time()
        for _ in range(ROUNDS):
            extract_references(TEXT, "o", "r")
        best = max(best, ROUNDS / (time.process_time() - started))
    print(f"text: {len(TEXT)} characters, references: {found}")
    print(f"references: {best:,.0f} /s (target 30,000)")
    if len(sys.argv) > 1:
        words = [sys.argv[1], str(Path(__file__).with_name("incumbent_text.py")), "references"]
        case = json.dumps({"text": [TEXT]})
        done = subprocess.run(words, input=case, stdout=subprocess.PIPE, text=True, check=True)
        print(f"fc-data 0.2.2: {float(done.stdout):,.0f} /s, ratio {best / float(done.stdout):,.1f}")


if __name__ == "__main__":
    main()
