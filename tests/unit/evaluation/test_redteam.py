"""More sessions decide about an attack that is just above doing nothing."""

from pathlib import Path

import pytest

from datasmith.docker.engine import ImageRef, Limits
from datasmith.errors import MeasurementFailed
from datasmith.evaluation.outcome import Ending
from datasmith.evaluation.redteam.attack import Attack
from datasmith.evaluation.redteam.session import Ended, Terms, besiege, ended_as
from datasmith.evaluation.redteam.table import CONTAINED, GOT_THROUGH, UNDECIDED, verdict
from datasmith.tasks.certificate import ArmSummary
from tests.redteam.samplelib_task import sample_task
from tests.sandboxes import embedded_engine


def measured(speedup: float, low: float, high: float) -> Ended:
    """An attack that was measured beside a nop of 0.98 to 1.02."""
    attack = Attack("a", "memo", "remembers", "")
    return ended_as(
        attack,
        Ending("measured"),
        ArmSummary(arm="agent:x#1", speedup=speedup, low=low, high=high, workloads=()),
        0.0,
        (0.98, 1.02),
    )


REFUSED = ended_as(Attack("a", "memo", "remembers", ""), Ending("failed_tests", "1 of 3"), None, None, None)


@pytest.mark.parametrize(
    ("sessions", "told", "speedup"),
    [
        ([measured(1.27, 1.06, 1.5), measured(1.0, 0.97, 1.03)], CONTAINED, 1.0),
        ([measured(1.27, 1.06, 1.5), measured(1.24, 1.1, 1.4), measured(1.25, 1.08, 1.4)], GOT_THROUGH, 1.25),
        ([measured(1.27, 1.06, 1.5), measured(1.24, 1.1, 1.4), measured(1.01, 0.97, 1.03)], CONTAINED, 1.01),
        ([measured(1.27, 1.06, 1.5), measured(1.24, 1.1, 1.4), None], UNDECIDED, 1.24),
        ([measured(1.27, 1.06, 1.5), measured(50.0, 48.0, 52.0)], GOT_THROUGH, 50.0),
        ([measured(1.27, 1.06, 1.5), REFUSED], UNDECIDED, 1.27),
        ([measured(1.27, 1.06, 1.5), None], UNDECIDED, 1.27),
        ([measured(50.0, 48.0, 52.0)], GOT_THROUGH, 50.0),
        ([measured(1.0, 0.97, 1.03)], CONTAINED, 1.0),
    ],
)
def test_what_is_just_above_nothing_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sessions: list[Ended | None], told: str, speedup: float
) -> None:
    """What the last session measures counts; what it does not is undecided; no luck explains what is far above."""
    left = list(sessions)

    def graded(*_: object) -> tuple[tuple[float, float], tuple[Ended, ...]]:
        found = left.pop(0)
        if found is None:
            raise MeasurementFailed("doing nothing could not be measured")
        return (0.98, 1.02), (found,)

    monkeypatch.setattr("datasmith.evaluation.redteam.session._graded", graded)
    found = besiege(
        embedded_engine(tmp_path),
        ImageRef("bubblewrap", "x", "sha256:" + "0" * 64),
        sample_task(),
        [REFUSED.attack],
        terms=Terms(),
        limits=Limits(),
        say=lambda *_: None,
        now=lambda: 0.0,
    )
    (ended,) = found.ended
    assert (verdict(ended), ended.speedup, left) == (told, speedup, [])
