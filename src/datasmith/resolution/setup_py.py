"""Read a setup.py without running it: constants, names, and sums of them; anything computed is unknown."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from datasmith.resolution.bindings import imported_as, is_setup, locals_around, unsteady
from datasmith.resolution.requirements import encodable

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]

MAX_CHARACTERS = 1_000_000
MOST_MADE = 10_000_000
"""Characters and items of all values that are put together of others: a sum may double what it is made of."""
_EXTENSION_CALLS = {"Extension", "cythonize", "Pybind11Extension", "RustExtension", "mypycify", "add_extension"}


class _Unknown(Exception):
    """The expression's value is only known by running it."""


class _TooMuch(Exception):
    """The values of the file are larger than MOST_MADE."""


class _Names(dict[str, Value]):
    """The values that are known so far, and how much may still be put together of them."""

    left = MOST_MADE

    def pay(self, value: Value) -> None:
        """Count a value that becomes part of another one."""
        self.left -= _weight(value)
        if self.left < 0:
            raise _TooMuch


def _weight(value: Value) -> int:
    """Characters of a string, items of a list, and both of what a table holds."""
    if isinstance(value, dict):
        return sum(1 + len(item) for item in value.values() if isinstance(item, str | list | dict))
    return len(value) if isinstance(value, str | list) else 1


@dataclass(frozen=True, slots=True)
class SetupCall:
    """The static keywords of the first call of setup(); `computed` names the keywords whose values are not static.

    "**" among them stands for any keyword: of a computed table, or of a file in which no call is found.
    `imports` are the top-level modules that the file imports, in order: what has to be there to run it.
    """

    keywords: Mapping[str, Value] = field(default_factory=dict)
    computed: frozenset[str] = frozenset()
    imports: tuple[str, ...] = ()
    builds_extensions: bool = False

    def text(self, keyword: str) -> str:
        """A keyword's value where it is a string, else an empty one."""
        value = self.keywords.get(keyword)
        return value if isinstance(value, str) else ""

    def lines(self, keyword: str) -> tuple[str, ...]:
        """A keyword's value as a tuple of strings; a string is split into its lines."""
        return as_lines(self.keywords.get(keyword))

    def table(self, keyword: str) -> dict[str, tuple[str, ...]]:
        """A keyword's value where it maps names to requirement lists, else an empty table."""
        value = self.keywords.get(keyword)
        return {key: as_lines(item) for key, item in value.items()} if isinstance(value, dict) else {}


def as_lines(value: Value) -> tuple[str, ...]:
    """The strings of a static value: of a list its items, of a string its lines."""
    if isinstance(value, str):
        return tuple(line.strip() for line in value.splitlines() if line.strip())
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def read_setup_py(text: str) -> SetupCall:
    """Read the text of a setup.py.

    All keywords count as computed where it cannot be parsed, or is longer than MAX_CHARACTERS, or its values grow
    beyond MOST_MADE.
    """
    try:
        if len(text) <= MAX_CHARACTERS:
            return _read_module(ast.parse(text))
    except (_TooMuch, SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return SetupCall(computed=frozenset({"**"}))


def _read_module(module: ast.Module) -> SetupCall:
    imported = imported_as(module)
    calls = (node for node in ast.walk(module) if isinstance(node, ast.Call) and is_setup(node.func, imported))
    call = next(calls, None)
    if call is None:
        return SetupCall({}, frozenset({"**"}), _imports(module), _builds_extensions(module, {}, frozenset()))
    names = _assignments(module)
    for name in locals_around(module, call):
        names.pop(name, None)
    keywords, computed = _read_keywords(call, names)
    return SetupCall(keywords, computed, _imports(module), _builds_extensions(module, keywords, computed))


def _assignments(module: ast.Module) -> _Names:
    """Static module-level names that still are what they were assigned where setup() is called."""
    names, changed = _Names(), unsteady(module)
    for target, value in _plain_assignments(module):
        if target in changed.rebound:
            continue
        try:
            content = _evaluate(value, names)
        except _Unknown:
            continue
        if target not in changed.mutated or not isinstance(content, list | dict):
            names[target] = content
    return names


def _plain_assignments(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in module.body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def _evaluate(node: ast.expr, names: _Names) -> Value:
    match node:
        case ast.Constant(value=str() as text):
            return encodable(text)
        case ast.Constant(value=int() | float() | None as value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [piece for item in items for piece in _evaluate_item(item, names)]
        case ast.Dict():
            return _evaluate_dict(node, names)
        case ast.Call(func=ast.Name(id="dict"), args=[]):
            return _keywords_of(node, names)
        case ast.BinOp(op=ast.Add()):
            return _add(_evaluate(node.left, names), _evaluate(node.right, names), names)
        case ast.JoinedStr():
            return "".join(_evaluate_text(part, names) for part in node.values)
    raise _Unknown


def _evaluate_item(node: ast.expr, names: _Names) -> list[Value]:
    if not isinstance(node, ast.Starred):
        return [_evaluate(node, names)]
    value = _evaluate(node.value, names)
    if isinstance(value, list):
        names.pay(value)
        return value
    raise _Unknown


def _evaluate_dict(node: ast.Dict, names: _Names) -> dict[str, Value]:
    table: dict[str, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        content = _evaluate(value, names)
        names.pay(content)
        if key is not None:
            table[_evaluate_text(key, names)] = content
        elif isinstance(content, dict):
            table |= content
        else:
            raise _Unknown
    return table


def _evaluate_text(node: ast.expr, names: _Names) -> str:
    if isinstance(node, ast.FormattedValue) and (node.format_spec or node.conversion != -1):
        raise _Unknown
    value = _evaluate(node.value if isinstance(node, ast.FormattedValue) else node, names)
    if isinstance(value, str | int) and not isinstance(value, bool):
        names.pay(value)
        return str(value)
    raise _Unknown


def _add(left: Value, right: Value, names: _Names) -> Value:
    names.pay(left)
    names.pay(right)
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    raise _Unknown


def _keywords_of(call: ast.Call, names: _Names) -> dict[str, Value]:
    table: dict[str, Value] = {}
    for keyword in call.keywords:
        content = _evaluate(keyword.value, names)
        names.pay(content)
        if keyword.arg is not None:
            table[keyword.arg] = content
        elif isinstance(content, dict):
            table |= content
        else:
            raise _Unknown
    return table


def _read_keywords(call: ast.Call, names: _Names) -> tuple[dict[str, Value], frozenset[str]]:
    """Like `_keywords_of`, but one computed keyword does not cost the others; "**" marks a computed table."""
    keywords: dict[str, Value] = {}
    computed = set()
    for keyword in call.keywords:
        try:
            content = _evaluate(keyword.value, names)
        except _Unknown:
            computed.add(keyword.arg or "**")
            continue
        names.pay(content)
        if keyword.arg is not None:
            keywords[keyword.arg] = content
        elif isinstance(content, dict):
            keywords |= content
    return keywords, frozenset(computed)


def _imports(module: ast.Module) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0]: None for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found[node.module.split(".")[0]] = None
    return tuple(found)


def _builds_extensions(module: ast.Module, keywords: Mapping[str, Value], computed: frozenset[str]) -> bool:
    passed = bool(keywords.get("ext_modules") or keywords.get("cffi_modules") or keywords.get("rust_extensions"))
    if passed or computed & {"ext_modules", "cffi_modules", "rust_extensions"}:
        return True
    calls = (node.func for node in ast.walk(module) if isinstance(node, ast.Call))
    called = {getattr(function, "id", getattr(function, "attr", "")) for function in calls}
    return bool(called & _EXTENSION_CALLS)
