"""Where in a tree the project is, and which modules it provides: pure reading of paths."""

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Sequence

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
    """The top-level modules of the project at `root`, sorted.

    `named` are those its metadata lists, `searched` says that it has more looked for; `roots` and `patterns` are where,
    and for what. Where several packages are found and one is called like the project, the others are not taken for its
    own.
    """
    listed = {posixpath.basename(item.rstrip("/")).removesuffix(".py") for item in named} - {"src", "lib", ""}
    if listed and not searched:
        return tuple(sorted(listed))
    found = _found(_below(paths, root), canonicalize_name(name), roots, patterns)
    return tuple(sorted(listed | found)) or (name.replace("-", "_"),)


def _found(inside: Sequence[str], name: str, roots: Sequence[str], patterns: Sequence[str]) -> set[str]:
    for base in (*roots, "src", "."):
        below = _below(inside, base)
        found = {module for module in _modules(below) if _included(module, patterns)}
        if found:
            own = {module for module in found if canonicalize_name(module) == name}
            return own or {module for module in found if f"{module}/__init__.py" in set(below)} or found
    return set()


def _modules(paths: Sequence[str]) -> set[str]:
    packages = {
        path.split("/")[0]
        for path in paths
        if path.count("/") == 1 and path.endswith(("/__init__.py", "/__init__.pyx"))
    }
    files = {path[:-3] for path in paths if "/" not in path and path.endswith(".py")}
    return {module for module in packages | files if module.lower() not in _NO_PRODUCT and module.isidentifier()}


def _included(module: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(module, pattern) for pattern in patterns)


def _below(paths: Sequence[str], directory: str) -> tuple[str, ...]:
    """The paths inside a directory, relative to it."""
    if directory in (".", ""):
        return tuple(paths)
    prefix = directory.strip("/") + "/"
    return tuple(path.removeprefix(prefix) for path in paths if path.startswith(prefix))
