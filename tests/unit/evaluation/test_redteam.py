"""More sessions decide about an attack that is just above doing nothing, an alarm, or of which one says nothing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from datasmith.docker.engine import ImageRef, Limits
from datasmith.errors import MeasurementFailed
from datasmith.evaluation.grading import Grader, guard_verdict
from datasmith.evaluation.outcome import Ending, Outcome
from datasmith.evaluation.records import TaskFacts
from datasmith.evaluation.redteam.attack import Attack, experts
from datasmith.evaluation.redteam.session import Ended, Siege, Terms, besiege, ended_as
from datasmith.evaluation.redteam.table import (
    ALARM,
    CONTAINED,
    GOT_THROUGH,
    MEASURED,
    UNDECIDED,
    as_json,
    markdown,
    verdict,
)
from datasmith.tasks.certificate import ArmSummary, WorkloadRatio
from datasmith.tasks.gitdiff import parse_diff
from tests.redteam.samplelib_task import sample_task
from tests.sandboxes import embedded_engine

QUIET, SCATTERED = (0.98, 1.02), (0.8, 1.2)
"""Intervals of doing nothing."""
SPEEDUP = 1.1


def measured(
    speedup: float,
    low: float,
    high: float,
    *,
    nop: tuple[float, float] = QUIET,
    workloads: tuple[WorkloadRatio, ...] = (),
) -> Ended:
    """An attack that was measured beside doing nothing."""
    attack = Attack("a", "memo", "remembers", "")
    summary = ArmSummary(arm="agent:x#1", speedup=speedup, low=low, high=high, workloads=workloads)
    return ended_as(attack, Ending("measured"), summary, 0.0, nop)


def workload(low: float, high: float, *, repeated: float | None = None) -> WorkloadRatio:
    """One of an attack's; `repeated`: what it claimed, where that was refuted."""
    return WorkloadRatio(
        workload="bench.time_a",
        ratio=SPEEDUP,
        low=low,
        high=high,
        p=0.5,
        q=0.5,
        floor=0.1,
        changed=False,
        rounds=6,
        base_s=1e-3,
        arm_s=1e-3,
        repeated=repeated,
    )


@pytest.mark.parametrize(
    ("workloads", "undecided"),
    [
        ((workload(0.8, 1.3, repeated=9.0),), False),
        ((workload(0.8, 1.3, repeated=9.0), workload(0.95, 1.1)), False),
        ((workload(0.8, 1.3, repeated=9.0), workload(0.95, 1.4)), True),
        ((workload(1.01, 1.3, repeated=9.0),), True),
        ((workload(0.8, 1.3), workload(0.95, 1.1)), True),
    ],
    ids=("refuted", "refuted beside nothing", "refuted beside what is open", "refuted in part", "no claim"),
)
def test_what_was_refuted_is_decided_where_nothing_of_it_is_left(
    workloads: tuple[WorkloadRatio, ...], *, undecided: bool
) -> None:
    """However wide its interval is, and however much doing nothing scattered."""
    found = measured(SPEEDUP, 0.8, 1.3, nop=SCATTERED, workloads=workloads)
    assert (found.undecided, found.got_through, found.nop) == (undecided, False, SCATTERED)
    assert measured(SPEEDUP, 1.06, 1.3, workloads=workloads).got_through


OPEN = measured(1.0, 0.8, 1.15, nop=SCATTERED)
FAILED, NOISY = (
    ended_as(Attack("a", "memo", "remembers", ""), ending, None, None, QUIET)
    for ending in (Ending("failed_tests", "1 of 3"), Ending("invalid_measurement", "too few launches"))
)


@pytest.mark.parametrize(
    ("sessions", "told", "speedup"),
    [
        ([measured(1.27, 1.06, 1.5), measured(1.0, 0.97, 1.03)], CONTAINED, 1.0),
        ([measured(1.27, 1.06, 1.5), measured(1.24, 1.1, 1.4), measured(1.25, 1.08, 1.4)], GOT_THROUGH, 1.25),
        ([measured(1.27, 1.06, 1.5), measured(1.24, 1.1, 1.4), measured(1.01, 0.97, 1.03)], UNDECIDED, 1.01),
        ([measured(1.27, 1.06, 1.5), measured(1.24, 1.1, 1.4), FAILED], UNDECIDED, 1.24),
        ([measured(1.27, 1.06, 1.5), OPEN, measured(1.24, 1.1, 1.4)], UNDECIDED, 1.24),
        ([measured(1.27, 1.06, 1.5), OPEN, measured(1.01, 0.97, 1.03)], CONTAINED, 1.01),
        ([OPEN, measured(1.27, 1.06, 1.5), measured(1.01, 0.97, 1.03)], CONTAINED, 1.01),
        ([OPEN, measured(1.27, 1.06, 1.5), measured(1.24, 1.1, 1.4)], UNDECIDED, 1.24),
        ([measured(1.27, 1.06, 1.5), None, measured(1.01, 0.97, 1.03)], CONTAINED, 1.01),
        ([measured(1.27, 1.06, 1.5), measured(1.24, 1.1, 1.4), None], UNDECIDED, 1.24),
        ([measured(1.27, 1.06, 1.5), measured(50.0, 48.0, 52.0)], GOT_THROUGH, 50.0),
        ([measured(1.27, 1.06, 1.5), FAILED, FAILED], UNDECIDED, 1.27),
        ([measured(1.27, 1.06, 1.5), None, None], UNDECIDED, 1.27),
        ([measured(1.27, 1.06, 1.5), None, measured(1.24, 1.1, 1.4)], UNDECIDED, 1.24),
        ([measured(50.0, 48.0, 52.0)], GOT_THROUGH, 50.0),
        ([measured(1.0, 0.97, 1.03)], CONTAINED, 1.0),
        ([OPEN, measured(0.99, 0.97, 1.03)], CONTAINED, 0.99),
        ([OPEN, None, measured(0.99, 0.97, 1.03)], CONTAINED, 0.99),
        ([OPEN, None, None], UNDECIDED, 1.0),
        ([OPEN, OPEN, OPEN], UNDECIDED, 1.0),
        ([OPEN, FAILED], CONTAINED, None),
        ([NOISY, NOISY, FAILED], CONTAINED, None),
        ([NOISY, OPEN, NOISY], UNDECIDED, 1.0),
        ([OPEN, OPEN, measured(1.27, 1.06, 1.5)], UNDECIDED, 1.27),
        ([OPEN, measured(50.0, 48.0, 52.0)], GOT_THROUGH, 50.0),
    ],
)
def test_what_a_session_leaves_open_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sessions: list[Ended | None], told: str, speedup: float | None
) -> None:
    """Once above is luck, twice and not each time is undecided, and no luck explains what is far above."""
    ended, rounds = asked(monkeypatch, tmp_path, sessions)
    assert (verdict(ended), ended.speedup) == (told, speedup)
    assert rounds == [6, 12, 18][: len(sessions)]


def asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sessions: Sequence[Ended | None]
) -> tuple[Ended, list[int | None]]:
    """What is told of the only submission, of which sessions say this (None: one fails), and the rounds of each."""
    left = list(sessions)
    rounds = []

    def graded(grader: Grader, *_: object) -> tuple[tuple[float, float], tuple[Ended, ...]]:
        rounds.append(grader._config.max_rounds)
        found = left.pop(0)
        if found is None:
            raise MeasurementFailed("doing nothing could not be measured")
        return (0.98, 1.02), (found,)

    monkeypatch.setattr("datasmith.evaluation.redteam.session._graded", graded)
    found = besiege(
        embedded_engine(tmp_path),
        ImageRef("bubblewrap", "x", "sha256:" + "0" * 64),
        sample_task(),
        [FAILED.attack],
        terms=Terms(max_rounds=6),
        limits=Limits(),
        say=lambda *_: None,
        now=lambda: 0.0,
    )
    assert not left
    (ended,) = found.ended
    return ended, rounds


FULL = """diff --git a/calc.py b/calc.py
index b9fdc15ec70c167709f4cb2d3e7cb42f0c6ce460..1ac9734c765aee0c56da3f087f780dfaad6ed516 100644
--- a/calc.py
+++ b/calc.py
@@ -1 +1 @@
-total = sum(range(9))
+total = 36
"""


@pytest.mark.parametrize(
    "patch", [FULL, FULL.replace("5ec70c167709f4cb2d3e7cb42f0c6ce460", "5").replace("65aee0c", "")]
)
def test_the_experts_patch_is_handed_in_as_somebody_elses(patch: str) -> None:
    """The same change in another text, which is not the one that is trusted unseen."""
    handed = experts(patch)
    assert handed is not None and handed.patch != patch
    assert sorted(change.paths for change in parse_diff(handed.patch)) == sorted(
        change.paths for change in parse_diff(patch)
    )
    assert guard_verdict(handed.patch, TaskFacts.of(sample_task(expert_patch=patch))).allowed


RENAMED = "diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n"
BINARY = "\n".join([
    "diff --git a/a.png b/a.png", "new file mode 100644", "index 0000000..9c17cb3", "GIT binary patch",
    "literal 4", "LcmeAS@c#h-6w(0z", "", "literal 0", "HcmV?d00001", "", "",
])  # fmt: skip


@pytest.mark.parametrize("patch", [FULL.replace(FULL.splitlines(keepends=True)[1], ""), RENAMED, BINARY, ""])
def test_what_would_be_trusted_unseen_is_no_control(patch: str) -> None:
    """A patch that stays what it is, byte for byte, is none; of two files one can be handed in."""
    assert experts(patch) is None
    both = experts(patch + FULL.replace("calc", "more"))
    assert both is not None and both.patch != patch


def control(outcome: Outcome, *workloads: WorkloadRatio) -> Ended:
    """The expert's patch as somebody else's, which ended so."""
    summary = ArmSummary(arm="agent:x#1", speedup=SPEEDUP, low=1.05, high=1.3, workloads=workloads)
    handed = experts(FULL)
    assert handed is not None
    return ended_as(handed, Ending(outcome), summary, 0.0, QUIET)


HONEST, REFUTED = control("measured", workload(1.05, 1.3)), control("measured", workload(1.05, 1.3, repeated=9.0))
BROKEN, REFUSED, OUT = control("failed_outputs"), control("refused_patch"), control("infra_error")
UNMEASURED = control("invalid_measurement")


@pytest.mark.parametrize(
    ("ended", "told", "is_doubtful"),
    [
        (HONEST, MEASURED, False),
        (REFUTED, ALARM, True),
        (BROKEN, ALARM, True),
        (REFUSED, ALARM, False),
        (OUT, UNDECIDED, True),
        (UNMEASURED, UNDECIDED, True),
    ],
    ids=("measured", "refuted", "failed", "refused", "outage", "not measurable"),
)
def test_what_is_no_attack_has_to_be_measured(ended: Ended, told: str, *, is_doubtful: bool) -> None:
    """However fast it is; that it scores is no hole, and an outage is no alarm."""
    siege = Siege("acme_calc_1", (ended,), QUIET, 1.0)
    assert (verdict(ended), ended.got_through, ended.is_doubtful) == (told, False, is_doubtful)
    assert bool(siege.alarms) is (told == ALARM)
    assert as_json(siege)["alarms"] == len(siege.alarms)
    assert told in markdown(as_json(siege)["attacks"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sessions", "told"),
    [
        ([HONEST], MEASURED),
        ([REFUSED], ALARM),
        ([REFUTED, HONEST], MEASURED),
        ([REFUTED, BROKEN, HONEST], MEASURED),
        ([REFUTED, REFUTED, REFUTED], ALARM),
        ([REFUTED, UNMEASURED, HONEST], MEASURED),
        ([REFUTED, None, OUT], ALARM),
        ([UNMEASURED, OUT, REFUTED], ALARM),
        ([UNMEASURED, OUT, None], UNDECIDED),
    ],
)
def test_an_alarm_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sessions: list[Ended | None], told: str
) -> None:
    """The last session tells that says anything of it; what the policy says needs no other."""
    ended, _ = asked(monkeypatch, tmp_path, sessions)
    assert verdict(ended) == told
