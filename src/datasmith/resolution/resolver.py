"""Choose a Python and pins for a commit as of its day: the search, and its story in the log."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from packaging.requirements import Requirement

from datasmith.errors import NoPythonFits, Unsatisfiable
from datasmith.process import find_uv
from datasmith.resolution import failures, versions
from datasmith.resolution.base import AsvHints, Dropped, Resolution, SourceTree
from datasmith.resolution.metadata import ProjectMetadata, read_metadata
from datasmith.resolution.native import apt_packages, is_compiled
from datasmith.resolution.needs import build_names, collect
from datasmith.resolution.requirements import Need
from datasmith.resolution.uv import Compiled, Refused, UvCompiler

MAX_DROPS = 20
"""A Python on which this many optional requirements had to go is given up."""

Log = Callable[[str], None]


class Resolver:
    """Resolves commits, one independent of the other; `available_pythons` are versions like "3.11" or "3.11.7"."""

    def __init__(
        self,
        available_pythons: Sequence[str],
        *,
        index_url: str = "",
        ca_bundle: Path | None = None,
        cache_dir: Path | None = None,
        uv: Path | None = None,
    ) -> None:
        self._pythons = tuple(available_pythons)
        self._compiler = UvCompiler(uv or find_uv(), index_url=index_url, ca_bundle=ca_bundle, cache_dir=cache_dir)

    def resolve(
        self, tree: SourceTree, *, repository: str, commit_date: datetime, asv: AsvHints, log: Log | None = None
    ) -> Resolution:
        """The environment of one commit; `log` gets each line of its log as it is written.

        Raises:
            ResolutionError: the tree holds no Python project, or the package index cannot be reached.
            NoPythonFits: no available interpreter is allowed; says why each is not.
            Unsatisfiable: no interpreter gives a set of wheels; says why for each.
        """
        cutoff = commit_date.astimezone(UTC).replace(microsecond=0)
        metadata = read_metadata(tree, repository, asv.install_paths)
        wanted = collect(tree, metadata, asv)
        story = _Story(log)
        _tell_project(story, metadata, repository, cutoff)
        choice = versions.choose(
            self._pythons, requires_python=metadata.requires_python, asv_pythons=asv.pythons, commit_date=cutoff
        )
        for version, reason in choice.refused:
            story.tell(f"python {version}: not considered: {reason}")
        if not choice.candidates:
            raise NoPythonFits(_no_python(choice, repository, metadata))
        found = _Search(self._compiler, cutoff, story).run(wanted.needs, choice.candidates)
        dropped = (*wanted.dropped, *found.dropped)
        for item in dropped:
            story.tell(f"left out {item.requirement}: {item.reason}")
        compiled = is_compiled(tree, metadata)
        return Resolution(
            python_version=versions.minor(found.python),
            pins=found.lock.pins,
            lock=found.lock.lock,
            cutoff=cutoff,
            strategy="newest-python" if found.python == choice.candidates[0] else "older-python",
            dropped=dropped,
            project_root=metadata.root,
            project_name=metadata.name,
            import_names=metadata.import_names,
            build_requires=tuple(name for name in build_names(wanted.needs)),
            compiled=compiled,
            apt_packages=apt_packages(tree, metadata, compiled, wanted.native),
            log=story.text,
        )


class _Story:
    """The log: lines that are the same for the same commit (no times, no paths of this machine)."""

    def __init__(self, listener: Log | None) -> None:
        self._listener = listener
        self._lines: list[str] = []

    def tell(self, line: str) -> None:
        self._lines.append(line)
        if self._listener:
            self._listener(line)

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


@dataclass(frozen=True, slots=True)
class _Found:
    python: str
    lock: Compiled
    dropped: tuple[Dropped, ...]


@dataclass(slots=True)
class _Search:
    """A bounded search over Pythons and optional requirements.

    First each Python, newest first, with everything but what cannot be had on any of them; only a refusal that
    another Python may mend leads to an older one. Then, again newest first, optional requirements give way one by
    one, as the refusals name them.
    """

    compiler: UvCompiler
    cutoff: datetime
    story: _Story
    tried: dict[tuple[str, tuple[Need, ...]], Compiled | Refused] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)

    def run(self, needs: tuple[Need, ...], candidates: Sequence[str]) -> _Found:
        needs, hopeless, first = self._whole(needs, candidates)
        if first:
            return _Found(first[0], first[1], hopeless)
        for python in candidates:
            found = self._give_way(needs, python)
            if found:
                return _Found(found.python, found.lock, hopeless + found.dropped)
        reasons = "\n".join(f"python {python}: {self.refusals[python]}" for python in candidates)
        raise Unsatisfiable(f"no environment as of {self.cutoff:%Y-%m-%d}:\n{reasons}")

    def _whole(
        self, needs: tuple[Need, ...], candidates: Sequence[str]
    ) -> tuple[tuple[Need, ...], tuple[Dropped, ...], tuple[str, Compiled] | None]:
        dropped = list[Dropped]()
        for python in candidates:
            answer = self._ask(needs, python)
            while isinstance(answer, Refused) and (need := self._hopeless(answer.error, needs, candidates)):
                dropped.append(Dropped(requirement=need.requirement, reason=_reason(answer)))
                needs = tuple(other for other in needs if other != need)
                answer = self._ask(needs, python)
            if isinstance(answer, Compiled):
                return needs, tuple(dropped), (python, answer)
            if not failures.blames_python(answer.error):
                break
        return needs, tuple(dropped), None

    def _hopeless(self, error: str, needs: tuple[Need, ...], candidates: Sequence[str]) -> Need | None:
        """The named optional need, where no Python can have it even alone: its wheels or releases are not there."""
        need = failures.to_give_up(error, needs)
        if need is None or not need.optional:
            return None
        if failures.is_absent(error, need.name):
            return need
        alone = any(isinstance(self._ask((need,), python), Compiled) for python in candidates)
        return None if alone else need

    def _give_way(self, needs: tuple[Need, ...], python: str) -> _Found | None:
        dropped = list[Dropped]()
        for _ in range(MAX_DROPS):
            answer = self._ask(needs, python)
            if isinstance(answer, Compiled):
                return _Found(python, answer, tuple(dropped))
            need = failures.to_give_up(answer.error, needs)
            if need is None:
                return None
            weaker = (Need(need.fallback, need.origin),) if need.fallback else ()
            needs = tuple(kept for other in needs for kept in (weaker if other == need else (other,)))
            dropped.append(Dropped(requirement=need.requirement, reason=_reason(answer)))
        return None

    def _ask(self, needs: tuple[Need, ...], python: str) -> Compiled | Refused:
        key = (python, needs)
        if key not in self.tried:
            self.tried[key] = self._compile([need.requirement for need in needs], python)
            self._tell(self.tried[key], needs, python)
        return self.tried[key]

    def _compile(self, requirements: list[str], python: str) -> Compiled | Refused:
        answer = self.compiler.compile(requirements, python_version=python, cutoff=self.cutoff)
        if isinstance(answer, Refused) and any(_names_prerelease(line) for line in requirements):
            return self.compiler.compile(
                requirements, python_version=python, cutoff=self.cutoff, prerelease="if-necessary-or-explicit"
            )
        return answer

    def _tell(self, answer: Compiled | Refused, needs: tuple[Need, ...], python: str) -> None:
        asked = f"{len(needs)} requirements" if len(needs) > 1 else f"{needs[0].requirement} alone"
        if isinstance(answer, Compiled):
            self.story.tell(f"python {python}: {asked}: {len(answer.pins)} pins")
            return
        note = f" ({failures.UNDATED})" if failures.lacks_dates(answer.error) else ""
        refusal = failures.statement(answer.error)[-2000:] + note
        self.story.tell(f"python {python}: {asked}: refused: {refusal}")
        if len(needs) > 1:
            self.refusals[python] = refusal


def _reason(answer: Refused) -> str:
    return failures.statement(answer.error)[:400]


def _names_prerelease(requirement: str) -> bool:
    return bool(Requirement(requirement).specifier.prereleases)


def _tell_project(story: _Story, metadata: ProjectMetadata, repository: str, cutoff: datetime) -> None:
    story.tell(f"{repository}: project {metadata.name} in {metadata.root}, built with {metadata.build_backend}")
    story.tell(f"cutoff {cutoff:%Y-%m-%dT%H:%M:%SZ}, requires-python {metadata.requires_python or 'not said'}")
    for note in metadata.notes:
        story.tell(note)


def _no_python(choice: versions.Choice, repository: str, metadata: ProjectMetadata) -> str:
    reasons = "; ".join(f"{version}: {reason}" for version, reason in choice.refused) or "no interpreter is available"
    return f"no Python fits {repository} (requires-python {metadata.requires_python or 'not said'}): {reasons}"
