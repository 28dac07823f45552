"""How repositories and pull requests are built, as the stages have left it in the store; for `ImageManager`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from datasmith.docker.context import DockerContext
from datasmith.docker.images import APT_ARG, BUILD_ARGS, PYTHON_ARG, build_args_text
from datasmith.docker.lookup import FoundContext
from datasmith.errors import ConfigError, NotFound
from datasmith.github.forges import clones_directory, open_clones
from datasmith.github.git import Git
from datasmith.github.models import Repository
from datasmith.resolution.base import Resolution
from datasmith.resolution.metadata import pretend_version
from datasmith.runners.build_args import build_args
from datasmith.runners.resolve_packages import read_suite, read_tree
from datasmith.runners.synthesize_images import MADE
from datasmith.settings import Settings
from datasmith.storage import open_store
from datasmith.storage.base import Row, Value
from datasmith.tasks.ids import task_id

SOURCES = "sources"
"""Subdirectory of the cache directory with sealed trees."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class StoredContexts:
    """ContextLookup over the tables candidate_containers and packages; nothing in the store is changed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def of_repository(self, owner: str, repo: str) -> FoundContext | None:
        """See ContextLookup: the newest container, else the environment with the newest cutoff."""
        key: dict[str, Value] = {"owner": owner, "repo": repo}
        stored = _newest(self._rows("candidate_containers", key), "created_at")
        if stored:
            return FoundContext(_context(stored), _origin("container", stored))
        resolved = _newest(self._rows("packages", key), "cutoff")
        return FoundContext(_resolved(resolved, None), _origin("environment", resolved)) if resolved else None

    def of_pull_request(self, owner: str, repo: str, number: int) -> FoundContext | None:
        """See ContextLookup: the newest container, else the environment of its base commit."""
        key: dict[str, Value] = {"owner": owner, "repo": repo, "issue_number": number}
        stored = _newest(self._rows("candidate_containers", key), "created_at")
        if stored:
            source = self._source(owner, repo, number, str(stored["sha"]))
            return FoundContext(_context(stored), _origin("container", stored), source)
        known = self._rows("pull_requests", key)
        sha = str(known[0]["base_sha"] or "") if known else ""
        resolved = self._rows("packages", {"owner": owner, "repo": repo, "sha": sha}) if sha else []
        if not resolved:
            return None
        source = self._source(owner, repo, number, sha)
        version = self._version(owner, repo, sha)
        return FoundContext(_resolved(resolved[0], version), _origin("environment", resolved[0]), source)

    def _rows(self, table: str, key: Mapping[str, Value]) -> list[Row]:
        with open_store(self._settings, create=False) as store:
            return store.select(table, key)

    def _source(self, owner: str, repo: str, number: int, sha: str) -> Path:
        """The sealed tree: of the task folder, else written from a clone that is here."""
        identity = task_id(owner, repo, number)
        made = self._settings.data_dir / MADE / identity / "environment" / "repo.tar.gz"
        if made.is_file():
            return made
        target = self._settings.cache_dir / SOURCES / f"{identity}-{sha}.tar.gz"
        if not target.is_file():
            git = Git(self._clone(owner, repo, number))
            target.parent.mkdir(parents=True, exist_ok=True)
            git.sealed_source(sha, target, commit_date=git.commit(sha).committed_at)
        return target

    def _clone(self, owner: str, repo: str, number: int) -> Path:
        found = open_clones(self._settings).at_hand(Repository(owner=owner, repo=repo))
        if found is None:
            directory = clones_directory(self._settings)
            raise ConfigError(
                f"the tree of {owner}/{repo}:{number} is not here: neither a task folder of it nor a clone in"
                f" {directory} (example: git clone --mirror {self._settings.clones_from.format(owner=owner, repo=repo)}"
                f" {directory}/{owner}/{repo}.git, or FC_CLONES_DIR=clones, or give context=)"
            )
        return found

    def _version(self, owner: str, repo: str, sha: str) -> str | None:
        """What a build tool that asks git is told; None where none has to be."""
        try:
            git = Git(self._clone(owner, repo, 0))
            tree = read_tree(git, sha)
            suite = read_suite(git, sha, tree.paths)
        except (ConfigError, NotFound):
            return None
        return pretend_version(tree, f"{owner}/{repo}", suite.install_paths if suite else ())


def _newest(rows: list[Row], column: str) -> Row | None:
    return max(rows, key=lambda row: cast("datetime", row[column] or _EARLIEST), default=None)


def _context(row: Row) -> DockerContext:
    return DockerContext(cast("Mapping[str, str]", row["context"]))


def _origin(what: str, row: Row) -> str:
    return "the stored {} of {!s}/{!s} at {!s}".format(what, *(row[name] for name in ("owner", "repo", "sha")))


def _resolved(row: Row, version: str | None) -> DockerContext:
    """Our own Dockerfiles and scripts around what stage 4 chose."""
    resolution = Resolution.model_validate(row["resolution"])
    args = {
        PYTHON_ARG: resolution.python_version,
        APT_ARG: " ".join(resolution.apt_packages),
        **build_args(resolution, version),
    }
    own = DockerContext.default(lock=resolution.lock)
    return DockerContext({**own.texts, BUILD_ARGS: build_args_text(args)})
