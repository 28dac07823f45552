"""What a Synthesizer works with, opened from the settings where nobody gives it, and the plan that it starts from."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from datasmith.agents.attempts import Commit
from datasmith.agents.scripting import ScriptWriter
from datasmith.docker.context import LOCK, DockerContext
from datasmith.docker.engine import ContainerEngine, Limits, Mount
from datasmith.docker.images import (
    APT_ARG,
    BUILD_ARGS,
    PYTHON_ARG,
    ImageManager,
    ImagePlan,
    newest_python,
    read_build_args,
)
from datasmith.errors import ConfigError
from datasmith.resolution.requirements import asks_for_releases
from datasmith.storage.base import Store

if TYPE_CHECKING:
    from datasmith.github.git import Git
    from datasmith.resolution.uv import UvCompiler
    from datasmith.settings import Settings

Relocking = Callable[[str, tuple[str, ...], str, datetime], str]
"""(lock, requirements, Python version, cutoff) -> the lock that meets them; Unsatisfiable where there is none."""
SourceOf = Callable[[str, str, str, Path], Path]
"""(owner, repo, sha, directory) -> the tar of the sealed tree, which may be made in the directory."""
KnownOf = Callable[[str, str, str], tuple[str, datetime] | None]
"""(owner, repo, commit id, also a shortened one) -> the whole id, and when the commit was made; None: nobody knows."""
PAYLOAD_EXAMPLE = """(example: '{"dependencies": ["numpy==1.26.0"]}')"""


@dataclass(frozen=True, slots=True)
class SynthesisTools:
    """Everything with a side effect; without a `writer` no model is ever asked."""

    engine: ContainerEngine
    images: ImageManager
    store: Store
    relock: Relocking
    source: SourceOf
    limits: Limits
    known: KnownOf = lambda _owner, _repo, _sha: None
    mounts: tuple[Mount, ...] = ()
    writer: ScriptWriter | None = None

    @classmethod
    def opened(cls, agent: str) -> Self:
        """All of it as the settings say.

        Raises:
            ConfigError, EngineUnavailable, StoreError: something cannot be opened.
        """
        from datasmith.docker.engines import open_engine
        from datasmith.settings import load_settings
        from datasmith.storage import open_store

        settings = load_settings()
        return cls.of(settings, open_engine(settings), open_store(settings), agent)

    @classmethod
    def of(cls, settings: "Settings", engine: ContainerEngine, store: Store, agent: str = "") -> Self:
        """The tools on an engine and a store that are open already.

        Raises:
            ConfigError: the agent is not known, or cannot be used as asked.
        """
        from datasmith.agents.coding.writers import open_writer
        from datasmith.docker.engines import limits_of
        from datasmith.workloads.mounts import inside_mounts

        return cls(
            engine=engine,
            images=ImageManager(engine, namespace=settings.namespace),
            store=store,
            relock=_relocking(settings),
            source=_sealing(settings),
            known=_knowing(settings),
            limits=limits_of(settings),
            mounts=inside_mounts(),
            writer=open_writer(agent or settings.agent, settings, engine),
        )


def _relocking(settings: "Settings") -> Relocking:
    def relocked(lock: str, requirements: tuple[str, ...], python_version: str, cutoff: datetime) -> str:
        from datasmith.resolution.index import SimpleIndex
        from datasmith.resolution.relock import relock

        return relock(
            _compiler(settings),
            SimpleIndex(settings.index_url, ca_bundle=settings.certificates),
            lock,
            requirements,
            python_version=python_version,
            cutoff=cutoff,
            sdists=settings.cache_dir.absolute() / "uv" / "read-sdists",
        )

    return relocked


def _compiler(settings: "Settings") -> "UvCompiler":
    from datasmith.process import find_uv
    from datasmith.resolution.uv import UvCompiler

    cache = settings.cache_dir.absolute() / "uv"
    return UvCompiler(find_uv(), index_url=settings.index_url, ca_bundle=settings.certificates, cache_dir=cache)


def _git_of(settings: "Settings", owner: str, repo: str) -> "Git | None":
    """The clone that the settings know; None where there is none."""
    from datasmith.github.forges import open_clones
    from datasmith.github.git import Git
    from datasmith.github.models import Repository

    clone = open_clones(settings).at_hand(Repository(owner=owner, repo=repo))
    return Git(clone) if clone else None


def _sealing(settings: "Settings") -> SourceOf:
    def sealed(owner: str, repo: str, sha: str, place: Path) -> Path:
        from datasmith.github.forges import clones_directory

        git, target = _git_of(settings, owner, repo), place / "repo.tar.gz"
        if git is None:
            directory = clones_directory(settings)
            raise ConfigError(
                f"there is no clone of {owner}/{repo} below {directory} and no source= was given"
                f" (example: git clone --bare {settings.clones_from.format(owner=owner, repo=repo)}"
                f" {directory}/{owner}/{repo}.git)"
            )
        git.sealed_source(sha, target, commit_date=git.commit(sha).committed_at)
        return target

    return sealed


def _knowing(settings: "Settings") -> KnownOf:
    def known(owner: str, repo: str, sha: str) -> tuple[str, datetime] | None:
        git = _git_of(settings, owner, repo)
        if git is None or not git.holds(sha):
            return None
        found = git.commit(git.commit_named(sha))
        return found.sha, found.committed_at

    return known


def first_plan(
    commit: Commit, base_context: DockerContext | None, python_version: str, source: Path, *, engine: ContainerEngine
) -> ImagePlan:
    """Where a search starts: our own scripts, those of `base_context` over them; without a lock where that has none.

    Raises:
        ConfigError: another Python is asked for than the one that the context's lock was made for.
    """
    given: Mapping[str, str] = base_context.texts if base_context else {}
    args = read_build_args(given.get(BUILD_ARGS, ""))
    said = args.pop(PYTHON_ARG, "")
    pinned = given.get(LOCK, "").strip()
    if pinned and python_version and said and _minor(python_version) != _minor(said):
        raise ConfigError(
            f"python_version is {python_version}, and {LOCK} of base_context was made for Python {said}"
            f' (example: python_version="{said}", or a context without {LOCK})'
        )
    version = python_version or said or newest_python(engine)
    packages = tuple(args.pop(APT_ARG, "").split())
    texts = {**DockerContext.default(lock="").texts, **given}
    left_out = {BUILD_ARGS} | ({LOCK} - given.keys())
    context = DockerContext({name: text for name, text in texts.items() if name not in left_out})
    return ImagePlan(commit.owner, commit.repo, str(commit.issue_number), version, packages, context, source, args)


def locked(
    plan: ImagePlan, env_payload: str, commit: Commit, *, relock: Relocking, cutoff: datetime | None
) -> ImagePlan:
    """The plan with its own lock, else with one of the payload's `dependencies` as of `cutoff`.

    Raises:
        ConfigError: the payload is not JSON with `dependencies`, or no date is known as of which to lock them.
        Unsatisfiable: no releases of before then were found that go together; says why.
    """
    if LOCK in plan.context.texts:
        return plan
    wanted, lock = _dependencies(env_payload), ""
    if wanted:
        if cutoff is None:
            raise ConfigError(
                f"nothing says as of which day the packages of {commit.text} are locked: neither the store nor a clone"
                " knows it (example: cutoff=datetime(2024, 5, 1, tzinfo=UTC), or run `fc-data --stage 2`)"
            )
        lock = relock("", wanted, plan.python_version, cutoff)
    return replace(plan, context=DockerContext({**plan.context.texts, LOCK: lock}))


def _minor(version: str) -> list[str]:
    """3.11 of 3.11.4: what a lock is made for."""
    return version.split(".")[:2]


def _dependencies(env_payload: str) -> tuple[str, ...]:
    if not env_payload:
        return ()
    try:
        found = json.loads(env_payload)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"env_payload is not JSON: {str(error)[:200]} {PAYLOAD_EXAMPLE}") from error
    listed = found.get("dependencies") if isinstance(found, dict) else None
    if not isinstance(listed, list) or not all(isinstance(line, str) for line in listed):
        raise ConfigError(f"env_payload has no list of dependencies {PAYLOAD_EXAMPLE}")
    strange = next((line for line in listed if not asks_for_releases(line)), None)
    if strange is not None:
        raise ConfigError(f"env_payload: {strange[:100]!r} is no name with bounds {PAYLOAD_EXAMPLE}")
    return tuple(listed)
