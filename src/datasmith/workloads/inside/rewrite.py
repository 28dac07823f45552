"""Replace the code of a function, in this process alone, by that of its changed source.

The file's other code, and every line number, stay as they are. What is put into the code is a constant of it: the code
under test sees no new name anywhere.
"""

from __future__ import annotations

import ast
import inspect
import tokenize
import types
import warnings

from . import OWN
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__builtins__ = OWN

KEEP, TURN = "\0keep", "\0turn"
"""Stand in rewritten code where the recorder's `keep` and `turn` are to be called."""


class Transformer:
    """What `ast.NodeTransformer` does, which a library could exchange: it would be given whoever visits a tree."""

    def visit(self, node: ast.AST) -> Any:  # noqa: ANN401 - a node of the kind that stands there
        """What the node becomes."""
        return getattr(self, "visit_" + type(node).__name__, self.generic_visit)(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """The same node, with what its parts become."""
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
            elif isinstance(value, list):
                value[:] = [self.visit(part) if isinstance(part, ast.AST) else part for part in value]
        return node


class Keep(Transformer):
    """Sends the values of a function's own statements through `keep`.

    counts: also sends the line of each loop, at each turn, to what stands for `TURN`: what it goes over may end early.
    In calls that are timed that would take a good part of a short turn.
    """

    def __init__(self, *, counts: bool = False) -> None:
        self._counts = counts

    def _kept(self, value: ast.expr) -> ast.expr:
        if isinstance(value, (ast.Yield, ast.YieldFrom, ast.Await)):
            return value
        line = ast.copy_location(_number(value.lineno), value)
        call = ast.Call(func=ast.Constant(value=KEEP), args=[line, value], keywords=[])
        return ast.fix_missing_locations(ast.copy_location(call, value))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """`f(x)` as a statement; texts and `...` stay."""
        if not isinstance(node.value, ast.Constant):
            node.value = self._kept(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`y = f(x)`."""
        node.value = self._kept(node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """`y: int = f(x)`."""
        node.value = self._kept(node.value) if node.value else None
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`y += f(x)`."""
        node.value = self._kept(node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """`for x in f():` what it goes over, where that is no name."""
        self.generic_visit(node)
        if self._counts:
            call = ast.Call(func=ast.Constant(value=TURN), args=[_number(node.lineno)], keywords=[])
            node.body.insert(0, ast.copy_location(ast.Expr(value=call), node))
        node.iter = self._called(node.iter)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """`if f():`."""
        self.generic_visit(node)
        node.test = self._called(node.test)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """`assert f()`."""
        node.test = self._called(node.test)
        return node

    def _called(self, value: ast.expr) -> ast.expr:
        return self._kept(value) if any(isinstance(part, ast.Call) for part in ast.walk(value)) else value

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function in the function is left as it is; so is a class."""
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """See visit_FunctionDef."""
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """See visit_FunctionDef."""
        return node


def _number(value: int) -> ast.expr:
    return ast.parse(str(value), mode="eval").body


class OfPython37(Transformer):
    """Makes constants of the numbers and texts that Python 3.7 has nodes of their own for."""

    def visit_Num(self, node: ast.AST) -> ast.AST:
        """`2`."""
        return ast.copy_location(ast.Constant(value=node.n), node)  # type: ignore[attr-defined]

    def visit_Str(self, node: ast.AST) -> ast.AST:
        """`"a"`."""
        return ast.copy_location(ast.Constant(value=node.s), node)  # type: ignore[attr-defined]

    def visit_Ellipsis(self, node: ast.AST) -> ast.AST:
        """`...`."""
        return ast.copy_location(ast.Constant(value=...), node)


def plain_function(function: object) -> types.FunctionType | None:
    """The function behind methods and decorators that say what they wrap; None where that is no Python code."""
    found = inspect.unwrap(getattr(function, "__func__", function))  # type: ignore[arg-type]
    return found if isinstance(found, types.FunctionType) else None


def first_line(node: ast.FunctionDef) -> int:
    """Where Python says that a function begins: at its first decorator."""
    return min([node.lineno, *(mark.lineno for mark in node.decorator_list)])


def rewrite(function: types.FunctionType, *changes: Transformer) -> bool:
    """Replace a function's code by that of its changed source; False where its source is not to be had."""
    code = function.__code__
    try:
        with tokenize.open(code.co_filename) as stream:
            tree = ast.parse(stream.read())
        if not hasattr(code, "replace"):
            tree = OfPython37().visit(tree)
    except (OSError, SyntaxError, ValueError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name and first_line(node) == code.co_firstlineno:
            for change in changes:
                node.body = [change.visit(statement) for statement in node.body]
            ast.fix_missing_locations(tree)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a constant that is called
                changed = compile(tree, code.co_filename, "exec", dont_inherit=True)
            return _take_code(function, changed)
    return False


def _take_code(function: types.FunctionType, module: types.CodeType) -> bool:
    wanted, pending = function.__code__, [module]
    while pending:
        code = pending.pop()
        if (code.co_name, code.co_firstlineno) == (wanted.co_name, wanted.co_firstlineno):
            if code.co_freevars != wanted.co_freevars:
                return False
            function.__code__ = code
            return True
        pending += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return False


def plant(function: types.FunctionType, constants: dict[str, object]) -> None:
    """Put objects where the code of a function, and of what is defined in it, has their stand-ins."""
    function.__code__ = _planted(function.__code__, constants)


def _planted(code: types.CodeType, constants: dict[str, object]) -> types.CodeType:
    def put(constant: object) -> object:
        if isinstance(constant, types.CodeType):
            return _planted(constant, constants)
        return constants.get(constant, constant) if isinstance(constant, str) else constant

    return _with_constants(code, tuple(map(put, code.co_consts)))


def _with_constants(code: types.CodeType, constants: tuple[object, ...]) -> types.CodeType:
    if hasattr(code, "replace"):
        return code.replace(co_consts=constants)
    parts = ("argcount", "kwonlyargcount", "nlocals", "stacksize", "flags", "code")
    more = ("names", "varnames", "filename", "name", "firstlineno", "lnotab", "freevars", "cellvars")
    first, last = ([getattr(code, "co_" + name) for name in names] for names in (parts, more))
    return types.CodeType(*first, constants, *last)  # type: ignore[call-arg]  # that of Python 3.7
