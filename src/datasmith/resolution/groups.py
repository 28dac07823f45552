"""Choose the extras and dependency groups that tests and benchmarks import: not all extras, not the documentation's."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

Purpose = Literal["tests", "benchmarks", "development"]

_TESTS = {"test", "tests", "testing", "pytest", "unittest", "unittests"}
_BENCHMARKS = {"asv", "bench", "benches", "benchmark", "benchmarks", "benchmarking", "perf", "performance"}
_DEVELOPMENT = {"dev", "devel", "develop", "development", "ci"}
_MODIFIERS = {
    "all",
    "base",
    "core",
    "extra",
    "extras",
    "full",
    "min",
    "minimal",
    "optional",
    "req",
    "requirements",
    "deps",
}
_OTHER = {"doc", "docs", "lint", "linting", "typing", "mypy", "gpu", "cuda", "style", "release", "docker", "nightly"}

_TOOLS = {
    "asv": "the host measures with asv_runner",
    "asv-runner": "the host measures with asv_runner",
    "airspeed-velocity": "the host measures with asv_runner",
}
_ENVIRONMENT_TOOLS = {
    "virtualenv",
    "tox",
    "tox-uv",
    "tox-conda",
    "nox",
    "pre-commit",
    "hatch",
    "pdm",
    "twine",
    "bump2version",
}
_STYLE_TOOLS = {
    "black",
    "flake8",
    "isort",
    "pylint",
    "pydocstyle",
    "pycodestyle",
    "ruff",
    "autopep8",
    "yapf",
    "codespell",
}
_DOC_TOOLS = {
    "furo", "ipython-sphinx", "mkdocs", "mkdocs-material", "mkdocstrings", "myst-nb", "myst-parser", "nbsphinx",
    "numpydoc", "pydata-sphinx-theme", "readthedocs-sphinx-ext", "recommonmark", "doc8", "pdoc", "jupyter-book",
}  # fmt: skip


def purpose_of(name: str) -> Purpose | None:
    """What an extra, group or requirements file with this name is for; None where tests do not need it."""
    words = set(re.split(r"[-_./\s]+", name.lower())) - {""}
    if not words or words & _OTHER:
        return None
    if words & _TESTS and words <= _TESTS | _DEVELOPMENT | _MODIFIERS:
        return "tests"
    if words & _BENCHMARKS and words <= _BENCHMARKS | _TESTS | _DEVELOPMENT | _MODIFIERS:
        return "benchmarks"
    return "development" if words & _DEVELOPMENT and words <= _DEVELOPMENT | _MODIFIERS else None


def choose_names(names: Iterable[str]) -> tuple[tuple[str, Purpose], ...]:
    """The names for tests and for benchmarks, sorted; those for development only where there are none for tests."""
    purposes = {name: purpose_of(name) for name in sorted(names)}
    tested = "tests" in purposes.values()
    return tuple(
        (name, purpose)
        for name, purpose in purposes.items()
        if purpose is not None and not (purpose == "development" and tested)
    )


def expand(
    lines: Sequence[str], project: str, extras: Mapping[str, Sequence[str]], _open: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Replace references of a project to its own extras ("pkg[test]") by what these list; cycles end."""
    found: list[str] = []
    by_name = {canonicalize_name(name): items for name, items in extras.items()}
    for line in lines:
        inner = _own_extras(line, project)
        if inner is None:
            found.append(line)
            continue
        for extra in sorted(canonicalize_name(name) for name in inner - _open):
            found += expand(by_name.get(extra, ()), project, extras, _open | {extra})
    return tuple(found)


def _own_extras(line: str, project: str) -> frozenset[str] | None:
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return None
    if canonicalize_name(requirement.name) != canonicalize_name(project):
        return None
    return frozenset(canonicalize_name(extra) for extra in requirement.extras)


def not_needed(name: str) -> str:
    """Why a distribution is left out of an environment for tests and benchmarks; empty where it belongs in."""
    if name in _TOOLS:
        return _TOOLS[name]
    if name in _ENVIRONMENT_TOOLS:
        return "it makes environments or releases, and there is no network to do it"
    if name in _STYLE_TOOLS:
        return "it checks style, no test needs it"
    if name in _DOC_TOOLS or name.startswith(("sphinx", "sphinxcontrib-", "mkdocs-")):
        return "it builds documentation"
    return ""
