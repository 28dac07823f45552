"""Which names of a module an edit binds anew without running any code of the tree."""

import ast
import builtins
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

_EVERY_BUILTIN = frozenset((*dir(builtins), "__name__", "__file__"))
_MAKERS = ("dict", "frozenset", "len", "list", "object", "range", "set", "slice", "tuple")
_LIBRARY = {
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque", "namedtuple"),
    "contextvars": ("ContextVar",),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "functools": ("partial",),
    "logging": ("getLogger",),
    "math": ("exp", "log", "log2", "log10", "radians", "sqrt"),
    "operator": ("attrgetter", "itemgetter", "methodcaller"),
    "pathlib": ("Path", "PurePath", "PurePosixPath"),
    "re": ("compile", "escape"),
    "string": ("Template",),
    "struct": ("Struct", "calcsize"),
    "threading": ("Lock", "RLock", "local"),
    "types": ("MappingProxyType", "SimpleNamespace"),
    "typing": ("NamedTuple", "NewType", "ParamSpec", "TypeVar", "TypeVarTuple"),
    "weakref": ("WeakKeyDictionary", "WeakSet", "WeakValueDictionary"),
}
_HARMLESS = frozenset([*_MAKERS, *(f"{module}.{name}" for module, names in _LIBRARY.items() for name in names)])
"""What makes a value when it is called, and does nothing else anywhere; a switch of the interpreter does."""
_VALUE = "(a value)"
"""Where a constant of the file itself comes from: it can be looked at, and not be called."""
_QUIET = (ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BinOp, ast.UnaryOp)
_QUIET_PARTS = (ast.operator, ast.unaryop, ast.expr_context, ast.keyword, ast.Call, ast.Starred, ast.Subscript)


def rebound(
    before: Sequence[ast.stmt], after: Sequence[ast.stmt], own: Collection[str], functions: Collection[str]
) -> set[str] | None:
    """The names that another import, or a new constant, binds; None where more than that is not the same.

    `before`, `after`: the statements of a module without its `functions`. An import counts as long as it takes names
    from elsewhere than the tree: its own modules, `own`, may do anything when they are loaded, and what comes from them
    when it is looked into.
    """
    ours, theirs = _imports(before, own), _imports(after, own)
    names = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    known = _known(after, own, functions, theirs)
    old = [ast.dump(statement) for statement in before if not _is_foreign(statement, own)]
    bound = {name for statement in before for name in _bound(statement)}
    new = []
    annotates = not any(isinstance(each, ast.ImportFrom) and each.module == "__future__" for each in after)
    for statement in after:
        target = _constant(statement, known, annotates=annotates)
        if target is not None and target not in known:
            known[target] = _VALUE
        if target is not None and target not in bound:
            names.add(target)
        elif not _is_foreign(statement, own):
            new.append(ast.dump(statement))
    return names if old == new else None


def _imports(statements: Sequence[ast.stmt], own: Collection[str]) -> dict[str, str]:
    """Name -> what it is bound to, for the imports from elsewhere; in brackets what is loaded with it."""
    found: dict[str, str] = {}
    for statement in statements:
        if isinstance(statement, ast.Import) and _is_foreign(statement, own):
            for alias in statement.names:
                top = alias.name.split(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else f"{top} ({alias.name})"
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


def _known(
    after: Sequence[ast.stmt], own: Collection[str], functions: Collection[str], imports: Mapping[str, str]
) -> dict[str, str]:
    """The names that can be looked into, with where they come from: builtins and foreign imports that nobody rebinds.

    What is bound more than once, or by the tree, is there with an empty source: nothing is known of it.
    """
    counts = Counter(name for statement in after if not _is_foreign(statement, own) for name in _bound(statement))
    taken = {name for name, count in counts.items() if count > 1 or name in imports or name in _EVERY_BUILTIN}
    taken |= {*functions, *(name for each in after for name in _classes(each))}
    if any(isinstance(node, ast.alias) and node.name == "*" for each in after for node in ast.walk(each)):
        taken |= {*_EVERY_BUILTIN, *imports}
    return {name: name for name in _EVERY_BUILTIN} | dict(imports) | dict.fromkeys(taken, "")


def _constant(statement: ast.stmt, known: Mapping[str, str], *, annotates: bool) -> str | None:
    """The name that a statement binds to a value which is made without the tree's code; `annotates`: types are, too."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, values = statement.targets[0], [statement.value]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target, values = statement.target, [statement.value, *([statement.annotation] if annotates else [])]
    else:
        return None
    special = isinstance(target, ast.Name) and target.id.startswith("__")
    if not isinstance(target, ast.Name) or special or not all(_is_quiet(value, known) for value in values):
        return None
    return target.id


def _is_quiet(value: ast.expr, known: Mapping[str, str]) -> bool:
    """True where only what is known is looked into and called. To name something, alone or in a tuple, runs nothing."""
    if isinstance(value, ast.Name):
        return True
    if isinstance(value, ast.Tuple | ast.List):
        return all(_is_quiet(item, known) for item in value.elts)
    if isinstance(value, ast.Dict):
        keys = all(key is not None and _is_looked_into(key, known) for key in value.keys)
        return keys and all(_is_quiet(item, known) for item in value.values)
    if isinstance(value, ast.Call) and _dotted(value.func, known) == "functools.partial":
        return all(_is_quiet(item, known) for item in (*value.args, *(word.value for word in value.keywords)))
    return _is_looked_into(value, known)


def _is_looked_into(value: ast.expr, known: Mapping[str, str]) -> bool:
    for node in ast.walk(value):
        if not isinstance(node, (*_QUIET, *_QUIET_PARTS)):
            return False
        if isinstance(node, ast.Name) and not known.get(node.id):
            return False
        if isinstance(node, ast.Call) and _dotted(node.func, known) not in _HARMLESS:
            return False
    return True


def _dotted(called: ast.expr, known: Mapping[str, str]) -> str:
    """What a call calls, by the name that it has where it comes from; empty where that cannot be told."""
    if isinstance(called, ast.Name):
        return known.get(called.id, "").partition(" ")[0]
    around = _dotted(called.value, known) if isinstance(called, ast.Attribute) else ""
    return f"{around}.{called.attr}" if around and isinstance(called, ast.Attribute) else ""


def _bound(statement: ast.stmt) -> set[str]:
    """Every name that a statement stores somewhere in it, imports, or defines."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
    return found | _classes(statement)


def _classes(statement: ast.stmt) -> set[str]:
    return {node.name for node in ast.walk(statement) if isinstance(node, ast.ClassDef)}
