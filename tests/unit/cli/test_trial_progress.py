"""What a run tells while it goes on."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from datasmith.cli.trial_progress import TrialBars
from datasmith.evaluation.records import TrialRecord
from tests.unit.evaluation.sample_run import SampleRun


@pytest.mark.parametrize("terminal", [True, False])
def test_an_agents_words_command_no_terminal(terminal: bool) -> None:
    """They come as text: without the characters that clear a screen or fill a clipboard."""
    target = io.StringIO()
    console = Console(file=target, force_terminal=terminal, width=200, markup=False, highlight=False)
    with TrialBars(console) as bars:
        bars.step("acme_fast_1", "again, after: \x1b]52;c;aGk=\x07 said\nits last line")
        bars.note("a \x1b]52;c;aGk=\x07 note")
    told = target.getvalue()
    assert "\x1b]52" not in told and "\x07" not in told
    assert "said its last line" in told and "note" in told


@pytest.mark.parametrize("terminal", [True, False])
def test_what_fits_beside_no_bar_is_told_in_a_line_of_its_own(terminal: bool) -> None:
    """Whole, and once: the end of it, which says what one can do, is cut off beside the bar."""
    target = io.StringIO()
    console = Console(file=target, force_terminal=terminal, width=80, markup=False, highlight=False)
    long = f"waits for a free core: {'the holder ' * 20}(what to do)"
    with TrialBars(console) as bars:
        bars.step("acme_fast_1", long)
        bars.step("acme_fast_1", long)
    assert target.getvalue().count("(what to do)") == 1


def faster_and_slower(place: Path) -> list[TrialRecord]:
    """Two trials that were measured, the first one 1.5 times as fast as base."""
    run = SampleRun(place / "run", ["acme_fast_1"], ["good", "nothing"])
    session = run.session("acme_fast_1", {"b.time_x": 2.0})
    speeds = {"command-good": 1.5, "command-nothing": 1.0}
    return [run.trial(session, agent, "measured", {"b.time_x": speed}) for agent, speed in speeds.items()]


@pytest.mark.parametrize("terminal", [True, False])
def test_the_best_ratio_so_far_stays_in_sight(terminal: bool, tmp_path: Path) -> None:
    """On the bar of all trials, or after each one's own; a later, slower one does not take its place."""
    target = io.StringIO()
    console = Console(file=target, force_terminal=terminal, width=200, markup=False, highlight=False)
    with TrialBars(console) as bars:
        bars.start(2, [])
        for trial in faster_and_slower(tmp_path):
            bars.ended(trial)
            bars.complete(1)
    *_, last = [line for line in target.getvalue().replace("\r", "\n").splitlines() if "best so far" in line]
    assert re.search(r"best so far 1\.[45]\d\d× by command-good#1 on acme_fast_1", last), last


@pytest.mark.parametrize("terminal", [True, False])
def test_the_best_of_what_ended_before_a_run_went_on_is_not_forgotten(terminal: bool, tmp_path: Path) -> None:
    """It is beside the first trial that ends then."""
    target = io.StringIO()
    console = Console(file=target, force_terminal=terminal, width=200, markup=False, highlight=False)
    before, now = faster_and_slower(tmp_path)
    with TrialBars(console) as bars:
        bars.start(2, [before])
        bars.ended(now)
    assert re.search(r"best so far 1\.[45]\d\d× by command-good#1", target.getvalue())
