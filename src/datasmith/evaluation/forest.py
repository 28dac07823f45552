"""Geometry of a forest plot: ratios with their intervals on a logarithmic axis, as numbers a template can draw."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from datasmith.printable import cut

ROW_HEIGHT = 16.0
GROUP_GAP = 10.0
TOP = 26.0
BOTTOM = 8.0
TICKS = (
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    0.67,
    0.8,
    0.9,
    0.95,
    1.0,
    1.05,
    1.1,
    1.25,
    1.5,
    2,
    3,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1000,
)
VALUE_GAP = 12.0
"""From the plot to the figures beside it."""
MARK_WIDTH = 15.0
CHARACTER = 7.0
"""What a letter of the words beside a plot takes at most, on average."""
TICK_GAP = 42.0
"""Labels stand at least this far apart; the one at 1 always stands."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a plot is laid out, in units that are pixels on the screen that it is for.

    A group's label stands beside its dots, or above them where `label_height` leaves room for it.
    """

    name: str
    plot_left: float
    plot_width: float
    value_width: float
    label_chars: int
    label_height: float = 0.0

    @property
    def plot_right(self) -> float:
        """Where the axis ends."""
        return self.plot_left + self.plot_width

    @property
    def values_left(self) -> float:
        """Where the figures beside the plot begin."""
        return self.plot_right + VALUE_GAP


WIDE = Shape("wide", 300.0, 430.0, 150.0, label_chars=46)
NARROW = Shape("narrow", 8.0, 198.0, 136.0, label_chars=52, label_height=18.0)
"""For a phone: as wide as a screen of 390 pixels leaves it."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One estimate to draw: `series` chooses its colour and shape; low and high are None where there is no interval."""

    series: int
    name: str
    ratio: float
    low: float | None
    high: float | None
    changed: bool = True


@dataclass(frozen=True, slots=True)
class Absent:
    """What has no estimate, and is said instead."""

    series: int
    name: str
    said: str


@dataclass(frozen=True, slots=True)
class Group:
    """The estimates of one workload or task, drawn below one another, and below them what has none."""

    label: str
    dots: tuple[Dot, ...]
    absent: tuple[Absent, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A dot with its place: x of the estimate and of both ends of its interval, y of its row."""

    dot: Dot
    x: float
    left: float
    right: float
    y: float
    clipped: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """What has no estimate with its place: x of its cross, and of its words, which end where the figures do; y."""

    absent: Absent
    x: float
    said_x: float
    y: float


@dataclass(frozen=True, slots=True)
class Row:
    """A group with its place; `y` is that of its label's middle."""

    label: str
    title: str
    y: float
    top: float
    height: float
    marks: tuple[Mark, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled position on the axis."""

    x: float
    text: str
    is_one: bool


@dataclass(frozen=True, slots=True)
class Forest:
    """A plot, ready to draw."""

    shape: Shape
    width: float
    height: float
    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    shape: Shape

    def x(self, ratio: float) -> float:
        share = (math.log(ratio) - self.low) / (self.high - self.low)
        return self.shape.plot_left + self.shape.plot_width * min(1.0, max(0.0, share))

    def holds(self, ratio: float) -> bool:
        return self.low <= math.log(ratio) <= self.high


def layouts(groups: Sequence[Group]) -> tuple[Forest, ...]:
    """The same plot for each kind of screen."""
    return tuple(layout(groups, shape) for shape in (WIDE, NARROW))


def layout(groups: Sequence[Group], shape: Shape = WIDE) -> Forest:
    """Place every dot; the axis holds 1 and all estimates, and is cut where an interval is far wider than those."""
    axis = _axis([dot for group in groups for dot in group.dots], shape)
    rows = []
    y = TOP
    for group in groups:
        lines = len(group.dots) + len(group.absent)
        height = shape.label_height + ROW_HEIGHT * max(1, lines) + GROUP_GAP
        first = y + shape.label_height + GROUP_GAP / 2
        places = [first + ROW_HEIGHT * (number + 0.5) for number in range(lines)]
        marks = tuple(_mark(dot, axis, place) for dot, place in zip(group.dots, places, strict=False))
        below = places[len(group.dots) :]
        gaps = tuple(_gap(absent, place, shape) for absent, place in zip(group.absent, below, strict=True))
        most = shape.label_chars
        label = cut(group.label, most)
        middle = y + (GROUP_GAP / 2 + shape.label_height / 2 if shape.label_height else height / 2)
        rows.append(Row(label, group.label, middle, y, height, marks, gaps))
        y += height
    width = shape.plot_right + shape.value_width
    return Forest(shape, width, y + BOTTOM, tuple(rows), _ticks(axis))


def _axis(dots: Sequence[Dot], shape: Shape) -> _Axis:
    logs = [0.0, *(math.log(dot.ratio) for dot in dots)]
    span = max(max(logs) - min(logs), 0.04)
    ends = [math.log(end) for dot in dots for end in (dot.low, dot.high) if end is not None and end > 0]
    low = max(min([*logs, *ends]), min(logs) - span)
    high = min(max([*logs, *ends]), max(logs) + span)
    return _Axis(low - span * 0.06, high + span * 0.06, shape)


def _mark(dot: Dot, axis: _Axis, y: float) -> Mark:
    low, high = dot.low or dot.ratio, dot.high or dot.ratio
    clipped = not (axis.holds(low) and axis.holds(high))
    return Mark(dot, axis.x(dot.ratio), axis.x(low), axis.x(high), y, clipped)


def _gap(absent: Absent, y: float, shape: Shape) -> Gap:
    ends_at = shape.plot_right + shape.value_width
    said_x = min(shape.values_left + MARK_WIDTH, ends_at - CHARACTER * len(absent.said))
    return Gap(absent, said_x - MARK_WIDTH * 2 / 3, said_x, y)


def _ticks(axis: _Axis) -> tuple[Tick, ...]:
    kept = [1.0]
    for value in sorted((value for value in TICKS if axis.holds(value)), key=lambda value: abs(math.log(value))):
        if all(abs(axis.x(value) - axis.x(other)) >= TICK_GAP for other in kept):
            kept.append(value)
    return tuple(Tick(axis.x(value), f"{value:g}×", value == 1.0) for value in sorted(kept))
