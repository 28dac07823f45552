"""Admit releases that were never published as wheels: exactly those, with what their archives say that they need."""

import json
import re
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from datasmith.errors import ResolutionError
from datasmith.resolution.base import SourceRelease
from datasmith.resolution.index import SimpleIndex
from datasmith.resolution.index_page import IndexFile
from datasmith.resolution.platforms import installs_on
from datasmith.resolution.sdist import read_sdist

MOST_VERSIONS = 8
"""Of one project, the newest so many in the range that a refusal names are read at a time."""
FORMAT = "5"
"""Of what is kept about an archive; another number is read anew."""

_BOUND = r"[<>=!~]+[^\s,<>=!~][^\s,]*"
# A term can be read in one way only: in two, a list of n terms that ends otherwise is tried in 2^n ways.
_TERM = rf"(?<![A-Za-z0-9._-])[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?(?:{_BOUND}(?:,{_BOUND})*)?"
_WHEELLESS = re.compile(
    rf"(?:all of: ({_TERM}(?: {_TERM})*)|all versions of ({_TERM})|({_TERM})) ha(?:s|ve) no usable wheels"
)
_GUARDED = re.compile(rf"({_TERM}) depends? on ([A-Za-z0-9._-]+)<0\b")
_DEPENDS = re.compile(rf"depends? on ({_TERM})")
_SPLIT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*?)(?:\[[^\]]*\])?([<>=!~].*)?")


Admitted = Mapping[str, Mapping[str, SourceRelease]]
"""Releases by project and version."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What resolutions as of `cutoff` may build from sources.

    A project is admitted where no wheel of a release that is asked for could be installed on any of `pythons`: where
    an older Python has one, that goes first. What is read of an archive is kept under `cache_dir`, by its hash.
    """

    index: SimpleIndex
    cutoff: datetime
    pythons: Sequence[str]
    cache_dir: Path | None = None

    def widen(
        self, admitted: Admitted, error: str, asked: Iterable[str], *, compiled: bool
    ) -> tuple[Admitted, tuple[str, ...]]:
        """What is admitted after a refusal of the requirements `asked`, and why something it names is not.

        The same object comes back where nothing changed. Without `compiled`, releases with sources to compile stay
        out.

        Raises:
            IndexUnavailable: the index cannot be reached.
        """
        text = " ".join(error.split())
        requirements = [Requirement(line) for line in asked]
        found, notes = dict(admitted), list[str]()
        for name, ranges in sorted(_wheelless(text).items()):
            files = self.index.files(name, before=self.cutoff)
            with_wheels = {file.version for file in files if installs_on(file.file_name, self.pythons)}
            if name not in admitted and not _wheels_miss(with_wheels, name, requirements, text):
                continue
            known = admitted.get(name, {})
            sdists = {file.version: file for file in reversed(files) if not file.is_wheel}
            wanted = [
                version
                for version in sdists.keys() - with_wheels
                if any(_within(version, item) for item in ranges) and str(version) not in known
            ]
            releases, problems = self._read_all(name, [sdists[version] for version in _newest(wanted)], compiled)
            notes += problems
            if releases:
                found[name] = {**known, **releases}
        return (found if found != admitted else admitted), tuple(notes)

    def _read_all(
        self, name: str, files: list[IndexFile], compiled: bool
    ) -> tuple[dict[str, SourceRelease], list[str]]:
        found, problems = dict[str, SourceRelease](), list[str]()
        for file in files:
            release = self._read(name, file)
            if isinstance(release, str):
                problems.append(release)
            elif release.compiled and not compiled:
                problems.append(f"{file.file_name}: has sources to compile, and can be done without")
            else:
                found[str(file.version)] = release
        return found, problems

    def _read(self, name: str, file: IndexFile) -> SourceRelease | str:
        """What an archive says, or why it says nothing."""
        kept = self.cache_dir / f"{file.sha256}.v{FORMAT}.json" if self.cache_dir else None
        if kept and kept.exists():
            return _from_json(kept.read_text(encoding="utf-8"))
        data = self.index.content(file)
        if data is None:
            return f"{file.file_name}: too large to be read"
        try:
            release = read_sdist(name, str(file.version), file.file_name, data)
        except ResolutionError as error:
            return str(error)
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=kept.parent, delete=False) as draft:
                json.dump(asdict(release), draft)
            Path(draft.name).chmod(0o644)
            Path(draft.name).replace(kept)
        return release


def flat(admitted: Admitted) -> tuple[SourceRelease, ...]:
    """All releases, in a fixed order."""
    return tuple(admitted[name][version] for name in sorted(admitted) for version in sorted(admitted[name]))


def _newest(versions: list[Version]) -> list[Version]:
    """The first MOST_VERSIONS, finals before the others."""
    return sorted(versions, key=lambda version: (not version.is_prerelease, version), reverse=True)[:MOST_VERSIONS]


def _within(version: Version, specifiers: SpecifierSet) -> bool:
    return specifiers.contains(version, prereleases=True)


def _wheelless(text: str) -> dict[str, list[SpecifierSet]]:
    """Projects that a refusal says have no wheels, or had no sources read, with the ranges it says it of."""
    terms = [term for listed in _WHEELLESS.findall(text) for term in " ".join(listed).split()]
    terms += [term for term, name in _GUARDED.findall(text) if _split(term)[0] == canonicalize_name(name)]
    found: dict[str, list[SpecifierSet]] = {}
    for name, specifiers in map(_split, terms):
        found.setdefault(name, []).append(specifiers)
    return found


def _wheels_miss(with_wheels: Collection[Version], name: str, asked: Iterable[Requirement], text: str) -> bool:
    """True where no release with wheels is what is asked for: directly, or by what a refusal calls dependent."""
    direct = [requirement.specifier for requirement in asked if canonicalize_name(requirement.name) == name]
    left = [version for version in with_wheels if all(_within(version, item) for item in direct)]
    further = [specifiers for other, specifiers in map(_split, _DEPENDS.findall(text)) if other == name]
    return not left or any(not any(_within(version, item) for version in left) for item in further)


def _split(term: str) -> tuple[str, SpecifierSet]:
    """Name and range of a term such as "fire>0.4,<0.6"; one that cannot be read is any version."""
    match = _SPLIT.fullmatch(term.rstrip(",.;"))
    name, specifiers = (match[1], match[2] or "") if match else (term, "")
    try:
        return canonicalize_name(name), SpecifierSet(specifiers)
    except InvalidSpecifier:
        return canonicalize_name(name), SpecifierSet()


def _from_json(text: str) -> SourceRelease:
    fields = json.loads(text)
    return SourceRelease(
        name=fields["name"],
        version=fields["version"],
        requires=tuple(fields["requires"]),
        build_requires=tuple(fields["build_requires"]),
        compiled=fields["compiled"],
        apt_packages=tuple(fields["apt_packages"]),
    )
