"""Read the log of a build that failed: what it lacked, and what would have given it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from datasmith.docker.outages import NO_ROOM
from datasmith.resolution.native import NATIVE_NAMES, packages_for

Kind = Literal[
    "missing compiler",
    "missing header",
    "missing library",
    "missing program",
    "missing shared library",
    "pkg_resources gone",
    "distutils gone",
    "old setuptools",
    "use_2to3",
    "missing backend",
    "no editable builds",
    "missing module",
    "numpy ABI",
    "numpy older than its build",
    "numpy API",
    "Cython 3",
    "network in build",
    "version from git",
    "out of memory",
    "disk full",
    "test-only failure",
    "unknown",
]


MOST_OF_A_KIND = 20
"""So many things that a log says are missing are looked up."""
_BY_NAME: frozenset[Kind] = frozenset(
    {"missing header", "missing library", "missing program", "missing shared library"}
)
"""What such a log names may be known to no package."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a build failed, what it could not find ("geos_c.h"), and what to try it with.

    That is Debian packages, or requirements that the locked environment should meet.
    """

    kind: Kind
    what: str = ""
    apt_packages: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As in "missing header geos_c.h"; empty where nothing is known."""
        return "" if self.kind == "unknown" else f"{self.kind} {self.what}".strip()


def diagnose(log: str, stage: str = "") -> Diagnosis:
    """The first sign that the table knows, most certain ones first; "unknown" where there is none.

    Something missing that no package is known for gives way to a sign that helps: a build that goes on without a
    library ends with whatever else that library's flags would have brought.
    Of the stage "tests", which never has a network, what tests say of that and of memory is about themselves.
    """
    helpless: Diagnosis | None = None
    for told in _told(log, stage):
        if told.apt_packages or told.requirements or (helpless is None and told.kind not in _BY_NAME):
            return told
        helpless = helpless or told
    return helpless or Diagnosis("unknown")


def _told(log: str, stage: str) -> Iterator[Diagnosis]:
    for kind, sign, packages in _SIGNS:
        if stage == "tests" and kind in _SAID_BY_TESTS:
            continue
        for found in islice(re.finditer(sign, log, re.MULTILINE), MOST_OF_A_KIND):
            what = " ".join(group for group in found.groups() if group)
            yield Diagnosis(kind, what, packages(what), _requirements(kind, what))


def _nothing(_what: str) -> tuple[str, ...]:
    return ()


def _header(what: str) -> tuple[str, ...]:
    return _PYTHON_HEADERS if what == "Python.h" else packages_for(f"#include <{what}>")


def _library(what: str) -> tuple[str, ...]:
    names = (what.lower(), what.lower().removeprefix("lib"))
    known = (table[name] for table in (_LIBRARY_NAMES, NATIVE_NAMES) for name in names if table.get(name))
    return next(known, ()) or packages_for(f"<{what}.h>") or packages_for(what)


def _compiler(what: str) -> tuple[str, ...]:
    return _COMPILERS.get(what.rpartition("/")[2].lower(), ("build-essential",))


def _program(what: str) -> tuple[str, ...]:
    return _PROGRAMS.get(what, ()) or packages_for(what)


def _shared(what: str) -> tuple[str, ...]:
    name = what.partition(".so")[0]
    return _SHARED.get(name, ()) or _library(name.removeprefix("lib"))


def _requirements(kind: Kind, what: str) -> tuple[str, ...]:
    """What has to be among the locked packages for this not to happen again."""
    module = what.split(".")[0]
    if kind in {"missing module", "missing backend"}:
        return (_BUILD_MODULES[module],) if module in _BUILD_MODULES else ()
    if kind == "numpy API":
        return ("numpy<1.24",) if what in _GONE_IN_1_24 else ("numpy<2",)
    if kind == "numpy older than its build":
        return (_NUMPY_OF_API[what],) if what in _NUMPY_OF_API else ()
    if kind == "numpy ABI" and what:
        return _numpy_of_sizes(*what.split())
    return _KIND_REQUIREMENTS.get(kind, ())


def _numpy_of_sizes(type_name: str, header: str, found: str) -> tuple[str, ...]:
    """A numpy as new as the one compiled against, or older than the one that it met; none for sizes unknown."""
    sizes = _FIRST_WITH_SIZE[type_name]
    built, met = sizes.get(header), sizes.get(found)
    if built is None or met is None:
        return ()
    order = [*sizes.values()]
    return (f"numpy>={built}",) if order.index(built) > order.index(met) else (f"numpy<{met}",)


_GONE_IN_1_24 = frozenset({"float", "int", "bool", "object", "str", "complex", "long", "typeDict"})
_KIND_REQUIREMENTS: dict[Kind, tuple[str, ...]] = {
    "pkg_resources gone": ("setuptools<81",),
    "distutils gone": ("setuptools<81",),
    "old setuptools": ("setuptools>=66.1,<81",),
    "use_2to3": ("setuptools<58",),
    "Cython 3": ("cython<3",),
    "numpy ABI": ("numpy<2",),
}
_NUMPY_OF_API = {
    "0xe": "numpy>=1.20", "0xf": "numpy>=1.22", "0x10": "numpy>=1.23", "0x11": "numpy>=1.25", "0x12": "numpy>=2.0",
}  # fmt: skip
"""The C API that a module was compiled against -> the first numpy that has it."""
_FIRST_WITH_SIZE = {
    "ndarray": {"80": "1.0", "88": "1.20", "96": "1.22"},
    "dtype": {"96": "1.0", "88": "2.0"},
    "ufunc": {"192": "1.0", "216": "1.16", "232": "1.22", "240": "2.1"},
}
"""Bytes of numpy's objects on 64 bits -> the first numpy that has them, the oldest first."""
_BUILD_MODULES = {
    "Cython": "cython", "numpy": "numpy", "pybind11": "pybind11", "setuptools": "setuptools<81", "wheel": "wheel",
    "setuptools_scm": "setuptools-scm", "setuptools_rust": "setuptools-rust", "packaging": "packaging",
    "hatchling": "hatchling", "hatch_vcs": "hatch-vcs", "flit_core": "flit-core", "flit_scm": "flit-scm",
    "poetry": "poetry-core", "poetry_dynamic_versioning": "poetry-dynamic-versioning", "pdm": "pdm-backend",
    "mesonpy": "meson-python", "scikit_build_core": "scikit-build-core", "skbuild": "scikit-build",
    "maturin": "maturin", "pbr": "pbr", "versioneer": "versioneer", "extension_helpers": "extension-helpers",
    "numpy_distutils": "numpy", "cffi": "cffi", "pythran": "pythran", "jinja2": "jinja2", "tempita": "tempita",
    "pkgconfig": "pkgconfig", "oldest_supported_numpy": "oldest-supported-numpy", "ninja": "ninja", "six": "six",
}  # fmt: skip
"""Modules that builds import -> the requirement that brings them."""
_SHARED = {
    "libGL": ("libgl1",), "libEGL": ("libegl1",), "libgomp": ("libgomp1",), "libglib-2": ("libglib2.0-0",),
    "libgthread-2": ("libglib2.0-0",), "libX11": ("libx11-6",), "libSM": ("libsm6",), "libXext": ("libxext6",),
    "libXrender": ("libxrender1",), "libgfortran": ("libgfortran5",), "libsndfile": ("libsndfile1",),
    "libquadmath": ("libquadmath0",), "libtbb": ("libtbb12",), "libatomic": ("libatomic1",),
}  # fmt: skip
"""Libraries that wheels load, up to their ".so" (or its first dot)."""
_PYTHON_HEADERS = ("python3-dev",)
"""For Debian's own Python; others bring their headers."""
_CURL = ("libcurl4-openssl-dev",)
_LIBRARY_NAMES = {
    "z": ("zlib1g-dev",), "zlib": ("zlib1g-dev",), "bz2": ("libbz2-dev",), "lzma": ("liblzma-dev",),
    "ssl": ("libssl-dev",), "crypto": ("libssl-dev",), "openssl": ("libssl-dev",), "ffi": ("libffi-dev",),
    "gmp": ("libgmp-dev",), "pq": ("libpq-dev",), "xml2": ("libxml2-dev",), "xml-2.0": ("libxml2-dev",),
    "xslt": ("libxslt1-dev",), "fftw3": ("libfftw3-dev",), "eigen3": ("libeigen3-dev",), "cblas": ("libopenblas-dev",),
    "blas": ("libopenblas-dev",), "lapack": ("libopenblas-dev",), "lapacke": ("liblapacke-dev",),
    "netcdf": ("libnetcdf-dev",), "jpeg": ("libjpeg-dev",), "png": ("libpng-dev",), "freetype2": ("libfreetype-dev",),
    "freetype": ("libfreetype-dev",), "tiff": ("libtiff-dev",), "tiff-4": ("libtiff-dev",), "curl": _CURL,
    "zstd": ("libzstd-dev",), "lz4": ("liblz4-dev",), "bzip2": ("libbz2-dev",), "sqlite3": ("libsqlite3-dev",),
    "yaml": ("libyaml-dev",), "yaml-0.1": ("libyaml-dev",), "exslt": ("libxslt1-dev",), "uuid": ("uuid-dev",),
}  # fmt: skip
"""As linkers, pkg-config and CMake call them, without the "lib" that some of these names begin with."""
_COMPILERS = {
    "gfortran": ("gfortran",), "f77": ("gfortran",), "f95": ("gfortran",), "fortran": ("gfortran",),
    "rustc": ("cargo", "rustc"), "cargo": ("cargo", "rustc"), "rust": ("cargo", "rustc"), "nvcc": (),
    "clang": ("clang",), "clang++": ("clang",), "mpicc": ("libopenmpi-dev",), "mpicxx": ("libopenmpi-dev",),
    "mpifort": ("gfortran", "libopenmpi-dev"), "mpif90": ("gfortran", "libopenmpi-dev"),
}  # fmt: skip
_PROGRAMS = {
    "cmake": ("cmake",), "swig": ("swig",), "bison": ("bison",), "flex": ("flex",), "make": ("build-essential",),
    "pkg-config": ("pkg-config",), "pkgconf": ("pkg-config",), "ninja": ("ninja-build",), "patchelf": ("patchelf",),
    "git": ("git",), "m4": ("m4",), "autoconf": ("autoconf",), "automake": ("automake",), "libtool": ("libtool",),
}  # fmt: skip

_COMPILER = r"(gcc|g\+\+|cc|c\+\+|gfortran|f77|f95|clang|clang\+\+|mpicc|mpicxx|mpifort|mpif90|rustc|cargo)"
_PROGRAM = rf"({'|'.join(map(re.escape, _PROGRAMS))})"
_NAME = r"['\"`‘]?([\w.+/-]+?)['\"`’]?"
_SAID_BY_TESTS: frozenset[Kind] = frozenset({"network in build", "out of memory"})
_SIGNS: tuple[tuple[Kind, str, Callable[[str], tuple[str, ...]]], ...] = (
    ("disk full", f"(?i:{NO_ROOM.pattern})", _nothing),
    ("out of memory", r"\bKilled\b.*cc1|virtual memory exhausted|cc1plus: out of memory|MemoryError", _nothing),
    ("no editable builds", r"has no attribute ['\"]build_editable['\"]", _nothing),
    (
        "missing header",
        r"fatal error: ['\"]?([\w./+-]+\.h(?:h|pp|xx)?|[\w+-]+(?:/[\w+-]+)*)['\"]?(?:: No such file| file not found)",
        _header,
    ),
    ("missing library", r"(?:cannot find|library not found for) -l([\w+.-]+)", _library),
    ("missing program", r"\b([\w+-]{1,60}-config)[^\n]{0,40}(?:not found|No such file|could not be found)", _program),
    ("missing program", r"(?:Could not find|Unable to find)[^\n]{0,30} ([\w+-]{1,60}-config)\b", _program),
    ("missing library", rf"Dependency {_NAME} not found|Run-time dependency {_NAME} found: NO \(tried", _library),
    (
        "missing library",
        r"No package '([\w+.-]+)' found|Package '([\w+.-]+)', required by '.*', not found"
        r"|Could NOT find ([\w+.-]+) \(missing"
        r"|(?:CMake Error at [^\n]*\(find_package\):\s[^:]*?|^Could not find a package configuration file )"
        r"provided\s+by\s+\"([\w.+-]+)\"",
        _library,
    ),
    (
        "missing program",
        rf"error: command ['\"](?:[\w./-]*/)?{_PROGRAM}['\"] failed: No such file"
        rf"|unable to execute '{_PROGRAM}': No such file|(?:^|[\s/]){_PROGRAM}: (?:command )?not found"
        rf"|^make(?:\[\d+])?: {_PROGRAM}: No such file",
        _program,
    ),
    (
        "missing compiler",
        rf"error: command {_NAME} failed: No such file|Unknown compiler\(s\): \[\['([\w+]+)'|"
        r"can't find (Rust|rust) compiler|No (Fortran) compiler found|"
        r"No CMAKE_(?:C|CXX|Fortran)_COMPILER could be found|unable to execute '([\w+-]+)': No such file",
        _compiler,
    ),
    (
        "missing compiler",
        rf"(?:^|[\s/]){_COMPILER}: (?:command )?not found|(?:^|[\s/]){_COMPILER}: No such file or directory"
        rf"|No such file or directory: ['\"](?:[\w./-]*/)?{_COMPILER}['\"]"
        r"|([Cc]argo), the Rust package manager, is not installed",
        _compiler,
    ),
    ("missing program", rf"Program {_NAME} (?:found: NO|not found)", _program),
    ("missing program", r"(?:FileNotFoundError|No such file or directory): '([\w+-]+)'\s*$", _program),
    (
        "missing shared library",
        r"(?:ImportError|OSError|^error): ([\w.+-]+?\.so[\w.]*): cannot open shared object file",
        _shared,
    ),
    ("missing shared library", r"version [`']((?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found", _nothing),
    ("missing shared library", r"Could not find lib[^\n]*variants \[['\"]([\w.+-]+?\.so[\w.]*)['\"]", _shared),
    ("use_2to3", r"use_2to3 is invalid", _nothing),
    ("old setuptools", r"module 'pkgutil' has no attribute 'ImpImporter'", _nothing),
    ("pkg_resources gone", r"(?:No module named|cannot import name) '?pkg_resources'?", _nothing),
    ("distutils gone", r"No module named '?distutils(?:\.\w+)*'?", _nothing),
    (
        "Cython 3",
        r"Cython\.Compiler\.Errors\.CompileError|'long' is not (?:declared|a type identifier)"
        r"|Cannot assign type [^\n]+ Suggest adding 'noexcept'"
        r"|cimported module has no attribute 'long'|undeclared name not builtin: (?:long|unicode|basestring|xrange)\b",
        _nothing,
    ),
    ("numpy older than its build", r"module compiled against API version (0x[0-9a-f]{1,2}) but", _nothing),
    ("missing module", r"error: invalid command 'bdist_(wheel)'", _nothing),
    (
        "numpy ABI",
        r"(?<!Warning: )numpy\.(ndarray|dtype|ufunc) size changed, may indicate binary incompatibility\.\s"
        r"Expected (\d+) from C header, got (\d+)",
        _nothing,
    ),
    (
        "numpy ABI",
        r"(?<!Warning: )numpy\.(?:ndarray|dtype|ufunc) size changed|compiled using NumPy 1\.x"
        r"|module compiled against ABI version|numpy\.core\.multiarray failed to import",
        _nothing,
    ),
    (
        "numpy API",
        r"module 'numpy' has no attribute '(float|int|bool|object|str|complex|long|typeDict|bool8)'"
        r"|`np\.(\w+_?)` was removed in the NumPy 2\.0",
        _nothing,
    ),
    ("missing backend", r"BackendUnavailable: Cannot import '([\w.]+)'", _nothing),
    ("missing backend", r"Backend '([\w.]+)(?::\w+)?' is not available", _nothing),
    ("missing module", r"ModuleNotFoundError: No module named '([\w.]+)'", _nothing),
    ("missing module", r"ImportError: No module named '?([\w.]+)'?\s*$", _nothing),
    (
        "network in build",
        r"Temporary failure in name resolution|Name or service not known|Could not resolve host|Network is unreachable"
        r"|Failed to establish a new connection|Tunnel connection failed|Network connectivity is disabled"
        r"|^[^\w\n]*(?:error: )?Failed to fetch\b",
        _nothing,
    ),
    ("version from git", r"setuptools[_-]scm was unable to detect version|unable to detect version for", _nothing),
    (
        "test-only failure",
        r"^(?:=+ )?(?:\d+ failed|(?:\d+ errors?|no tests ran) in \d+\.\d+s\b)|^FAILED \S+::"
        r"|^ERROR \S+\.py(?:::\S+)?(?: - |\s*$)|^_+ ERROR (?:collecting|at (?:setup|teardown) of) ",
        _nothing,
    ),
)
"""Kind, sign (its groups that match are what was lacking), and what to install."""
