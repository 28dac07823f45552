"""Projects whose releases were deleted and uploaded again: an index tells of them a day years after their own."""

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Reuploaded:
    """A project's releases are all there from `again` on; `known` says when each had been there at the latest."""

    name: str
    again: datetime
    known: tuple[tuple[datetime, str], ...]

    def newest(self, cutoff: datetime) -> str:
        """The newest release that was there at a moment before `again`; empty where none is known or hidden."""
        versions = [version for moment, version in self.known if moment <= cutoff < self.again]
        return versions[-1] if versions else ""


REUPLOADED = (
    Reuploaded(
        "atomicwrites",
        datetime(2022, 7, 10, tzinfo=UTC),
        (
            (datetime(2018, 1, 1, tzinfo=UTC), "1.1.5"),
            (datetime(2018, 8, 31, tzinfo=UTC), "1.2.1"),
            (datetime(2019, 2, 2, tzinfo=UTC), "1.3.0"),
            (datetime(2020, 4, 30, tzinfo=UTC), "1.4.0"),
        ),
    ),
)
"""Without it there is no pytest of August 2018 to November 2019. Days are those on which conda-forge had a release."""


def words(cutoff: datetime) -> list[str]:
    """What uv is told, beside its own limit at `cutoff`, of releases whose day is not theirs."""
    hidden = [project for project in REUPLOADED if project.newest(cutoff)]
    return [
        word
        for project in hidden
        for word in ("--exclude-newer-package", f"{project.name}={project.again:%Y-%m-%dT%H:%M:%SZ}")
    ]


def constraints(cutoff: datetime) -> str:
    """A constraints file that keeps out what of these projects is newer than `cutoff`."""
    told = [(project.name, project.newest(cutoff)) for project in REUPLOADED]
    return "".join(f"{name}<={version}\n" for name, version in told if version)
