"""Does a project have sources to compile, and which Debian packages does that need: a small table of plain signs."""

import re
from collections.abc import Iterable

from datasmith.resolution.base import SourceTree
from datasmith.resolution.layout import is_product
from datasmith.resolution.metadata import ProjectMetadata
from datasmith.resolution.requirements import read_lines, requirement_name

_SOURCES = (".pyx", ".pxd", ".c", ".cc", ".cpp", ".cxx", ".f", ".f90", ".rs", ".cu", ".pyf", ".i")
_FORTRAN = (".f", ".f90", ".pyf")
_COMPILING = {
    "cffi", "cppy", "cython", "maturin", "meson-python", "nanobind", "pybind11", "pythran", "scikit-build",
    "scikit-build-core", "setuptools-rust", "hatch-cython", "hatch-mypyc", "py-build-cmake",
}  # fmt: skip
_PURE_BACKENDS = ("flit", "poetry.core", "poetry.masonry", "hatchling", "pdm.backend", "uv_build")
_BUILD_FILE = re.compile(
    r"(?:.*/)?(?:setup\.py|setup\.cfg|pyproject\.toml|meson\.build|CMakeLists\.txt|\w+\.(?:c|cc|cpp|h|hpp|pyx|pxd))"
)

_LIBRARIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"geos-config|geos_c\b", ("libgeos-dev",)),
    (r"gdal-config|<gdal\.h>", ("libgdal-dev",)),
    (r"<proj\.h>|dependency\('proj'", ("libproj-dev",)),
    (r"<hdf5\.h>|\bh5cc\b|dependency\('hdf5'", ("libhdf5-dev",)),
    (r"<netcdf\.h>|nc-config", ("libnetcdf-dev",)),
    (
        r"dependency\(['\"](?:openblas|blas|lapack|scipy-openblas)|lapack_opt|blas_opt|\bcblas\.h",
        ("libopenblas-dev", "gfortran"),
    ),
    (r"xml2-config|xslt-config|<libxml/", ("libxml2-dev", "libxslt1-dev")),
    (r"<fftw3\.h>|dependency\('fftw3", ("libfftw3-dev",)),
    (r"<gsl/|gsl-config", ("libgsl-dev",)),
    (r"<boost/", ("libboost-dev",)),
    (r"<Eigen/|dependency\('eigen3'", ("libeigen3-dev",)),
    (r"<zlib\.h>", ("zlib1g-dev",)),
    (r"<bzlib\.h>", ("libbz2-dev",)),
    (r"<lzma\.h>", ("liblzma-dev",)),
    (r"<zstd\.h>", ("libzstd-dev",)),
    (r"<png\.h>", ("libpng-dev",)),
    (r"<jpeglib\.h>", ("libjpeg-dev",)),
    (r"<tiffio\.h>", ("libtiff-dev",)),
    (r"<curl/", ("libcurl4-openssl-dev",)),
    (r"<sqlite3\.h>", ("libsqlite3-dev",)),
    (r"\blapacke\.h", ("liblapacke-dev",)),
    (r"<ffi\.h>", ("libffi-dev",)),
    (r"<openssl/", ("libssl-dev",)),
    (r"<mpi\.h>|\bmpicc\b", ("libopenmpi-dev",)),
    (r"<gmp\.h>", ("libgmp-dev",)),
    (r"\bgraphviz/cgraph\.h", ("libgraphviz-dev",)),
    (r"<libpq-fe\.h>|\bpg_config\b", ("libpq-dev",)),
    (r"dependency\(|pkg-config|pkgconfig|pkg_check_modules", ("pkg-config",)),
)
"""Signs in build files and sources (what they include or ask for) -> the Debian packages that give it."""

NATIVE_NAMES: dict[str, tuple[str, ...]] = {
    "geos": ("libgeos-dev",), "gdal": ("libgdal-dev",), "libgdal": ("libgdal-dev",), "proj": ("libproj-dev",),
    "hdf5": ("libhdf5-dev",), "libnetcdf": ("libnetcdf-dev",), "fftw": ("libfftw3-dev",), "gsl": ("libgsl-dev",),
    "eigen": ("libeigen3-dev",), "boost": ("libboost-dev",), "boost-cpp": ("libboost-dev",),
    "libxml2": ("libxml2-dev",), "openblas": ("libopenblas-dev",), "libopenblas": ("libopenblas-dev",),
    "lapack": ("libopenblas-dev",), "compilers": (), "c-compiler": (), "cxx-compiler": (),
    "fortran-compiler": ("gfortran",), "gcc": (), "gxx": (), "libgfortran": ("gfortran",), "make": (),
    "mkl-include": (), "blas": (), "libblas": (), "nomkl": (), "llvm-openmp": (), "pkg-config": ("pkg-config",),
    "pkgconfig": ("pkg-config",), "rust": ("cargo", "rustc"), "python": (), "git": (),
}  # fmt: skip
"""Conda packages that are no Python distributions (PyPI has strangers under some of the names) -> Debian packages."""


def is_compiled(tree: SourceTree, metadata: ProjectMetadata) -> bool:
    """True where the package has sources that must be compiled, or its build asks for a compiling tool."""
    asked = {requirement_name(line) for line in read_lines(metadata.build_requires).requirements}
    if metadata.builds_extensions or asked & _COMPILING:
        return True
    return not metadata.build_backend.startswith(_PURE_BACKENDS) and bool(_sources(tree, metadata.root))


def apt_packages(
    tree: SourceTree, metadata: ProjectMetadata, compiled: bool, conda_names: Iterable[str]
) -> tuple[str, ...]:
    """The Debian packages that compiling the project needs, sorted; none for one that is not compiled.

    `conda_names` are native libraries that the benchmark configuration asked conda for.
    """
    if not compiled:
        return ()
    sources = _sources(tree, metadata.root)
    asked = {requirement_name(line) for line in read_lines(metadata.build_requires).requirements}
    found = {"build-essential"} | {package for name in conda_names for package in NATIVE_NAMES.get(name, ())}
    if any(path.lower().endswith(_FORTRAN) for path in sources):
        found.add("gfortran")
    if any(path.endswith(".i") for path in sources):
        found.add("swig")
    if asked & {"maturin", "setuptools-rust"} or any(path.endswith(".rs") for path in sources):
        found |= {"cargo", "rustc"}
    for path, text in tree.texts.items():
        if is_build_file(path) and is_product(path):
            found |= set(packages_for(text))
    return tuple(sorted(found))


def packages_for(text: str) -> tuple[str, ...]:
    """The Debian packages of the libraries that a text includes or asks for, sorted."""
    return tuple(sorted({package for sign, packages in _LIBRARIES if re.search(sign, text) for package in packages}))


def is_build_file(path: str) -> bool:
    """True for build descriptions and sources whose text may show what they are built against."""
    return _BUILD_FILE.fullmatch(path) is not None


def _sources(tree: SourceTree, root: str) -> tuple[str, ...]:
    prefix = "" if root == "." else root + "/"
    inside = (path for path in tree.paths if path.startswith(prefix))
    return tuple(path for path in inside if path.lower().endswith(_SOURCES) and is_product(path.removeprefix(prefix)))
