"""Find what benchmark and test files import without any requirement saying so: a plain look at their syntax trees."""

import ast
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from datasmith.resolution.base import SourceTree

_WHERE = re.compile(
    r"(?:.*/)?(?:conftest\.py|(?:asv_bench|asv_benchmarks|bench|benchmarks?|perf|tests?)/.*\.py|test_\w+\.py)",
    re.IGNORECASE,
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
    "Crypto": "pycryptodome", "dateutil": "python-dateutil", "docx": "python-docx", "dotenv": "python-dotenv",
    "git": "gitpython", "jwt": "pyjwt", "mpl_toolkits": "matplotlib", "netCDF4": "netcdf4", "OpenSSL": "pyopenssl",
    "PIL": "pillow", "pkg_resources": "setuptools", "psycopg2": "psycopg2-binary", "pylab": "matplotlib",
    "serial": "pyserial", "skbuild": "scikit-build", "skimage": "scikit-image", "sklearn": "scikit-learn",
    "yaml": "pyyaml", "zmq": "pyzmq", "_pytest": "pytest", "setuptools_rust": "setuptools-rust",
    "setuptools_scm": "setuptools-scm",
}  # fmt: skip
"""Import name -> distribution name, where they differ by more than case, "-" and "_"."""

MAX_CHARACTERS = 1_000_000


def distribution_of(module: str) -> str:
    """The distribution that provides a module, by the table, else of the same name."""
    return _DISTRIBUTIONS.get(module, module.replace("_", "-").lower())


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

    def seen_from(self, importer: str) -> set[str]:
        """Modules beside the importing file, beside one of its parents, or under src."""
        folders, folder = ["", "src"], posixpath.dirname(importer)
        while folder:
            folders.append(folder)
            folder = posixpath.dirname(folder)
        return set().union(*(self._by_folder.get(name, ()) for name in folders))


def third_party(modules: Iterable[str], local: LocalModules, importer: str, own: Sequence[str]) -> tuple[str, ...]:
    """Distributions behind the modules that are neither standard library, nor the package, nor files of the tree."""
    strange = [module for module in modules if not _standard(module)]
    known = {name.split(".")[0] for name in own} | (local.seen_from(importer) if strange else set())
    return tuple(distribution_of(module) for module in strange if module not in known)


def undeclared(tree: SourceTree, own: Sequence[str]) -> tuple[str, ...]:
    """Distributions that benchmark files, conftests and tests import at their top, sorted.

    Imports inside functions, `try` and `if` are their author's optional ones and do not count.
    """
    local, found = LocalModules(tree.paths), set[str]()
    for path in sorted(tree.texts):
        if is_scanned(path):
            found |= set(third_party(top_imports(tree.texts[path]), local, path, own))
    return tuple(sorted(found))


def is_scanned(path: str) -> bool:
    """True for benchmark files, conftests and tests."""
    return _WHERE.fullmatch(path) is not None


def top_imports(text: str) -> Iterator[str]:
    """The first part of each absolute import that is a statement of the module itself."""
    try:
        body = ast.parse(text[:MAX_CHARACTERS]).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _standard(module: str) -> bool:
    return module in sys.stdlib_module_names or module in _GONE or module.startswith("__")
