"""What failed builds say, and what is made of it."""

import pytest

from datasmith.resolution.diagnosis import diagnose

LOGS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "src/geos.c:1:2: fatal error: geos_c.h: No such file": ("missing header", "geos_c.h", ("libgeos-dev",)),
    "a.cpp:1:10: fatal error: 'boost/a.hpp' file not found": ("missing header", "boost/a.hpp", ("libboost-dev",)),
    "fatal error: graphviz/cgraph.h: No such file": ("missing header", "graphviz/cgraph.h", ("libgraphviz-dev",)),
    "fatal error: their_own.h: No such file or directory": ("missing header", "their_own.h", ()),
    "/usr/bin/ld: cannot find -lopenblas: No such file": ("missing library", "openblas", ("libopenblas-dev",)),
    "/usr/bin/ld: cannot find -lz": ("missing library", "z", ("zlib1g-dev",)),
    "RuntimeError: geos-config executable not found": ("missing program", "geos-config", ("libgeos-dev",)),
    "Could not find gdal-config. Make sure": ("missing program", "gdal-config", ("libgdal-dev",)),
    "../meson.build:9:7: ERROR: Dependency \"hdf5\" not found, tried pkgconfig": (
        "missing library", "hdf5", ("libhdf5-dev",),
    ),
    "No package 'libxml-2.0' found": ("missing library", "libxml-2.0", ("libxml2-dev",)),
    "Could NOT find ZLIB (missing: ZLIB_LIBRARY ZLIB_INCLUDE_DIR)": ("missing library", "ZLIB", ("zlib1g-dev",)),
    "error: command 'gcc' failed: No such file or directory": ("missing compiler", "gcc", ("build-essential",)),
    "meson.build:1:0: ERROR: Unknown compiler(s): [['gfortran'], ['flang']]": (
        "missing compiler", "gfortran", ("gfortran",),
    ),
    "error: can't find Rust compiler": ("missing compiler", "Rust", ("cargo", "rustc")),
    "error: No Fortran compiler found": ("missing compiler", "Fortran", ("gfortran",)),
    "ERROR: Program 'cmake' not found or not executable": ("missing program", "cmake", ("cmake",)),
    "FileNotFoundError: [Errno 2] No such file or directory: 'swig'": ("missing program", "swig", ("swig",)),
    "ModuleNotFoundError: No module named 'pkg_resources'": ("pkg_resources gone", "", ()),
    "ValueError: numpy.ndarray size changed, may indicate binary incompatibility": ("numpy ABI", "", ()),
    "a.pyx:3:11: 'long' is not a type identifier": ("Cython 3", "", ()),
    "curl: (6) Could not resolve host: example.org": ("network in build", "", ()),
    "LookupError: setuptools-scm was unable to detect version for /workspace": ("version from git", "", ()),
    "gcc: fatal error: Killed signal terminated program cc1plus": ("out of memory", "", ()),
    "OSError: [Errno 28] No space left on device": ("disk full", "", ()),
    "error: subprocess-exited-with-error": ("unknown", "", ()),
    "": ("unknown", "", ()),
}  # fmt: skip


@pytest.mark.parametrize("log", LOGS)
def test_a_log_is_read(log: str) -> None:
    """What was lacking, and which packages give it."""
    found = diagnose(f"collecting\n{log}\nerror: exit status 1\n")
    assert (found.kind, found.what, found.apt_packages) == LOGS[log]
    assert found.text == ("" if found.kind == "unknown" else f"{found.kind} {found.what}".strip())


def test_the_cause_goes_before_its_consequences() -> None:
    """A missing header also fails the compiler's command, and the module that imports what was not built."""
    log = (
        "fatal error: geos_c.h: No such file or directory\nerror: command '/usr/bin/gcc' failed with exit code 1\n"
        "ModuleNotFoundError: No module named 'shapely.lib'\n"
    )
    assert diagnose(log).kind == "missing header"
