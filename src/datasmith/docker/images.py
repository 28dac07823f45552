"""Images by name: which tiers an environment has, what they are called, and how they are built on any engine."""

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from datasmith.docker.context import BUILD_SOURCES, FETCH_SOURCES, LOCK, SCRIPTS, DockerContext, has_sources
from datasmith.docker.engine import ContainerEngine, ImageRef, Tier
from datasmith.errors import ConfigError

if TYPE_CHECKING:
    from datasmith.settings import Settings

MAX_TAG = 128
BUILD_ARGS = "build_args.sh"
SOURCES = ("repo.tar.gz", "repo.tar")
PYTHON_ARG = "FC_PYTHON"
APT_ARG = "FC_APT_PACKAGES"
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
    def from_directory(cls, directory: Path | str, *, owner: str, repo: str, tag: str, python_version: str) -> Self:
        """The plan that a directory such as a task's environment/ holds: context, lock.txt, arguments and source.

        Where its build_args.sh names FC_PYTHON, that goes before `python_version`; FC_APT_PACKAGES are the packages.

        Raises:
            ConfigError: the directory or its lock.txt is not there, or its arguments cannot be read.
        """
        context = DockerContext.from_directory(directory)
        if LOCK not in context.texts:
            raise ConfigError(f"{directory} holds no {LOCK} (example: tasks/shapely_shapely_2283/environment)")
        archives = [Path(directory, name) for name in SOURCES]
        source = next((path for path in archives if path.is_file()), archives[0])
        args = read_build_args(context.texts.get(BUILD_ARGS, ""))
        version, packages = args.pop(PYTHON_ARG, python_version), args.pop(APT_ARG, "")
        return cls(owner, repo, tag, version, tuple(packages.split()), context, source, args)


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
    read from the environment then.
    """

    def __init__(
        self, engine: ContainerEngine | None = None, *, namespace: str = "", settings: "Settings | None" = None
    ) -> None:
        self._given_engine = engine
        self._given_namespace = namespace
        self._given_settings = settings

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
    def _namespace(self) -> str:
        return self._given_namespace or self._settings.namespace

    def build_base_image(
        self, *, context: Path | str | None = None, apt_packages: Sequence[str] = (), log: Path | None = None
    ) -> ImageRef:
        """The base tier from a directory's docker_build_base.sh, or from our own."""
        chosen = DockerContext.from_directory(context) if context else DockerContext.default(lock="")
        return self.build_base(tuple(apt_packages), chosen, log=self._log(log, "base"))

    def build_repo_image(
        self, owner: str, repo: str, *, context: Path | str | None = None, log: Path | None = None
    ) -> ImageRef:
        """The env tier of a repository from a directory; see `ImagePlan.from_directory`.

        Raises:
            ConfigError: no directory is given, or it does not hold what is needed.
        """
        plan = self._plan(owner, repo, "env", context)
        target = self._log(log, f"{owner}-{repo}-env")
        return self.build_env(self.build_base(plan.apt_packages, plan.context, log=target), plan, log=target)

    def build_pr_image(
        self, owner: str, repo: str, number: int, *, context: Path | str | None = None, log: Path | None = None
    ) -> ImageRef:
        """The sealed image of a pull request from a directory; see `ImagePlan.from_directory`.

        Raises:
            ConfigError: no directory is given, or it does not hold what is needed.
        """
        return self.build(self._plan(owner, repo, str(number), context), log=self._log(log, f"{owner}-{repo}-{number}"))

    def _plan(self, owner: str, repo: str, tag: str, context: Path | str | None) -> ImagePlan:
        if context is None:
            raise ConfigError(
                f"nothing says how {owner}/{repo} is built: give context=, a directory with lock.txt and repo.tar.gz"
                " (example: context='tasks/shapely_shapely_2283/environment'; `fc-data --stage 5` makes them)"
            )
        newest = self._engine.pythons()[-1:]
        return ImagePlan.from_directory(
            context, owner=owner, repo=repo, tag=tag, python_version=newest[0] if newest else "3"
        )

    def _log(self, given: Path | None, name: str) -> Path:
        target = given or self._settings.data_dir / "logs" / f"{re.sub(r'[^A-Za-z0-9._-]', '-', name)[:200]}.build.log"
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def build(self, plan: ImagePlan, *, log: Path) -> ImageRef:
        """The sealed image of a plan; build output is appended to `log`.

        Raises:
            BuildFailed: a script failed; names it.
            EngineUnavailable: the engine is gone.
        """
        base = self.build_base(plan.apt_packages, plan.context, log=log)
        env = self.build_env(base, plan, log=log)
        return self.build_pr(env, plan, log=log)

    def build_base(self, apt_packages: tuple[str, ...], context: DockerContext, *, log: Path) -> ImageRef:
        """The base tier: the operating system with `apt_packages`."""
        packages = " ".join(sorted(apt_packages))
        script = SCRIPTS[0]
        tier = Tier(
            kind="base",
            name=f"{self._namespace}/base:{short(context.texts[script], packages)}",
            scripts=(script,),
            files=_files(context, (script,)),
            args={"FC_APT_PACKAGES": packages},
            network="build",
        )
        return self._engine.build(None, tier, log=log)

    def build_env(self, base: ImageRef, plan: ImagePlan, *, log: Path) -> ImageRef:
        """The env tier: the locked packages for one interpreter, those from sources built on top without network."""
        script, texts = SCRIPTS[1], plan.context.texts
        built = has_sources(texts[LOCK])
        names = (script, LOCK, FETCH_SOURCES) if built else (script, LOCK)
        unique = short(base.digest, *(texts[name] for name in names))
        name = f"{repository_name(self._namespace, plan.owner, plan.repo)}:py{plan.python_version}-{unique}"
        tier = Tier(
            kind="env",
            name=name,
            scripts=(script,),
            files=_files(plan.context, names),
            args={"FC_PYTHON": plan.python_version},
            network="build",
        )
        env = self._engine.build(base, tier, log=log)
        return self._build_sources(env, name, plan.context, log) if built else env

    def _build_sources(self, env: ImageRef, name: str, context: DockerContext, log: Path) -> ImageRef:
        """Their code runs as that of a repository does: as the sandbox's user, and cut off."""
        script = BUILD_SOURCES
        tier = Tier(
            kind="pr",
            name=f"{name}-{short(context.texts[script])}",
            scripts=(script,),
            files=_files(context, (script,)),
        )
        return self._engine.build(env, tier, log=log)

    def build_pr(self, env: ImageRef, plan: ImagePlan, *, log: Path) -> ImageRef:
        """The pr tier: the source tree, installed without network, sealed.

        Raises:
            ConfigError: the source archive is not there.
        """
        if not plan.source.is_file():
            raise ConfigError(f"{plan.source} is not there: no tree to build (example: environment/repo.tar.gz)")
        scripts = SCRIPTS[2:]
        files: dict[str, bytes | Path] = {**_files(plan.context, scripts), "repo.tar": plan.source}
        files[BUILD_ARGS] = build_args_text(plan.build_args).encode()
        tier = Tier(
            kind="pr",
            name=f"{repository_name(self._namespace, plan.owner, plan.repo)}:{plan.tag}",
            scripts=scripts,
            files=files,
            args=plan.build_args,
        )
        return self._engine.build(env, tier, log=log)


def _files(context: DockerContext, names: tuple[str, ...]) -> dict[str, bytes | Path]:
    return {name: context.texts[name].encode() for name in names}
