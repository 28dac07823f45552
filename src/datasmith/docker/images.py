"""Images by name: which tiers an environment has, what they are called, and how they are built on any engine."""

import hashlib
import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from datasmith.docker.cli_build import template
from datasmith.docker.context import BUILD_SOURCES, FETCH_SOURCES, LOCK, DockerContext, has_sources
from datasmith.docker.deadline import InTime, as_it_is, spread
from datasmith.docker.debian import package_names
from datasmith.docker.engine import ContainerEngine, ImageRef, Tier, TierKind
from datasmith.docker.lookup import ContextLookup, FoundContext, remembered
from datasmith.docker.pinned import pinned_base
from datasmith.docker.recipes import SOURCES, for_tier, own_dockerfile, recipe_of, source_files, stands_on_parent
from datasmith.errors import ConfigError

if TYPE_CHECKING:
    from datasmith.settings import Settings

MAX_TAG = 128
BUILD_ARGS = "build_args.sh"
PYTHON_ARG = "FC_PYTHON"
APT_ARG = "FC_APT_PACKAGES"
ROOT_ARG = "FC_INSTALL_DIR"
LATEST = "latest"
_SEPARATOR = re.compile(r"\.|_{1,2}|-+")
"""What may stand between two words of a repository's name in a registry."""


@dataclass(frozen=True, slots=True)
class ImagePlan:
    """Everything an image is made from; `source` is the tar (plain or gzipped) of the sealed base tree."""

    owner: str
    repo: str
    tag: str
    python_version: str
    apt_packages: tuple[str, ...]
    context: DockerContext
    source: Path
    build_args: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_directory(
        cls, directory: Path | str, *, owner: str, repo: str, tag: str, python_version: str, kind: TierKind = "pr"
    ) -> Self:
        """The plan that a directory such as a task's environment/ holds: context, lock.txt, arguments and source.

        Where its build_args.sh names FC_PYTHON, that goes before `python_version`; FC_APT_PACKAGES are the packages.
        A file Dockerfile of its own, without one for each tier beside it, is that of the tier `kind`.

        Raises:
            ConfigError: the directory or its lock.txt is not there, or its arguments cannot be read.
        """
        context = for_tier(DockerContext.from_directory(directory), kind)
        needs_lock = not own_dockerfile(context, "env") and (kind == "env" or stands_on_parent(context, "pr"))
        if needs_lock and LOCK not in context.texts:
            raise ConfigError(f"{directory} holds no {LOCK} (example: tasks/shapely_shapely_2283/environment)")
        archives = [Path(directory, name) for name in SOURCES]
        source = next((path for path in archives if path.is_file()), archives[0])
        try:
            return cls.of_context(
                context, owner=owner, repo=repo, tag=tag, python_version=python_version, source=source
            )
        except ConfigError as error:
            raise ConfigError(f"{directory}: {error}") from error

    @classmethod
    def of_context(
        cls, context: DockerContext, *, owner: str, repo: str, tag: str, python_version: str, source: Path
    ) -> Self:
        """The plan that a context with its build_args.sh holds; see `from_directory`.

        Raises:
            ConfigError: its arguments cannot be read, or ask for what is no Debian package.
        """
        args = read_build_args(context.texts.get(BUILD_ARGS, ""))
        version, packages = args.pop(PYTHON_ARG, python_version), package_names(args.pop(APT_ARG, ""))
        return cls(owner, repo, tag, version, packages, context, source, args)

    @property
    def root(self) -> str:
        """The directory of the package's project in the tree; "." for the tree itself."""
        return posixpath.normpath(self.build_args.get(ROOT_ARG) or ".")


def newest_python(engine: ContainerEngine) -> str:
    """The newest Python of an engine; where it names none, whichever 3 there is."""
    return next(reversed(engine.pythons()), "3")


def short(*parts: str) -> str:
    """Twelve hex digits that stand for the given texts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def repository_name(namespace: str, owner: str, repo: str) -> str:
    """`formulacode/pandas-dev-pandas`, in lower case; where a registry would refuse it, replaced, with a hash."""
    name = f"{owner}-{repo}".lower()
    parts = re.split(r"([^a-z0-9]+)", name)
    separators = [part if _SEPARATOR.fullmatch(part) else "-" for part in parts[1::2]]
    plain = "".join(word + separator for word, separator in zip(parts[::2], [*separators, ""], strict=True))
    plain = plain.strip("-._")
    return f"{namespace}/{plain}" if plain == name else f"{namespace}/{plain}-{short(name)}"


def root_suffix(root: str) -> str:
    """What tells the images of a project below the tree from those of the tree's own: "-python-1a2b3c"."""
    if root == ".":
        return ""
    words = re.sub(r"[^A-Za-z0-9_]+", "-", root).strip("-")[:40]
    return f"-{words}-{short(root)[:6]}" if words else f"-{short(root)[:6]}"


def archive_tag(owner: str, repo: str, sha: str) -> str:
    """`pandas-dev-pandas-<sha>--final`, for one registry repository with all images; long ones end in a hash."""
    tag = re.sub(r"[^a-z0-9_.-]", "-", f"{owner}-{repo}-{sha}--final".lower()).lstrip("-.")
    return tag if len(tag) <= MAX_TAG else f"{tag[: MAX_TAG - 13]}-{short(tag)}"


def build_args_text(args: Mapping[str, str]) -> str:
    """Shell assignments, one a line, quoted; read by the Dockerfiles."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in sorted(args.items()))


def read_build_args(text: str) -> dict[str, str]:
    """What `build_args_text` wrote; the text is read, never run.

    Raises:
        ConfigError: a line is no assignment of one value.
    """
    found: dict[str, str] = {}
    reader = shlex.shlex(text, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    try:
        words = list(reader)
    except ValueError as error:
        raise ConfigError(f"{BUILD_ARGS}: {error} (example line: FC_INSTALL_DIR=.)") from error
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise ConfigError(f"{BUILD_ARGS}: {word!r} assigns nothing (example line: FC_INSTALL_DIR=.)")
        found[name] = value
    return found


class ImageManager:
    """Builds the three tiers of an image on an engine, each only where it is not there yet.

    Without an engine, the one that the settings name is opened at the first build; settings that are not given are
    read from the environment then. `contexts` says how repositories and pull requests are built where no directory is
    given; without it the store of the settings is asked.
    """

    def __init__(
        self,
        engine: ContainerEngine | None = None,
        *,
        namespace: str = "",
        settings: "Settings | None" = None,
        contexts: ContextLookup | None = None,
    ) -> None:
        self._given_engine = engine
        self._given_namespace = namespace
        self._given_settings = settings
        self._given_contexts = contexts

    @cached_property
    def _settings(self) -> "Settings":
        # Reading the environment is put off until something needs it; so is the import of what reads it.
        from datasmith.settings import load_settings

        return self._given_settings or load_settings()

    @cached_property
    def _engine(self) -> ContainerEngine:
        from datasmith.docker.engines import open_engine

        return self._given_engine or open_engine(self._settings)

    @cached_property
    def _contexts(self) -> ContextLookup:
        return self._given_contexts or remembered(self._settings)

    @cached_property
    def _namespace(self) -> str:
        return self._given_namespace or self._settings.namespace

    def build_base_image(
        self, context: Path | str | None = None, *, apt_packages: Sequence[str] = (), log: Path | None = None
    ) -> ImageRef:
        """The base tier from a directory, or from our own Dockerfile.base and script; also called base:latest.

        Raises:
            ConfigError: there is no such directory, or the engine cannot use what it holds.
        """
        given = DockerContext.from_directory(context) if context else DockerContext.default(lock="")
        chosen = for_tier(given, "base")
        packages = tuple(apt_packages) or read_build_args(chosen.texts.get(BUILD_ARGS, "")).get(APT_ARG, "").split()
        return self.build_base(tuple(packages), chosen, log=self._log(log, "base"), also=(LATEST,))

    def build_repo_image(
        self, owner: str, repo: str, context: Path | str | None = None, *, log: Path | None = None
    ) -> ImageRef:
        """The env tier of a repository from a directory (see `ImagePlan.from_directory`), or as the store knows it.

        The store's newest container of the repository says how, else its newest resolved environment with our own
        Dockerfiles. The image is also called {owner}-{repo}:latest.

        Raises:
            ConfigError: nothing is known of the repository, or the directory does not hold what is needed.
        """
        target = self._log(log, f"{owner}-{repo}-env")
        if context is None:
            found = self._contexts.of_repository(owner, repo)
            plan = self._found_plan(owner, repo, "env", found, target)
        else:
            plan = self._plan(owner, repo, "env", context, "env")
        return self._env(plan, log=target, also=(LATEST,))

    def build_pr_image(
        self, owner: str, repo: str, number: int, context: Path | str | None = None, *, log: Path | None = None
    ) -> ImageRef:
        """The sealed image of a pull request from a directory (`ImagePlan.from_directory`), or as the store knows it.

        The store's container of the pull request says how, else the resolved environment of its base commit with our
        own Dockerfiles; the tree comes from its task folder, else from a clone that is here.

        Raises:
            ConfigError: nothing is known of the pull request, its tree is not here, or the directory does not hold
                what is needed.
        """
        target = self._log(log, f"{owner}-{repo}-{number}")
        if context is None:
            found = self._contexts.of_pull_request(owner, repo, number)
            plan = self._found_plan(owner, repo, str(number), found, target)
        else:
            plan = self._plan(owner, repo, str(number), context, "pr")
        return self.build(plan, log=target)

    def _found_plan(self, owner: str, repo: str, tag: str, found: FoundContext | None, log: Path) -> ImagePlan:
        if found is None:
            raise ConfigError(
                f"nothing says how {owner}/{repo} is built: the store holds no container and no environment of it; run"
                " `fc-data --stage 4`, or give context=, a directory with lock.txt and repo.tar.gz"
                " (example: context='tasks/shapely_shapely_2283/environment')"
            )
        with log.open("a", encoding="utf-8") as file:
            file.write(f"built as in {found.origin}\n")
        source = found.source or Path(SOURCES[0])
        return ImagePlan.of_context(
            found.context, owner=owner, repo=repo, tag=tag, python_version=newest_python(self._engine), source=source
        )

    def _plan(self, owner: str, repo: str, tag: str, context: Path | str, kind: TierKind) -> ImagePlan:
        return ImagePlan.from_directory(
            context, owner=owner, repo=repo, tag=tag, python_version=newest_python(self._engine), kind=kind
        )

    def _log(self, given: Path | None, name: str) -> Path:
        target = given or self._settings.data_dir / "logs" / f"{re.sub(r'[^A-Za-z0-9._-]', '-', name)[:200]}.build.log"
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def build(self, plan: ImagePlan, *, log: Path, timeout_s: float | None = None) -> ImageRef:
        """The sealed image of a plan; build output is appended to `log`.

        `timeout_s` holds for all tiers together; without it each has the limit of its own (`Tier.timeout_s`).

        Raises:
            BuildFailed: a script failed, or ran into the limit; names it.
            EngineUnavailable: the engine is gone.
        """
        in_time = as_it_is if timeout_s is None else spread(timeout_s)
        env = self._env(plan, log=log, in_time=in_time) if self._stands(plan.context, "pr") else None
        return self.build_pr(env, plan, log=log, in_time=in_time)

    def _env(self, plan: ImagePlan, *, log: Path, also: Sequence[str] = (), in_time: InTime = as_it_is) -> ImageRef:
        alone = not self._stands(plan.context, "env")
        base = None if alone else self.build_base(plan.apt_packages, plan.context, log=log, in_time=in_time)
        return self.build_env(base, plan, log=log, also=also, in_time=in_time)

    def _stands(self, context: DockerContext, kind: TierKind) -> bool:
        """False where a Dockerfile that the engine runs starts from an image of its own choice.

        Raises:
            ConfigError: the engine runs none, and the context has no script to run instead; nothing is built then.
        """
        if self._engine.runs_dockerfiles:
            return stands_on_parent(context, kind)
        if own_dockerfile(context, kind) and not recipe_of(context, kind).scripts:
            raise ConfigError(
                f"{self._engine.name} runs no Dockerfile, and the context has no script to run instead"
                " (example: --engine docker, or a docker_build_pkg.sh beside it)"
            )
        return True

    def build_base(
        self,
        apt_packages: tuple[str, ...],
        context: DockerContext,
        *,
        log: Path,
        also: Sequence[str] = (),
        in_time: InTime = as_it_is,
    ) -> ImageRef:
        """The base tier: the operating system with `apt_packages`; `also` are more tags for it.

        Raises:
            ConfigError: one of `apt_packages` is no name of a Debian package.
        """
        packages = " ".join(sorted(package_names(" ".join(apt_packages))))
        recipe = recipe_of(context, "base")
        name = f"{self._namespace}/base"
        tier = Tier(
            kind="base",
            name=f"{name}:{short(recipe.digest, packages)}",
            scripts=recipe.scripts,
            files=recipe.files,
            args={APT_ARG: packages},
            network="build",
            dockerfile=recipe.dockerfile,
            aliases=tuple(f"{name}:{tag}" for tag in also),
            base=pinned_base(context),
        )
        return self._engine.build(None, in_time(tier), log=log)

    def build_env(
        self,
        base: ImageRef | None,
        plan: ImagePlan,
        *,
        log: Path,
        also: Sequence[str] = (),
        in_time: InTime = as_it_is,
    ) -> ImageRef:
        """The env tier: the locked packages for one interpreter, those from sources built on top without network.

        `also` are more tags for it.
        """
        recipe = recipe_of(plan.context, "env", LOCK, FETCH_SOURCES)
        from_sources = bool(recipe.scripts) and has_sources(plan.context.texts.get(LOCK, ""))
        name = repository_name(self._namespace, plan.owner, plan.repo)
        unique = short(base.digest if base else "", recipe.digest, plan.root)
        aliases = tuple(f"{name}:{tag}" for tag in also)
        tier = Tier(
            kind="env",
            name=f"{name}:py{plan.python_version}-{unique}",
            scripts=recipe.scripts,
            files=recipe.files,
            args={PYTHON_ARG: plan.python_version},
            network="build",
            dockerfile=recipe.dockerfile,
            aliases=() if from_sources else aliases,
        )
        env = self._engine.build(base, in_time(tier), log=log)
        if not from_sources:
            return env
        return self._engine.build(env, in_time(_sources_tier(tier.name, plan.context, aliases)), log=log)

    def build_pr(self, env: ImageRef | None, plan: ImagePlan, *, log: Path, in_time: InTime = as_it_is) -> ImageRef:
        """The pr tier: the source tree, installed without network, sealed.

        A Dockerfile of its own that does not start from PARENT has the network: it makes the whole system.

        Raises:
            ConfigError: the source archive is not there.
        """
        recipe = recipe_of(plan.context, "pr")
        files = dict(recipe.files) | source_files(recipe, plan.source)
        files[BUILD_ARGS] = build_args_text(plan.build_args).encode()
        name = f"{repository_name(self._namespace, plan.owner, plan.repo)}:{plan.tag}{root_suffix(plan.root)}"
        tier = Tier(
            kind="pr",
            name=name,
            scripts=recipe.scripts,
            files=files,
            args=plan.build_args,
            network="none" if env else "build",
            dockerfile=recipe.dockerfile,
            aliases=(f"{name}-py{plan.python_version}",),
        )
        return self._engine.build(env, in_time(tier), log=log)


def _sources_tier(name: str, context: DockerContext, aliases: tuple[str, ...]) -> Tier:
    """What was never a wheel: its code runs as that of a repository does, as the sandbox's user, and cut off."""
    text = context.texts.get(BUILD_SOURCES) or template(BUILD_SOURCES)
    files = {BUILD_SOURCES: text.encode()}
    return Tier("pr", f"{name}-{short(text)}", (BUILD_SOURCES,), files, aliases=aliases)
