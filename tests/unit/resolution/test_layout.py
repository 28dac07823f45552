"""Where the project is, and what it provides."""

import pytest

from datasmith.resolution.base import SourceTree
from datasmith.resolution.layout import best_root, import_names, install_root, is_product, project_candidates
from datasmith.resolution.metadata import read_metadata


@pytest.mark.parametrize(
    ("target", "root"),
    [
        ("./python[test]", "python"),
        ("pip install ./python[test]", "python"),
        (".", "."),
        (".[test]", "."),
        ("python -m pip install {wheel_file}", "."),
        ("packages/core", "packages/core"),
        ("python -m pip install {build_dir}/python", "python"),
        ("python -m pip install {build_dir}/packages/core[all]", "packages/core"),
        ("python -m pip install {build_dir}[all]", "."),
        ("pip install {conf_dir}/core/", "core"),
        ("pip install {conf_dir}/../../core", "."),
        ("pip install a/../../core", "."),
    ],
)
def test_an_install_target_names_a_directory(target: str, root: str) -> None:
    """Extras and the command around it are not part of the path, asv's names for the tree are; none leads out of it."""
    assert install_root(target) == root


def test_the_root_of_the_repository_wins_then_the_name() -> None:
    """Else the directory or project called like the repository ("y_z" for y-z), else python, else by name."""
    assert best_root([("a", "x"), (".", "other")], "o/y-z") == "."
    assert best_root([("a/deep", "Y_z"), ("python", "other")], "o/y-z") == "a/deep"
    assert best_root([("zeta", "x"), ("python", "x"), ("alpha", "x")], "o/y-z") == "python"
    assert best_root([("zeta", "x"), ("alpha", "x")], "o/y-z") == "alpha"
    assert best_root([("alpha", "x"), ("zeta", "x")], "o/y-z") == "alpha"


def test_metadata_of_tests_and_examples_is_no_candidate() -> None:
    """A test's sample project is not the project."""
    paths = ["tests/sample/setup.py", "examples/pyproject.toml", "python/pyproject.toml", "setup.py", "a/b.py"]
    assert project_candidates(paths) == (".", "python")


def test_product_files() -> None:
    """Sources under tests, docs and vendored trees are not the package's."""
    assert is_product("src/pkg/a.c")
    assert not is_product("tests/hello.c")
    assert not is_product("pkg/tests/data/x.c")
    assert is_product("tests.py")


@pytest.mark.parametrize(
    ("paths", "name", "expected"),
    [
        (["src/packaging/__init__.py", "tasks/__init__.py", "tests/__init__.py"], "packaging", ("packaging",)),
        (["shapely/__init__.py", "benchmarks/__init__.py", "versioneer.py", "src/a.c"], "shapely", ("shapely",)),
        (["sklearn/__init__.py", "build_tools/__init__.py", "conftest.py"], "scikit-learn", ("sklearn",)),
        (["one/__init__.py", "two/__init__.py", "docs/__init__.py"], "many", ("one", "two")),
        (["one/__init__.py", "many/__init__.py"], "many", ("many",)),
        (["six.py", "setup.py", "test_six.py"], "six", ("six",)),
        (["src/jaraco/text.py"], "jaraco.text", ("jaraco.text",)),
        ([], "some-thing", ("some_thing",)),
        (["google/cloud/foo/__init__.py", "google/cloud/foo/x/__init__.py"], "google-cloud-foo", ("google.cloud.foo",)),
        (["google/foo_v1/__init__.py", "google/foo/__init__.py", "tests/__init__.py"], "google-foo", ("google.foo",)),
        (["src/azure/storage/foo/__init__.py", "run_all.py"], "azure-storage-foo", ("azure.storage.foo",)),
        (["src/acme/geo/__init__.py", "src/acme/map/__init__.py"], "dask-geo", ("acme.geo", "acme.map")),
        (["acme/tests/__init__.py", "doc/x/__init__.py", "acme/geo/io/__init__.py"], "dask-geo", ("acme.geo.io",)),
        (["other/setup.py", "other/pkg/__init__.py", "python/pkg/__init__.py"], "some-thing", ("some_thing",)),
        (["src/glue/py/__init__.py", "foo/__init__.py"], "foo", ("foo",)),
        (["run_everything.py"], "my-foo", ("my_foo",)),
        (["myfoo.py", "run_everything.py"], "my-foo", ("myfoo",)),
    ],
)
def test_modules_are_found_by_layout(paths: list[str], name: str, expected: tuple[str, ...]) -> None:
    """Src before the root; tests, benchmarks, documentation and tools are nobody's import names, nor namespaces."""
    assert import_names(paths, ".", name=name, named=(), roots=(), patterns=()) == expected


@pytest.mark.parametrize(
    "texts",
    [
        {"setup.py": "from setuptools import *\nsetup(name='big', py_modules=['tool'], packages=find_packages())"},
        {"setup.cfg": "[metadata]\nname = big\n[options]\npackages = find:\npy_modules = tool\n"},
        {
            "pyproject.toml": '[project]\nname = "big"\n[tool.setuptools]\npy-modules = ["tool"]\n'
            "[tool.setuptools.packages.find]\n"
        },
    ],
)
def test_single_modules_are_not_all_where_packages_are_looked_for(texts: dict[str, str]) -> None:
    """Its setup.py lists isympy and computes the rest: what is imported, and sealed, is sympy, too."""
    tree = SourceTree(texts, (*texts, "big/__init__.py", "tool.py", "docs/conf.py"))
    assert read_metadata(tree, "o/big").import_names == ("big", "tool")
    alone = SourceTree({"setup.py": "setup(name='big', py_modules=['tool'])"}, ("setup.py", "big/__init__.py"))
    assert read_metadata(alone, "o/big").import_names == ("tool",)


@pytest.mark.parametrize("named", [("google",), ("google.cloud",), ("src/google",)])
def test_a_namespace_that_the_metadata_lists_is_looked_into(named: tuple[str, ...]) -> None:
    """To import it would say nothing; what has modules of its own is none."""
    paths = ["src/google/cloud/foo/__init__.py", "src/google/cloud/foo/x/__init__.py"]
    assert import_names(paths, ".", name="f", named=named, roots=(), patterns=()) == ("google.cloud.foo",)
    paths += ["src/google/a.py", "src/google/cloud/b.py"]
    name = named[0].rpartition("/")[2]
    assert import_names(paths, ".", name="f", named=named, roots=(), patterns=()) == (name,)


@pytest.mark.timeout(20)
def test_a_hostile_tree_is_read_in_no_time() -> None:
    """Archives may hold paths of any depth."""
    paths = ["a/" * 2000 + f"n{number}/__init__.py" for number in range(2000)]
    assert import_names(paths, ".", name="x", named=(), roots=(), patterns=()) == ("x",)


def test_what_the_metadata_lists_goes_before_what_is_found() -> None:
    """Names, places and patterns of the build backend are followed."""
    paths = ["python/lib/real/__init__.py", "python/lib/other/__init__.py", "python/decoy/__init__.py"]
    assert import_names(paths, "python", name="d", named=("src/m",), roots=(), patterns=()) == ("m",)
    assert import_names(paths, "python", name="d", named=("src", ".", ""), roots=("lib",), patterns=("real*",)) == (
        "real",
    )
    paths = ["decoy/__init__.py", "ns/real/__init__.py"]
    assert import_names(paths, ".", name="d", named=(), roots=(), patterns=("ns.*",)) == ("ns.real",)
