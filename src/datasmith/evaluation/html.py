"""The page of a run: one file, no request to anywhere, every text from outside escaped."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path

from jinja2 import BaseLoader, Environment, StrictUndefined

from datasmith.counted import counted
from datasmith.evaluation.board import Board
from datasmith.evaluation.forest import Absent, Dot, Forest, Group, layouts
from datasmith.evaluation.records import SessionRecord
from datasmith.evaluation.report import Report
from datasmith.evaluation.rows import TrialRow, sessions_of
from datasmith.metrics.levels import LEVELS
from datasmith.metrics.ranking import RULES
from datasmith.metrics.score import FailurePolicy, Interval
from datasmith.tasks.certificate import ArmSummary, WorkloadRatio

EXPERT_SERIES = 0
DRAWN_WORKLOADS = 30
"""At most this many workloads of a task are drawn, those that move most; the table below the plot has them all."""
N_SERIES = 7
"""The style sheet knows this many colours and shapes; further agents start over."""
MINUS = "\u2212"
_GENERATOR = "fc-eval report"
_HEAD = 1000
"""Bytes of a page among which it says what made it."""
POLICIES_SAID: Mapping[FailurePolicy, str] = {
    "floor": "a workload counts with what was measured where it was slower, else as unchanged code",
    "baseline": "they count as unchanged code",
    "exclude": "they are left out",
}


@dataclass(frozen=True, slots=True)
class WorkloadLine:
    """One workload of a task: its ratio in the expert's, the agents' and the control arm."""

    workload: str
    cells: tuple[WorkloadRatio | None, ...]

    @property
    def floor(self) -> float | None:
        """The share that a ratio has to differ from 1 by: the largest of the sessions', None where there is none."""
        found = [cell.floor for cell in self.cells if cell and cell.floor is not None]
        return math.expm1(max(found)) if found else None


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task's part of the page; `columns` are the arms of `lines`' cells, `forests` the same plot in each shape."""

    task_id: str
    trials: tuple[TrialRow, ...]
    forests: tuple[Forest, ...]
    n_drawn: int
    columns: tuple[str, ...]
    lines: tuple[WorkloadLine, ...]


def is_page(path: Path) -> bool:
    """Whether a file is a page that `render` made."""
    with path.open("rb") as file:
        return f'<meta name="generator" content="{_GENERATOR}">'.encode() in file.read(_HEAD)


def render(report: Report, now: datetime) -> str:
    """The page as text; `now` is printed on it."""
    environment = Environment(loader=BaseLoader(), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters.update(
        signed=signed,
        ratio=ratio,
        interval=interval,
        percent=percent,
        half_width=half_width,
        seconds=seconds,
        plain=plain,
        outcome=outcome,
        counted=counted,
    )
    source = files("datasmith.evaluation").joinpath("templates", "report.html.j2").read_text(encoding="utf-8")
    series = series_of(report)
    return environment.from_string(source).render(
        report=report,
        generator=_GENERATOR,
        series=series,
        drawn={row.record.agent: series[row.record.agent] for row in _measured(report.trials)},
        levels=LEVELS,
        policies=POLICIES_SAID,
        overview=overview(report, series),
        ranks_said=ranks_said(report.board),
        tasks=task_views(report, series),
        now=now,
    )


def ranks_said(board: Board) -> str:
    """That the rules agree on the ranks, or where their range stands; empty where nobody has a rival."""
    spans = [agent.span for agent in board.ranked if agent.span]
    if any(best != worst for best, worst in spans):
        return f"; below it the range of ranks under {len(RULES)} rules"
    return f"; all {len(RULES)} rules agree on the ranks" if len(spans) > 1 else ""


def series_of(report: Report) -> dict[str, int]:
    """Which colour and shape each agent has."""
    return {agent.agent: 1 + index % N_SERIES for index, agent in enumerate(report.agents)}


def overview(report: Report, series: Mapping[str, int]) -> tuple[Forest, ...]:
    """Each task's speedup: the expert's in each session, each measured attempt's; of the others, how they ended."""
    groups = []
    for task_id, rows in _by_task(report).items():
        sessions = _sessions(rows)
        experts = [_arm_dot(each.expert, EXPERT_SERIES, f"expert{_within(each, sessions)}") for each in sessions]
        dots, absent = [dot for dot in experts if dot], list[Absent]()
        for row in rows:
            number, name = series[row.record.agent], _name(row, report, sessions)
            is_measured = row.record.outcome == "measured"
            dot = _arm_dot(row.record.ratios if is_measured else None, number, name)
            if dot:
                dots.append(dot)
            else:
                absent.append(Absent(number, name, "no speedup" if is_measured else outcome(row.record.outcome)))
        if dots or absent:
            groups.append(Group(task_id, tuple(dots), tuple(absent)))
    return layouts(groups) if groups else ()


def task_views(report: Report, series: Mapping[str, int]) -> tuple[TaskView, ...]:
    """One view for each task that has a complete trial."""
    return tuple(_task(task_id, rows, report, series) for task_id, rows in _by_task(report).items())


def _by_task(report: Report) -> dict[str, list[TrialRow]]:
    tasks: dict[str, list[TrialRow]] = {}
    for row in report.trials:
        tasks.setdefault(row.record.task_id, []).append(row)
    return tasks


def _measured(rows: Sequence[TrialRow]) -> list[TrialRow]:
    return [row for row in rows if row.record.ratios and row.record.outcome == "measured"]


def _sessions(rows: Sequence[TrialRow]) -> list[SessionRecord]:
    """Those in which trials of a task were compared with the expert: one, where none was measured again."""
    found = list(sessions_of(rows))
    return [session for session in found if session.expert.speedup] or found[:1]


def _within(session: SessionRecord | None, sessions: Sequence[SessionRecord]) -> str:
    """Behind a name: in which session that was, where there are several; each has an expert of its own."""
    return f", session {session.session}" if session and len(sessions) > 1 else ""


def _name(row: TrialRow, report: Report, sessions: Sequence[SessionRecord]) -> str:
    attempt = "" if report.run.config.n_attempts == 1 else f" #{row.record.attempt}"
    return f"{row.record.agent}{attempt}{_within(row.session, sessions)}"


def _task(task_id: str, rows: Sequence[TrialRow], report: Report, series: Mapping[str, int]) -> TaskView:
    sessions = _sessions(rows)
    arms = [(f"expert{_within(each, sessions)}", EXPERT_SERIES, each.expert) for each in sessions]
    arms += [
        (_name(row, report, sessions), series[row.record.agent], row.record.ratios) for row in rows if row.record.ratios
    ]
    table = [*arms, *((f"base again{_within(each, sessions)}", -1, each.control) for each in sessions)]
    cells = [{row.workload: row for row in arm.workloads} for _, _, arm in table]
    names = list(dict.fromkeys(name for arm in cells for name in arm))
    lines = tuple(WorkloadLine(name, tuple(arm.get(name) for arm in cells)) for name in names)
    groups = [group for name in names if (group := _workload_group(name, arms)).dots]
    groups.sort(key=_movement, reverse=True)
    drawn = groups[:DRAWN_WORKLOADS]
    return TaskView(
        task_id, tuple(rows), layouts(drawn) if drawn else (), len(drawn), tuple(arm[0] for arm in table), lines
    )


def _workload_group(name: str, arms: Sequence[tuple[str, int, ArmSummary]]) -> Group:
    dots = []
    for label, number, arm in arms:
        row = next((row for row in arm.workloads if row.workload == name), None)
        if row is not None and row.ratio:
            dots.append(Dot(number, label, row.ratio, row.low, row.high, row.changed))
    return Group(name, tuple(dots))


def _movement(group: Group) -> float:
    return max(max(dot.ratio, 1 / dot.ratio) for dot in group.dots)


def _arm_dot(arm: ArmSummary | None, number: int, label: str) -> Dot | None:
    return Dot(number, label, arm.speedup, arm.low, arm.high) if arm and arm.speedup else None


def digits_of(value: float, digits: int) -> int:
    """Digits to print after the point: fewer for large numbers, which are not known better."""
    return max(0, digits - len(str(int(abs(value)))) + 1)


def signed(value: float | None, digits: int = 4) -> str:
    """A difference with its sign; an en dash where there is none."""
    if value is None:
        return "–"
    return f"{value:+.{digits_of(value, digits)}f}".replace("-", MINUS)


def plain(value: float | None) -> str:
    """A number of about four digits; an en dash where there is none."""
    return "–" if value is None else f"{value:.{digits_of(value, 3)}f}"


def ratio(value: float | None) -> str:
    """A speedup; an en dash where there is none."""
    return "–" if value is None else f"{plain(value)}×"


def interval(value: Interval | None, digits: int = 3, *, sign: bool = False) -> str:
    """Both ends in brackets; nothing where there is no interval."""
    if value is None:
        return ""
    ends = [signed(end, digits) if sign else plain(end) for end in (value.low, value.high)]
    return f"[{ends[0]}, {ends[1]}]"


def percent(value: float | None, digits: int = 1) -> str:
    """A share as per cent."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def half_width(value: float | None) -> str:
    """How far an interval reaches to each side, as per cent."""
    return "–" if value is None else f"±{percent(value, 2)}"


def seconds(value: float | None) -> str:
    """A duration or a time per call, in a unit that keeps three digits readable."""
    if value is None:
        return "–"
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size * (2 if unit in ("h", "min") else 1):
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns" if value else "0 s"


def outcome(value: str) -> str:
    """An outcome in words."""
    return value.replace("_", " ")
