"""The licence that a tree states."""

import pytest

from datasmith.runners.licence import stated_licence


@pytest.mark.parametrize(
    ("said", "licence"),
    [
        ('license = "MIT"', "MIT"),
        ('license = "Apache-2.0 OR BSD-2-Clause"', "Apache-2.0 OR BSD-2-Clause"),
        ('license = {text = "BSD-3-Clause"}', "BSD-3-Clause"),
        ('license = {text = "see the file for all the terms"}', None),
        ('license = {file = "LICENSE"}', None),
        ("license = 3", None),
        ('name = "x"', None),
    ],
)
def test_only_an_expression_is_taken(said: str, licence: str | None) -> None:
    """A sentence or a file is no identifier: unknown stays unknown."""
    assert stated_licence({"pyproject.toml": f"[project]\n{said}\n"}) == licence


def test_the_projects_own_directory_counts() -> None:
    """And a tree without the file, or with a broken one, states nothing."""
    texts = {"pyproject.toml": "[", "python/pyproject.toml": '[project]\nlicense = "ISC"\n'}
    assert stated_licence(texts, "python") == "ISC"
    assert (stated_licence(texts), stated_licence({})) == (None, None)
