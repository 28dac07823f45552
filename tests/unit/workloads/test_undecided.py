"""What the host's noise may have hidden."""

from datasmith.tasks.certificate import WorkloadRatio
from datasmith.workloads.summary import INVALID
from datasmith.workloads.undecided import undecided

BUSY = f"{INVALID}: 2 undisturbed rounds are too few"


def row(name: str, ratio: float | None = 1.0, *, changed: bool = False) -> WorkloadRatio:
    ends = {"ratio": ratio, "low": ratio, "high": ratio, "floor": 0.05}
    reason = BUSY if ratio is None else None
    return WorkloadRatio(
        workload=name, p=None, q=None, base_s=1.0, arm_s=None, rounds=12, changed=changed, reason=reason, **ends
    )


def test_an_effect_decides() -> None:
    """Whatever else was lost, unless that was seen to change before."""
    rows = [row("a", 2.0, changed=True), row("b", None), row("c", None)]
    assert undecided(rows) == ""
    assert undecided(rows, {"b"}) == f"b {BUSY}"
    assert undecided(rows, {"a"}) == ""


def test_without_an_effect_little_may_be_lost() -> None:
    """One of six may; two of six may have been the ones that matter, and so may one that mattered before."""
    rows = [row(name) for name in "abcde"]
    assert undecided([*rows, row("f", None)]) == ""
    assert undecided([*rows[:4], row("e", None), row("f", None)]).startswith("2 of 6 workloads: e")
    assert undecided([*rows, row("f", None)], {"f"}) == f"f {BUSY}"
