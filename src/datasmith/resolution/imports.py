"""Find what benchmark and test files import without any requirement saying so: a plain look at their syntax trees."""

import ast
import posixpath
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

from datasmith.resolution.base import SourceTree
from datasmith.resolution.layout import is_product
from datasmith.resolution.requirements import asks_for_releases

_WHERE = re.compile(
    r"(?:.*/)?(?:conftest\.py|(?:asv_bench|asv_benchmarks|bench|benchmarks?|perf|tests?)/.*\.py|test_\w+\.py)",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"(?:^|/)tests?/(?:.*/)?(?:(?:test|golden)[-_]?)?(?:data|samples|resources|snapshots)/", re.IGNORECASE
)
_GONE = {
    "asynchat",
    "asyncore",
    "distutils",
    "imp",
    "smtpd",
    "cgi",
    "pipes",
    "telnetlib",
    "lib2to3",
    "nntplib",
    "crypt",
}
_DISTRIBUTIONS = {
    "attr": "attrs", "bs4": "beautifulsoup4", "Bio": "biopython", "cv2": "opencv-python-headless",
    "Crypto": "pycryptodome", "community": "python-louvain", "dateutil": "python-dateutil", "docx": "python-docx",
    "dotenv": "python-dotenv", "erfa": "pyerfa", "faiss": "faiss-cpu", "git": "gitpython",
    "google.protobuf": "protobuf", "grpc": "grpcio", "iris": "scitools-iris", "jwt": "pyjwt",
    "magic": "python-magic", "mpl_toolkits": "matplotlib", "netCDF4": "netcdf4", "OpenSSL": "pyopenssl",
    "PIL": "pillow", "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary", "pylab": "matplotlib", "pyximport": "cython", "scikits.umfpack": "scikit-umfpack",
    "serial": "pyserial", "skbuild": "scikit-build", "skimage": "scikit-image", "sklearn": "scikit-learn",
    "sksparse": "scikit-sparse", "slugify": "python-slugify", "snappy": "python-snappy", "tlz": "toolz",
    "umap": "umap-learn", "yaml": "pyyaml", "zmq": "pyzmq", "_pytest": "pytest",
}  # fmt: skip
"""Import name -> distribution name, where they differ by more than case, "-", "_" and "."."""
_SHARED = {"backports", "google", "jaraco", "repoze", "ruamel", "scikits", "zope"}
"""Names below which many distributions have something; on PyPI they are others' by themselves."""

_RUN_FIRST = ("conftest.py", "__init__.py")
"""What is imported before any test of its directory."""
MAX_CHARACTERS = 1_000_000


def distribution_of(module: str) -> str:
    """The distribution that provides a module, by the table, else of the same name."""
    return _DISTRIBUTIONS.get(module, re.sub(r"[._]", "-", module).lower())


class LocalModules:
    """The modules that lie in a tree, by folder."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._by_folder: dict[str, set[str]] = {}
        for path in paths:
            parent, name = posixpath.split(path)
            if name == "__init__.py":
                folder, module = posixpath.split(parent)
                self._by_folder.setdefault(folder, set()).add(module)
            elif name.endswith(".py"):
                self._by_folder.setdefault(parent, set()).add(name.removesuffix(".py"))
                folder, module = posixpath.split(parent)
                # Without an __init__.py it is a package, too, but one of which a distribution takes the name.
                if not is_product(f"{module}/{name}"):
                    self._by_folder.setdefault(folder, set()).add(module)

    def seen_from(self, importer: str) -> set[str]:
        """Modules beside the importing file, beside one of its parents, or under src."""
        folders, folder = ["", "src"], posixpath.dirname(importer)
        while folder:
            folders.append(folder)
            folder = posixpath.dirname(folder)
        return set().union(*(self._by_folder.get(name, ()) for name in folders))


def third_party(modules: Iterable[str], local: LocalModules, importer: str, own: Sequence[str]) -> tuple[str, ...]:
    """Distributions behind the modules that are neither standard library, nor the package, nor files of the tree.

    A module whose name no distribution can have ("_speedups", "naïve") stands for none.
    """
    strange = [module for module in modules if not _standard(module) and not _is_own(module, own)]
    known = local.seen_from(importer) if strange else set()
    found = (distribution_of(module) for module in strange if module.split(".")[0] not in known)
    return tuple(name for name in found if asks_for_releases(name))


def _is_own(module: str, own: Sequence[str]) -> bool:
    """True for the package's modules, what is below them, and the namespaces above them."""
    return any(f"{module}.".startswith(f"{name}.") or f"{name}.".startswith(f"{module}.") for name in own)


def undeclared(tree: SourceTree, own: Sequence[str]) -> tuple[str, ...]:
    """Distributions that benchmark files, conftests and tests import at their top, sorted.

    Imports inside functions, `try` and `if` are their author's optional ones and do not count.
    """
    return _imported(filter(is_scanned, tree.texts), tree, own, top_imports)


def while_collecting(tree: SourceTree, own: Sequence[str]) -> tuple[str, ...]:
    """Distributions that functions of conftests and of packages of tests import, sorted, but for what stands in `try`.

    They may be called while tests are collected, and none can be run then where an import fails.
    """
    first = (path for path in tree.texts if is_scanned(path) and posixpath.basename(path) in _RUN_FIRST)
    return _imported(first, tree, own, _imports_of_functions)


def _imported(
    paths: Iterable[str], tree: SourceTree, own: Sequence[str], modules: Callable[[str], Iterator[str]]
) -> tuple[str, ...]:
    """Distributions behind the modules that texts import, sorted."""
    local = LocalModules(tree.paths)
    return tuple(sorted({name for path in paths for name in third_party(modules(tree.texts[path]), local, path, own)}))


def is_scanned(path: str) -> bool:
    """True for benchmark files, conftests and tests, but for what tests read as data."""
    return _WHERE.fullmatch(path) is not None and not _DATA.search(path)


def top_imports(text: str) -> Iterator[str]:
    """The first part of each absolute import that is a statement of the module itself; two of shared names."""
    yield from _of_statements(_parsed(text).body)


def _parsed(text: str) -> ast.Module:
    """Its syntax tree; an empty one where this is no Python of today."""
    try:
        return ast.parse(text[:MAX_CHARACTERS])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _imports_of_functions(text: str) -> Iterator[str]:
    yield from _of_statements(_in_functions(_parsed(text)))


def _in_functions(module: ast.Module) -> Iterator[ast.AST]:
    """What functions consist of, without what they try."""
    left: list[tuple[ast.AST, bool]] = [(module, False)]
    while left:
        node, inside = left.pop()
        if inside:
            yield node
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not isinstance(node, ast.Try | ast.TryStar):
            left += [(child, inside) for child in ast.iter_child_nodes(node)]


def _of_statements(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (_part(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from dict.fromkeys(_part(f"{node.module}.{alias.name}") for alias in node.names)


def _part(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[: 2 if parts[0] in _SHARED else 1])


def _standard(module: str) -> bool:
    return module in sys.stdlib_module_names or module in _GONE or module.startswith("__")
