"""A suite from another day, or from a repository of its own: which commit it is of, and what it asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from posixpath import basename, dirname

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from datasmith.errors import ConfigError
from datasmith.github.clones import CloneSource
from datasmith.github.git import Git
from datasmith.github.git_forge import GitForge
from datasmith.github.models import PR, Repository, is_full_name
from datasmith.github.overlay import File, directory_at
from datasmith.resolution.base import AsvHints, SourceTree
from datasmith.tasks.suite import SuiteRecord
from datasmith.workloads.config import AsvConfig, find_config, find_configs

NEWEST = "newest"
PLACE = ".asv_suite"
"""Where the suite of another repository lies in a task's tree: packages, builds and tests do not look there."""
_ANY_CONFIG = ":(glob)**/*asv*.json*"
_LAST_CHANGES = 10
"""So many changes of asv configurations are looked at for the one that dropped the last of them."""
NO_SUITE_AT_BASE = "no asv configuration at its base commit"


@dataclass(frozen=True, slots=True)
class SuiteWish:
    """--suite-from and --suite-repo: a git ref or "newest", and a clone or owner/repo; empty: base's own suite."""

    ref: str = ""
    repository: str = ""

    @classmethod
    def checked(cls, ref: str, repository: str) -> "SuiteWish":
        """Read the flags; a path becomes absolute.

        Raises:
            ConfigError: `repository` is neither a clone nor owner/repo.
        """
        here = Path(repository)
        is_here = bool(repository) and here.is_dir()
        if is_here:
            Git(here, "--suite-repo").close()
        if repository and not is_here and not is_full_name(repository):
            raise ConfigError(
                f"--suite-repo {repository} is neither a clone nor of the form owner/repo"
                " (example: --suite-repo astropy/astropy-benchmarks)"
            )
        return cls(ref, str(here.absolute()) if is_here else repository)

    def __bool__(self) -> bool:
        return bool(self.ref or self.repository)

    def check(self, clones: Sequence[Path]) -> None:
        """Look for the commit in `clones`, those of pull requests that are here, or in the suite's own if it is here.

        Raises:
            ConfigError: none of them holds it; names the last one.
        """
        own = Path(self.repository)
        here = ([own] if own.is_absolute() else []) if self.repository else clones
        if self.ref not in ("", NEWEST) and here and not any(Git(clone).holds(self.ref) for clone in here):
            Git(here[-1]).commit_named(self.ref)


@dataclass(frozen=True, slots=True)
class SuiteSource:
    """Finds the clone that holds the wished suite."""

    wish: SuiteWish = field(default_factory=SuiteWish)
    clones: CloneSource | None = None

    async def clone(self, of_pull_request: Path) -> Path:
        """The clone of the suite's own repository, else that of the pull request's.

        Raises:
            NotFound, ForgeUnavailable: there can be none.
        """
        name = self.wish.repository
        if not name:
            return of_pull_request
        if self.clones is None or Path(name).is_absolute():
            return Path(name)
        owner, _, repo = name.partition("/")
        return await self.clones.get(Repository(owner=owner, repo=repo))


@dataclass(frozen=True, slots=True)
class ForeignSuite:
    """A suite that is not base's own: its record, its asv configuration, and its files by path below its directory."""

    record: SuiteRecord
    config: AsvConfig
    files: Mapping[str, File]


def choose(wish: SuiteWish, pr: PR, clone: Path) -> ForeignSuite | str:
    """The wished suite out of the clone that holds it, or why there is none.

    By a ref; else the newest commit of the clone's default branch that has a suite, for a suite's own repository the
    newest that is not younger than the merge. A ref that this clone lacks may be in that of another project.
    """
    git = Git(clone)
    if wish.ref not in ("", NEWEST) and not git.holds(wish.ref):
        return f"its clone holds no commit {wish.ref[:100]!r}, which --suite-from names"
    commit = _wished(git, wish, pr.merged_at)
    if commit is None:
        return f"the suite's repository has no commit as old as the merge ({pr.merged_at:%Y-%m-%d})"
    paths = git.paths(commit)
    path = _config_for(git, commit, find_configs(paths), pr) if wish.repository else find_config(paths)
    if path is None:
        return f"no asv configuration at the suite's commit {commit[:12]}"
    record = SuiteRecord(
        repository=GitForge(clone).repository.full_name if wish.repository else pr.repository,
        commit=commit,
        committed_at=git.commit(commit).committed_at,
        config=path,
        benchmark_dir="",
    )
    return read(git, record, pr)


def last_suite(git: Git, tip: str) -> tuple[str, str] | None:
    """The newest commit up to `tip` with an asv configuration, and its path; None where there never was one.

    A project that has dropped its suite had one at the base of older pull requests.
    """
    path = find_config(git.paths(tip))
    if path:
        return tip, path
    for change in git.log(tip, _LAST_CHANGES, touching=_ANY_CONFIG):
        before = next(iter(change.parents), None)
        path = find_config(git.paths(before)) if before else None
        if before and path:
            return before, path
    return None


def read(git: Git, record: SuiteRecord, pr: PR) -> ForeignSuite | str:
    """The suite that a record names, or why it cannot be used."""
    content = git.read(record.commit, record.config) or b""
    try:
        config = AsvConfig.parse(content.decode("utf-8", "replace"), path=record.config)
    except ConfigError as error:
        return f"the asv configuration of its suite cannot be used: {error}"
    files = directory_at(git, record.commit, config.benchmark_dir)
    if not files:
        return f"there is no suite in {config.benchmark_dir} at {record.commit[:12]}"
    own = record.repository.lower() == pr.repository.lower()
    place = config.benchmark_dir if own else f"{PLACE}/{basename(config.benchmark_dir)}"
    return ForeignSuite(record.model_copy(update={"benchmark_dir": place}), config, files)


def _wished(git: Git, wish: SuiteWish, merged_at: datetime | None) -> str | None:
    if wish.ref == NEWEST:
        head = git.head()
        found = last_suite(git, head)
        return found[0] if found else head
    return git.commit_named(wish.ref) if wish.ref else _as_of(git, merged_at)


def _as_of(git: Git, moment: datetime | None) -> str | None:
    """The newest commit of the default branch that is not younger."""
    if moment is None:
        return None
    return next((commit.sha for commit in git.log(git.head()) if commit.committed_at <= moment), None)


def _config_for(git: Git, commit: str, paths: tuple[str, ...], pr: PR) -> str | None:
    """Of the configurations of a suite's repository the one that says, or lies as if, it is for the pull request's."""
    wanted = canonicalize_name(pr.repo)
    for path in paths:
        try:
            config = AsvConfig.parse((git.read(commit, path) or b"").decode("utf-8", "replace"), path=path)
        except ConfigError:
            continue
        repo = canonicalize_name(config.repo.rstrip("/").rpartition("/")[2].removesuffix(".git"))
        if wanted in (canonicalize_name(config.project), repo, canonicalize_name(basename(dirname(path)))):
            return path
    return paths[0] if len(paths) == 1 else None


def hints(own: AsvConfig | None, foreign: ForeignSuite | None) -> AsvHints:
    """What the environment is chosen by: base's own configuration, and of another suite the names of what it needs.

    Interpreters and versions of another day say nothing about base's.
    """
    theirs = foreign.config if foreign else None
    said = own or theirs or AsvConfig()
    needed = {_name(text) for text in said.requirements} if own else set()
    more = [name for name in map(_name, theirs.requirements if theirs else ()) if name not in needed]
    return AsvHints(
        pythons=own.pythons if own else (),
        requirements=(*(own.requirements if own else ()), *more),
        install_paths=said.install_paths,
    )


def _name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def laid_over(tree: SourceTree, foreign: ForeignSuite) -> SourceTree:
    """The tree that will be measured, as the resolver reads it: the environment must hold what the suite imports."""
    place = f"{foreign.record.benchmark_dir}/"
    texts = {path: text for path, text in tree.texts.items() if not path.startswith(place)}
    texts |= {
        f"{place}{path}": file.data.decode("utf-8", "replace")
        for path, file in foreign.files.items()
        if path.endswith(".py")
    }
    paths = [path for path in tree.paths if not path.startswith(place)]
    return SourceTree(texts, (*paths, *(f"{place}{path}" for path in foreign.files)))
