"""Choose a Python and pins for a commit as of its day: the search, and its story in the log."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from datasmith.errors import NoPythonFits, Unsatisfiable
from datasmith.process import find_uv
from datasmith.resolution import build_lock, versions
from datasmith.resolution.base import AsvHints, Resolution, SourceTree
from datasmith.resolution.hook import MetadataHook, Question
from datasmith.resolution.index import SimpleIndex
from datasmith.resolution.locker import Locker
from datasmith.resolution.metadata import ProjectMetadata, pretend_version, read_metadata
from datasmith.resolution.native import apt_packages, is_compiled
from datasmith.resolution.needs import build_names, collect, for_the_hook
from datasmith.resolution.relock import with_bounds
from datasmith.resolution.search import Found, Log, Search, Story
from datasmith.resolution.sources import Sources
from datasmith.resolution.uv import UvCompiler

Source = Callable[[], AbstractContextManager[Path]]
"""Opens a commit's tree as a tar on this machine."""


@dataclass(frozen=True, slots=True)
class _Case:
    """One commit, and the log of its resolution."""

    tree: SourceTree
    repository: str
    cutoff: datetime
    asv: AsvHints
    story: Story


class Resolver:
    """Resolves commits, one independent of the other; `available_pythons` are versions like "3.11" or "3.11.7".

    With a `hook`, builds that compute their dependencies are asked for them.
    """

    def __init__(
        self,
        available_pythons: Sequence[str],
        *,
        index_url: str = "",
        ca_bundle: Path | None = None,
        cache_dir: Path | None = None,
        uv: Path | None = None,
        hook: MetadataHook | None = None,
    ) -> None:
        self._pythons = tuple(available_pythons)
        self._compiler = UvCompiler(uv or find_uv(), index_url=index_url, ca_bundle=ca_bundle, cache_dir=cache_dir)
        self._index = SimpleIndex(index_url, ca_bundle=ca_bundle)
        self._sdists = cache_dir / "read-sdists" if cache_dir else None
        self._hook = hook

    def resolve(
        self,
        tree: SourceTree,
        *,
        repository: str,
        commit_date: datetime,
        asv: AsvHints,
        log: Log | None = None,
        source: Source | None = None,
    ) -> Resolution:
        """The environment of one commit; `log` gets each line of its log as it is written.

        `source` is only opened where dependencies or extras are computed and there is a hook.

        Raises:
            ResolutionError: the tree holds no Python project, or the package index cannot be reached.
            NoPythonFits: no available interpreter is allowed; says why each is not.
            Unsatisfiable: no interpreter gives a set of packages; says why for each.
            EngineUnavailable: the engine that would run the hook is gone.
        """
        case = _Case(tree, repository, commit_date.astimezone(UTC).replace(microsecond=0), asv, Story(log))
        metadata = read_metadata(tree, repository, asv.install_paths)
        _tell_project(case, metadata)
        if metadata.unknown and self._hook and source:
            metadata = self._ask(self._hook, case, metadata, source)
        for what in metadata.unknown:
            silent = "did not say them" if self._hook and source else "is not run here"
            case.story.tell(f"the {what} are known to the build alone, which {silent}")
        choice = self._choose(case, metadata)
        for clause in versions.unread_clauses(metadata.requires_python):
            case.story.tell(f"requires-python: {clause!r} cannot be read; its other bounds hold")
        for version, reason in choice.refused:
            case.story.tell(f"python {version}: not considered: {reason}")
        wanted = collect(tree, metadata, asv)
        found = self._search(case, choice.candidates).run(wanted.needs, choice.candidates)
        dropped = (*wanted.dropped, *found.dropped)
        for item in dropped:
            case.story.tell(f"left out {item.requirement}: {item.reason}")
        compiled = is_compiled(tree, metadata)
        system = set(apt_packages(tree, metadata, compiled, wanted.native))
        lock = with_bounds(self._lock(case, found), found.needs)
        return Resolution(
            python_version=versions.minor(found.python),
            pins=found.lock.pins,
            lock=lock,
            cutoff=case.cutoff,
            strategy="newest-python" if found.python == choice.candidates[0] else "older-python",
            dropped=dropped,
            project_root=metadata.root,
            project_name=metadata.name,
            import_names=metadata.import_names,
            build_requires=build_names(wanted.needs),
            compiled=compiled,
            apt_packages=tuple(sorted(system.union(*(item.apt_packages for item in found.lock.sources)))),
            log=case.story.text,
            sources=tuple(f"{item.name}=={item.version}" for item in found.lock.sources),
        )

    def _choose(self, case: _Case, metadata: ProjectMetadata) -> versions.Choice:
        choice = versions.choose(
            self._pythons,
            requires_python=metadata.requires_python,
            asv_pythons=case.asv.pythons,
            commit_date=case.cutoff,
        )
        if not choice.candidates:
            raise NoPythonFits(_no_python(choice, case.repository, metadata))
        return choice

    def _search(self, case: _Case, pythons: Sequence[str]) -> Search:
        sources = Sources(self._index, case.cutoff, pythons, self._sdists)
        return Search(Locker(self._compiler, sources, case.cutoff, case.story.tell), case.story)

    def _lock(self, case: _Case, found: Found) -> str:
        return build_lock.extended(self._compiler, found.lock, found.python, case.cutoff, case.story.tell)

    def _ask(self, hook: MetadataHook, case: _Case, metadata: ProjectMetadata, source: Source) -> ProjectMetadata:
        """The project with what its build says of its dependencies, where that says anything."""
        candidates = self._choose(case, metadata).candidates
        try:
            found = self._search(case, candidates).run(for_the_hook(case.tree, metadata), candidates)
        except Unsatisfiable as error:
            case.story.tell(f"the build is not asked what it depends on: {error}")
            return metadata
        question = Question(
            repository=case.repository,
            python=versions.minor(found.python),
            lock=self._lock(case, found),
            apt_packages=apt_packages(case.tree, metadata, is_compiled(case.tree, metadata), ()),
            version=pretend_version(case.tree, case.repository, case.asv.install_paths) or "",
        )
        with source() as archive:
            told = hook.ask(question, metadata, archive)
        if told.problem:
            case.story.tell(f"the build does not say what it depends on: {told.problem}")
            return metadata
        case.story.tell(f"the build, asked in the sandbox, depends on {', '.join(told.dependencies) or 'nothing'}")
        return told.added_to(metadata)


def _tell_project(case: _Case, metadata: ProjectMetadata) -> None:
    tell, told = case.story.tell, metadata.requires_python or "not said"
    tell(f"{case.repository}: project {metadata.name} in {metadata.root}, built with {metadata.build_backend}")
    tell(f"cutoff {case.cutoff:%Y-%m-%dT%H:%M:%SZ}, requires-python {told}")
    for note in metadata.notes:
        tell(note)


def _no_python(choice: versions.Choice, repository: str, metadata: ProjectMetadata) -> str:
    reasons = "; ".join(f"{version}: {reason}" for version, reason in choice.refused) or "no interpreter is available"
    return f"no Python fits {repository} (requires-python {metadata.requires_python or 'not said'}): {reasons}"
