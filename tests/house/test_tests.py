"""What every test owes its reader."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.house.source import Function, Module, each_of, modules_of_tests

MOCK = re.compile(r"\b(?:MagicMock|AsyncMock|Mock\(|mock\.|monkeypatch\.setattr|mocker)\b")
MOCK_LINES_PER_TEST = 0.15

every_module = each_of([module for module in modules_of_tests() if "/test_" in module.name])


def cases_of(module: Module) -> Iterator[Function]:
    """The test functions of a module."""
    return (node for node in module.functions() if node.name.startswith("test_"))


def asserts(node: ast.AST) -> bool:
    """True where something can fail here: an assertion on something that is not a constant, or an expected error."""
    for part in ast.walk(node):
        match part:
            case ast.Assert(test=test) if not isinstance(test, ast.Constant):
                return True
            case ast.Attribute(attr="raises" | "fail" | "warns") | ast.Raise():
                return True
    return False


@cache
def checking_names() -> frozenset[str]:
    """Functions and classes of the tests that can fail themselves, by name."""
    found: set[str] = set()
    for module in modules_of_tests():
        found |= {node.name for node in [*module.functions(), *module.classes()] if asserts(node)}
    return frozenset(found - {"__init__"})


def called(node: ast.AST) -> set[str]:
    """Names of what is called in a function."""
    calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    return {call.id if isinstance(call, ast.Name) else getattr(call, "attr", "") for call in calls}


@every_module
def test_every_test_says_what_holds(module: Module) -> None:
    """The docstring of a test states the property that it checks."""
    assert not [node.name for node in cases_of(module) if not ast.get_docstring(node)]


@every_module
def test_every_test_can_fail(module: Module) -> None:
    """A test asserts something, expects an error, or calls a function of the tests that does."""
    checking = checking_names()
    assert not [node.name for node in cases_of(module) if not asserts(node) and not called(node) & checking]


def test_the_real_thing_is_tested() -> None:
    """Over all tests there are at most 0.15 lines of mocks for each."""
    lines = sum(bool(MOCK.search(line)) for module in modules_of_tests() for line in module.text.splitlines())
    tests = sum(1 for module in modules_of_tests() for _ in cases_of(module))
    assert lines <= MOCK_LINES_PER_TEST * tests


def test_a_test_without_an_assertion_is_found() -> None:
    """The rule itself: a constant assertion does not count."""
    empty, full = ast.parse("def test_a():\n    assert True\ndef test_b():\n    assert f(1)\n").body
    assert (asserts(empty), asserts(full)) == (False, True)
