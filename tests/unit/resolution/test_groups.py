"""Which extras and groups tests and benchmarks need."""

import pytest

from datasmith.resolution.groups import choose_names, expand, is_too_long, not_needed, purpose_of


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


@pytest.mark.timeout(20)
def test_an_extra_is_written_out_once() -> None:
    """Extras that each refer to the next one twice; what comes first stays first."""
    extras = {f"e{at}": (f"p[e{at + 1}]", f"p[e{at + 1}]") for at in range(2000)} | {"e2000": ("six",)}
    assert expand(["p[e0]", "attrs"], "p", extras) == ("six", "attrs")
    nested = {"a": ("1", "p[b]", "3"), "b": ("2", "p[a]")}
    assert expand(["p[b,a]", "4"], "p", nested) == ("1", "2", "3", "4")


@pytest.mark.timeout(60)
def test_lists_beyond_the_limit_are_known_before_they_are_written_out() -> None:
    """By their number, or by the lines that the references stand for; ordinary ones are within."""
    assert not is_too_long([["p[test]"], ["six"]], "p", {"test": ("pytest",)})
    assert is_too_long([], "p", {f"e{at}": () for at in range(2001)})
    assert is_too_long([["p[all]"]] * 1000, "p", {"all": ("six",) * 100})
