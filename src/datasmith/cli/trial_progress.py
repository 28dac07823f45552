"""Progress of a run on standard error: bars on a terminal, one line per step elsewhere."""

import threading
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn

from datasmith.cli.bars import Bars
from datasmith.cli.common import brief
from datasmith.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from datasmith.evaluation.records import TrialRecord
    from datasmith.tasks.certificate import ArmSummary

BESIDE_BAR = 60
"""Characters of what a task does that fit beside its bar; of what is longer the whole is printed above the bars."""


class TrialBars(Bars):
    """One bar for all trials and one for each task under way; tasks may report from several threads."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(
            console or Console(stderr=True, highlight=False, markup=False),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._lock = threading.Lock()
        self._whole: TaskID | None = None
        self._tasks: dict[str, TaskID] = {}
        self._said: dict[str, str] = {}
        self._best: tuple[float, str] | None = None

    def start(self, total: int, ended: "Sequence[TrialRecord]") -> None:
        """The run has `total` trials, of which these were complete before; the best of them may be the best so far."""
        with self._lock:
            self._whole = self.bars.add_task("trials", total=total, completed=len(ended))
            for trial in ended:
                self._compare(trial)

    def step(self, task_id: str, what: str, done: int = 0, total: int | None = None) -> None:
        """A task does `what` now, of which `done` of `total` parts are over."""
        what = one_line(what)
        with self._lock:
            short = brief(what, BESIDE_BAR)
            if (not self.console.is_terminal or short != what) and self._said.get(task_id) != what:
                self.console.print(f"{task_id}: {what}", soft_wrap=True)
            self._said[task_id] = what
            if not self.console.is_terminal:
                return
            if task_id not in self._tasks:
                self._tasks[task_id] = self.bars.add_task(task_id)
            self.bars.update(self._tasks[task_id], description=f"{task_id}: {short}", completed=done, total=total)

    def complete(self, n_trials: int) -> None:
        """`n_trials` further trials are complete."""
        with self._lock:
            if self._whole is not None:
                self.bars.advance(self._whole, n_trials)

    def ended(self, trial: "TrialRecord") -> None:
        """Say how a trial ended, and keep the best ratio against base in sight."""
        with self._lock:
            measured = self._compare(trial)
            if not self.console.is_terminal:
                said: str = trial.outcome
                if measured:
                    said = f"{ratio_of(measured.speedup, measured.low, measured.high)}; {self._best_so_far}"
                self.console.print(f"{trial.task_id}: {trial.agent}#{trial.attempt}: {said}", soft_wrap=True)
            elif self._whole is not None and self._best:
                self.bars.update(self._whole, description=f"trials ({self._best_so_far})")

    def _compare(self, trial: "TrialRecord") -> "ArmSummary | None":
        """The ratios of a trial that was measured, which may be the best."""
        measured = trial.ratios if trial.outcome == "measured" else None
        if measured and measured.speedup is not None:
            name = f"{trial.agent}#{trial.attempt} on {trial.task_id}"
            self._best = max(self._best or (0.0, ""), (measured.speedup, name))
        return measured

    @property
    def _best_so_far(self) -> str:
        return f"best so far {self._best[0]:.3f}× by {self._best[1]}" if self._best else "none measured so far"

    def note(self, text: str) -> None:
        """Something that the user should know."""
        self.console.print(f"warning: {one_line(text)}", soft_wrap=True)

    def leave(self, task_id: str) -> None:
        """Nothing more comes from this task."""
        with self._lock:
            bar = self._tasks.pop(task_id, None)
            if bar is not None:
                self.bars.remove_task(bar)


def ratio_of(ratio: float | None, low: float | None, high: float | None) -> str:
    """`1.234× [1.200, 1.260]`, or that there is no ratio."""
    if ratio is None or low is None or high is None:
        return "no ratio"
    return f"{ratio:.3f}× [{low:.3f}, {high:.3f}]"
