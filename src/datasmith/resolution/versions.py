"""Which CPython versions a commit may be given: pure arithmetic over release dates and requires-python."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from packaging.specifiers import Specifier, SpecifierSet

LEAD = timedelta(days=90)
"""Projects support a Python this long before its release: about its first beta's age."""

RELEASED = {
    "3.6": datetime(2016, 12, 23, tzinfo=UTC),
    "3.7": datetime(2018, 6, 27, tzinfo=UTC),
    "3.8": datetime(2019, 10, 14, tzinfo=UTC),
    "3.9": datetime(2020, 10, 5, tzinfo=UTC),
    "3.10": datetime(2021, 10, 4, tzinfo=UTC),
    "3.11": datetime(2022, 10, 24, tzinfo=UTC),
    "3.12": datetime(2023, 10, 2, tzinfo=UTC),
    "3.13": datetime(2024, 10, 7, tzinfo=UTC),
    "3.14": datetime(2025, 10, 7, tzinfo=UTC),
    "3.15": datetime(2026, 10, 1, tzinfo=UTC),
}
"""First releases of CPython (peps.python.org/api/release-cycle.json); a version that is not listed is not chosen."""

OLDEST_BUILT = "3.8"
"""Commits older than every listed Python's date get this one where it is available: nothing older is still built."""

_STARRED = re.compile(r"^((?:[<>]=?|~=)\s*\d+(?:\.\d+)*)\.\*$")


@dataclass(frozen=True, slots=True)
class Choice:
    """Interpreters to try in this order, as they were given; `refused` says of each other one why not."""

    candidates: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]


def minor(version: str) -> str:
    """3.11 of 3.11.7."""
    return ".".join(version.split(".")[:2])


def with_patch(version: str) -> str:
    """A version as uv is asked for it, with the least patch that environments have: uv takes "3.11" for 3.11.0.

    Debian 12 has 3.11.2. What is wanted below a patch (redis wants async-timeout below 3.11.3) is there for all of them
    then, and few releases want a newer one.
    """
    return version if version.count(".") > 1 else f"{version}.2"


def order(version: str) -> tuple[int, ...]:
    """A key that sorts 3.9 before 3.10."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def newest_by_date(commit_date: datetime) -> str:
    """The newest CPython that existed, or was at most `LEAD` from its release, on that day; at least OLDEST_BUILT.

    A commit of 2021-07-06 may use 3.10 (released 2021-10-04), one of 2021-06-01 may not.
    """
    known = [version for version, released in RELEASED.items() if commit_date >= released - LEAD]
    return max([*known, OLDEST_BUILT], key=order)


def choose(
    available: Sequence[str], *, requires_python: str, asv_pythons: Sequence[str], commit_date: datetime
) -> Choice:
    """Order the usable interpreters: those the asv configuration wants first, newest first.

    An interpreter newer than the wanted ones comes last, since a project that names its Pythons was tried on those.
    """
    newest, refused, usable = newest_by_date(commit_date), [], []
    specifiers = _specifiers(requires_python)
    for version in sorted(set(available), key=order, reverse=True):
        reason = _refusal(version, newest, specifiers)
        if reason:
            refused.append((version, reason))
        else:
            usable.append(version)
    wanted = {minor(version.strip()) for version in asv_pythons}
    preferred = [version for version in usable if minor(version) in wanted]
    if not preferred:
        return Choice(tuple(usable), tuple(refused))
    older = [v for v in usable if v not in preferred and order(v) < order(preferred[0])]
    newer = [v for v in usable if order(v) > order(preferred[0])]
    return Choice((*preferred, *older, *newer), tuple(refused))


def _refusal(version: str, newest: str, specifiers: SpecifierSet) -> str:
    if minor(version) not in RELEASED:
        return "no release date is known for it"
    if order(minor(version)) > order(newest):
        return f"not released within {LEAD.days} days of the commit"
    if not _allows(specifiers, version):
        return f"requires-python is {specifiers}"
    return ""


def _allows(specifiers: SpecifierSet, version: str) -> bool:
    """A version without a patch number stands for any of its patch releases."""
    patches = [version] if version.count(".") > 1 else [f"{version}.{patch}" for patch in range(31)]
    return any(specifiers.contains(patch) for patch in patches)


def unread_clauses(requires_python: str) -> tuple[str, ...]:
    """The clauses of a requires-python that nothing can be made of; the others hold."""
    return tuple(clause for clause in _clauses(requires_python) if _specifier(clause) is None)


def _specifiers(requires_python: str) -> SpecifierSet:
    """What can be read of a requires-python; where that is nothing, the wheels decide."""
    return SpecifierSet(",".join(clause for clause in _clauses(requires_python) if _specifier(clause) is not None))


def _clauses(requires_python: str) -> list[str]:
    """One bound each; old metadata's ">=3.8.*" says ">=3.8"."""
    written = (clause.strip() for clause in requires_python.split(","))
    return [_STARRED.sub(r"\1", clause) for clause in written if clause]


def _specifier(clause: str) -> Specifier | None:
    try:
        specifier = Specifier(clause)
        specifier.contains("3.0")
    except ValueError:  # of digits too many to be a number, too, which only a comparison finds
        return None
    return specifier
