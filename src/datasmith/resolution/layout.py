"""Where in a tree the project is, and which modules it provides: pure reading of paths."""

import fnmatch
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Sequence

from packaging.utils import canonicalize_name

METADATA_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
_NO_PRODUCT = {
    "asv_bench", "asv_benchmarks", "bench", "benches", "benchmark", "benchmarks", "build", "build_tools",
    "buildscripts", "ci", "conftest", "demo", "demos", "dist", "doc", "docs", "example", "examples",
    "maintainer_tools", "maint_tools", "notebooks", "noxfile", "perf", "requirements", "scripts", "setup", "setupext",
    "site", "tasks", "test", "testing", "tests", "tools", "tutorials", "utils", "vendor", "versioneer", "web",
}  # fmt: skip
_OTHER_TREES = _NO_PRODUCT - {"utils", "vendor", "web", "site", "tasks", "setup"} | {
    "third_party", "third-party", "extern", "node_modules", ".github", ".circleci",
}  # fmt: skip
_PLACES = ("src", ".")
"""Where packages lie if nothing says it, the first place first."""
_SOURCE_PLACES = {"src", "source", "lib", "python"}
"""Directories that are no namespaces: what is in them is imported without their names."""
_NO_NAMES = {"src", "lib", ".", ""}
_DEEPEST = 8
"""Parts of a name: no namespace is deeper."""
_TELLING = {"__init__.py", "__init__.pyx", *METADATA_FILES}
_ASV_ROOTS = re.compile(r"\{(build|conf)_dir}")
_INSTALL_PATH = re.compile(r"(?:^|[\s/\"'])(\.(?:/[\w.-]+)*|[\w.-]+(?:/[\w.-]+)+)(\[[^]]*])?$")


def is_product(path: str) -> bool:
    """True for a path outside tests, benchmarks, documentation, examples, tools and vendored code."""
    return not {part.lower() for part in path.split("/")[:-1]} & _OTHER_TREES


def install_root(target: str) -> str:
    """The directory that an install target names: "./python[test]" is python, "." the tree's root.

    What asv calls {build_dir} and {conf_dir} is that root; so is what a target outside of the tree counts as.
    """
    match = _INSTALL_PATH.search(_ASV_ROOTS.sub(".", target).strip().rstrip("/"))
    found = posixpath.normpath(match[1]) if match else "."
    return "." if found.startswith("..") else found


def project_candidates(paths: Iterable[str]) -> tuple[str, ...]:
    """Directories that hold a metadata file, outside tests and examples: the root first, then by depth and name."""
    found = {posixpath.dirname(path) or "." for path in paths if posixpath.basename(path) in METADATA_FILES}
    return tuple(
        sorted(
            (root for root in found if is_product(f"{root}/x")), key=lambda root: (root != ".", root.count("/"), root)
        )
    )


def best_root(candidates: Sequence[tuple[str, str]], repository: str) -> str:
    """Choose among (directory, project name) pairs.

    The root wins where it holds a project; else the one named like the repository ("y_z" for repo y-z), else
    "python", else the shallowest; what is still equal goes by the directory's name.
    """
    wanted = canonicalize_name(repository.split("/")[-1])

    def rank(candidate: tuple[str, str]) -> tuple[bool, bool, bool, int, str]:
        root, name = candidate
        names = {canonicalize_name(name), canonicalize_name(posixpath.basename(root))}
        return root != ".", wanted not in names, posixpath.basename(root) != "python", root.count("/"), root

    return min(candidates, key=rank)[0]


def import_names(
    paths: Sequence[str],
    root: str,
    *,
    name: str,
    named: Sequence[str],
    searched: bool = False,
    roots: Sequence[str],
    patterns: Sequence[str],
) -> tuple[str, ...]:
    """The modules of the project at `root`, sorted: those of the top level, and in a namespace those below it.

    `named` are those its metadata lists, `searched` says that it has more looked for; `roots` and `patterns` are where,
    and for what. Where several packages are found and one is called like the project, the others are not taken for its
    own.
    """
    inside = _below(paths, root)
    listed = set[str]().union(*(_listed(inside, item, roots) for item in named))
    if listed and not searched:
        return tuple(sorted(listed))
    found = _found(inside, canonicalize_name(name), roots, patterns)
    return tuple(sorted(listed | found)) or (name.replace("-", "_"),)


def _listed(inside: Sequence[str], item: str, roots: Sequence[str]) -> set[str]:
    """A name or path that metadata lists; where it is a namespace, the packages in it."""
    place, last = posixpath.split(item.rstrip("/"))
    name = last.removesuffix(".py")
    if name in _NO_NAMES:
        return set()
    for base in (place,) if place else (*roots, *_PLACES):
        below = _below(_below(inside, base), name.replace(".", "/"))
        if any("/" not in path and path.endswith((".py", ".pyx")) for path in below):
            break
        if packages := _packages(below, bool):
            return {f"{name}.{package}" for package in packages}
    return {name}


def _found(inside: Sequence[str], name: str, roots: Sequence[str], patterns: Sequence[str]) -> set[str]:
    for bases in (roots, _PLACES):
        places = [_provided(_below(inside, base), "" if base != "." else name, patterns) for base in bases]
        own = ({module for module in packages | files if _is_called(module, name)} for packages, files in places)
        others = (packages or files for packages, files in places)
        if found := next(filter(None, (*own, *others)), None):
            return found
    return set()


def _provided(paths: Sequence[str], name: str, patterns: Sequence[str]) -> tuple[set[str], set[str]]:
    """Packages and single modules of a place; with a `name`, only modules that are called so: others are programs."""

    def suits(module: str) -> bool:
        return module.partition(".")[0].lower() not in _NO_PRODUCT and _included(module, patterns)

    stems = {path[:-3] for path in paths if "/" not in path and path.endswith(".py")}
    files = {stem for stem in stems if stem.isidentifier() and (not name or _is_called(stem, name))}
    return _packages(paths, suits), set(filter(suits, files))


def _is_called(module: str, name: str) -> bool:
    return canonicalize_name(module).replace("-", "") == name.replace("-", "")


def _packages(paths: Sequence[str], suits: Callable[[str], bool]) -> set[str]:
    """Of the packages that suit those with the shortest names: below namespaces, where none lies right there."""
    folders = {path: posixpath.dirname(path) for path in paths if posixpath.basename(path) in _TELLING}
    others = {folder for path, folder in folders.items() if posixpath.basename(path) in METADATA_FILES}
    inits = {folder for path, folder in folders.items() if posixpath.basename(path) not in METADATA_FILES}
    found = {folder.replace("/", ".") for folder in inits if _may_be_package(folder, others)}
    fit = set(filter(suits, found))
    shortest = min((name.count(".") for name in fit), default=0)
    return {name for name in fit if name.count(".") == shortest}


def _may_be_package(folder: str, others: Collection[str]) -> bool:
    """False for what no import can name, and, below a namespace, for tests, examples and other projects."""
    parts = folder.split("/")
    if len(parts) > _DEEPEST or not all(part.isidentifier() for part in parts):
        return False
    above = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
    named = parts[0] not in _SOURCE_PLACES and is_product(f"{folder}/x") and above.isdisjoint(others)
    return len(parts) == 1 or named


def _included(module: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(module, pattern) for pattern in patterns)


def _below(paths: Sequence[str], directory: str) -> tuple[str, ...]:
    """The paths inside a directory, relative to it."""
    if directory in (".", ""):
        return tuple(paths)
    prefix = directory.strip("/") + "/"
    return tuple(path.removeprefix(prefix) for path in paths if path.startswith(prefix))
