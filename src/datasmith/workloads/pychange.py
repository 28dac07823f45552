"""What an edit of a Python file changes: functions, new names, or code that runs when the file is imported."""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from datasmith.workloads.pynames import rebound

Function = ast.FunctionDef | ast.AsyncFunctionDef
_TRANSPARENT = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "cache", "lru_cache", "wraps", "contextmanager"}
    | {"overload", "override", "final", "setter", "getter", "deleter", "abstractmethod"}
)
"""Decorators that a new function may have: they tell nobody else of it."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """`functions`: (first line at base, qualified name) of those whose code is not the same, or that are gone.

    `names`: functions that are new, and names that are new or another module's: only who looks a name up can notice.
    `at_import` says what of the code that runs when the file is imported is not the same; None where that is nothing,
    or only imports from elsewhere and new constants: then `loads` is True, as importing the file takes another time.
    """

    functions: frozenset[tuple[int, str]] = frozenset()
    names: frozenset[str] = frozenset()
    at_import: str | None = None
    loads: bool = False


@dataclass(frozen=True, slots=True)
class _Unit:
    """One function: its place, its code, and what of it is evaluated where it is defined."""

    line: int
    name: str
    code: str
    header: str
    plain: bool
    in_function: bool


@dataclass(slots=True)
class _Module:
    """A parsed file: its functions by qualified name, and the rest.

    `docs`: docstrings by the prefix that names have inside; `reads_docs`: the rest, or what is evaluated where a
    function is defined, reads one.
    """

    units: dict[str, list[_Unit]] = field(default_factory=dict)
    docs: dict[str, list[str | None]] = field(default_factory=dict)
    rest: list[ast.stmt] = field(default_factory=list)
    reads_docs: bool = False


def file_change(old: str, new: str, own: Collection[str] = ()) -> FileChange:
    """Compare two states of a file by their syntax trees; `own` are the names that the tree's own packages have.

    Comments and layout are nothing; nor is what stands below `if TYPE_CHECKING`. A docstring is nothing where no code
    outside the file's functions reads one.
    """
    try:
        before, after = _read(old), _read(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return FileChange(at_import="it cannot be parsed")
    changed: set[tuple[int, str]] = set()
    functions = {name for name in (*before.units, *after.units) if "." not in name}
    added = rebound(before.rest, after.rest, own, functions)
    at_import = "code outside functions is changed" if added is None else None
    if after.reads_docs and _other_docs(before, after):
        at_import = at_import or "a docstring is changed, and code outside functions reads __doc__"
    loads = bool(added)
    added = added or set()
    for name in sorted(before.units.keys() | after.units.keys()):
        ours, theirs = before.units.get(name, []), after.units.get(name, [])
        if [unit.code for unit in ours] != [unit.code for unit in theirs]:
            changed |= {(unit.line, name) for unit in ours}
        if any(unit.in_function for unit in (*ours, *theirs)):
            continue  # its header is code of the function around it
        if ours and theirs and [unit.header for unit in ours] != [unit.header for unit in theirs]:
            at_import = at_import or f"a decorator or default of {name} is changed"
        if ours and not theirs and not all(unit.plain for unit in ours):
            at_import = at_import or f"{name}, which had a decorator, is gone"
        if theirs and not ours:
            last = theirs[0].name
            if _is_special(last) or not all(unit.plain for unit in theirs):
                at_import = at_import or f"{name} is new, and may take part without being called by its name"
            added.add(last)
    return FileChange(frozenset(changed), frozenset(added), at_import, loads and at_import is None)


def _other_docs(before: _Module, after: _Module) -> bool:
    """True where something that both states have is documented otherwise."""
    return any(before.docs[name] != after.docs[name] for name in before.docs.keys() & after.docs.keys())


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _read(text: str) -> _Module:
    module = _Module()
    tree = ast.parse(text)
    module.reads_docs = any(map(_reads_doc, _at_import(tree)))
    module.rest = _Taker(module).taken(tree.body, "", in_function=False)
    return module


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What of a tree is evaluated where the file is imported: of a function, its decorators and defaults."""
    yield node
    parts = [*node.decorator_list, *_defaults(node)] if isinstance(node, Function) else ast.iter_child_nodes(node)
    for part in parts:
        yield from _at_import(part)


def _defaults(node: Function) -> list[ast.expr]:
    return [*node.args.defaults, *(value for value in node.args.kw_defaults if value is not None)]


def _reads_doc(node: ast.AST) -> bool:
    """True where an expression looks the name up, or may do so by its text."""
    if isinstance(node, ast.AugAssign):
        return "__doc__" in _last_name(node.target)
    if isinstance(node, ast.Name | ast.Attribute):
        return isinstance(node.ctx, ast.Load) and "__doc__" in _last_name(node)
    return isinstance(node, ast.Constant) and node.value == "__doc__"


class _Taker(ast.NodeTransformer):
    """Takes functions out of a tree, and notes them; what stays is what runs around them."""

    def __init__(self, module: _Module) -> None:
        self._units = module.units
        self._docs = module.docs
        self._prefix = ""
        self._in_function = False

    def taken(self, body: Sequence[ast.stmt], prefix: str, *, in_function: bool) -> list[ast.stmt]:
        """The statements of a body without its functions, docstrings and lone constants."""
        outside = self._prefix, self._in_function
        self._prefix, self._in_function = prefix, in_function
        self._docs.setdefault(prefix, []).append(_docstring(body))
        kept = []
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            left = self.visit(statement)
            if not (isinstance(statement, Function) and not in_function):
                kept.append(left)
        self._prefix, self._in_function = outside
        return kept

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """Note a function; what stays of it is its name and what is evaluated where it is defined."""
        return self._noted(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        """See `visit_FunctionDef`."""
        return self._noted(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        """A class's body runs where it is defined; its methods do not."""
        node.body = self.taken(node.body, f"{self._prefix}{node.name}.", in_function=self._in_function)
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """What is only there for type checkers is not."""
        if _asks_for_type_checking(node.test):
            return ast.If(node.test, [], [self.visit(statement) for statement in node.orelse])
        return self.generic_visit(node)

    def _noted(self, node: Function) -> ast.stmt:
        name = f"{self._prefix}{node.name}"
        outer = self._in_function
        body = self.taken(node.body, f"{name}.<locals>.", in_function=True)
        defaults = _defaults(node)
        header = "; ".join(ast.dump(part) for part in (*node.decorator_list, *defaults))
        shape = f"{type(node).__name__} {ast.dump(node.args)} {ast.dump(node.returns) if node.returns else ''}"
        unit = _Unit(
            line=min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]),
            name=node.name,
            code="\n".join([shape, *(ast.dump(statement) for statement in body)]),
            header=header,
            plain=all(map(_is_transparent, node.decorator_list)) and all(isinstance(d, ast.Constant) for d in defaults),
            in_function=outer,
        )
        self._units.setdefault(name, []).append(unit)
        return ast.Expr(ast.Constant(f"def {name}: {header}"))


def _docstring(body: Sequence[ast.stmt]) -> str | None:
    """What stands first, where that is a text."""
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def _is_transparent(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return next(_last_name(called), "") in _TRANSPARENT


def _asks_for_type_checking(test: ast.expr) -> bool:
    return next(_last_name(test), "") == "TYPE_CHECKING"


def _last_name(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id
