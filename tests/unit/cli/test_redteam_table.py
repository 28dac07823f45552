"""fc-eval redteam without its measuring: what is printed of the control, and the exit code."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.evaluation.outcome import Ending
from datasmith.evaluation.redteam.attack import Attack
from datasmith.evaluation.redteam.session import Siege, ended_as
from datasmith.evaluation.redteam.table import NO_CONTROL
from datasmith.tasks.certificate import ArmSummary
from datasmith.tasks.folder import write_task
from tests.unit.tasks.samples import PATCH, TREE, certificate, sample_task, source_tar

QUIET = (0.98, 1.02)
RENAMED = "diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n"
"""It has no other text."""


def siege(attacks: Sequence[Attack], *, repeated: float | None) -> Siege:
    """All were measured at base's speed; `repeated`: what they claimed, where that was refuted."""
    row = certificate().expert.workloads[0]
    row = row.model_copy(update={"ratio": 1.0, "low": 0.99, "high": 1.01, "repeated": repeated})
    summary = ArmSummary(arm="agent:x#1", speedup=1.0, low=0.99, high=1.01, workloads=(row,))
    ended = tuple(ended_as(attack, Ending("measured", "why"), summary, 0.0, QUIET) for attack in attacks)
    return Siege("acme_calc_12", ended, QUIET, 1.0)


@pytest.mark.parametrize(
    ("patch", "repeated", "code", "controls"),
    [(PATCH, None, 0, 1), (PATCH, 9.0, 1, 1), (RENAMED, None, 0, 0)],
    ids=("measured", "refuted", "no control"),
)
def test_what_became_of_the_control_is_a_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    patch: str,
    repeated: float | None,
    code: int,
    controls: int,
) -> None:
    """An alarm ends with 1; that there is no control is said, and is no alarm."""
    monkeypatch.setattr(
        "datasmith.cli.eval_redteam._besieged", lambda _task, _folder, chosen, *_: siege(chosen, repeated=repeated)
    )
    source = source_tar(tmp_path / "source.tar.gz", tree={**TREE, "calc/__init__.py": b"slow = 1\n"})
    folder = write_task(sample_task(expert_patch=patch), tmp_path, source=source, provenance={})
    words = ("redteam", str(folder), "--attack", "conftest")
    assert run_app(app, words) == code
    out = capsys.readouterr().out
    assert (NO_CONTROL in out.splitlines()) is (not controls)
    assert ("ALARM expert-by-another: measured: why" in out.splitlines()) is bool(code)
    assert "1 attack, 0 got through" in out
    assert run_app(app, (*words, "--json")) == code
    told = json.loads(capsys.readouterr().out)
    assert (told["controls"], told["alarms"]) == (controls, code)
