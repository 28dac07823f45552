"""Choose a forge by name."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from datasmith.errors import ConfigError, NotFound
from datasmith.github.base import Forge, Window
from datasmith.github.git_forge import GitForge
from datasmith.github.models import PR, Repository

FORGES = ("git",)


class Clones:
    """Several clones as one forge."""

    name = "git"

    def __init__(self, clones: Sequence[Path]) -> None:
        """Open the clones.

        Raises:
            ConfigError: one is no clone, or two are clones of one repository.
        """
        self._forges: dict[str, GitForge] = {}
        opened: dict[str, Path] = {}
        for path in clones:
            forge = GitForge(path)
            name = forge.repository.full_name
            first = opened.setdefault(name.lower(), path)
            if first is not path:
                raise ConfigError(f"--repo {path}: {first} is a clone of {name}, too; give one of them")
            self._forges[name.lower()] = forge

    async def repositories(self) -> list[Repository]:
        """See Forge."""
        return [forge.repository for forge in self._forges.values()]

    async def merged_pull_requests(self, repository: Repository, window: Window) -> AsyncIterator[PR]:
        """See Forge."""
        async for pr in self._of(repository).merged_pull_requests(repository, window):
            yield pr

    async def clone(self, repository: Repository) -> Path:
        """See Forge."""
        return await self._of(repository).clone(repository)

    def _of(self, repository: Repository) -> GitForge:
        if repository.full_name.lower() not in self._forges:
            raise NotFound(f"no clone of {repository.full_name} was given (example: --repo ./{repository.repo})")
        return self._forges[repository.full_name.lower()]


def open_forge(name: str, clones: Sequence[Path]) -> Forge:
    """The forge with this name.

    Raises:
        ConfigError: there is no such forge, or what it needs was not given.
    """
    if name not in FORGES:
        raise ConfigError(
            f"--forge {name} is not known; there is {', '.join(FORGES)} (example: --forge git --repo ./clone)"
        )
    if not clones:
        raise ConfigError("--forge git needs a clone (example: --forge git --repo ./packaging)")
    return Clones(clones)
