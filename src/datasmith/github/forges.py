"""Choose a forge by name."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from datasmith.errors import ConfigError, NotFound
from datasmith.github.base import Forge, Window
from datasmith.github.clones import CloneCache, CloneSource, GivenClones
from datasmith.github.git_forge import GitForge
from datasmith.github.models import PR, Repository, is_full_name
from datasmith.github.repos_csv import VALID, read_repositories

if TYPE_CHECKING:
    from datasmith.github.client import GitHubClient
    from datasmith.github.offline import OfflineForge
    from datasmith.settings import Settings

FORGES = ("git", "github", "offline")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a run's pull requests come from: a forge, and what the user gave it."""

    forge: str
    clones: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()
    """owner/repo, for GitHub; none means those of repos_valid.csv."""
    files: tuple[Path, ...] = ()
    """Parquet files."""

    @classmethod
    def read(cls, forge: str, repos: Sequence[str], files: Sequence[Path]) -> Self:
        """What the flags --forge (may be empty), --repo and --offline-source mean together; looks at directories only.

        Raises:
            ConfigError: they do not fit together.
        """
        chosen = forge or _implied(repos, files)
        if chosen not in FORGES:
            raise ConfigError(
                f"--forge {chosen} is not known; there is {', '.join(FORGES)} (example: --forge git --repo ./clone)"
            )
        if files and chosen != "offline":
            raise ConfigError(f"--offline-source does not go with --forge {chosen} (example: --forge offline)")
        if chosen == "github":
            return cls(chosen, names=tuple(dict.fromkeys(repos)))
        return cls(chosen, clones=tuple(map(Path, repos)), files=tuple(files))

    def absolute(self) -> Self:
        """The same, for a process that runs in another directory."""
        clones, files = (tuple(path.absolute() for path in paths) for paths in (self.clones, self.files))
        return replace(self, clones=clones, files=files)


def _implied(repos: Sequence[str], files: Sequence[Path]) -> str:
    if files:
        return "offline"
    return "git" if any(Path(repo).exists() for repo in repos) else "github"


class Clones:
    """Several clones as one forge."""

    name = "git"

    def __init__(self, clones: Sequence[Path]) -> None:
        """Open the clones.

        Raises:
            ConfigError: one is no clone or has no commits, or two are clones of one repository.
        """
        self._forges: dict[str, GitForge] = {}
        opened: dict[str, Path] = {}
        for path in clones:
            forge = GitForge(path)
            forge.check()
            name = forge.repository.full_name
            first = opened.setdefault(name.lower(), path)
            if first is not path:
                raise ConfigError(f"--repo {path}: {first} is a clone of {name}, too; give one of them")
            self._forges[name.lower()] = forge
        self.paths = opened
        """Where each clone lies, by lower-case owner/repo."""

    @property
    def forges(self) -> list[GitForge]:
        """One a clone."""
        return list(self._forges.values())

    async def repositories(self) -> list[Repository]:
        """See Forge."""
        return [forge.repository for forge in self.forges]

    async def merged_pull_requests(self, repository: Repository, window: Window) -> AsyncIterator[PR]:
        """See Forge."""
        async for pr in self._of(repository).merged_pull_requests(repository, window):
            yield pr

    async def clone(self, repository: Repository) -> Path:
        """See Forge."""
        return await self._of(repository).clone(repository)

    async def clone_at_hand(self, repository: Repository) -> Path | None:
        """See Forge."""
        return await self.clone(repository)

    async def aclose(self) -> None:
        """See Forge."""

    def _of(self, repository: Repository) -> GitForge:
        if repository.full_name.lower() not in self._forges:
            raise NotFound(f"no clone of {repository.full_name} was given (example: --repo ./{repository.repo})")
        return self._forges[repository.full_name.lower()]


def open_forge(sources: Sources, settings: "Settings") -> Forge:
    """The forge that these sources name; nobody is asked yet.

    Raises:
        ConfigError: what the forge needs was not given.
    """
    if sources.forge == "git":
        return _clones_of(sources)
    if sources.forge == "offline":
        return _offline(sources, settings)
    from datasmith.github.github_forge import GitHubForge

    repositories = _wanted(sources.names, settings.data_dir / VALID)
    return GitHubForge(open_client(settings), open_clones(settings), repositories)


def _offline(sources: Sources, settings: "Settings") -> "OfflineForge":
    from datasmith.github.offline import OfflineForge

    if not sources.files:
        raise ConfigError("--forge offline needs a file (example: --offline-source pull_requests.parquet)")
    return OfflineForge(sources.files, GivenClones(Clones(sources.clones).paths, open_clones(settings)))


def check_sources(sources: Sources, settings: "Settings") -> None:
    """See that what the forge needs was given; clones are looked at by `local_names`.

    Raises:
        ConfigError: there is no repository or token for GitHub, or no file to read.
    """
    if sources.forge == "offline":
        _offline(sources, settings)
    if sources.forge == "github":
        from datasmith.github.tokens import TokenPool

        _wanted(sources.names, settings.data_dir / VALID)
        TokenPool(settings.github_tokens)


def count_merged(sources: Sources, settings: "Settings", window: Window) -> int | None:
    """How many pull requests were merged in the window; None where somebody would have to be asked.

    Raises:
        ConfigError: what the forge needs was not given.
    """
    if sources.forge == "git":
        return sum(forge.count_merged(window) for forge in _clones_of(sources).forges)
    return _offline(sources, settings).count_merged(window, sources.names) if sources.forge == "offline" else None


def local_names(sources: Sources) -> tuple[str, ...] | None:
    """owner/repo of each repository that was given; None where the forge would have to be asked.

    Raises:
        ConfigError: there is no clone for the git forge, one cannot be used, or a name is not owner/repo.
    """
    for path in sources.files:
        from datasmith.github.offline import expect_source

        expect_source(path)
    if sources.forge == "git":
        return tuple(forge.repository.full_name for forge in _clones_of(sources).forges)
    return tuple(repository.full_name for repository in _named(sources.names)) or None


def _clones_of(sources: Sources) -> Clones:
    if not sources.clones:
        raise ConfigError("--forge git needs a clone (example: --forge git --repo ./packaging)")
    return Clones(sources.clones)


def open_client(settings: "Settings") -> "GitHubClient":
    """GitHub's client with the tokens of the settings; nobody is asked yet.

    Raises:
        ConfigError: there are no tokens.
    """
    from datasmith.github.client import GitHubClient
    from datasmith.github.tokens import TokenPool

    return GitHubClient(TokenPool(settings.github_tokens), settings=settings)


def open_clones(settings: "Settings") -> CloneSource:
    """The clones that the pipeline makes itself, or finds where the settings say; nobody is asked yet.

    Raises:
        ConfigError: the settings name no usable address of clones.
    """
    return CloneCache(
        clones_directory(settings),
        url=settings.clones_from,
        ca_bundle=settings.certificates,
        proxy=settings.https_proxy.get_secret_value(),
        no_proxy=settings.no_proxy,
    )


def clones_directory(settings: "Settings") -> Path:
    """Where those clones lie."""
    return (settings.clones_dir or settings.cache_dir / "clones").absolute()


def _wanted(names: Sequence[str], listed: Path) -> list[Repository]:
    """The repositories named by flags, else those of repos_valid.csv."""
    if names:
        return _named(names)
    if not listed.is_file():
        raise ConfigError(
            f"no repository is given: name one (example: --repo pypa/packaging), or let fc-data discover write {listed}"
        )
    return [each.repository for each in read_repositories(listed) if not each.reason]


def _named(names: Sequence[str]) -> list[Repository]:
    wrong = [name for name in names if not is_full_name(name)]
    if wrong:
        raise ConfigError(
            f"--repo {wrong[0]} is neither a clone nor of the form owner/repo (example: --repo pypa/packaging)"
        )
    return [Repository(owner=owner, repo=repo) for owner, repo in (name.split("/") for name in names)]
