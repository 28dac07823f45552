"""Choose the extras and dependency groups that tests and benchmarks import: not all extras, not the documentation's."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

from packaging.requirements import InvalidRequirement
from packaging.utils import canonicalize_name

from datasmith.resolution.requirements import parsed

Purpose = Literal["tests", "benchmarks", "development"]
MOST_EXTRAS = 2000
MOST_LINES = 50_000
"""Lines of all lists together, each reference to an extra written out."""

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
    **dict.fromkeys(("codecov", "coveralls", "codacy-coverage"), "it sends reports, and there is no network to do it"),
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


def expand(lines: Sequence[str], project: str, extras: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Replace references of a project to its own extras ("pkg[test]") by what these list, each extra once."""
    return tuple(line for line in _walk(lines, project, _by_name(extras)) if line is not None)


def is_too_long(lists: Iterable[Sequence[str]], project: str, extras: Mapping[str, Sequence[str]]) -> bool:
    """True where there are more than MOST_EXTRAS, or the lists, expanded, have more than MOST_LINES together."""
    if len(extras) > MOST_EXTRAS:
        return True
    by_name = _by_name(extras)
    walked = (line for lines in lists for line in _walk(lines, project, by_name))
    return any(True for _ in islice(walked, MOST_LINES, None))


def _by_name(extras: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    return {canonicalize_name(name): items for name, items in extras.items()}


def _walk(lines: Sequence[str], project: str, extras: Mapping[str, Sequence[str]]) -> Iterator[str | None]:
    """The lines, and None for each that refers to the project itself; what an extra lists follows its first mention."""
    seen = set[str]()
    waiting: list[tuple[str, bool]] = [(line, False) for line in reversed(lines)]
    while waiting:
        text, is_extra = waiting.pop()
        if is_extra:
            waiting += [(line, False) for line in reversed(extras.get(text, ()) if text not in seen else ())]
            seen.add(text)
            continue
        inner = _own_extras(text, project)
        yield text if inner is None else None
        waiting += [(extra, True) for extra in sorted(inner or (), reverse=True)]


def _own_extras(line: str, project: str) -> frozenset[str] | None:
    try:
        requirement = parsed(line)
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
