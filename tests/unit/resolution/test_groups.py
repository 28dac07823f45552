"""Which extras and groups tests and benchmarks need."""

import pytest

from datasmith.resolution.groups import choose_names, expand, not_needed, purpose_of


@pytest.mark.parametrize(
    ("name", "purpose"),
    [
        ("test", "tests"),
        ("Testing", "tests"),
        ("dev-test", "tests"),
        ("test_all", "tests"),
        ("tests/requirements", "tests"),
        ("asv", "benchmarks"),
        ("benchmark", "benchmarks"),
        ("requirements-dev", "development"),
        ("docs", None),
        ("doc-test", None),
        ("test-gpu", None),
        ("plotting", None),
        ("requirements", None),
        ("", None),
    ],
)
def test_a_name_tells_its_purpose(name: str, purpose: str | None) -> None:
    """Documentation, typing and features are not for tests; a name with an unknown word is left alone."""
    assert purpose_of(name) == purpose


def test_development_counts_only_where_nothing_is_for_tests() -> None:
    """Not all extras: what a developer likes comes in where the tests have no list of their own."""
    assert choose_names(["dev", "docs", "test", "bench"]) == (("bench", "benchmarks"), ("test", "tests"))
    assert choose_names(["dev", "docs"]) == (("dev", "development"),)


def test_a_project_may_refer_to_its_own_extras() -> None:
    """The reference becomes what it stands for, and a cycle ends; the project itself disappears."""
    extras = {"test": ("pytest", "my_pkg[io]"), "io": ("h5py", "my-pkg[test]"), "all": ("my.pkg[test, io]", "my-pkg")}
    assert set(expand(extras["all"], "My_Pkg", extras)) == {"pytest", "h5py"}
    assert expand(["not readable !!"], "x", {}) == ("not readable !!",)


def test_tools_are_left_out_with_a_reason() -> None:
    """The host measures, no environment is made inside, no documentation is built; pip and pytest-cov stay."""
    assert not_needed("asv") == "the host measures with asv_runner"
    assert all(not_needed(name) for name in ("virtualenv", "tox", "nox", "pre-commit", "sphinx-rtd-theme", "ruff"))
    assert not any(not_needed(name) for name in ("pip", "pytest-cov", "numpy", "coverage"))
