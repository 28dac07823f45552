"""Cases 18 to 28, which are of the reference's own files: what becomes of the same facts in ours.

There are no archives of results to mix up here, and no file of verdicts that is written beside the submission: base and
the expert are arms of every session, test reports are JUnit's, and outputs are compared by the host.
"""

import gzip
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.docker.engine import ExecResult
from datasmith.errors import TrialError
from datasmith.evaluation.outcome import Ending, OutputFacts, TestFacts, after_outputs, after_timing, before_timing
from datasmith.evaluation.reference import reference_report
from datasmith.evaluation.report import Report, build_report
from datasmith.evaluation.run_folder import RunFolder, read_measurements, write_measurements
from datasmith.evaluation.tests_run import TreeTests
from datasmith.workloads.base import BASE
from datasmith.workloads.watch import OutputRow, OutputState
from tests.unit.evaluation.sample_run import SampleRun
from tests.unit.evaluation.test_outcome import arm
from tests.unit.workloads.simulated import SimulatedContainer

TAGS = {"pass": "", "fail": "<failure/>", "error": "<error/>", "skip": "<skipped/>"}


def report_of(folder: RunFolder) -> Report:
    run = folder.read_run()
    assert run is not None
    return build_report(folder, run, "floor")


def test_one_agent_is_enough(tmp_path: Path) -> None:
    """Case 18: what it is compared with was measured in its own session, and is no agent of the run."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["alone"])
    run.trial(run.session("acme_fast_1", {"m.time_a": 2.0}), "command-alone", "measured", {"m.time_a": 1.5})
    report = report_of(run.folder)
    (found,) = reference_report(run.folder, report)
    assert found.n == 1
    assert found.speedup == pytest.approx(1.5, rel=0.02)
    assert report.agents[0].means.advantage.value == pytest.approx(-0.5, abs=0.05)


def test_without_base_there_is_no_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case 19: where base's launches are gone the report names where they were, by either definition."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["alone"])
    run.trial(run.session("acme_fast_1", {"m.time_a": 2.0}), "command-alone", "measured", {"m.time_a": 1.5})
    path = run.folder.session("acme_fast_1", 1) / "measurements.jsonl"
    write_measurements(path, [launch for launch in read_measurements(path) if launch.arm != BASE])
    assert run_app(app, ["report", str(tmp_path / "r"), "--compat"]) == TrialError.exit_code
    assert "measurements.jsonl lacks what the score rests on: m.time_a in base" in capsys.readouterr().err


def test_a_dot_in_a_models_name_hides_no_trial(tmp_path: Path) -> None:
    """Case 20: gpt-5.1 is no gpt-5 with an extension; both are counted, each with its own times."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["gpt-5", "gpt-5.1", "gpt-5.1.tar.gz"])
    session = run.session("acme_fast_1", {"m.time_a": 2.0})
    speeds = {"command-gpt-5": 1.2, "command-gpt-5.1": 1.5, "command-gpt-5.1.tar.gz": 1.8}
    assert run.config.labels == tuple(speeds)
    for label, speed in speeds.items():
        run.trial(session, label, "measured", {"m.time_a": speed})
    found = reference_report(run.folder, report_of(run.folder))
    assert {each.agent: each.speedup for each in found} == pytest.approx(speeds, rel=0.02)


@dataclass
class Reported(SimulatedContainer):
    """A container whose tests leave this report: the sandboxes' own reports are in tests/conformance."""

    report: bytes = b""

    def exec(self, argv: Sequence[str], **_given: object) -> ExecResult:
        """The report, packed as run_tests.sh does."""
        return ExecResult(1, gzip.compress(self.report) if self.report else b"", b"", 1.0, 1.0, timed_out=False)


def junit(states: dict[str, str]) -> bytes:
    cases = (
        f"<testcase classname='t' name={quoteattr(name)}>{TAGS[state]}</testcase>" for name, state in states.items()
    )
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>".encode()


def judged(report: bytes, expected: str) -> tuple[TestFacts, Ending | None]:
    """What the host makes of a report, where the tests of these names passed at base."""
    names = [f"t::{name}" for name in expected]
    start = Reported(lambda _request: 1.0, report=report)
    facts = TreeTests(lambda _patch: start, ("pytest", "{junit}"), names, random.Random(1)).facts("x", trusted=True)
    return facts, before_timing(facts)


@pytest.mark.parametrize(
    ("report", "failed"),
    [
        (junit({"a": "error", "b": "pass"}), "a"),
        (junit({"a": "error", "b": "error"}), "ab"),
        (junit({"a": "pass"}), "b"),
        (b'{"error": 0}', "ab"),
        (b"", "ab"),
        (junit({"a": "pass", "b": "fail"}), "b"),
    ],
)
def test_what_is_not_seen_to_pass_has_failed(report: bytes, failed: str) -> None:
    """Cases 22 and 24: errors, a report that says nothing of a test, one that is none, and a test that fails now."""
    facts, ending = judged(report, "ab")
    assert facts.failed == tuple(f"t::{name}" for name in failed)
    assert ending is not None and ending.outcome == "failed_tests"


def test_what_failed_at_base_may_pass_or_fail() -> None:
    """Case 25: three tests that pass now and did not, and one that still fails, speak against nobody."""
    facts, ending = judged(junit({"a": "pass", "c": "pass", "d": "pass", "e": "pass", "f": "fail"}), "a")
    assert (facts.failed, ending) == ((), None)


def test_transitions() -> None:
    """Case 28: of base {a: pass, b: fail, c: skip, d: pass} and {a: fail, b: fail, c: pass} a fails, and d as well.

    The reference ignores a test that is not told of: whoever breaks one could leave it out of the report.
    """
    facts, _ = judged(junit({"a": "fail", "b": "fail", "c": "pass"}), "ad")
    assert facts.failed == ("t::a", "t::d")


@pytest.mark.parametrize(
    ("states", "outcome"),
    [(["differs"] * 7 + ["equal"] * 3, "failed_outputs"), (["not_captured"] * 3, None), (["equal"] * 3, None)],
)
def test_outputs_that_differ_are_a_failure(states: list[OutputState], outcome: str | None) -> None:
    """Case 23: it needs no transitions; what was not captured is neither equal nor a failure, and is counted so."""
    rows = [OutputRow(workload=f"m.time_{at}", state=state) for at, state in enumerate(states)]
    facts = OutputFacts(workloads=tuple(rows))
    ending = after_outputs(facts)
    assert (ending.outcome if ending else None) == outcome
    assert facts.counts["equal"] == states.count("equal")


def test_tests_that_could_not_be_run_are_a_failure() -> None:
    """Case 26: with the reason, whatever the counts say."""
    ending = before_timing(TestFacts(built=False, expected=2, problem="the patch does not apply"))
    assert ending == Ending("failed_tests", "the patch does not apply")


def test_green_tests_and_no_times_are_no_measurement(tmp_path: Path) -> None:
    """Case 27: it scores nothing, is none of the agent's failures, and has no figure of the reference's."""
    lost = arm(a="failed: it raised")
    assert after_timing(lost, lost, lost).outcome == "invalid_measurement"
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["alone"])
    run.trial(run.session("acme_fast_1", {"m.time_a": 2.0}), "command-alone", "invalid_measurement")
    report = report_of(run.folder)
    assert (report.agents[0].n_trials, report.agents[0].n_scored) == (1, 0)
    assert reference_report(run.folder, report)[0].n == 0
