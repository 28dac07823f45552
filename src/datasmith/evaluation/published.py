"""The figures published in May 2026, computed again from the published files and held against what was printed."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from datasmith.errors import ConfigError
from datasmith.metrics.efficiency import cost_weighted, pareto
from datasmith.metrics.integrity import duplicates
from datasmith.metrics.ranking import ranked_pairs

EXACT = 1e-12
EXPERT = "EX"
HARNESSES = {"O": "OpenHands", "T": "Terminus 2"}
MODELS = {"C": "Claude 4.0 Sonnet", "P": "GPT-5", "G": "Gemini 2.5 Pro", "Q": "Qwen 3 Coder"}
MOST_TASKS = 200
FILES = {"rows": "f6_tradeoff_per_task_*.tsv", "findings": "published_findings_*.json", "stars": "stars_*.txt"}
STARS = {"repositories": 145, "stars": 582_950, "hold half of the stars": 7, "hold 80 % of the stars": 22}
"""As the project page of 12 May 2026 has them."""
COPIES = {("TC", "TG"): 18, ("OC", "OG"): 13}
"""Pairs of published configurations that agree on all tasks that they share, and how many those are."""

_OF_TASKS = "the rows are a task's two numbers, not its workloads'"
UNDECIDED = (
    ("normalised advantages (f1)", _OF_TASKS),
    ("advantages by level (f2)", _OF_TASKS),
    ("costs per task (f5)", "no trial's cost was published"),
    ("speedups by time of merge (f7)", "no row says when its task was merged, nor which tasks failed"),
)
"""Figures of the published files that do not follow from what else is in them, and why."""

Rows = Mapping[str, Mapping[str, tuple[float, float]]]
"""Configuration's code -> task -> (global speedup, worst workload's speedup)."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure beside ours, None where there is none; `note` says what was inferred, or why.

    Raises:
        ValueError: a number is not finite.
    """

    name: str
    ours: float | str | None
    published: float | str | None
    note: str = ""

    def __post_init__(self) -> None:
        if any(isinstance(value, float) and not math.isfinite(value) for value in (self.ours, self.published)):
            raise ValueError(f"{self.name} is {self.ours}, published {self.published}: no finite numbers")

    @property
    def difference(self) -> float | None:
        """Ours less the published one; None where one of them is no number."""
        if not isinstance(self.ours, float | int) or not isinstance(self.published, float | int):
            return None
        return self.ours - self.published

    @property
    def agrees(self) -> bool:
        """True to 1e-12."""
        return self.ours == self.published if self.difference is None else abs(self.difference) <= EXACT


@dataclass(frozen=True, slots=True)
class Published:
    """The figures, and for each configuration's code our rank by Ranked Pairs beside the published one.

    The ranks are shown and not held against each other: the published tail does not follow from the published rows.
    undecided: what else was published and cannot be computed from it, and why.
    """

    figures: tuple[Figure, ...]
    ranks: Mapping[str, tuple[int, int]]
    undecided: tuple[tuple[str, str], ...] = ()

    @property
    def wrong(self) -> tuple[Figure, ...]:
        """The figures that do not agree."""
        return tuple(figure for figure in self.figures if not figure.agrees)


def read_published(directory: Path) -> Published:
    """Compute every figure from the files in `directory`.

    Raises:
        ConfigError: a file is missing or is not what it was.
    """
    paths = {name: _newest(directory, pattern) for name, pattern in FILES.items()}
    try:
        rows = _rows(paths["rows"].read_text("utf-8"))
        found = json.loads(paths["findings"].read_text("utf-8"))
        stars = [int(word) for word in paths["stars"].read_text("utf-8").split()]
        board = {_code(row): row for row in found["f1"]}
        spent = {_code(row): row for row in found["f5"]}
        expert = Figure("expert speedup", _mean(rows[EXPERT]), board[EXPERT][5], f"mean of {len(rows[EXPERT])} rows")
        speedups = {code: row[5] for code, row in board.items()}
        given = {code: _given(rows[code], speedups[code]) for code in sorted(speedups.keys() - {EXPERT})}
        worst, without = _worst(rows, {_code(row): (row[2], row[3]) for row in found["f6agg"]})
        figures = (
            expert,
            *_speedups(rows, given, speedups),
            *worst,
            *_cost_weighted({code: (row[3], row[2], row[4]) for code, row in spent.items()}),
            _pareto(
                {code: (row[2], row[3]) for code, row in spent.items()}, {code: row[5] for code, row in spent.items()}
            ),
            *_stars(stars),
            *_copies(rows),
        )
        published_ranks = {code: row[2] for code, row in board.items() if code != EXPERT}
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        where = ", ".join(path.name for path in paths.values())
        raise ConfigError(f"--published {directory}: {where}: {type(error).__name__}: {error}") from error
    ours = _ranks(rows)
    ranks = {code: (ours[code], rank) for code, rank in published_ranks.items()}
    few = f"the expert has rows of {len(rows[EXPERT])} tasks; up to {max(given.values(), default=0)} were given"
    return Published(figures, ranks, (("advantages (f1)", few), *UNDECIDED, *without))


def _newest(directory: Path, pattern: str) -> Path:
    found = sorted(directory.glob(pattern))
    if not found:
        raise ConfigError(f"--published {directory}: there is no {pattern} (example: --published published)")
    return found[-1]


def _rows(text: str) -> dict[str, dict[str, tuple[float, float]]]:
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for line in text.splitlines():
        code, task, speedup, worst = line.split("\t")
        rows.setdefault(code, {})[task] = (float(speedup), float(worst))
    return rows


def _code(row: Sequence[str]) -> str:
    """`OC` of ["OpenHands", "Claude 4.0 Sonnet", ...]."""
    harness = next((code for code, name in HARNESSES.items() if name == row[0]), None)
    model = next((code for code, name in MODELS.items() if name == row[1]), None)
    return EXPERT if harness is None or model is None else harness + model


def name_of(code: str) -> str:
    """`OpenHands, GPT-5` of OP."""
    return "Human Expert" if code == EXPERT else f"{HARNESSES[code[0]]}, {MODELS[code[1]]}"


def _mean(rows: Mapping[str, tuple[float, float]], given: int | None = None, *, worst: bool = False) -> float:
    """Of the speedups, or of those of the worst workloads; with `given` tasks, those without a row count 1.0."""
    values = [slowest if worst else speedup for speedup, slowest in rows.values()]
    n = given or len(values)
    return (math.fsum(values) + n - len(values)) / n


def _given(rows: Mapping[str, tuple[float, float]], published: float) -> int:
    """How many tasks a configuration was given, inferred: the number whose mean comes closest."""
    return min(range(len(rows), MOST_TASKS), key=lambda n: abs(_mean(rows, n) - published))


def _speedups(rows: Rows, given: Mapping[str, int], published: Mapping[str, float]) -> list[Figure]:
    """Each configuration's mean with failed tasks at 1.0."""
    return [
        Figure(f"speedup of {code}", _mean(rows[code], n), published[code], f"N = {n}, inferred")
        for code, n in given.items()
    ]


def _worst(rows: Rows, published: Mapping[str, tuple[float, float]]) -> tuple[list[Figure], list[tuple[str, str]]]:
    """The worst workloads' means of those whose speedup of the same list follows from the rows; what is left out."""
    figures, left = list[Figure](), list[str]()
    for code, (speedup, worst) in sorted(published.items()):
        n = _given(rows[code], speedup)
        if abs(_mean(rows[code], n) - speedup) <= EXACT:
            ours = _mean(rows[code], n, worst=True)
            figures.append(Figure(f"worst workload of {code}", ours, worst, f"N = {n}, inferred"))
        else:
            left.append(code)
    why = "with no number of failed tasks do the rows give their speedups"
    return figures, [(f"worst workloads (f6agg) of {' '.join(left)}", why)] if left else []


def _cost_weighted(rows: Mapping[str, tuple[float | None, float | None, float | None]]) -> list[Figure]:
    figures = []
    for code, (advantage, cost, published) in sorted(rows.items()):
        ours = cost_weighted(advantage, cost)
        note = "no advantage, or no cost above 0" if ours is None else ""
        figures.append(Figure(f"advantage per USD of {code}", ours, published, note))
    return figures


def _pareto(points: Mapping[str, tuple[float | None, float | None]], published: Mapping[str, bool]) -> Figure:
    ours = [code for code, flag in pareto(points).items() if flag]
    theirs = [code for code, flag in published.items() if flag]
    return Figure("Pareto set", " ".join(sorted(ours)), " ".join(sorted(theirs)))


def _stars(stars: Sequence[int]) -> list[Figure]:
    ours = {
        "repositories": len(stars),
        "stars": sum(stars),
        "hold half of the stars": _reach(stars, 0.5),
        "hold 80 % of the stars": _reach(stars, 0.8),
    }
    return [Figure(name, float(ours[name]), float(value)) for name, value in STARS.items()]


def _reach(stars: Sequence[int], share: float) -> int:
    """How many of the largest together hold at least a share of all."""
    held, wanted = 0, share * sum(stars)
    for number, value in enumerate(sorted(stars, reverse=True), 1):
        held += value
        if held >= wanted:
            return number
    return len(stars)


def _copies(rows: Rows) -> list[Figure]:
    found = {(each.first, each.second): each.equal for each in duplicates(dict(sorted(rows.items()))) if each.complete}
    pairs = sorted(found.keys() | COPIES.keys())
    return [
        Figure(f"equal tasks of {a} and {b}", float(found.get((a, b), 0)), float(COPIES.get((a, b), 0)))
        for a, b in pairs
    ]


def _ranks(rows: Rows) -> dict[str, int]:
    codes = [code for code in rows if code != EXPERT]
    tasks = {task for code in codes for task in rows[code]}
    ballots = [{code: rows[code][task][0] for code in codes if task in rows[code]} for task in sorted(tasks)]
    return ranked_pairs(ballots)
