"""What files import without saying so."""

from datasmith.resolution.base import SourceTree
from datasmith.resolution.imports import top_imports, undeclared


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
