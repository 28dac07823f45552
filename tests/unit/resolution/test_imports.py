"""What files import without saying so."""

from datasmith.resolution.base import SourceTree
from datasmith.resolution.imports import LocalModules, third_party, top_imports, undeclared


def test_third_party_imports_become_distributions() -> None:
    """Standard library, the package, files beside the importer and relative imports are nobody's distribution."""
    tree = SourceTree(
        {
            "asv_bench/benchmarks/io.py": (
                "import os\nimport yaml, PIL.Image\nfrom .common import x\nfrom common import y\nimport pkg.a\n"
            ),
            "pkg/tests/test_a.py": "from sklearn import svm\nimport numpy.testing\nimport helper_lib\n",
            "docs/conf.py": "import sphinx_rtd_theme\n",
            "pkg/core.py": "import optional_thing\n",
        },
        ("asv_bench/benchmarks/common.py", "pkg/__init__.py", "helper_lib/__init__.py", "pkg/compat/numpy/__init__.py"),
    )
    assert undeclared(tree, ("pkg",)) == ("numpy", "pillow", "pyyaml", "scikit-learn")


def test_optional_imports_do_not_count() -> None:
    """Inside try, if and functions the author copes without them; unreadable files import nothing."""
    text = (
        "try:\n    import a\nexcept ImportError:\n    pass\nif x:\n    import b\ndef f():\n    import c\nimport d.e\n"
    )
    assert list(top_imports(text)) == ["d"]
    assert list(top_imports("print 'two'")) == []


def test_below_a_shared_name_two_parts_tell_the_distribution() -> None:
    """`zope` and `google` are strangers on PyPI; what is imported below them is what is meant."""
    text = (
        "from zope.interface import implementer\nimport zope.event\nfrom zope import schema\nimport google.protobuf\n"
    )
    tree = SourceTree({"tests/test_a.py": text + "import erfa, tlz.dicttoolz, iris\n"}, ())
    declared = ("protobuf", "pyerfa", "scitools-iris", "toolz", "zope-event", "zope-interface", "zope-schema")
    assert undeclared(tree, ()) == declared


def test_the_namespace_of_the_package_is_nobody_elses() -> None:
    """`google-cloud` and `azure` are strangers on PyPI; what others have beside it in a shared namespace is theirs."""
    text = "from google.cloud.foo import x\nimport google.cloud\nimport google.protobuf\nimport azure.storage\n"
    tree = SourceTree({"tests/test_a.py": text}, ())
    assert undeclared(tree, ("google.cloud.foo", "azure.storage.foo")) == ("protobuf",)
    assert undeclared(tree, ("google",)) == ("azure",)


def test_directories_of_tools_need_no_init() -> None:
    """A setup.py that imports `tools.cythonize` means its own tools/; a directory `requests` may hold just data."""
    local = LocalModules(("setup.py", "tools/cythonize.py", "tests/helpers.py", "requests/get.py"))
    assert third_party(("tools", "tests", "requests"), local, "setup.py", ()) == ("requests",)


def test_programs_that_tests_read_as_data_import_nothing() -> None:
    """Tests of black format files with `import a, b`; nobody runs them. A module of fixtures is run."""
    data = {f"tests/{place}/x.py": "import a, b\n" for place in ("data", "data/cases", "unit/test_data")}
    assert undeclared(SourceTree(data | {"tests/fixtures/db.py": "import yaml\n"}, ()), ()) == ("pyyaml",)
