"""What is told of a run that others work on."""

from pathlib import Path

import pytest

from datasmith.errors import TrialError
from datasmith.evaluation.placing import RunWatch
from datasmith.evaluation.records import TrialRecord
from datasmith.evaluation.run_folder import TrialKey

from .sample_run import SampleRun


class Noted:
    """A StepObserver that keeps what it is told."""

    def __init__(self) -> None:
        self.done = 0
        self.told: list[tuple[str, str]] = []

    def step(self, task_id: str, what: str, done: int = 0, total: int | None = None) -> None:
        """See StepObserver."""

    def complete(self, n_trials: int) -> None:
        """See StepObserver."""
        self.done += n_trials

    def ended(self, trial: TrialRecord) -> None:
        """See StepObserver."""
        self.told.append((trial.agent, trial.outcome))


def test_what_was_told_is_not_read_again(tmp_path: Path) -> None:
    """A long run has hundreds of large records, and is looked at each second."""
    run = SampleRun(tmp_path / "run", ["acme_fast_1"], ["good", "nothing", "late"])
    session = run.session("acme_fast_1", {"b.time_x": 2.0})
    good = run.trial(session, "command-good", "measured", {"b.time_x": 1.5})
    run.trial(session, "command-late", "infra_error", reason="the engine is gone")
    noted = Noted()
    watch = RunWatch(run.folder, noted)
    run.trial(session, "command-nothing", "measured", {"b.time_x": 1.0})
    run.trial(session, "command-late", "measured", {"b.time_x": 1.1})
    (run.folder.trial(TrialKey.of(good)) / "trial.json").write_text("no longer a record")

    watch.look(["acme_fast_1"])
    assert sorted(noted.told) == [("command-late", "measured"), ("command-nothing", "measured")]
    assert noted.done == 2
    watch.look(["acme_fast_1"])
    assert (len(noted.told), noted.done) == (2, 2)


def test_what_is_new_and_damaged_is_told(tmp_path: Path) -> None:
    """A record that nobody has read yet is not passed over."""
    run = SampleRun(tmp_path / "run", ["acme_fast_1"], ["good"])
    session = run.session("acme_fast_1", {"b.time_x": 2.0})
    watch = RunWatch(run.folder, Noted())
    good = run.trial(session, "command-good", "measured", {"b.time_x": 1.5})
    (run.folder.trial(TrialKey.of(good)) / "trial.json").write_text("{")
    with pytest.raises(TrialError, match=r"trial\.json: cannot be read"):
        watch.look(["acme_fast_1"])
