"""What has to be compiled, and against what."""

import pytest

from datasmith.resolution.base import SourceTree
from datasmith.resolution.metadata import read_metadata
from datasmith.resolution.native import apt_packages, is_compiled

PURE = '[build-system]\nrequires = ["flit_core"]\nbuild-backend = "flit_core.buildapi"\n[project]\nname = "p"\n'
SETUPTOOLS = (
    '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n[project]\nname = "p"\n'
)


def look(texts: dict[str, str], *paths: str, conda: tuple[str, ...] = ()) -> tuple[bool, tuple[str, ...]]:
    tree = SourceTree(texts, (*texts, *paths))
    metadata = read_metadata(tree, "o/p")
    compiled = is_compiled(tree, metadata)
    return compiled, apt_packages(tree, metadata, compiled, conda)


@pytest.mark.parametrize(
    ("texts", "paths"),
    [
        ({"pyproject.toml": PURE}, ("p/__init__.py", "p/data.c")),
        ({"pyproject.toml": SETUPTOOLS}, ("p/__init__.py", "tests/hello-world.c", "docs/x.pyx")),
        ({"setup.py": "setup(name='p')"}, ("p/a.py",)),
    ],
)
def test_pure_projects(texts: dict[str, str], paths: tuple[str, ...]) -> None:
    """Sources of tests, and of projects whose backend cannot compile, do not count; nothing is needed from apt."""
    assert look(texts, *paths, conda=("geos",)) == (False, ())


@pytest.mark.parametrize(
    ("texts", "paths"),
    [
        ({"pyproject.toml": SETUPTOOLS}, ("p/_fast.pyx",)),
        ({"pyproject.toml": SETUPTOOLS.replace('"setuptools"', '"setuptools", "Cython>=3"')}, ()),
        ({"setup.py": "setup(ext_modules=[Extension('a', ['a.c'])])"}, ()),
        ({"pyproject.toml": SETUPTOOLS.replace("setuptools.build_meta", "mesonpy")}, ("p/a.cpp",)),
        ({"setup.py": "setup(name='p')"}, ("p/wrapped.i",)),
    ],
)
def test_compiled_projects(texts: dict[str, str], paths: tuple[str, ...]) -> None:
    """A source of the package, a compiling build requirement, or extension modules; a compiler is then needed."""
    compiled, apt = look(texts, *paths)
    assert compiled
    assert "build-essential" in apt


@pytest.mark.parametrize(
    ("texts", "paths", "package"),
    [
        ({"setup.py": "run(['geos-config'])\nsetup(ext_modules=e)"}, (), "libgeos-dev"),
        ({"setup.py": "setup(ext_modules=e)", "p/x.c": "#include <hdf5.h>\n"}, (), "libhdf5-dev"),
        ({"setup.py": "setup(ext_modules=e)", "meson.build": "dependency('openblas')"}, (), "libopenblas-dev"),
        ({"setup.py": "setup(ext_modules=e)"}, ("p/a.f90",), "gfortran"),
        ({"setup.py": "setup(ext_modules=e)"}, ("src/lib.rs",), "cargo"),
    ],
)
def test_signs_lead_to_packages(texts: dict[str, str], paths: tuple[str, ...], package: str) -> None:
    """Each row of the table is a plain sign in a build file or source."""
    assert package in look(texts, *paths)[1]


def test_native_names_asked_of_conda_come_from_apt() -> None:
    """The benchmark configuration's "geos" is a library of the system."""
    assert "libgeos-dev" in look({"setup.py": "setup(ext_modules=e)"}, conda=("geos",))[1]
