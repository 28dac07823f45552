"""References out of a 1.2 KB text, per second (target: 30,000)."""

import time

from datasmith.github.references import extract_references

ROUNDS = 20_000
TEXT = (
    """Closes #1234. This follows up on pandas-dev/pandas#5678 and GH-910, where the slow path was first seen, and on
https://github.com/numpy/numpy/issues/4321#issuecomment-99 which has a longer explanation of the same thing.

Colours like #123456 and entities like &#39; are no references. `#77` in code is none either.

```python
# see #888
values = [row for row in table if row.key == 1]
```

"""
    + "The rest of the text talks about the change in plain words, without any numbers, as most texts do.\n" * 7
)


def main() -> None:
    """Time the extraction and print the rate."""
    found = extract_references(TEXT, "o", "r")
    best = 0.0
    for _ in range(3):
        started = time.perf_counter()
        for _ in range(ROUNDS):
            extract_references(TEXT, "o", "r")
        best = max(best, ROUNDS / (time.perf_counter() - started))
    print(f"text: {len(TEXT)} characters, references: {found}")
    print(f"references: {best:,.0f} /s (target 30,000)")


if __name__ == "__main__":
    main()
