"""The seam to forges: where repositories and their merged pull requests come from."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol, Self

from datasmith.errors import ConfigError
from datasmith.github.models import PR, Repository


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open span of time [start, end), both aware UTC."""

    start: datetime
    end: datetime

    @classmethod
    def parse(cls, start: str, end: str) -> Self:
        """Read two dates (YYYY-MM-DD, midnight UTC).

        Raises:
            ConfigError: one is no date, or the window is empty.
        """
        first, last = _day("--start-date", start), _day("--end-date", end)
        if last <= first:
            example = f"(example: --end-date {first + timedelta(days=31):%Y-%m-%d})"
            raise ConfigError(f"--end-date {end} must be after --start-date {start} {example}")
        return cls(first, last)

    @property
    def key(self) -> str:
        """2026-02-01..2026-03-01: how the ledger names the window."""
        return f"{self.start:%Y-%m-%d}..{self.end:%Y-%m-%d}"

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


def _day(flag: str, text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError as error:
        raise ConfigError(f"{flag} {text!r} is not a date (example: {flag} 2026-02-01)") from error


class Forge(Protocol):
    """A source of repositories and merged pull requests."""

    @property
    def name(self) -> str:
        """git, github or offline."""

    async def repositories(self) -> list[Repository]:
        """Every repository this forge offers."""

    def merged_pull_requests(self, repository: Repository, window: Window) -> AsyncIterator[PR]:
        """Every pull request merged in the window, with files and patch, ordered by merge time then number.

        Raises:
            NotFound: the repository does not exist.
            ForgeUnavailable: the answer would be incomplete.
        """

    async def clone(self, repository: Repository) -> Path:
        """A local git directory with the repository's whole history; data only, nothing of it is ever run.

        Raises:
            NotFound: the repository does not exist.
            ForgeUnavailable: there is no whole copy of it.
        """

    async def clone_at_hand(self, repository: Repository) -> Path | None:
        """The clone where the forge has or wants one anyway; None where stage 1 shall not ask for it."""

    async def aclose(self) -> None:
        """Give connections back."""
