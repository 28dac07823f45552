"""Put together all that an environment must hold: run, build, test, benchmark; each need with where it comes from."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from datasmith.resolution import conda, groups, imports
from datasmith.resolution.base import AsvHints, Dropped, SourceTree
from datasmith.resolution.metadata import ProjectMetadata
from datasmith.resolution.native import NATIVE_NAMES
from datasmith.resolution.requirements import (
    Need,
    Origin,
    Reading,
    from_conda,
    is_requirements_file,
    read_lines,
    requirement_name,
    unique,
)

_BACKENDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("setuptools", ("setuptools", "wheel")),
    ("mesonpy", ("meson-python", "meson", "ninja")),
    ("scikit_build_core", ("scikit-build-core", "cmake", "ninja")),
    ("hatchling", ("hatchling", "editables")),
    ("pdm.backend", ("pdm-backend", "editables")),
    ("flit_core", ("flit-core",)),
    ("poetry.core", ("poetry-core",)),
    ("maturin", ("maturin",)),
    ("uv_build", ("uv-build",)),
)
"""What a backend asks for when it is run (an editable build, without isolation), beyond build-system.requires."""

_PYTEST_OPTIONS = (
    (r"--cov\b", "pytest-cov"),
    (r"(?:^|\s)-n[ =]?(?:\d|auto|logical)|--numprocesses|--dist\b", "pytest-xdist"),
    (r"--timeout\b", "pytest-timeout"),
    (r"--benchmark-", "pytest-benchmark"),
    (r"--doctest-plus\b", "pytest-doctestplus"),
    (r"--mypy\b", "pytest-mypy"),
    (r"--asyncio-mode\b", "pytest-asyncio"),
    (r"--randomly-", "pytest-randomly"),
    (r"--strict-random|--random-order", "pytest-random-order"),
)


_NAMED_PLUGIN = re.compile(r"(?<![\w.:-])pytest-[a-z][a-z-]+\b")
"""As in required_plugins; `--disable-pytest-warnings` and `--pytest-durations` are options."""
_SHUFFLERS = ("pytest-randomly", "pytest-random-order", "pytest-reverse")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The needs in order of dearness, what was left out before any try, and native libraries that were asked for."""

    needs: tuple[Need, ...]
    dropped: tuple[Dropped, ...]
    native: tuple[str, ...]


def collect(tree: SourceTree, metadata: ProjectMetadata, hints: AsvHints) -> Wanted:
    """Everything wanted in the environment of a project; nothing is looked up."""
    found, dropped = list[Need](), list[Dropped]()

    def add(origin: Origin, reading: Reading) -> None:
        found.extend(Need(requirement, origin) for requirement in reading.requirements)
        dropped.extend(reading.dropped)

    add("runtime", _runtime(tree, metadata))
    add("build", read_lines((*metadata.build_requires, *backend_needs(metadata.build_backend))))
    add("runner", Reading(("pytest",)))
    lists = _lists(tree, metadata)
    for origin, reading in _chosen(lists):
        add(origin, reading)
    add("asv", read_lines(map(from_conda, hints.requirements)))
    declared = {need.name for need in found}
    for name, line in _imported(tree, metadata, lists).items():
        if canonicalize_name(name) not in declared:
            found.append(Need(line, "imports", fallback=name if line != name else ""))
    return _filtered(found, dropped, metadata)


def for_the_hook(tree: SourceTree, metadata: ProjectMetadata) -> tuple[Need, ...]:
    """What must be there for the project's build to say what it depends on; what setup.py imports is a guess."""
    setup = posixpath.normpath(posixpath.join(metadata.root, "setup.py"))
    imported = imports.third_party(
        metadata.setup_imports, imports.LocalModules(tree.paths), setup, metadata.import_names
    )
    build = read_lines((*metadata.build_requires, *backend_needs(metadata.build_backend))).requirements
    needs = [Need(line, "build") for line in build] + [Need(name, "imports") for name in imported]
    return _filtered(needs, [], metadata).needs


def build_names(needs: Iterable[Need]) -> tuple[str, ...]:
    """Canonical names of what building the package needs, sorted."""
    return tuple(sorted({need.name for need in needs if need.origin == "build"}))


def _runtime(tree: SourceTree, metadata: ProjectMetadata) -> Reading:
    """Declared dependencies; where code computes them, the project's requirements.txt is the next best statement."""
    lines = groups.expand(metadata.dependencies, metadata.name, metadata.extras)
    reading = read_lines(lines, tree.texts, keep_names=True)
    path = posixpath.normpath(posixpath.join(metadata.root, "requirements.txt"))
    if metadata.dependencies_known or path not in tree.texts:
        return reading
    listed = read_lines([f"-r {path}"], tree.texts, keep_names=True)
    left = [(line, groups.not_needed(requirement_name(line))) for line in listed.requirements]
    kept = Reading(tuple(line for line, reason in left if not reason), listed.dropped)
    return reading + kept + Reading(dropped=tuple(Dropped(requirement=line, reason=why) for line, why in left if why))


def backend_needs(backend: str) -> tuple[str, ...]:
    """What a backend asks for when it is run, beyond build-system.requires."""
    known = [needs for prefix, needs in _BACKENDS if backend.startswith(prefix)]
    return known[0] if known else ("setuptools", "wheel")


def _lists(tree: SourceTree, metadata: ProjectMetadata) -> dict[str, tuple[str, Reading]]:
    """Each list of requirements that a project keeps beside its own: what its name says, and what it holds."""
    told = {f"extra {name}": (name, lines, "") for name, lines in metadata.extras.items()}
    told |= {f"group {name}": (name, lines, "") for name, lines in metadata.groups.items()}
    told |= {f"file {path}": (name, (f"-r {path}",), "") for path, name in _requirement_files(tree, metadata.root)}
    if not any(purpose != "benchmarks" for _, purpose in groups.choose_names({name for name, _, _ in told.values()})):
        return _read(told, tree, metadata) | _environment_file(tree, metadata)
    return _read(told, tree, metadata)


def _read(
    told: Mapping[str, tuple[str, tuple[str, ...], str]], tree: SourceTree, metadata: ProjectMetadata
) -> dict[str, tuple[str, Reading]]:
    return {
        key: (name, read_lines(groups.expand(lines, metadata.name, metadata.extras), tree.texts, folder))
        for key, (name, lines, folder) in sorted(told.items())
    }


def _chosen(lists: Mapping[str, tuple[str, Reading]]) -> list[tuple[Origin, Reading]]:
    """The lists whose names say that they are for tests or benchmarks."""
    chosen = dict(groups.choose_names({name for name, _ in lists.values()}))
    origins: dict[str, Origin] = {name: "benchmarks" if chosen[name] == "benchmarks" else "tests" for name in chosen}
    return [(origins[name], reading) for name, reading in lists.values() if name in chosen]


def _by_name(lists: Mapping[str, tuple[str, Reading]]) -> dict[str, str]:
    """What the project asks of a distribution that it lists for some other purpose; its first mention counts."""
    found: dict[str, str] = {}
    for _, reading in lists.values():
        for requirement in reading.requirements:
            found.setdefault(requirement_name(requirement), requirement)
    return found


def _environment_file(tree: SourceTree, metadata: ProjectMetadata) -> dict[str, tuple[str, Reading]]:
    """The conda environment for development, where there is one; conda's files stand in for lists of pip."""
    local = {path: posixpath.relpath(path, metadata.root) for path in tree.texts if conda.is_environment_file(path)}
    suited = [path for path, name in local.items() if groups.purpose_of(conda.told_by_name(name)) is not None]
    path = conda.nearest(path for path in suited if not local[path].startswith(".."))
    if path is None:
        return {}
    key, name = f"conda {path}", conda.told_by_name(local[path])
    try:
        lines = conda.read_environment(tree.texts[path])
    except ValueError as error:
        return {key: (name, Reading(dropped=(Dropped(requirement=path, reason=f"cannot be read: {error}"),)))}
    return _read({key: (name, lines, posixpath.dirname(path))}, tree, metadata)


def _requirement_files(tree: SourceTree, root: str) -> list[tuple[str, str]]:
    """(path, what its name says) of the project's requirements files: "tests/requirements.txt" says tests."""
    found = []
    for path in sorted(tree.texts):
        local = posixpath.relpath(path, root)
        if is_requirements_file(path) and not local.startswith("..") and "constraints" not in local.lower():
            found.append((path, local.removesuffix(".txt")))
    return found


def _imported(tree: SourceTree, metadata: ProjectMetadata, lists: Mapping[str, tuple[str, Reading]]) -> dict[str, str]:
    """Distributions that are imported, with the project's own line of each, else its name.

    What may be imported while tests are collected counts only where the project lists it, be it for conda.
    """
    elsewhere = _by_name(lists)
    found = {name: elsewhere.get(canonicalize_name(name), name) for name in _guesses(tree, metadata)}
    listed = {**_by_name(_environment_file(tree, metadata)), **elsewhere}
    for name in imports.while_collecting(tree, metadata.import_names):
        if line := listed.get(canonicalize_name(name)):
            found.setdefault(name, line)
    return found


def _guesses(tree: SourceTree, metadata: ProjectMetadata) -> list[str]:
    own = metadata.import_names
    setup = posixpath.normpath(posixpath.join(metadata.root, "setup.py"))
    plugins = [name for option, name in _PYTEST_OPTIONS if re.search(option, metadata.pytest_options)]
    plugins += _NAMED_PLUGIN.findall(metadata.pytest_options)
    needed_to_build = imports.third_party(metadata.setup_imports, imports.LocalModules(tree.paths), setup, own)
    return [*plugins, *needed_to_build, *imports.undeclared(tree, own)]


def _filtered(found: list[Need], dropped: list[Dropped], metadata: ProjectMetadata) -> Wanted:
    needs, native = list[Need](), list[str]()
    for need in found:
        reason = _reason_to_leave_out(need, metadata.pytest_options)
        if need.name == canonicalize_name(metadata.name):
            continue
        if need.optional and need.name in NATIVE_NAMES:
            native.append(need.name)
        if reason:
            dropped.append(Dropped(requirement=need.requirement, reason=reason))
        else:
            needs.append(_one_numpy(need, dropped))
    return Wanted(unique(needs), tuple(dict.fromkeys(dropped)), tuple(sorted(set(native))))


def _reason_to_leave_out(need: Need, pytest_options: str) -> str:
    if need.name == "python":
        return "the interpreter is no distribution"
    if not need.optional:
        return ""
    if need.name in _SHUFFLERS and "random" not in pytest_options:
        return "it shuffles the tests: two runs would differ"
    if need.name in NATIVE_NAMES:
        return "no Python distribution: the system's packages give it"
    return groups.not_needed(need.name)


def _one_numpy(need: Need, dropped: list[Dropped]) -> Need:
    """One numpy serves building and running, so what only the build pins gives way to what the package needs."""
    if need.origin != "build" or need.name not in ("numpy", "oldest-supported-numpy"):
        return need
    requirement = Requirement(need.requirement)
    exact = any(clause.operator in ("==", "===", "~=") for clause in requirement.specifier)
    if need.name == "numpy" and not exact:
        return Need(need.requirement, "build", fallback="numpy")
    dropped.append(Dropped(requirement=need.requirement, reason="one numpy serves the build and the run: not pinned"))
    return Need("numpy", "build")
