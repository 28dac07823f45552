"""Conda's environment files."""

import pytest

from datasmith.resolution.conda import is_environment_file, nearest, read_environment, told_by_name
from datasmith.resolution.requirements import read_lines

FILE = """
name: dev
channels: [conda-forge]
dependencies:
  - python=3.10  # [linux]
  - conda-forge::scipy=1.7
  - numpy >=1.20,<2
  - pandas 1.5.*
  - cython 0.29.32 py310_0
  - pip
  - pip:
    - -r requirements-more.txt
    - attrs~=22.1
  - 3
"""


def test_both_lists_are_read() -> None:
    """Conda's and pip's, each in its own spelling; what is no text is passed over."""
    reading = read_lines(read_environment(FILE), {"ci/requirements-more.txt": "six"}, "ci")
    assert reading.requirements == (
        "python==3.10.*", "scipy==1.7.*", "numpy<2,>=1.20", "pandas==1.5.*", "cython==0.29.32.*", "pip", "six",
        "attrs~=22.1",
    )  # fmt: skip
    assert reading.dropped == ()


def test_names_are_those_of_pypi() -> None:
    """Conda's own, with and without a version or a channel; what pip's list says is PyPI's already."""
    conda = "pytorch, matplotlib-base, dask-core >=2, conda-forge::pytables, pytables=3.6, PyTables 3.7.*, pytorch-x"
    reading = read_lines(read_environment(f"dependencies: [{conda}, {{pip: [pytorch, python-graphviz]}}]"))
    assert reading.requirements == (
        "torch", "matplotlib", "dask>=2", "tables", "tables==3.6.*", "tables==3.7.*", "pytorch-x",
        "pytorch", "python-graphviz",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dependencies: 3",
        "- a",
        "dependencies:\n  - pip: x",
        "a: &a [*a]",
    ],
)
def test_a_file_may_list_nothing(text: str) -> None:
    """Whatever else it says."""
    assert read_environment(text) == ()


@pytest.mark.parametrize(
    "text", ["[", "[" * 5000, "!!python/object:os.x {}", "a: {{ x }}", "- @foo", "\t- a", "x" * 2_000_000]
)
def test_a_file_that_cannot_be_read_says_so(text: str) -> None:
    """Nothing of it is built or called."""
    with pytest.raises(ValueError, match=r"it (is no YAML|has more than)"):
        read_environment(text)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("environment.yml", True),
        ("ci/environment-dev.yaml", True),
        ("conda_env.yml", True),
        ("dev-environment.yml", True),
        (".github/workflows/tests.yml", False),
        ("environment.txt", False),
        ("myenvironment.yml", False),
    ],
)
def test_environment_files_are_known_by_their_names(path: str, expected: bool) -> None:
    """The name decides, not the place."""
    assert is_environment_file(path) is expected


def test_names_tell_and_the_nearest_one_counts() -> None:
    """A file without a word of its own is a developer's."""
    assert told_by_name("environment.yml") == "dev"
    assert told_by_name("doc/environment.yml").split() == ["doc/"]
    assert nearest(["ci/environment.yml", "environment-dev.yml", "environment.yml"]) == "environment.yml"
    assert nearest([]) is None


def test_an_anchor_is_read() -> None:
    """A list that stands under two names."""
    assert read_environment("x: &pip [six, attrs]\ndependencies: [numpy, {pip: *pip}]") == ("numpy", "six", "attrs")
    merged = "x: &a {pip: [six]}\ndependencies: [{<<: *a}]"
    assert read_environment(merged) == ("six",)


@pytest.mark.timeout(20)
def test_a_file_that_grows_by_its_aliases_is_not_read() -> None:
    """Mappings that merge the one before twice, and a long list that is named often."""

    def refused(text: str) -> bool:
        with pytest.raises(ValueError, match=r"it (is no YAML|lists)"):
            read_environment(text)
        return True

    merges = "".join(f"a{at}: &a{at} {{<<: [*a{at - 1}, *a{at - 1}]}}\n" for at in range(1, 45))
    assert refused(f"a0: &a0 {{x: 1}}\n{merges}dependencies: [six]")
    long = f"x: &a {{pip: [{'six, ' * 5000}]}}\n"
    assert refused(f"{long}dependencies: [{'*a, ' * 50}]")
    assert refused(f"x: &a 1\ny: [{'*a, ' * 101}]\ndependencies: [six]")
