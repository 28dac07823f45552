"""What fc-eval confirm prints: each channel's number, or why it has none."""

import pytest

from datasmith.cli.eval_confirm import show
from datasmith.evaluation.confirm import Confirmation, Confirmed
from datasmith.workloads.fastest import Fastest
from datasmith.workloads.instructions import Counted

QUICK = Fastest("m.time_x", 0.98, 0.975, 0.985, 40)
WORK = Counted("m.time_x", 0.979)


def told(capsys: pytest.CaptureFixture[str], one: Confirmed) -> list[str]:
    show([one], json_output=False)
    return capsys.readouterr().out.splitlines()


def test_every_channel_has_its_number_and_disagreement_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """The certificate's ratio, the fastest samples' with its interval, and that of instructions."""
    row = Confirmation("m.time_x", 1.25, disagrees=True, fastest=QUICK, counted=WORK)
    assert told(capsys, Confirmed("acme_calc_1", "callgrind", None, (row,))) == [
        "acme_calc_1: 1 workload by fastest samples and callgrind, 1 disagree",
        "  m.time_x: 1.250 by the certificate, 0.980 [0.975, 0.985] by the fastest samples, 0.979 by instructions"
        "  DISAGREES",
    ]


def test_what_the_experts_patch_makes_slower_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the workload, and counted."""
    row = Confirmation("m.time_x", 0.9, disagrees=False, fastest=QUICK, counted=WORK, slower=True)
    first, second = told(capsys, Confirmed("t", "callgrind", None, (row,)))
    assert first.endswith("0 disagree; the expert's patch makes 1 of them slower")
    assert second.endswith("by instructions  SLOWER")


def test_what_has_no_number_has_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """A workload that cannot be counted or timed; and a machine without any counter, said once."""
    quick, work = Fastest("m.time_x", reason="too long"), Counted("m.time_x", None, "killed")
    row = Confirmation("m.time_x", None, disagrees=False, fastest=quick, counted=work)
    assert told(capsys, Confirmed("t", "perf", None, (row,)))[1:] == [
        "  m.time_x: no time, no fastest samples (too long), no instructions (killed)"
    ]
    row = Confirmation(
        "m.time_x", 1.25, disagrees=False, fastest=QUICK, counted=Counted("m.time_x", None, "no counter")
    )
    assert told(capsys, Confirmed("t", None, "no counter: install one", (row,))) == [
        "t: 1 workload by fastest samples, 0 disagree",
        "  no counter: install one",
        "  m.time_x: 1.250 by the certificate, 0.980 [0.975, 0.985] by the fastest samples",
    ]
