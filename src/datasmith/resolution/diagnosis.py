"""Read the log of a build that failed: what it lacked, and which Debian packages would have given it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from datasmith.resolution.native import NATIVE_NAMES, packages_for

Kind = Literal[
    "missing compiler",
    "missing header",
    "missing library",
    "missing program",
    "missing module",
    "numpy ABI",
    "Cython 3",
    "network in build",
    "version from git",
    "out of memory",
    "disk full",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a build failed, what it could not find ("geos_c.h"), and the packages to try it with."""

    kind: Kind
    what: str = ""
    apt_packages: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As in "missing header geos_c.h"; empty where nothing is known."""
        return "" if self.kind == "unknown" else f"{self.kind} {self.what}".strip()


def diagnose(log: str) -> Diagnosis:
    """The first sign that the table knows, most certain ones first; "unknown" where there is none."""
    for kind, sign, packages in _SIGNS:
        found = re.search(sign, log, re.MULTILINE)
        if found:
            what = next((group for group in found.groups() if group), "") if found.re.groups else ""
            return Diagnosis(kind, what, packages(what))
    return Diagnosis("unknown")


def _nothing(_what: str) -> tuple[str, ...]:
    return ()


def _header(what: str) -> tuple[str, ...]:
    return packages_for(f"#include <{what}>")


def _library(what: str) -> tuple[str, ...]:
    name = what.lower()
    known = _LIBRARY_NAMES.get(name) or NATIVE_NAMES.get(name) or NATIVE_NAMES.get(name.removeprefix("lib"))
    return known or packages_for(f"<{what}.h>") or packages_for(what)


def _compiler(what: str) -> tuple[str, ...]:
    return _COMPILERS.get(what.rpartition("/")[2].lower(), ("build-essential",))


def _program(what: str) -> tuple[str, ...]:
    return _PROGRAMS.get(what, ()) or packages_for(what)


_LIBRARY_NAMES = {
    "z": ("zlib1g-dev",), "zlib": ("zlib1g-dev",), "bz2": ("libbz2-dev",), "lzma": ("liblzma-dev",),
    "ssl": ("libssl-dev",), "crypto": ("libssl-dev",), "openssl": ("libssl-dev",), "ffi": ("libffi-dev",),
    "gmp": ("libgmp-dev",), "pq": ("libpq-dev",), "xml2": ("libxml2-dev",), "libxml-2.0": ("libxml2-dev",),
    "xslt": ("libxslt1-dev",), "fftw3": ("libfftw3-dev",), "eigen3": ("libeigen3-dev",), "cblas": ("libopenblas-dev",),
    "netcdf": ("libnetcdf-dev",), "jpeg": ("libjpeg-dev",), "png": ("libpng-dev",), "freetype2": ("libfreetype-dev",),
}  # fmt: skip
"""As linkers, pkg-config and CMake call them."""
_COMPILERS = {
    "gfortran": ("gfortran",), "f77": ("gfortran",), "f95": ("gfortran",), "fortran": ("gfortran",),
    "rustc": ("cargo", "rustc"), "cargo": ("cargo", "rustc"), "rust": ("cargo", "rustc"), "nvcc": (),
    "clang": ("clang",), "clang++": ("clang",),
}  # fmt: skip
_PROGRAMS = {
    "cmake": ("cmake",), "swig": ("swig",), "bison": ("bison",), "flex": ("flex",), "make": ("build-essential",),
    "pkg-config": ("pkg-config",), "pkgconf": ("pkg-config",), "ninja": ("ninja-build",), "patchelf": ("patchelf",),
    "git": ("git",), "m4": ("m4",), "autoconf": ("autoconf",), "automake": ("automake",), "libtool": ("libtool",),
}  # fmt: skip

_NAME = r"['\"`‘]?([\w.+/-]+?)['\"`’]?"
_SIGNS: tuple[tuple[Kind, str, Callable[[str], tuple[str, ...]]], ...] = (
    ("disk full", r"No space left on device|Disk quota exceeded", _nothing),
    ("out of memory", r"\bKilled\b.*cc1|virtual memory exhausted|cc1plus: out of memory|MemoryError", _nothing),
    ("missing header", r"fatal error: ['\"]?([\w./+-]+\.h(?:pp|xx)?)['\"]?(?:: No such file| file not found)", _header),
    ("missing library", r"(?:cannot find|library not found for) -l([\w+.-]+)", _library),
    ("missing program", r"\b([\w+-]+-config)[^\n]{0,40}(?:not found|No such file|could not be found)", _program),
    ("missing program", r"(?:Could not find|Unable to find)[^\n]{0,30} ([\w+-]+-config)\b", _program),
    ("missing library", rf"Dependency {_NAME} not found|Run-time dependency {_NAME} found: NO \(tried", _library),
    ("missing library", r"No package '([\w+.-]+)' found|Could NOT find ([\w+.-]+) \(missing", _library),
    (
        "missing compiler",
        rf"error: command {_NAME} failed: No such file|Unknown compiler\(s\): \[\['([\w+]+)'|"
        r"can't find (Rust|rust) compiler|No (Fortran) compiler found|"
        r"No CMAKE_(?:C|CXX|Fortran)_COMPILER could be found|unable to execute '([\w+-]+)': No such file",
        _compiler,
    ),
    ("missing program", rf"Program {_NAME} (?:found: NO|not found or not executable)", _program),
    ("missing program", r"(?:FileNotFoundError|No such file or directory): '([\w+-]+)'\s*$", _program),
    ("missing module", r"ModuleNotFoundError: No module named '([\w.]+)'", _nothing),
    (
        "numpy ABI",
        r"numpy\.(?:ndarray|dtype) size changed|compiled using NumPy 1\.x|module compiled against API version",
        _nothing,
    ),
    ("Cython 3", r"Cython\.Compiler\.Errors\.CompileError|'long' is not (?:declared|a type identifier)", _nothing),
    (
        "network in build",
        r"Temporary failure in name resolution|Name or service not known|Could not resolve host|Network is unreachable",
        _nothing,
    ),
    ("version from git", r"setuptools[_-]scm was unable to detect version|unable to detect version for", _nothing),
)
"""Kind, sign (its first group that matches is what was lacking), and what to install."""
