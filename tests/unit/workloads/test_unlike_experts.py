"""Where the expert's patch computes something else than base of other inputs, times are compared all the same."""

import pytest

from .simulated import SimulatedContainer
from .test_fresh import AGENT, about, run, stored


def test_an_expert_who_computes_something_else_excuses_no_cache() -> None:
    """Values are held against nobody there, and times are compared: a cache was believed as a whole."""
    expert = SimulatedContainer(about(5e-4, 3), computes=lambda: 2.0, clocked=lambda: 2.0)
    ratios = {}
    for name, agent in (("cache", stored()), ("code", SimulatedContainer(about(1e-4, 4), computes=lambda: 2.0))):
        measured = run(agent, expert)
        (row,) = measured.summaries[AGENT].workloads
        ratios[name] = row.ratio
    assert ratios == {"cache": pytest.approx(1, rel=0.05), "code": pytest.approx(10, rel=0.05)}
