"""Lock one set of needs for one Python: wheels, and from sources only what was never a wheel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from packaging.requirements import Requirement

from datasmith.resolution import failures
from datasmith.resolution.requirements import Need
from datasmith.resolution.sources import Admitted, Sources, flat
from datasmith.resolution.uv import Compiled, Prerelease, Refused, UvCompiler


@dataclass(frozen=True, slots=True)
class Locker:
    """Asks uv, and again with what its refusals name admitted from sources; `tell` hears why something is not."""

    compiler: UvCompiler
    sources: Sources
    cutoff: datetime
    tell: Callable[[str], None]

    def lock(self, needs: Sequence[Need], python: str) -> Compiled | Refused:
        """An answer with as few projects from sources as it takes; where they do not help, the one without any.

        Raises:
            IndexUnavailable: the index cannot be reached.
        """
        requirements = [need.requirement for need in needs]
        admitted: Admitted = {}
        first = answer = self._compile(requirements, python, admitted)
        while isinstance(answer, Refused):
            weak = failures.to_give_up(answer.error, needs)
            must_stay = weak is None or not weak.optional
            wider, notes = self.sources.widen(admitted, answer.error, requirements, compiled=must_stay)
            for note in notes:
                self.tell(note)
            if wider is admitted:
                return first if failures.is_guarded(answer.error) else answer
            admitted = wider
            answer = self._compile(requirements, python, admitted)
        return answer

    def _compile(self, requirements: list[str], python: str, admitted: Admitted) -> Compiled | Refused:
        def ask(prerelease: Prerelease) -> Compiled | Refused:
            return self.compiler.compile(
                requirements, python_version=python, cutoff=self.cutoff, prerelease=prerelease, sources=flat(admitted)
            )

        answer = ask("if-necessary")
        if isinstance(answer, Refused) and any(_names_prerelease(line) for line in requirements):
            return ask("if-necessary-or-explicit")
        return answer


def _names_prerelease(requirement: str) -> bool:
    return bool(Requirement(requirement).specifier.prereleases)
