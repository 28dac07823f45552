"""Merge what pyproject.toml, setup.cfg and setup.py of a tree say into one description of its project."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from packaging.requirements import InvalidRequirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from datasmith.errors import ResolutionError
from datasmith.resolution import groups, layout
from datasmith.resolution.base import SourceTree
from datasmith.resolution.pyproject import Pyproject, read_pyproject
from datasmith.resolution.requirements import conditional, parsed, under
from datasmith.resolution.setup_cfg import SetupCfg, read_setup_cfg
from datasmith.resolution.setup_py import SetupCall, read_setup_py

LEGACY_BACKEND = "setuptools.build_meta:__legacy__"
_SCM_TOOLS = {
    "setuptools-scm", "setuptools-git-versioning", "hatch-vcs", "versioneer", "flit-scm", "vcs-versioning",
    "versioningit", "poetry-dynamic-versioning", "uv-dynamic-versioning", "dunamai", "setuptools-vcs-versioning",
    "miniver", "pbr",
}  # fmt: skip
_SCM_TABLES = {"setuptools_scm", "setuptools-git-versioning", "versioneer", "versioningit", "poetry-dynamic-versioning"}
_CHANGELOG = re.compile(
    r"(?:.*/)?(?:changelog|changes|history|news|release[-_]?notes|whats[-_]?new)(?:\.\w+)?", re.IGNORECASE
)
_HEADING = re.compile(
    r"[#=\s*\[(]*(?:[A-Za-z][\w-]*\s+)?v?([0-9]+\.[0-9]+(?:\.[0-9]+)*)(?:\.?(?:dev|rc|a|b|post)\d*)?\W*"
    r"(?:[(\[].*|[-–—:].*|released?\b.*|unreleased\b.*|\d{4}-.*)?",
    re.IGNORECASE,
)
UNKNOWN_VERSION = "0.0.0.dev0"


@dataclass(frozen=True, slots=True)
class ProjectMetadata:
    """A project as its own files describe it; requirement lists as written.

    `dependencies_known` is False where they are computed by code, which is not run, or stand in a file that was not
    read; `extras_known` where code may have others than those that are listed. `setup_imports` are the modules setup.py
    imports; `notes` are remarks for the log.
    """

    root: str
    name: str
    version: str
    requires_python: str
    dependencies: tuple[str, ...]
    dependencies_known: bool
    extras: Mapping[str, tuple[str, ...]]
    groups: Mapping[str, tuple[str, ...]]
    build_requires: tuple[str, ...]
    build_backend: str
    import_names: tuple[str, ...]
    setup_imports: tuple[str, ...]
    builds_extensions: bool
    pytest_options: str = ""
    backend_path: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    extras_known: bool = True

    @property
    def unknown(self) -> tuple[str, ...]:
        """What only the build can say."""
        known = {"dependencies": self.dependencies_known, "extras": self.extras_known}
        return tuple(name for name, is_known in known.items() if not is_known)


@dataclass(frozen=True, slots=True)
class _Files:
    """The three metadata files of one directory, read."""

    root: str
    toml: Pyproject
    cfg: SetupCfg
    py: SetupCall
    has_setup_py: bool

    @property
    def name(self) -> str:
        return self.toml.name or self.cfg.name or self.py.text("name")

    @property
    def is_project(self) -> bool:
        return self.toml.describes_project or bool(self.cfg.name) or self.has_setup_py


def read_metadata(tree: SourceTree, repository: str, install_paths: tuple[str, ...] = ()) -> ProjectMetadata:
    """Describe the project of a tree; where it holds several, the one that the repository is about.

    Raises:
        ResolutionError: no directory of the tree holds a Python project.
    """
    found = [files for root in layout.project_candidates(tree.paths) if (files := _read(tree, root)).is_project]
    told = [files for target in install_paths for files in found if files.root == layout.install_root(target)]
    if not found:
        raise ResolutionError(
            f"no Python project found in {repository}: it has no pyproject.toml with [project], no setup.cfg"
            " with a name and no setup.py"
        )
    chosen = layout.best_root([(files.root, files.name) for files in told or found], repository)
    return _merge(tree, next(files for files in found if files.root == chosen), repository)


def pretend_version(tree: SourceTree, repository: str = "", install_paths: tuple[str, ...] = ()) -> str | None:
    """A version for build tools that read it from version control, which a sealed tree does not have.

    The highest version that a heading of the change log names, else "0.0.0.dev0"; None where the version is static.
    """
    metadata = read_metadata(tree, repository, install_paths)
    files = _read(tree, metadata.root)
    tools = {_name(line) for line in metadata.build_requires} & _SCM_TOOLS
    if not tools and not _SCM_TABLES & set(files.toml.tools) and not _asks_scm(files.py):
        return None
    headings = {_top_version(text) for path, text in tree.texts.items() if is_changelog(path)}
    return str(max(headings - {None}, key=lambda v: v or Version("0"), default=UNKNOWN_VERSION))


def is_changelog(path: str) -> bool:
    """True for a file that tells of versions: CHANGELOG.rst, docs/whatsnew.md, HISTORY ..."""
    return _CHANGELOG.fullmatch(path) is not None


def _asks_scm(call: SetupCall) -> bool:
    asked = {"use_scm_version", "version_config", "pbr"}
    return bool(asked & (call.keywords.keys() | call.computed)) or "versioneer" in call.imports


def _top_version(text: str) -> Version | None:
    """The highest version among headings: short lines that start with it, not indented, after an empty line."""
    lines = ["", *text[:200_000].splitlines()]
    alone = [line for above, line in pairwise(lines) if len(line) < 80 and not above.strip(" =-#*") and line[:1] != " "]
    headings = [_HEADING.fullmatch(line) for line in alone]
    versions = [Version(match[1]) for match in headings if match]
    return max((version for version in versions if version.release[0] < 3000), default=None)


def _name(line: str) -> str:
    try:
        return canonicalize_name(parsed(line).name)
    except InvalidRequirement:
        return ""


def _read(tree: SourceTree, root: str) -> _Files:
    def text(name: str) -> str | None:
        return tree.texts.get(posixpath.normpath(posixpath.join(root, name)))

    toml, cfg, py = text("pyproject.toml"), text("setup.cfg"), text("setup.py")
    return _Files(
        root,
        Pyproject() if toml is None else read_pyproject(toml),
        SetupCfg() if cfg is None else read_setup_cfg(cfg),
        SetupCall() if py is None else read_setup_py(py),
        py is not None or posixpath.normpath(posixpath.join(root, "setup.py")) in tree.paths,
    )


def _merge(tree: SourceTree, files: _Files, repository: str) -> ProjectMetadata:
    toml, cfg, py = files.toml, files.cfg, files.py
    name = files.name or repository.split("/")[-1]
    dependencies, known = _dependencies(tree, files)
    notes = [problem for problem in (toml.problem, cfg.problem, *toml.notes) if problem]
    extras = _extras(files)
    if groups.is_too_long([dependencies, *extras.values(), *toml.groups.values()], name, extras):
        extras = {}
        notes.append(f"the extras cannot be read: they have more than {groups.MOST_LINES} lines")
    if unread := [path for path in _dependency_files(files) if path not in tree.texts]:
        notes.append(f"the dependencies stand in {', '.join(unread)}, which is not in the tree, or not read")
    return ProjectMetadata(
        root=files.root,
        name=name,
        version=_static_version(toml.version or cfg.version or py.text("version")),
        requires_python=toml.requires_python or cfg.requires_python or py.text("python_requires"),
        dependencies=dependencies,
        dependencies_known=known,
        extras_known=_are_extras_known(files),
        extras=extras,
        groups=toml.groups,
        build_requires=_build_requires(files),
        build_backend=toml.build_backend or LEGACY_BACKEND,
        import_names=layout.import_names(
            tree.paths,
            files.root,
            name=name,
            named=_named_modules(files),
            searched=_are_searched(files),
            roots=_package_roots(files),
            patterns=toml.package_patterns,
        ),
        setup_imports=py.imports,
        builds_extensions=py.builds_extensions,
        pytest_options=f"{toml.pytest_options} {cfg.pytest_options} {_pytest_ini(tree, files.root)}".strip(),
        backend_path=toml.backend_path,
        notes=tuple(notes),
    )


def _static_version(text: str) -> str:
    try:
        return str(Version(text))
    except ValueError:  # of digits too many to be a number, too
        return ""


def _dependencies(tree: SourceTree, files: _Files) -> tuple[tuple[str, ...], bool]:
    """The run-time requirements, and whether they are known without running code."""
    if files.toml.dependencies is not None:
        return files.toml.dependencies, True
    listed, known = _of_setuptools(tree, files)
    return (*listed, *_extras_of_setup_py(files.py).get("", ())), known


def _of_setuptools(tree: SourceTree, files: _Files) -> tuple[tuple[str, ...], bool]:
    if named := _dependency_files(files):
        read = tuple(f"-r {path}" for path in named if path in tree.texts)
        return read, len(read) == len(named)
    if files.cfg.dependencies is not None:
        return files.cfg.dependencies, True
    listed = files.py.lines("install_requires")
    promised = not listed and ("dependencies" in files.toml.dynamic or "pbr" in map(_name, _build_requires(files)))
    return listed, not promised and not _told_by_code(files.py)


def _told_by_code(call: SetupCall) -> bool:
    """True where what runs decides: computed, or read from requirements.txt by pbr."""
    return bool(call.computed & {"install_requires", "pbr", "**"} or call.keywords.get("pbr"))


def _extras(files: _Files) -> dict[str, tuple[str, ...]]:
    extras = _extras_of_setup_py(files.py)
    extras.pop("", None)
    if files.py.lines("tests_require"):
        extras["test"] = (*extras.get("test", ()), *files.py.lines("tests_require"))
    extras |= files.cfg.extras
    extras |= files.toml.extras
    for field_name, names in {**files.cfg.files, **files.toml.files}.items():
        if field_name.startswith("optional-dependencies."):
            name = field_name.split(".", 1)[1]
            extras[name] = (*extras.get(name, ()), *(f"-r {path}" for path in _paths(files.root, names)))
    return extras


def _are_extras_known(files: _Files) -> bool:
    """False where a setup.py computes them, and where they are said to be dynamic and no file has any."""
    dynamic = "optional-dependencies" in files.toml.dynamic
    if files.toml.describes_project and not dynamic:
        return True
    if "extras_require" in files.py.computed:
        return False
    named = {key.partition(".")[0] for key in (*files.cfg.files, *files.toml.files)}
    if files.cfg.extras or files.toml.extras or "optional-dependencies" in named or files.py.table("extras_require"):
        return True
    return not dynamic and (files.cfg.dependencies is not None or "**" not in files.py.computed)


def _extras_of_setup_py(call: SetupCall) -> dict[str, tuple[str, ...]]:
    """What it asks for by extra; for "" always, where the condition holds that stands in the extra's place."""
    found: dict[str, tuple[str, ...]] = {}
    for key, lines in call.table("extras_require").items():
        extra, condition = conditional(key)
        found[extra] = (*found.get(extra, ()), *(under(line, condition) for line in lines))
    return found


def _dependency_files(files: _Files) -> tuple[str, ...]:
    """The files that hold the run-time requirements, where the metadata names some."""
    if files.toml.dependencies is not None:
        return ()
    return _paths(files.root, files.toml.files.get("dependencies", ()) or files.cfg.files.get("dependencies", ()))


def _paths(root: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(posixpath.normpath(posixpath.join(root, name)) for name in names)


def _build_requires(files: _Files) -> tuple[str, ...]:
    if files.toml.build_requires is not None:
        return (*files.toml.build_requires, *files.cfg.setup_requires, *files.py.lines("setup_requires"))
    return ("setuptools", "wheel", *files.cfg.setup_requires, *files.py.lines("setup_requires"))


def _named_modules(files: _Files) -> tuple[str, ...]:
    if files.toml.modules:
        return files.toml.modules
    packages = [name.split(".")[0] for name in files.py.lines("packages")]
    return tuple(dict.fromkeys([*files.cfg.modules, *packages, *files.py.lines("py_modules")]))


def _are_searched(files: _Files) -> bool:
    """Whether packages are looked for, beside the modules that are listed."""
    computed = bool(files.py.computed & {"packages", "**"})
    return files.toml.searches or (not files.toml.modules and (files.cfg.searches or computed))


def _package_roots(files: _Files) -> tuple[str, ...]:
    mapped = files.py.table("package_dir").get("", ())
    return (*files.toml.package_roots, *files.cfg.package_roots, *mapped)


def _pytest_ini(tree: SourceTree, root: str) -> str:
    texts = [tree.texts.get(posixpath.normpath(posixpath.join(root, name)), "") for name in ("pytest.ini", "tox.ini")]
    return " ".join(line.strip() for text in texts for line in text.splitlines() if line.strip().startswith("addopts"))
