"""Where the expert's patch computes something else than base of other inputs, times are compared all the same."""

import pytest

from .simulated import Request, SimulatedContainer
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


@pytest.mark.parametrize("computes", [1.0, 2.0], ids=["as base", "something else"])
@pytest.mark.parametrize("launches", ["looked", "clocked"])
def test_who_sets_up_smaller_inputs_is_refuted(computes: float, launches: str) -> None:
    """Also where the expert computes something else than base, and in launches between marks alone."""
    asked: list[str] = []

    def noted(request: Request) -> None:
        wanted = request["fresh"]
        asked[:] = [wanted["kind"] if isinstance(wanted, dict) else ""]

    expert = SimulatedContainer(about(5e-4, 3), computes=lambda: 1.0 if asked[:1] == [""] else computes)
    expert.reply = noted
    agent = SimulatedContainer(about(1e-4, 4), made=lambda: 0.5 if asked == [launches] else 1.0)
    agent.reply = noted
    measured = run(agent, expert)
    (row,) = measured.outputs[AGENT]
    label = "input" if launches == "looked" else "call"
    assert (row.state, row.path) == ("differs", f"set up: {label} 1 self.data")
    agent.made = lambda: 1.0
    (row,) = run(agent, expert).outputs[AGENT]
    assert row.state == "equal"
