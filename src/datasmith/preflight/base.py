"""A check, its answer, and the report of them all: values, without I/O."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from datasmith.counted import counted
from datasmith.errors import DatasmithError
from datasmith.github.forges import Sources
from datasmith.printable import printable
from datasmith.redact import redact
from datasmith.settings import Settings
from datasmith.storage.base import STAGES

State = Literal["OK", "FAIL", "SKIP"]
RULER = "=" * 40


@dataclass(frozen=True, slots=True)
class Answer:
    """What a check found; `todo` says what to do about it, a failure always has one."""

    state: State
    detail: str = ""
    todo: str = ""

    def __post_init__(self) -> None:
        if self.state == "FAIL" and not self.todo:
            raise ValueError("a failure says what to do next")


@dataclass(frozen=True, slots=True)
class Facts:
    """What checks look at: settings, all variables, which forge the run will mine, and what it will be given."""

    settings: Settings
    variables: dict[str, str]
    forge: str = "git"
    sources: Sources | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that somebody has to provide: its section, its name, and the stages that cannot do without it."""

    section: str
    name: str
    stages: frozenset[int]
    look: Callable[[Facts], Answer]

    def answer(self, facts: Facts, stages: Collection[int]) -> Answer:
        """Look; an error of ours is a failure, and what none of `stages` needs is not looked at."""
        if not self.stages & set(stages):
            return Answer("SKIP", f"not needed by stage {', '.join(map(str, sorted(stages)))}")
        try:
            return self.look(facts)
        except DatasmithError as error:
            return Answer("FAIL", " ".join(str(error).split()), "do what the message says, and run preflight again")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the report."""

    section: str
    name: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Report:
    """All lines, in order."""

    lines: tuple[Line, ...]

    @property
    def failed(self) -> int:
        """How many checks failed."""
        return sum(line.answer.state == "FAIL" for line in self.lines)

    @property
    def rc(self) -> int:
        """Exit code: 0 where nothing failed, else 1."""
        return 1 if self.failed else 0

    def text(self, clean: Callable[[str], str] = redact) -> str:
        """The report for people: sections, a line for each check, a ruler, the sum."""
        parts: list[str] = []
        section = ""
        for line in self.lines:
            if line.section != section:
                section = line.section
                parts.append(f"== {section} ==")
            parts += _shown(line)
        total = f"{counted(self.failed, 'check')} failed." if self.failed else "All checks passed!"
        return clean("\n".join([*parts, RULER, total]))

    def rows(self, clean: Callable[[str], str] = redact) -> list[dict[str, str]]:
        """The report for programs."""
        return [
            {
                "section": line.section,
                "name": line.name,
                "state": line.answer.state,
                "detail": clean(line.answer.detail),
                "todo": clean(line.answer.todo),
            }
            for line in self.lines
        ]


def _shown(line: Line) -> list[str]:
    answer = line.answer
    head = f"[{answer.state}] {line.name}"
    parts = [f"{head} — {printable(answer.detail)}" if answer.detail else head]
    return [*parts, f"       → {printable(answer.todo)}"] if answer.todo else parts


def report(checks: Iterable[Check], facts: Facts, stages: Sequence[int] = ()) -> Report:
    """Run the checks for some stages (none named: all)."""
    wanted = tuple(stages) or tuple(STAGES)
    return Report(tuple(Line(check.section, check.name, check.answer(facts, wanted)) for check in checks))
