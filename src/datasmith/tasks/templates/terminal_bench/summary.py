"""Say what a reward means as terminal-bench's pytest parser reads it: `summary.py reward.json`."""

import json
import sys
from pathlib import Path


def lines(reward: "dict[str, float]") -> "list[str]":
    """One line for each of the two tests: what worked at base works, and the workloads are faster than at base."""
    told = {
        "test_what_worked_at_base_works": reward.get("tests_passed", 0.0) > 0,
        "test_faster_than_base": reward["reward"] > 1.0,
    }
    return [f"{'PASSED' if passed else 'FAILED'} tests/test_outputs.py::{name}" for name, passed in told.items()]


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.write("\n".join(["=" * 20 + " short test summary info " + "=" * 20, *lines(found), ""]))
