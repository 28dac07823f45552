"""Names that may not hold what they were assigned."""

import ast

import pytest

from datasmith.resolution.bindings import imported_as, is_setup, locals_around, unsteady


def test_a_second_binding_counts_and_a_change_reaches_what_is_shared() -> None:
    """What a name is a part of changes with it; what only took its value into a sum does not."""
    found = unsteady(ast.parse("a = 1\na = 2\nb = [c]\nb[0].append(3)\nd = c\ne = f + [1]\ne.append(2)\n"))
    assert found.rebound == {"a"}
    assert found.mutated & set("abcdef") == {"b", "c", "e"}


def test_names_around_a_call() -> None:
    """Those of all functions that it stands in."""
    module = ast.parse("x = 1\ndef f(a):\n    import b\n    def g():\n        c = call()\n")
    call = next(node for node in ast.walk(module) if isinstance(node, ast.Call))
    assert locals_around(module, call) == {"f", "a", "b", "g", "c"}
    assert locals_around(module, ast.parse("\n\n\n\n\n\n\ncall()").body[0].value) == frozenset()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("setup", True),
        ("st.setup", True),
        ("real", True),
        ("numpy.distutils.core.setup", True),
        ("skbuild.setup", True),
        ("app.setup", False),
        ("st.setup.now", False),
        ("f().setup", False),
    ],
)
def test_setup_by_any_name(text: str, expected: bool) -> None:
    """Resolved by the imports of the file."""
    module = ast.parse("import setuptools as st, numpy.distutils.core\nfrom setuptools import setup as real\n")
    assert is_setup(ast.parse(text, mode="eval").body, imported_as(module)) is expected


@pytest.mark.timeout(60)
def test_many_names_at_once() -> None:
    """A loop over as many names as it binds, and a long chain of aliases."""
    targets, values = (", ".join(f"{letter}{at}" for at in range(20_000)) for letter in "ab")
    assert "b7" in unsteady(ast.parse(f"for {targets} in {values}: pass\na1.append(1)")).mutated
    chain = "".join(f"a{at + 1} = a{at}\n" for at in range(10_000))
    assert "a0" in unsteady(ast.parse(f"{chain}a10000.append(1)")).mutated
