"""How long and how deep the code may be."""

import ast

from tests.house.lengths import table
from tests.house.source import Module, each_of, length, modules_of_tests, package_modules

MODULE_LINES = 400
FUNCTION_LINES = 60
CLASS_LINES = 300
NESTING = 3

every_module = each_of(package_modules())


def depth(node: ast.AST, level: int = 0) -> int:
    """How deep blocks lie in each other; an elif is as deep as its if."""
    deepest = level
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        opens = isinstance(child, ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.With | ast.Match)
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        deepest = max(deepest, depth(child, level + (opens and not is_elif)))
    return deepest


@every_module
def test_a_module_can_be_read_in_one_sitting(module: Module) -> None:
    """No module has more than 400 lines, no class more than 300, no function more than 60."""
    too_long = [f"{module.name}: {module.lines} lines"] if module.lines > MODULE_LINES else []
    too_long += [f"{node.name}: {length(node)} lines" for node in module.functions() if length(node) > FUNCTION_LINES]
    too_long += [f"{node.name}: {length(node)} lines" for node in module.classes() if length(node) > CLASS_LINES]
    assert not too_long


@every_module
def test_blocks_are_at_most_three_deep(module: Module) -> None:
    """Loops, conditions, with and try lie at most three deep in each other."""
    assert not [f"{node.name}:{node.lineno}" for node in module.functions() if depth(node) > NESTING]


@each_of(modules_of_tests())
def test_test_modules_are_no_longer_than_others(module: Module) -> None:
    """What holds for the package's modules and functions holds for the tests'."""
    assert module.lines <= MODULE_LINES
    assert not [node.name for node in module.functions() if length(node) > FUNCTION_LINES]


def test_depth_counts_blocks_and_not_elifs() -> None:
    """The measure of nesting itself: an elif adds nothing, a block in a block does."""
    text = "def f():\n  if a:\n    pass\n  elif b:\n    for c in d:\n      with e:\n        pass\n"
    assert depth(ast.parse(text).body[0]) == 3


def test_the_table_of_lengths_names_the_longest() -> None:
    """The table that the closing figures quote has its two parts."""
    printed = table(3)
    assert "| lines | module |" in printed and "| lines | function |" in printed
