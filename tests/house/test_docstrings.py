"""What must be explained where it is defined."""

import ast
from collections.abc import Iterator

from tests.house.source import Function, Module, each_of, package_modules

every_module = each_of(package_modules())


def public(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """The public functions and classes of a module, and the public methods of its public classes."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body, f"{node.name}.")


@every_module
def test_a_module_starts_with_one_sentence(module: Module) -> None:
    """The first paragraph of a module's docstring is a sentence that says what the module is for."""
    first = (ast.get_docstring(module.tree) or "").split("\n\n")[0]
    assert first and first.rstrip().endswith((".", "?"))


@every_module
def test_public_names_have_a_docstring(module: Module) -> None:
    """Whoever calls a public name can read what its signature does not say."""
    assert not [name for name, node in public(module.tree.body) if not ast.get_docstring(node)]
