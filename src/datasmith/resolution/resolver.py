"""Choose a Python and pins for a commit as of its day: the search, and its story in the log."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from datasmith.errors import NoPythonFits
from datasmith.process import find_uv
from datasmith.resolution import build_lock, versions
from datasmith.resolution.base import AsvHints, Resolution, SourceTree
from datasmith.resolution.index import SimpleIndex
from datasmith.resolution.locker import Locker
from datasmith.resolution.metadata import ProjectMetadata, read_metadata
from datasmith.resolution.native import apt_packages, is_compiled
from datasmith.resolution.needs import build_names, collect
from datasmith.resolution.search import Log, Search, Story
from datasmith.resolution.sources import Sources
from datasmith.resolution.uv import UvCompiler


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
        self._index = SimpleIndex(index_url, ca_bundle=ca_bundle)
        self._sdists = cache_dir / "read-sdists" if cache_dir else None

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
        story = Story(log)
        _tell_project(story, metadata, repository, cutoff)
        choice = versions.choose(
            self._pythons, requires_python=metadata.requires_python, asv_pythons=asv.pythons, commit_date=cutoff
        )
        for version, reason in choice.refused:
            story.tell(f"python {version}: not considered: {reason}")
        if not choice.candidates:
            raise NoPythonFits(_no_python(choice, repository, metadata))
        sources = Sources(self._index, cutoff, choice.candidates, self._sdists)
        found = Search(Locker(self._compiler, sources, cutoff, story.tell), story).run(wanted.needs, choice.candidates)
        dropped = (*wanted.dropped, *found.dropped)
        for item in dropped:
            story.tell(f"left out {item.requirement}: {item.reason}")
        compiled = is_compiled(tree, metadata)
        lock = build_lock.extended(self._compiler, found.lock, found.python, cutoff, story.tell)
        system = set(apt_packages(tree, metadata, compiled, wanted.native))
        return Resolution(
            python_version=versions.minor(found.python),
            pins=found.lock.pins,
            lock=lock,
            cutoff=cutoff,
            strategy="newest-python" if found.python == choice.candidates[0] else "older-python",
            dropped=dropped,
            project_root=metadata.root,
            project_name=metadata.name,
            import_names=metadata.import_names,
            build_requires=tuple(name for name in build_names(wanted.needs)),
            compiled=compiled,
            apt_packages=tuple(sorted(system.union(*(item.apt_packages for item in found.lock.sources)))),
            log=story.text,
            sources=tuple(f"{item.name}=={item.version}" for item in found.lock.sources),
        )


def _tell_project(story: Story, metadata: ProjectMetadata, repository: str, cutoff: datetime) -> None:
    story.tell(f"{repository}: project {metadata.name} in {metadata.root}, built with {metadata.build_backend}")
    story.tell(f"cutoff {cutoff:%Y-%m-%dT%H:%M:%SZ}, requires-python {metadata.requires_python or 'not said'}")
    for note in metadata.notes:
        story.tell(note)


def _no_python(choice: versions.Choice, repository: str, metadata: ProjectMetadata) -> str:
    reasons = "; ".join(f"{version}: {reason}" for version, reason in choice.refused) or "no interpreter is available"
    return f"no Python fits {repository} (requires-python {metadata.requires_python or 'not said'}): {reasons}"
