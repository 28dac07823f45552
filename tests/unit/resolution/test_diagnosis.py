"""What failed builds say, and what is made of it."""

import textwrap

import pytest

from datasmith.resolution.diagnosis import diagnose

LOGS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "src/geos.c:1:2: fatal error: geos_c.h: No such file": ("missing header", "geos_c.h", ("libgeos-dev",)),
    "a.cpp:1:10: fatal error: 'boost/a.hpp' file not found": ("missing header", "boost/a.hpp", ("libboost-dev",)),
    "fatal error: graphviz/cgraph.h: No such file": ("missing header", "graphviz/cgraph.h", ("libgraphviz-dev",)),
    "ext.c:1:10: fatal error: Python.h: No such file or directory": ("missing header", "Python.h", ("python3-dev",)),
    "fatal error: their_own.h: No such file or directory": ("missing header", "their_own.h", ()),
    "/usr/bin/ld: cannot find -lopenblas: No such file": ("missing library", "openblas", ("libopenblas-dev",)),
    "/usr/bin/ld: cannot find -lz": ("missing library", "z", ("zlib1g-dev",)),
    "RuntimeError: geos-config executable not found": ("missing program", "geos-config", ("libgeos-dev",)),
    "Could not find gdal-config. Make sure": ("missing program", "gdal-config", ("libgdal-dev",)),
    "../meson.build:9:7: ERROR: Dependency \"hdf5\" not found, tried pkgconfig": (
        "missing library", "hdf5", ("libhdf5-dev",),
    ),
    "Run-time dependency libffi found: NO (tried pkgconfig and cmake)": ("missing library", "libffi", ("libffi-dev",)),
    "meson.build:3:6: ERROR: Dependency \"libpng\" not found, tried pkgconfig and cmake": (
        "missing library", "libpng", ("libpng-dev",),
    ),
    "Package 'libjpeg', required by 'virtual:world', not found": ("missing library", "libjpeg", ("libjpeg-dev",)),
    "No package 'libssl' found": ("missing library", "libssl", ("libssl-dev",)),
    "No package 'libcurl' found": ("missing library", "libcurl", ("libcurl4-openssl-dev",)),
    "No package 'sqlite3' found": ("missing library", "sqlite3", ("libsqlite3-dev",)),
    "/usr/bin/ld: cannot find -lblas: No such file": ("missing library", "blas", ("libopenblas-dev",)),
    "a.c:1:10: fatal error: jpeglib.h: No such file": ("missing header", "jpeglib.h", ("libjpeg-dev",)),
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
    "AttributeError: '_Backend' object has no attribute 'build_editable'": ("no editable builds", "", ()),
    "curl: (6) Could not resolve host: example.org": ("network in build", "", ()),
    "LookupError: setuptools-scm was unable to detect version for /workspace": ("version from git", "", ()),
    "gcc: fatal error: Killed signal terminated program cc1plus": ("out of memory", "", ()),
    "OSError: [Errno 28] No space left on device": ("disk full", "", ()),
    "ImportError: /lib/libc.so.6: version `GLIBC_2.38' not found (required by x.so)": (
        "missing shared library", "GLIBC_2.38", (),
    ),
    "a.pyx:9:4: Cannot assign type 'int (int) except? -1' to 'f'. Suggest adding 'noexcept' to the type of 'g'.": (
        "Cython 3", "", (),
    ),
    "hint: Network connectivity is disabled (by --offline)": ("network in build", "", ()),
    "============ no tests ran in 0.01s ============": ("test-only failure", "", ()),
    "2 errors in 0.52s": ("test-only failure", "", ()),
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


def test_what_no_package_is_known_for_gives_way_to_what_helps() -> None:
    """Shapely's build goes on without GEOS' flags, and then lacks numpy's as well; alone, the header is the reason."""
    numpy = "src/geos.h:5:10: fatal error: numpy/ndarraytypes.h: No such file or directory\ncompilation terminated.\n"
    geos = "Could not find geos-config executable. Either append the path to geos-config to PATH or manually provide\n"
    assert diagnose(geos + numpy).text == "missing program geos-config"
    assert diagnose(f"{numpy}Network is unreachable").text == "missing header numpy/ndarraytypes.h"
    assert diagnose(numpy + "a.c:1:2: fatal error: png.h: No such file\n").apt_packages == ("libpng-dev",)
    assert diagnose("MemoryError\n" + geos).kind == "out of memory"


def test_what_a_failed_test_says_is_no_sign_of_the_build() -> None:
    """Tests have no network, and may run out of memory on purpose; what they cannot import is lacking all the same."""
    said = "20 passed\nOSError: [Errno 101] Network is unreachable\nMemoryError\n1 failed, 20 passed in 3.1s\n"
    assert diagnose(said, "tests").kind == "test-only failure"
    assert diagnose(said, "docker_build_pkg.sh").kind == "out of memory"
    missing = "20 passed\nImportError: libGL.so.1: cannot open shared object file\n298 failed, 20 passed in 3.1s\n"
    assert diagnose(missing, "tests").apt_packages == ("libgl1",)


@pytest.mark.parametrize("line", ["3 errors in 2 files (checked 10 sources)", "2 errors in foo.f90", "no tests ran"])
def test_a_count_of_errors_is_not_always_of_tests(line: str) -> None:
    """Compilers and linters count theirs, too; pytest says how long it took."""
    assert diagnose(f"{line}\n").kind == "unknown"


EXCERPTS: dict[str, tuple[str, tuple[str, ...]]] = {
    """
      File "/workspace/repo/setup.py", line 12, in <module>
        import pkg_resources
    ModuleNotFoundError: No module named 'pkg_resources'
    hint: This usually indicates a problem with the package or the build environment.
    """: ("pkg_resources gone", ("setuptools<81",)),
    """
      File "/workspace/repo/versioneer.py", line 399, in get_versions
        from distutils.version import LooseVersion
    ModuleNotFoundError: No module named 'distutils'
    """: ("distutils gone", ("setuptools<81",)),
    """
    Error compiling Cython file:
    ------------------------------------------------------------
    ...
        cdef object key
        if isinstance(key, (int, long)):
                                 ^
    ------------------------------------------------------------
    pandas/_libs/index.pyx:61:33: undeclared name not builtin: long
    """: ("Cython 3", ("cython<3",)),
    """
      File "pandas/_libs/interval.pyx", line 1, in init pandas._libs.interval
    ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from
    PyObject
    """: ("numpy ABI", ("numpy<2.0",)),
    """
    A module that was compiled using NumPy 1.x cannot be run in
    NumPy 2.0.2 as it may crash. To support both 1.x and 2.x
    versions of NumPy, modules must be compiled with NumPy 2.0.
    """: ("numpy ABI", ("numpy<2",)),
    """
      File "/workspace/repo/skimage/util/dtype.py", line 20, in <module>
        np.bool: (False, True),
    AttributeError: module 'numpy' has no attribute 'bool'.
    """: ("numpy API", ("numpy<1.24",)),
    """
    AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead.
    """: ("numpy API", ("numpy<2",)),
    """
      x Failed to build `calc @ file:///workspace/repo`
      |-> The build backend returned an error
      `-> Call to `hatchling.build.build_editable` failed (exit status: 1)
          Traceback (most recent call last):
            File "<string>", line 8, in <module>
          ModuleNotFoundError: No module named 'hatchling'
    """: ("missing module", ("hatchling",)),
    """
    pip._vendor.pyproject_hooks._impl.BackendUnavailable: Cannot import 'mesonpy'
    """: ("missing backend", ("meson-python",)),
    """
    ImportError: libGL.so.1: cannot open shared object file: No such file or directory
    """: ("missing shared library", ()),
    """
    tests/test_calc.py F.                                                    [100%]
    =================================== FAILURES ===================================
    FAILED tests/test_calc.py::test_total - assert 3 == 4
    ========================= 1 failed, 1 passed in 0.02s ==========================
    """: ("test-only failure", ()),
    """
    urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>
    """: ("network in build", ()),
}
"""What tools print, and what should be among the locked packages instead."""


@pytest.mark.parametrize("log", EXCERPTS, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(EXCERPTS.values())])
def test_an_excerpt_of_a_log_leads_to_a_recipe(log: str) -> None:
    """The sign is found among all else, and what it asks for is what mends it."""
    found = diagnose(textwrap.dedent(log))
    assert (found.kind, found.requirements) == EXCERPTS[log]


PRINTED: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {
    """
    header.c:3:10: fatal error: hdf5.h: No such file or directory
        3 | #include <hdf5.h>
          |          ^~~~~~~~
    compilation terminated.
    error: Command '['gcc', '-Wsign-compare', '-O3', '-c', 'header.c']' returned non-zero exit status 1.
    """: ("missing header", "hdf5.h", ("libhdf5-dev",), ()),
    """
    /usr/bin/ld: cannot find -lopenblas: No such file or directory
    collect2: error: ld returned 1 exit status
    error: Command '['gcc', '-shared', '-lopenblas']' returned non-zero exit status 1.
    """: ("missing library", "openblas", ("libopenblas-dev",), ()),
    """
    Run-time dependency gsl found: NO  (tried pkg-config)

    m3/meson.build:2:0: ERROR: Dependency "gsl" not found (tried pkg-config)
    """: ("missing library", "gsl", ("libgsl-dev",), ()),
    """
    -- Checking for module 'gsl'
    --   Package 'gsl', required by 'virtual:world', not found
    CMake Error at /usr/share/cmake-3.25/Modules/FindPkgConfig.cmake:607 (message):
      A required package was not found
    Call Stack (most recent call first):
      /usr/share/cmake-3.25/Modules/FindPkgConfig.cmake:829 (_pkg_check_modules_internal)
      CMakeLists.txt:4 (pkg_check_modules)
    """: ("missing library", "gsl", ("libgsl-dev",), ()),
    """
    CMake Error at /usr/share/cmake-3.25/Modules/FindPackageHandleStandardArgs.cmake:230 (message):
      Could NOT find HDF5 (missing: HDF5_LIBRARIES HDF5_INCLUDE_DIRS) (found
      version "")
    """: ("missing library", "HDF5", ("libhdf5-dev",), ()),
    """
    m3/meson.build:2:0: ERROR: Program 'swig' not found or not executable
    """: ("missing program", "swig", ("swig",), ()),
    """
    m2/meson.build:1:0: ERROR: Unknown compiler(s): [['gfortran'], ['flang-new'], ['flang'], ['nvfortran'], ['g95']]
    The following exception(s) were encountered:
    Running `gfortran --help` gave "[Errno 2] No such file or directory: 'gfortran'"
    """: ("missing compiler", "gfortran", ("gfortran",), ()),
    """
    Error compiling Cython file:
    ------------------------------------------------------------
    ...
    cpdef total(key):
        if isinstance(key, (int, long)):
                                 ^
    ------------------------------------------------------------
    core.pyx:2:29: undeclared name not builtin: long
    """: ("Cython 3", "", (), ("cython<3",)),
    """
      File "/workspace/repo/setup.py", line 1, in <module>
        import pkg_resources
    ModuleNotFoundError: No module named 'pkg_resources'
    """: ("pkg_resources gone", "", (), ("setuptools<81",)),
    """
        raise AttributeError(f"module {__name__!r} has no attribute {attr!r}")
    AttributeError: module 'numpy' has no attribute 'bool8'. Did you mean: 'bool'?
    """: ("numpy API", "bool8", (), ("numpy<2",)),
    """
    AttributeError: module 'numpy' has no attribute 'float'.
    `np.float` was a deprecated alias for the builtin `float`. To avoid this error in existing code, use `float` by
    """: ("numpy API", "float", (), ("numpy<1.24",)),
    """
             LookupError: setuptools-scm was unable to detect version for /workspace/repo.

             Make sure you're either building from a fully intact git repository or PyPI tarballs. Most other sources
    """: ("version from git", "", (), ()),
    """
             [stderr]
             Traceback (most recent call last):
               File "<string>", line 8, in <module>
             ModuleNotFoundError: No module named 'hatchling'

    hint: This error likely indicates that `calc@1` depends on `hatchling`, but doesn't declare it as a build dependency
    """: ("missing module", "hatchling", (), ("hatchling",)),
    """
    urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>
    """: ("network in build", "", (), ()),
    """
    a.cpp:1:10: fatal error: Eigen/Dense: No such file or directory
        1 | #include <Eigen/Dense>
          |          ^~~~~~~~~~~~~
    compilation terminated.
    """: ("missing header", "Eigen/Dense", ("libeigen3-dev",), ()),
    """
    CMake Error at CMakeLists.txt:4 (find_package):
      By not providing "FindEigen3.cmake" in CMAKE_MODULE_PATH this project has
      asked CMake to find a package configuration file provided by "Eigen3", but
      CMake did not find one.

      Could not find a package configuration file provided by "Eigen3" with any
      of the following names:

        Eigen3Config.cmake
    """: ("missing library", "Eigen3", ("libeigen3-dev",), ()),
    """
    CMake Error at CMakeLists.txt:3 (find_package):
      Could not find a package configuration file provided by "Eigen3" (requested
      version 3.3) with any of the following names:
    """: ("missing library", "Eigen3", ("libeigen3-dev",), ()),
    """
    CMake Warning at CMakeLists.txt:3 (find_package):
      By not providing "FindEigen3.cmake" in CMAKE_MODULE_PATH this project has
      asked CMake to find a package configuration file provided by "Eigen3", but
      CMake did not find one.

      Could not find a package configuration file provided by "Eigen3" with any
      of the following names:

    -- Configuring done
    """: ("unknown", "", (), ()),
    """
    ==================================== ERRORS ====================================
    __________________________ ERROR collecting test_a.py __________________________
    test_a.py:1: in <module>
        raise ValueError("x")
    E   ValueError: x
    """: ("test-only failure", "", (), ()),
    """
    ValueError: x
    =========================== short test summary info ============================
    ERROR test_a.py - ValueError: x
    !!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
    1 error in 2.62s
    """: ("test-only failure", "", (), ()),
    """
    test_a.py:3: ZeroDivisionError
    =========================== short test summary info ============================
    ERROR test_a.py::test_c - ZeroDivisionError: division by zero
    1 passed, 1 error in 2.46s
    """: ("test-only failure", "", (), ()),
}
"""What gcc 12, ld 2.40, Meson 1, CMake 3.25, Cython 3, numpy 2, setuptools 84, setuptools-scm, uv and pytest 9 really
printed."""


@pytest.mark.parametrize("log", PRINTED, ids=[f"{kind}-{n}" for n, (kind, *_) in enumerate(PRINTED.values())])
def test_what_tools_print_is_read(log: str) -> None:
    """Of builds that were made to fail; only command lines and lists are shortened."""
    found = diagnose(textwrap.dedent(log))
    assert (found.kind, found.what, found.apt_packages, found.requirements) == PRINTED[log]


def test_a_library_that_a_wheel_loads_comes_from_debian() -> None:
    """Its run-time package, whichever version the file has; a strange one is only named."""
    said = "OSError: {}: cannot open shared object file: No such file or directory"
    assert diagnose(said.format("libgomp-a34b3233.so.1")).apt_packages == ()
    assert diagnose(said.format("libgomp.so.1")).apt_packages == ("libgomp1",)
    assert diagnose("error: libhdf5.so: cannot open shared object file\n").apt_packages == ("libhdf5-dev",)
    assert diagnose(said.format("libgeos_c.so.1")).apt_packages == ("libgeos-dev",)
    assert diagnose(said.format("libstrange.so")).text == "missing shared library libstrange.so"


MENDED: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "/bin/sh: 1: gcc: not found": ("missing compiler", ("build-essential",), ()),
    "make: g++: No such file or directory": ("missing compiler", ("build-essential",), ()),
    "bash: line 1: gfortran: command not found": ("missing compiler", ("gfortran",), ()),
    "mpicc: command not found": ("missing compiler", ("libopenmpi-dev",), ()),
    "FileNotFoundError: [Errno 2] No such file or directory: 'gcc'": ("missing compiler", ("build-essential",), ()),
    "error: command 'swig' failed: No such file or directory": ("missing program", ("swig",), ()),
    "error: command '/usr/bin/cmake' failed: No such file or directory": ("missing program", ("cmake",), ()),
    "unable to execute 'swig': No such file or directory": ("missing program", ("swig",), ()),
    "unable to execute 'gcc': No such file or directory": ("missing compiler", ("build-essential",), ()),
    "sh: 1: cmake: not found": ("missing program", ("cmake",), ()),
    "bash: line 3: swig: command not found": ("missing program", ("swig",), ()),
    "make[1]: bison: No such file or directory": ("missing program", ("bison",), ()),
    "../meson.build:4:0: ERROR: Program 'ninja' not found": ("missing program", ("ninja-build",), ()),
    'Could not find a package configuration file provided by "Eigen3" with any of': (
        "missing library", ("libeigen3-dev",), (),
    ),
    "Cargo, the Rust package manager, is not installed": ("missing compiler", ("cargo", "rustc"), ()),
    "Failed to establish a new connection: [Errno 111]": ("network in build", (), ()),
    "OSError: Tunnel connection failed: 403 Forbidden": ("network in build", (), ()),
    "error: Failed to fetch: `https://pypi.org/simple/`": ("network in build", (), ()),
    "error: invalid command 'bdist_wheel'": ("missing module", (), ("wheel",)),
    "error in x setup command: use_2to3 is invalid.": ("use_2to3", (), ("setuptools<58",)),
    "module 'pkgutil' has no attribute 'ImpImporter'": ("old setuptools", (), ("setuptools>=66.1,<81",)),
    "OSError: Could not find lib c or load any of its variants ['libgeos_c.so.1', 'libgeos_c.so'].": (
        "missing shared library", ("libgeos-dev",), (),
    ),
    "module compiled against API version 0xe but this version of numpy is 0xd": (
        "numpy older than its build", (), ("numpy>=1.20",),
    ),
    "module compiled against API version 0x99 but this version of numpy is 0xd": ("numpy older than its build", (), ()),
    "module compiled against ABI version 0x1000009 but this version of numpy is 0x2000000": (
        "numpy ABI", (), ("numpy<2",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("log", MENDED)
def test_a_tool_that_is_missing_or_too_old_is_known(log: str) -> None:
    """Compilers that a shell misses, networks, old setuptools, and a numpy older than what it is built with."""
    found = diagnose(f"collecting\n{log}\nerror: exit status 1\n")
    assert (found.kind, found.apt_packages, found.requirements) == MENDED[log]


SIZES: dict[tuple[str, int, int], tuple[str, ...]] = {
    ("ndarray", 88, 80): ("numpy>=1.20",),
    ("ndarray", 96, 80): ("numpy>=1.22",),
    ("ndarray", 80, 88): ("numpy<1.20",),
    ("ufunc", 216, 192): ("numpy>=1.16",),
    ("ufunc", 192, 216): ("numpy<1.16",),
    ("dtype", 96, 88): ("numpy<2.0",),
    ("dtype", 88, 96): ("numpy>=2.0",),
    ("dtype", 104, 96): (),
}
"""The sizes are those of numpy's headers and objects from 1.14 to 2.3; dtypes became smaller in numpy 2."""


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_direction_of_a_size_that_changed_decides(sizes: tuple[str, int, int]) -> None:
    """A module of a newer numpy than the one it meets asks for a newer one, a module of an older one for an older."""
    name, header, found = sizes
    said = (
        f"numpy.{name} size changed, may indicate binary incompatibility. Expected {header} from C header, got {found}"
    )
    read = diagnose(f"ValueError: {said} from PyObject")
    assert (read.kind, read.requirements) == ("numpy ABI", SIZES[sizes])
    assert diagnose(f"<frozen importlib._bootstrap>:219: RuntimeWarning: {said} from PyObject").kind == "unknown"
