"""The ledger does what a model of 60 lines says, in any order of calls."""

from tests.faults.ledger_model import run_model


def test_the_ledger_agrees_with_its_model() -> None:
    """After every step, states, fences, attempts, what calls return and the funnel's counts are the model's."""
    steps = run_model(examples=60)
    print(f"ledger model: {steps} steps, 0 violations (30,000: python -m tests.faults.ledger_model 30000)")
    assert steps > 1000
