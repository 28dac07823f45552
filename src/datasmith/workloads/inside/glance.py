"""How long workloads take, roughly: `python -m inside.glance '{…}'` prints one line of JSON.

Request: suite, and entries, each in a fork of its own (`forks.py`). Reply: replies, one for each entry: seconds, the
shortest of a few samples, setup before each; or failed: a reason, and late (true) where that is its time. What a
module's import has warmed is warm in all of its workloads, and pages are shared with other forks, so these are no
launches: they rank, and are not kept.
"""

from __future__ import annotations

import json
import sys
from functools import partial

from . import OWN
from .forks import each_in_a_fork, enter_own
from .launch import run, set_up
from .report import Report, leave_script_path
from .suite import cached, import_module, loaded

__builtins__ = OWN

CALIBRATING: dict[str, object] = {"number": 0, "repeat": 0, "warmup": 0.0, "call": True}
"""What a launch is asked that has to find out for itself how many calls it makes."""


def glance(suite: str, _: None, entry: dict[str, object]) -> dict[str, object]:
    """Set up and time one workload."""
    enter_own(entry["cache"])
    benchmark = cached(loaded(suite, entry), entry)
    skipped = set_up(benchmark)
    try:
        if skipped is not None:
            return {"failed": skipped}
        samples: list[float] = run(benchmark, CALIBRATING)["samples"]  # type: ignore[assignment]
        return {"seconds": min(samples)}
    finally:
        benchmark.do_teardown()


if __name__ == "__main__":
    report = Report()
    leave_script_path()
    asked = json.loads(sys.argv[1])
    found = each_in_a_fork(
        asked["suite"], asked["entries"], partial(import_module, asked["suite"]), partial(glance, asked["suite"])
    )
    report.send({"replies": found})
