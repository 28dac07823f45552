"""asv.conf.json as a frozen value: what the resolver and the measurement need of it, read as untrusted text."""

import math
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from datasmith.errors import ConfigError
from datasmith.printable import printable
from datasmith.workloads.jsonc import Json, loads

MOST_ENVIRONMENTS = 10_000
"""A matrix that expands to more environments than this is refused, not expanded."""
MOST_ITEMS = 1000
_FILE = re.compile(r"\.?asv[^/]*\.jsonc?")
_RELEASE = re.compile(r"=?v?(\d+(?:\.\d+)*)((?:a|b|rc|\.dev|\.post)\d+)?(\.?\*)?(?:=.*)?", re.ASCII)
"""One version as conda or pip reads it: "1.20", "1.20.*", "=1.20" (what begins so), "1.20=py*" (and its build)."""
_CONDA_ONLY = frozenset({"pip", "python", "conda", "mamba"})


@dataclass(frozen=True, slots=True)
class AsvConfig:
    """What a project's asv configuration says; empty where it says nothing.

    benchmark_dir is relative to the tree's root, whatever directory the configuration lies in; path is its own.
    repo_subdir: where in the tree the project lies, empty for the root and for what is outside of the tree.
    requirements: the matrix as PEP 508 texts, one version each: the newest of those listed, any where none is.
    environment: variables of the matrix (env and env_nobuild), the first value of each.
    """

    project: str = ""
    repo: str = ""
    repo_subdir: str = ""
    branches: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    benchmark_dir: str = "benchmarks"
    install_command: tuple[str, ...] = ()
    build_command: tuple[str, ...] = ()
    default_benchmark_timeout_s: float = 60.0
    environment: Mapping[str, str] = field(default_factory=dict)
    path: str = "asv.conf.json"

    @property
    def install_paths(self) -> tuple[str, ...]:
        """What names the directory of the project: repo_subdir, where asv runs commands, else what installs it."""
        return (f"./{self.repo_subdir}",) if self.repo_subdir else self.install_command

    @classmethod
    def parse(cls, text: str, path: str = "asv.conf.json") -> "AsvConfig":
        """Read the text of the file at `path` (relative to the tree's root).

        Raises:
            ConfigError: it is too large, too deep, no JSON, of the wrong form, or expands to too many environments.
        """
        said = loads(text, path)
        if not isinstance(said, dict):
            raise ConfigError(f"{path}: the outermost value must be an object")
        requirements, environment, axes = _matrix(said.get("matrix"), path)
        pythons = _texts(said.get("pythons"), f"{path}: pythons")
        combinations = math.prod([*axes, max(1, len(pythons))])
        if combinations > MOST_ENVIRONMENTS:
            raise ConfigError(f"{path}: the matrix has {combinations} environments (at most {MOST_ENVIRONMENTS})")
        return cls(
            project=_text(said.get("project")),
            repo=_text(said.get("repo")),
            repo_subdir=_subdir(_text(said.get("repo_subdir"))),
            branches=_texts(said.get("branches"), f"{path}: branches"),
            pythons=pythons,
            requirements=requirements,
            benchmark_dir=_suite_dir(_text(said.get("benchmark_dir")) or "benchmarks", path),
            install_command=_texts(said.get("install_command"), f"{path}: install_command"),
            build_command=_texts(said.get("build_command"), f"{path}: build_command"),
            default_benchmark_timeout_s=_timeout(said.get("default_benchmark_timeout")),
            environment=environment,
            path=path,
        )


def find_config(paths: Iterable[str]) -> str | None:
    """The asv configuration among a tree's paths: the shallowest, then the first by name; None where there is none."""
    return next(iter(find_configs(paths)), None)


def find_configs(paths: Iterable[str]) -> tuple[str, ...]:
    """All asv configurations among a tree's paths, the shallowest first, then by name."""
    found = [path for path in paths if _FILE.fullmatch(posixpath.basename(path))]
    return tuple(sorted(found, key=lambda path: (path.count("/"), path)))


def _suite_dir(written: str, path: str) -> str:
    """The benchmark_dir that asv reads relative to the configuration's directory, relative to the tree's root."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), written))
    if found == "." or found.startswith(("/", "..")):
        raise ConfigError(f"{path}: benchmark_dir {written!r} is not a directory below the tree's root")
    return found


def _subdir(written: str) -> str:
    found = posixpath.normpath(written)
    return "" if found == "." or found.startswith(("/", "..")) else found


def _matrix(value: Json, path: str) -> tuple[tuple[str, ...], dict[str, str], list[int]]:
    """Requirements, environment variables, and the length of each axis."""
    if value is None:
        return (), {}, []
    if not isinstance(value, dict):
        raise ConfigError(f'{path}: matrix must be an object (example: {{"req": {{"numpy": ["2.0"]}}}})')
    grouped = bool(value.keys() & {"req", "env", "env_nobuild"})
    required = _axes(value.get("req") if grouped else value, f"{path}: matrix")
    variables = _axes(value.get("env"), f"{path}: matrix.env") | _axes(value.get("env_nobuild"), f"{path}: matrix.env")
    axes = [max(1, len(values)) for group in (required, variables if grouped else {}) for values in group.values()]
    requirements = [_requirement(name, versions) for name, versions in required.items()]
    environment = {name: values[0] for name, values in variables.items() if values and values[0]} if grouped else {}
    return tuple(text for text in requirements if text), environment, axes


def _axes(value: Json, name: str) -> dict[str, tuple[str, ...]]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MOST_ITEMS:
        raise ConfigError(f"{name} must be an object of at most {MOST_ITEMS} names")
    return {key: _texts(entry, f"{name}.{key}") for key, entry in value.items()}


def _requirement(name: str, versions: tuple[str, ...]) -> str | None:
    """One PEP 508 text, None where the name is no Python distribution. "pip+name" is asv's spelling for PyPI."""
    plain = name.removeprefix("pip+").strip()
    if plain.lower() in _CONDA_ONLY or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._, -]*\])?", plain):
        return None
    newest = max(filter(None, versions), key=_order, default="")
    return next(filter(_is_valid, (f"{plain}{_specifier(newest)}", plain)), None)


def _specifier(written: str) -> str:
    """What PEP 440 says for a value of the matrix; empty for what is no version, like a branch."""
    found = _RELEASE.fullmatch(written)
    if not found:
        return written if re.match("[<>=!~]", written) else ""
    release, more, star = found.groups("")
    return f"=={release}{more}" if more or (release.count(".") >= 2 and not star) else f"=={release}.*"


def _is_valid(requirement: str) -> bool:
    try:
        Requirement(requirement)
    except InvalidRequirement:
        return False
    return True


def _order(written: str) -> tuple[bool, Version]:
    """Plain versions by age, above anything that is none."""
    found = _RELEASE.fullmatch(written)
    return bool(found), Version("".join(found.groups("")[:2]) if found else "0")


def _texts(value: Json, name: str) -> tuple[str, ...]:
    """A list of texts; a single one stands for a list of one, null for none (in a list: for "any")."""
    if value is None:
        return ()
    entries = value if isinstance(value, list) else [value]
    if len(entries) > MOST_ITEMS or any(isinstance(entry, list | dict) for entry in entries):
        raise ConfigError(f"{name} must be a list of at most {MOST_ITEMS} texts")
    return tuple(_text(entry) for entry in entries)


def _text(value: Json) -> str:
    if value is None or isinstance(value, bool | list | dict):
        return ""
    return printable(str(value)[:2000]).strip()


def _timeout(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 3600:
        return 60.0
    return float(value)
