"""Which names of a module an edit binds anew without running any code of the tree."""

import ast
import sys
from collections.abc import Collection, Sequence

_HARMLESS_CALLS = frozenset({"dict", "list", "set", "frozenset", "tuple", "range", "object", "len", "sorted", "slice"})
_QUIET = (ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BinOp, ast.UnaryOp)
_QUIET_PARTS = (ast.operator, ast.unaryop, ast.expr_context, ast.keyword, ast.Call, ast.Starred, ast.Subscript)


def rebound(before: Sequence[ast.stmt], after: Sequence[ast.stmt], own: Collection[str]) -> set[str] | None:
    """The names that another import, or a new constant, binds; None where more than that is not the same.

    `before`, `after`: the statements of a module without its functions. An import counts as long as it takes names
    from elsewhere than the tree: its own modules, `own`, may do anything when they are loaded.
    """
    ours, theirs = _imports(before, own), _imports(after, own)
    names = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    old = [ast.dump(statement) for statement in before if not _is_foreign(statement, own)]
    bound = {name for statement in before for name in _bound(statement)}
    roots = {name for name, source in theirs.items() if source.split()[0].split(".")[0] in sys.stdlib_module_names}
    new = []
    for statement in after:
        target = _constant(statement, roots)
        if target is not None and target not in bound:
            names.add(target)
        elif not _is_foreign(statement, own):
            new.append(ast.dump(statement))
    return names if old == new else None


def _imports(statements: Sequence[ast.stmt], own: Collection[str]) -> dict[str, str]:
    """Name -> what it is bound to, for the imports from elsewhere."""
    found: dict[str, str] = {}
    for statement in statements:
        if isinstance(statement, ast.Import) and _is_foreign(statement, own):
            found |= {
                (alias.asname or alias.name.split(".")[0]): f"{alias.name} {alias.asname}" for alias in statement.names
            }
        elif isinstance(statement, ast.ImportFrom) and _is_foreign(statement, own):
            found |= {(alias.asname or alias.name): f"{statement.module}.{alias.name}" for alias in statement.names}
    return found


def _is_foreign(statement: ast.stmt, own: Collection[str]) -> bool:
    """True for an import that runs no code of the tree and changes no rules."""
    if isinstance(statement, ast.Import):
        return not any(alias.name.split(".")[0] in own for alias in statement.names)
    if not isinstance(statement, ast.ImportFrom) or statement.level or statement.module is None:
        return False
    top = statement.module.split(".")[0]
    return top not in own and top != "__future__" and all(alias.name != "*" for alias in statement.names)


def _constant(statement: ast.stmt, roots: Collection[str]) -> str | None:
    """The name that a statement binds to a value which is made without the tree's code."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target, value = statement.target, statement.value
    else:
        return None
    special = isinstance(target, ast.Name) and target.id.startswith("__")
    if not isinstance(target, ast.Name) or special or not _is_quiet(value, roots):
        return None
    return target.id


def _is_quiet(value: ast.expr, roots: Collection[str]) -> bool:
    for node in ast.walk(value):
        if not isinstance(node, (*_QUIET, *_QUIET_PARTS)):
            return False
        if isinstance(node, ast.Call) and not _is_known(node.func, roots):
            return False
    return True


def _is_known(called: ast.expr, roots: Collection[str]) -> bool:
    """True for a call of a harmless builtin, or into the standard library."""
    if isinstance(called, ast.Name):
        return called.id in _HARMLESS_CALLS or called.id in roots
    while isinstance(called, ast.Attribute):
        called = called.value
    return isinstance(called, ast.Name) and called.id in roots


def _bound(statement: ast.stmt) -> set[str]:
    """Every name that a statement stores somewhere in it, or imports."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.split(".")[0])
    return found
