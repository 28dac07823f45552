"""Tell which names of a Python file may not hold what they were assigned: bound again, or changed through a name."""

import ast
import builtins
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CHANGING_METHODS = {
    "add", "append", "clear", "difference_update", "discard", "extend", "insert", "intersection_update", "pop",
    "popitem", "remove", "reverse", "setdefault", "sort", "symmetric_difference_update", "update",
}  # fmt: skip
_COPYING_METHODS = {"copy", "deepcopy"}
_HARMLESS = {*dir(builtins), "setup"} - {"exec", "eval", "setattr", "delattr", "vars"}
_SETUP_MODULES = {"setuptools", "distutils", "skbuild"}
_HARMLESS_MODULES = sys.stdlib_module_names | {"setuptools", "distutils"}


@dataclass(frozen=True, slots=True)
class Unsteady:
    """Names of a module: `rebound` may hold another value, `mutated` a list or table that has been changed since."""

    rebound: frozenset[str]
    mutated: frozenset[str]


def unsteady(module: ast.Module) -> Unsteady:
    """What its code, functions included, binds more than once or changes, also through another name for it.

    A variable of a function is another one than the module's, unless it is declared global; what is changed in a
    function counts by its name alone. What exec() does to the module's own names is not seen.
    """
    bound = Counter(name for node in _module_level(module) for name in _bound_by(node))
    declared = {name for node in ast.walk(module) if isinstance(node, ast.Global) for name in node.names}
    return Unsteady(frozenset({name for name, times in bound.items() if times > 1} | declared), _mutated(module))


def locals_around(module: ast.Module, call: ast.Call) -> frozenset[str]:
    """The names that the functions and comprehensions around a call bind: there they are not the module's."""
    scopes = (node for node in ast.walk(module) if isinstance(node, (*_SCOPES, *_COMPREHENSIONS)))
    outermost = next((node for node in scopes if _has(node, call)), None)
    return frozenset(name for node in ast.walk(outermost) for name in _bound_by(node)) if outermost else frozenset()


def imported_as(module: ast.Module) -> dict[str, str]:
    """What each imported name stands for: `import a.b as c` makes c a.b, `from a import b` makes b a.b."""
    found: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {alias.asname: alias.name for alias in node.names if alias.asname}
            found |= {top: top for alias in node.names if not alias.asname for top in [alias.name.partition(".")[0]]}
        elif isinstance(node, ast.ImportFrom):
            place = "." * node.level + (node.module or "")
            found |= {alias.asname or alias.name: f"{place}.{alias.name}" for alias in node.names}
    return found


def is_setup(function: ast.expr, imported: dict[str, str]) -> bool:
    """True for `setup`, whoever it is from, and for that of setuptools, distutils and scikit-build by any name."""
    parts = list[str]()
    node = function
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    path = [*imported.get(node.id, node.id).split("."), *reversed(parts)]
    named = not parts and node.id == "setup"
    return named or (path[-1] == "setup" and not _SETUP_MODULES.isdisjoint(path))


def _has(scope: ast.stmt | ast.expr, call: ast.Call) -> bool:
    begin, end = (scope.lineno, scope.col_offset), (scope.end_lineno or 0, scope.end_col_offset or 0)
    return begin <= (call.lineno, call.col_offset) and (call.end_lineno or 0, call.end_col_offset or 0) <= end


def _module_level(module: ast.Module) -> Iterator[ast.AST]:
    """Every node outside functions and classes, outermost first; what a comprehension binds is its own."""
    waiting: deque[ast.AST] = deque(module.body)
    while waiting:
        node = waiting.popleft()
        yield node
        if isinstance(node, ast.comprehension):
            waiting += [node.iter, *node.ifs]
        elif not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def _bound_by(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.alias(name=name, asname=asname):
            return [asname or name.partition(".")[0]]
    return []


@dataclass(frozen=True, slots=True)
class _Shares:
    """Which names, and assignments by number, may stand for an object of another one.

    `same` is that very object, or (True) a part of it; `held` are objects that it may contain.
    """

    same: defaultdict[str, list[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(list))
    held: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, targets: list[ast.expr], value: ast.expr, *, whole: bool) -> None:
        """What an assignment makes of its value; a loop's target is only a part of it."""
        here = f"#{len(self.same)}"
        self.same[here] += _same(value) if whole else [(name, True) for name in _names(value)]
        self.held[here] |= _names(value)
        for target in targets:
            self.same[here] += [(target.id, False)] if isinstance(target, ast.Name) else []
            for inner in ast.walk(target):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    self.same[inner.id].append((here, inner is not target))
                if isinstance(inner, ast.Name):
                    self.held[inner.id].add(here)

    def put_into(self, receiver: ast.expr, call: ast.Call) -> None:
        """What `receiver.append(value)` makes of its value."""
        here = f"#{len(self.held)}.in"
        self.held[here] |= {name for value in _arguments(call) for name in _names(value)}
        for name in _names(receiver):
            self.held[name].add(here)


def _mutated(module: ast.Module) -> frozenset[str]:
    shares, imported = _shares(module), imported_as(module)
    waiting = [change for node in ast.walk(module) for change in _changes_by(node, imported)]
    seen = set[tuple[str, bool]]()
    while waiting:
        change = waiting.pop()
        if change in seen:
            continue
        seen.add(change)
        name, inside = change
        waiting += [(other, inside or part) for other, part in shares.same.get(name, ())]
        waiting += [(other, True) for other in shares.held.get(name, ())] if inside else []
    return frozenset(name for name, _ in seen)


def _shares(module: ast.Module) -> _Shares:
    found = _Shares()
    for node in ast.walk(module):
        match node:
            case ast.Assign(targets=targets, value=value):
                found.add(targets, value, whole=True)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                found.add([target], value, whole=True)
            case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
                found.add([target], value, whole=False)
            case ast.comprehension(target=target, iter=value):
                found.add([target], value, whole=False)
            case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
                found.add([target], value, whole=False)
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _CHANGING_METHODS - {"extend"}:
                found.put_into(value, node)
    return found


def _same(value: ast.expr) -> list[tuple[str, bool]]:
    """The names of what a value may be, and (True) of what it may be a part of."""
    match value:
        case ast.Name(id=name):
            return [(name, False)]
        case ast.IfExp(body=first, orelse=second):
            return _same(first) + _same(second)
        case ast.BoolOp(values=values):
            return [found for item in values for found in _same(item)]
        case ast.NamedExpr(value=inner):
            return _same(inner)
        case ast.Subscript(slice=ast.Slice()):
            return []
        case ast.Subscript(value=inner) | ast.Attribute(value=inner):
            return [(name, True) for name in _names(inner)]
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr not in _COPYING_METHODS:
            return [(name, True) for name in _names(inner)]
    return []


def _names(value: ast.expr) -> set[str]:
    """The names of what a value may hold; a sum and a starred list hold copies."""
    found, waiting = set[str](), deque[ast.AST]([value])
    while waiting:
        node = waiting.popleft()
        copies = isinstance(node, ast.Starred) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add))
        if isinstance(node, ast.Name):
            found.add(node.id)
        waiting += (child for child in ast.iter_child_nodes(node) if not (copies and isinstance(child, ast.Name)))
    return found


def _changes_by(node: ast.AST, imported: dict[str, str]) -> list[tuple[str, bool]]:
    """What a node changes: the object that a name stands for, or (True) something inside it."""
    match node:
        case ast.Attribute(value=value, ctx=ast.Store() | ast.Del()):
            return _reached(value)
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return _reached(value)
        case ast.Attribute(value=value, attr=attr) if attr in _CHANGING_METHODS or attr.startswith("__"):
            return _reached(value)
        case ast.AugAssign(target=ast.Name(id=name)):
            return [(name, False)]
        case ast.AugAssign(target=target):
            return [(name, True) for name in _names(target)]
        case ast.Call() if not _is_harmless(node.func, imported):
            return [(name, True) for value in _arguments(node) for name in _names(value)]
    return []


def _reached(node: ast.expr) -> list[tuple[str, bool]]:
    return [(node.id, False)] if isinstance(node, ast.Name) else [(name, True) for name in _names(node)]


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_harmless(function: ast.expr, imported: dict[str, str]) -> bool:
    """True for what does not change what it is given: builtins, the standard library, setuptools, methods."""
    root = function
    while isinstance(root, ast.Attribute):
        root = root.value
    name = imported.get(root.id) if isinstance(root, ast.Name) else None
    if name is None:
        return not isinstance(function, ast.Name) or function.id in _HARMLESS
    return is_setup(function, imported) or name.partition(".")[0] in _HARMLESS_MODULES
