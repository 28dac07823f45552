"""The search for an environment: which Python, what has to go, what is built from sources; and its story."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from packaging.version import Version

from datasmith.errors import Unsatisfiable
from datasmith.resolution import failures
from datasmith.resolution.base import Dropped
from datasmith.resolution.locker import Locker
from datasmith.resolution.requirements import Need
from datasmith.resolution.uv import Compiled, Refused

MAX_DROPS = 20
"""A Python on which this many optional requirements had to go is given up."""

Log = Callable[[str], None]


class Story:
    """The log: lines that are the same for the same commit (no times, no paths of this machine)."""

    def __init__(self, listener: Log | None) -> None:
        self._listener = listener
        self._lines: list[str] = []

    def tell(self, line: str) -> None:
        """Write one line."""
        self._lines.append(line)
        if self._listener:
            self._listener(line)

    @property
    def text(self) -> str:
        """All lines so far."""
        return "".join(f"{line}\n" for line in self._lines)


@dataclass(frozen=True, slots=True)
class Found:
    """The Python, the lock, the needs that it meets, and what had to be left out for it."""

    python: str
    lock: Compiled
    needs: tuple[Need, ...]
    dropped: tuple[Dropped, ...]


@dataclass(slots=True)
class Search:
    """A bounded search over Pythons and optional requirements.

    First each Python, newest first, with everything but what cannot be had on any of them; only a refusal that
    another Python may mend leads to an older one, or a release from before an extra that is asked for. Then, again
    newest first, optional requirements and bounds of the build give way one by one, as the refusals name them. Each
    time, sources are admitted first of what was never a wheel.
    """

    locker: Locker
    story: Story
    tried: dict[tuple[str, tuple[Need, ...]], Compiled | Refused] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)

    def run(self, needs: tuple[Need, ...], candidates: Sequence[str]) -> Found:
        """The first environment that can be had.

        Raises:
            IndexUnavailable: the index cannot be reached.
            Unsatisfiable: there is none; says why for each Python.
        """
        needs, hopeless, first = self._whole(needs, candidates)
        if first:
            return Found(first[0], first[1], needs, hopeless)
        for python in candidates:
            found = self._give_way(needs, python)
            if found:
                return replace(found, dropped=hopeless + found.dropped)
        reasons = "\n".join(f"python {python}: {self.refusals[python]}" for python in candidates)
        raise Unsatisfiable(f"no environment as of {self.locker.cutoff:%Y-%m-%d}:\n{reasons}")

    def _whole(
        self, needs: tuple[Need, ...], candidates: Sequence[str]
    ) -> tuple[tuple[Need, ...], tuple[Dropped, ...], tuple[str, Compiled] | None]:
        dropped = list[Dropped]()
        for python in candidates:
            answer = self._ask(needs, python)
            while isinstance(answer, Refused) and (need := self._hopeless(answer.error, needs, candidates)):
                dropped.append(Dropped(requirement=need.requirement, reason=_reason(answer)))
                needs = _weakened(needs, need)
                answer = self._ask(needs, python)
            if isinstance(answer, Compiled):
                return needs, tuple(dropped), self._with_extras(needs, python, answer, candidates)
            if not failures.blames_python(answer.error):
                break
        return needs, tuple(dropped), None

    def _with_extras(
        self, needs: tuple[Need, ...], python: str, answer: Compiled, candidates: Sequence[str]
    ) -> tuple[str, Compiled]:
        """What a Python has, or an older one that has newer releases of what lacks an extra there.

        Of a project whose extra needs wheels that are not there yet, uv takes a release from before that extra.
        """
        for older in candidates[candidates.index(python) + 1 :] if answer.lacking else ():
            other = self._ask(needs, older)
            if isinstance(other, Compiled) and _gains(other, answer):
                return older, other
        return python, answer

    def _hopeless(self, error: str, needs: tuple[Need, ...], candidates: Sequence[str]) -> Need | None:
        """The named optional need, where no Python can have it even alone: its wheels or releases are not there."""
        need = failures.to_give_up(error, needs)
        if need is None or not need.optional:
            return None
        if failures.is_absent(error, need.name):
            return need
        alone = any(isinstance(self._ask((need,), python), Compiled) for python in candidates)
        return None if alone else need

    def _give_way(self, needs: tuple[Need, ...], python: str) -> Found | None:
        dropped = list[Dropped]()
        for _ in range(MAX_DROPS):
            answer = self._ask(needs, python)
            if isinstance(answer, Compiled):
                return Found(python, answer, needs, tuple(dropped))
            need = failures.to_give_up(answer.error, needs)
            if need is None:
                return None
            needs = _weakened(needs, need)
            dropped.append(Dropped(requirement=need.requirement, reason=_reason(answer)))
        return None

    def _ask(self, needs: tuple[Need, ...], python: str) -> Compiled | Refused:
        key = (python, needs)
        if key not in self.tried:
            self.tried[key] = self.locker.lock(needs, python)
            self._tell(self.tried[key], needs, python)
        return self.tried[key]

    def _tell(self, answer: Compiled | Refused, needs: tuple[Need, ...], python: str) -> None:
        asked = f"{len(needs)} requirements" if len(needs) > 1 else f"{needs[0].requirement} alone"
        if isinstance(answer, Compiled):
            self.story.tell(f"python {python}: {asked}: {len(answer.pins)} pins")
            for lacking in answer.lacking:
                self.story.tell(f"{lacking.name}=={lacking.version}: has no extra {lacking.extra}")
            for item in answer.sources:
                self.story.tell(f"{item.name}=={item.version}: never a wheel; its sources are built in the sandbox")
            return
        note = f" ({failures.UNDATED})" if failures.lacks_dates(answer.error) else ""
        refusal = failures.statement(answer.error)[-2000:] + note
        self.story.tell(f"python {python}: {asked}: refused: {refusal}")
        if len(needs) > 1:
            self.refusals[python] = refusal


def _gains(older: Compiled, newest: Compiled) -> bool:
    """Whether a lock has extras that another lacks, of newer releases than are there, and lacks no others."""
    left, lost = ({(one.name, one.extra): one.version for one in lock.lacking} for lock in (older, newest))
    gained = [(older.version(name), Version(lost[name, extra])) for name, extra in lost.keys() - left.keys()]
    return left.keys() < lost.keys() and all(now is not None and now > before for now, before in gained)


def _weakened(needs: tuple[Need, ...], need: Need) -> tuple[Need, ...]:
    """With one need in its weaker form, or without it where it has none."""
    weaker = (Need(need.weaker, need.origin),) if need.weaker else ()
    return tuple(kept for other in needs for kept in (weaker if other == need else (other,)))


def _reason(answer: Refused) -> str:
    return failures.statement(answer.error)[:400]
