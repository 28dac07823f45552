"""Which workloads a patch can touch: a pure decision from the patch, the files at base, and what each workload ran.

A workload that ran none of the changed code at base runs none of it afterwards either, unless something new is found
by its name, or code that runs at import is not the same. Where that cannot be told, the workload is selected.
"""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from datasmith.errors import one_of
from datasmith.tasks.folder import is_test_path
from datasmith.tasks.gitdiff import FileChange as DiffChange
from datasmith.tasks.gitdiff import MalformedDiff, parse_diff
from datasmith.workloads.pychange import file_change
from datasmith.workloads.rebuild import is_compiled_source
from datasmith.workloads.textpatch import patched

Select = Literal["all", "impacted"]
"""Which workloads are measured: all, or those that a patch can touch."""
NOT_IMPACTED = "not selected (not impacted)"
"""What stands for a workload that a patch cannot touch: neither a time nor a ratio, and never 1.0."""
_INERT_SUFFIXES = (".md", ".rst", ".pyi", ".png", ".svg", ".gif", ".jpg", ".bib", ".ipynb", ".lock")
_INERT_DIRECTORIES = frozenset({"doc", "docs", "examples", "example", ".github", ".circleci", "changelog", "news"})
_INERT_NAMES = frozenset(
    {"license", "licence", "changelog", "changes", "history", "authors", "contributing", "news", "codeowners"}
)
"""Of files at the top of the tree that are no Python, before the first dot."""
_INERT_AT_TOP = frozenset({"setup.cfg", "manifest.in", "noxfile.py", "tasks.py", "requirements.txt"})
_INERT_ANYWHERE = frozenset(
    {".gitignore", ".gitattributes", ".pre-commit-config.yaml", ".readthedocs.yml", ".readthedocs.yaml"}
)
_BUILDS = frozenset(
    {"setup.py", "pyproject.toml", "cargo.toml", "cargo.lock", "makefile", "cmakelists.txt"}
    | {"meson.build", "meson.options", "meson_options.txt"}
)
"""Descriptions of how a package, or a part of it, is built."""

Place = tuple[str, int]
"""A function: its file in the tree, and its first line at base."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What one workload ran at base, or in `failed` why nobody knows.

    imported, called: places of functions; a file that was imported has one at line 0. names: what its code looks
    up. opened: files of the tree that are no Python. compiled: the tree's compiled parts that it loaded. spawned: it
    started processes, which were not watched. jit: it loaded a compiler of Python functions.
    """

    imported: frozenset[Place] = frozenset()
    called: frozenset[Place] = frozenset()
    names: frozenset[str] = frozenset()
    opened: frozenset[str] = frozenset()
    compiled: tuple[str, ...] = ()
    spawned: bool = False
    jit: bool = False
    failed: str | None = None

    @property
    def ran(self) -> frozenset[Place]:
        """Every function, whenever it ran."""
        return self.imported | self.called

    @property
    def files(self) -> frozenset[str]:
        """The files of the tree that any of its code lies in."""
        return frozenset(path for path, _ in self.ran)


@dataclass(slots=True)
class Impact:
    """What a patch changes; `everything` are reasons why no workload can be left out."""

    everything: list[str] = field(default_factory=list)
    functions: dict[Place, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    data: list[str] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    builds: list[str] = field(default_factory=list)
    """Descriptions of how the package is built."""
    loads: list[str] = field(default_factory=list)
    """Files whose import takes another time, and does nothing else."""
    modules: dict[str, str] = field(default_factory=dict)
    """Modules of base whose place a new file takes, with that file."""
    aside: dict[str, "Impact"] = field(default_factory=dict)
    """By its name at base, what a file changes that no benchmark should import or read: counts where one does."""

    @property
    def changes(self) -> bool:
        """True where a workload may notice, whatever it holds of `aside`."""
        parts = (self.everything, self.functions, self.names, self.data, self.compiled, self.builds, self.modules)
        return any(parts)

    @property
    def nothing(self) -> bool:
        """True where no workload can notice."""
        return not self.changes and all(inner.nothing for inner in self.aside.values())


def select_of(name: str) -> Select:
    """The choice of workloads of this name.

    Raises:
        ConfigError: there is none.
    """
    choices: tuple[Select, ...] = get_args(Select)
    return one_of("--select", name, choices, "impacted")


def impact_of(patch: str, sources: Mapping[str, str | None], *, benchmark_dir: str) -> Impact:
    """What a git diff changes.

    `sources`: text at base of the files it names, None where that is none; and the other Python files of the tree with
    None, as far as they are known: whatever is imported from there may do anything.
    """
    found = Impact()
    try:
        changes = parse_diff(patch)
    except MalformedDiff as error:
        found.everything.append(f"the patch is no git diff: {error}")
        return found
    for change in changes:
        if any(_is_below(path, benchmark_dir) for path in change.paths):
            found.everything.append(f"{change.path}: a benchmark")
        elif all(_is_inert(path) for path in change.paths):
            _take(found.aside.setdefault(change.paths[0], Impact()), change, sources)
        else:
            _take(found, change, sources)
    return found


def changed_files(patch: str) -> tuple[str, ...]:
    """The files of base that a git diff names; none of one that cannot be read."""
    try:
        return tuple(dict.fromkeys(change.paths[0] for change in parse_diff(patch) if not change.new))
    except MalformedDiff:
        return ()


def _take(found: Impact, change: DiffChange, sources: Mapping[str, str | None]) -> None:
    path = change.path
    python = all(each.endswith(".py") for each in change.paths)
    if posixpath.basename(path).lower() in _BUILDS:
        found.builds.append(path)
        if python:
            _take_python(found.aside.setdefault(change.paths[0], Impact()), change, sources)
    elif any(map(is_compiled_source, change.paths)):
        found.compiled.append(path)
    elif python:
        _take_python(found, change, sources)
    elif not change.new:
        found.data.append(path)


def _take_python(found: Impact, change: DiffChange, sources: Mapping[str, str | None]) -> None:
    path = change.path
    if change.new:
        found.names[_module_name(path)] = path
        if posixpath.basename(path) == "__init__.py":
            found.modules[f"{posixpath.dirname(path)}.py"] = path
    elif change.deleted or change.paths[0] != path:
        found.everything.append(f"{change.paths[0]}: {'deleted' if change.deleted else 'renamed'}")
    else:
        _take_edit(found, change, sources)


def _take_edit(found: Impact, change: DiffChange, sources: Mapping[str, str | None]) -> None:
    path = change.path
    old = sources.get(path)
    new = None if old is None or change.binary_bytes is not None else patched(old, change.lines)
    if old is None or new is None:
        if change.lines or change.binary_bytes is not None:
            found.everything.append(f"{path}: the patch does not fit its text at base")
        return
    seen = file_change(old, new, own=_packages(path, sources))
    if seen.at_import:
        found.everything.append(f"{path}: {seen.at_import}")
    found.functions |= {(path, line): f"{path}: {name}" for line, name in seen.functions}
    found.names |= {name: f"{path}: {name}" for name in seen.names}
    found.loads += [path] if seen.loads else []


def _packages(path: str, sources: Mapping[str, str | None]) -> frozenset[str]:
    """Names by which the tree's own modules may be imported: all that the patch shows, and whatever lies at a top."""
    named = (path, *(name for name, text in sources.items() if text is not None))
    shown = {part for name in named for part in name.split("/")}
    below = {name.removeprefix("src/").removeprefix("lib/") for name in sources if not is_test_path(name)}
    return frozenset(part.partition(".")[0] for part in shown | {name.split("/")[0] for name in below})


def _module_name(path: str) -> str:
    name = posixpath.basename(path)
    return posixpath.basename(posixpath.dirname(path)) if name == "__init__.py" else name.removesuffix(".py")


def _is_below(path: str, directory: str) -> bool:
    wanted = directory.strip("/.")
    return bool(wanted) and path.startswith(f"{wanted}/")


def _is_inert(path: str) -> bool:
    """True for what no benchmark should import or read: documentation, tests, the forge's own files."""
    *parents, name = path.lower().split("/")
    named = name in _INERT_AT_TOP or (name.split(".")[0] in _INERT_NAMES and not name.endswith(".py"))
    return (
        is_test_path(path)
        or name.endswith(_INERT_SUFFIXES)
        or name in _INERT_ANYWHERE
        or (parents[0] in _INERT_DIRECTORIES if parents else named)
    )


def select(impacts: Iterable[Impact], coverage: Mapping[str, Coverage]) -> dict[str, str]:
    """The workloads that any of the patches can touch, each with the first reason; the others are left out.

    A compiled source that no workload seems to reach, and a data file that none was seen to open, select everything:
    the tracing may be blind there.
    """
    selected: dict[str, str] = {}
    held = {path for covered in coverage.values() for path in covered.files | covered.opened}
    for impact in _counting(impacts, held):
        if not impact.changes:
            continue
        blind = _unseen(impact, coverage)
        for workload, covered in coverage.items():
            why = blind or _touched(impact, covered)
            if why and workload not in selected:
                selected[workload] = why
    return {workload: selected[workload] for workload in coverage if workload in selected}


def _counting(impacts: Iterable[Impact], held: Collection[str]) -> Iterator[Impact]:
    for impact in impacts:
        yield impact
        yield from (inner for path, inner in impact.aside.items() if path in held)


def _unseen(impact: Impact, coverage: Mapping[str, Coverage]) -> str | None:
    """Why this patch selects everything, None where it does not."""
    if impact.everything:
        return impact.everything[0]
    if impact.compiled and not any(covered.compiled for covered in coverage.values()):
        return f"{impact.compiled[0]}: no workload was seen to load a compiled part"
    opened = {path for covered in coverage.values() for path in covered.opened}
    unread = [path for path in impact.data if path not in opened]
    return f"{unread[0]}: no workload was seen to open it" if unread else None


def _touched(impact: Impact, covered: Coverage) -> str | None:
    """Why a patch may touch one workload, None where it cannot."""
    if covered.failed is not None:
        return f"its coverage is not known: {covered.failed}"
    if covered.spawned:
        return "it starts processes, which are not watched"
    rebuilt = [*impact.compiled, *impact.builds] if covered.compiled else []
    for place, name in impact.functions.items():
        if place in covered.ran:
            return name
        if covered.jit and place[0] in covered.files:
            return f"{name}: it may run where it cannot be seen (a compiler of functions is loaded)"
    return (
        next((f"{path} is imported in its calls" for path in impact.loads if (path, 0) in covered.called), None)
        or next((f"{what} is looked up" for name, what in impact.names.items() if name in covered.names), None)
        or next((f"{new} takes its place" for old, new in impact.modules.items() if old in covered.files), None)
        or next((f"{path} is opened" for path in (*impact.data, *impact.builds) if path in covered.opened), None)
        or next((f"{path}: it loads a compiled part" for path in rebuilt), None)
    )
