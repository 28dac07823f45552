"""The ledger does what a model of 60 lines says, in any order of calls."""

from pathlib import Path

import pytest

from tests.conformance.stores import open_sql_store
from tests.faults.ledger_model import run_model

EXAMPLES = {"memory": 600, "postgresql": 180}
"""Sequences of 50 steps (some end earlier): together they are 30,000 steps and more."""
LEAST = {"memory": 23_500, "postgresql": 7_000}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_ledger_agrees_with_its_model(kind: str, tmp_path: Path) -> None:
    """After every step, states, fences, attempts, what calls return and the funnel's counts are the model's."""
    with open_sql_store(kind, tmp_path) as store:
        steps = run_model(store, EXAMPLES[kind])
    print(f"ledger model: {steps} steps on {kind}, 0 violations")
    assert steps >= LEAST[kind]
    assert sum(LEAST.values()) > 30_000
