"""Other names that a patch's new lines give to modules: by imports, assignments, loops, `with`, defaults and calls.

`j = json` is an import by another name, and `f(json)` one in what the file's own `f` calls its parameter. Only plain
handing on of a whole module is followed, also by an attribute of anything: what comes back from a call is not.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from datasmith.tasks.targets import statements

_ROUNDS = 8
"""Looks at all lines, each for what is written above what tells it."""
_SUBMODULES = frozenset({"os.path", "np.random", "numpy.random", "np.linalg", "numpy.linalg", "importlib.util"})
"""Modules that are asked for as attributes of others: any other attribute may be of any kind."""
_WORD = re.compile(r"\w+")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def handed(modules: AbstractSet[str], texts: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The names that lines of Python give to modules, and these; and so the attributes that hold some.

    `modules` are those that go by their own names.
    """
    found = _Handed(modules)
    for _ in range(_ROUNDS):
        before = found.size
        for _, body in statements(texts, found.matters):
            found.look(node for statement in body for node in ast.walk(statement))
        if found.size == before:
            break
    return {name: module for name, module in found.names.items() if name != module}, found.attributes


class _Handed:
    """What is known of some statements so far."""

    def __init__(self, modules: AbstractSet[str]) -> None:
        self.names = {name: name for name in modules}
        """Name -> the module that it stands for."""
        self.attributes: dict[str, str] = {}
        """Name of an attribute, whatever it is one of -> the module."""
        self._given: dict[str, dict[int | str, str]] = {}
        """Function -> by place or name of a parameter, the module that some call gives it."""

    @property
    def size(self) -> int:
        """How much is known."""
        return len(self.names) + len(self.attributes) + sum(map(len, self._given.values()))

    def matters(self, text: str) -> bool:
        """Whether more may be learned from a piece of code."""
        known = (self.names, self.attributes, self._given)
        return any(word in names for word in _WORD.findall(text) for names in known)

    def look(self, nodes: Iterable[ast.AST]) -> None:
        """Learn from all that is in a statement."""
        for node in nodes:
            if isinstance(node, ast.Call):
                self._call(node)
            for name, module in self._bound(node):
                if self.names.setdefault(name, module) == name:
                    self.names[name] = module

    def _call(self, call: ast.Call) -> None:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        for place, value in _arguments(call):
            if module := self._held(value):
                self._given.setdefault(name, {}).setdefault(place, module)

    def _held(self, value: ast.AST | None) -> str:
        """The module that a value is, or may be, or holds as it stands there; empty where there is none."""
        if isinstance(value, ast.Name):
            return self.names.get(value.id, "")
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            name = f"{self.names.get(value.value.id, '')}.{value.attr}"
            return name if name in _SUBMODULES else self.attributes.get(value.attr, "")
        parts: Sequence[ast.AST | None] = ()
        if isinstance(value, ast.Tuple | ast.List | ast.Set):
            parts = value.elts
        elif isinstance(value, ast.Dict | ast.BoolOp):
            parts = value.values
        elif isinstance(value, ast.IfExp):
            parts = (value.body, value.orelse)
        elif isinstance(value, ast.NamedExpr | ast.Starred):
            parts = (value.value,)
        return next(filter(None, map(self._held, parts)), "")

    def _bound(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        """(name, module) of what a statement or an expression binds."""
        if isinstance(node, ast.Import):
            yield from ((alias.asname or "", alias.name) for alias in node.names if alias.name in self.names)
        elif isinstance(node, ast.Assign):
            yield from (pair for target in node.targets for pair in self._taken(target, node.value))
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            yield from self._taken(node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield from self._taken(node.target, node.iter)
        elif isinstance(node, ast.withitem) and node.optional_vars and isinstance(node.context_expr, ast.Call):
            yield from (
                pair for _, value in _arguments(node.context_expr) for pair in self._taken(node.optional_vars, value)
            )
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Lambda):
            given = {place: self._held(value) for place, value in _arguments(node)}
            yield from _passed(node.func.args, given)
        elif isinstance(node, _FUNCTIONS):
            yield from self._defaults(node.args)
            yield from _passed(node.args, self._given.get(getattr(node, "name", ""), {}))

    def _taken(self, target: ast.expr, value: ast.AST | None) -> Iterator[tuple[str, str]]:
        """Several targets take what stands at their places, where that can be seen, else any of it."""
        if not isinstance(target, ast.Tuple | ast.List):
            pairs = [(target, value)]
        elif isinstance(value, ast.Tuple | ast.List) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        else:
            pairs = [(one, value) for one in target.elts]
        for one, part in pairs:
            if isinstance(one, ast.Tuple | ast.List):
                yield from self._taken(one, part)
            elif module := self._held(part):
                if isinstance(one, ast.Attribute):
                    self.attributes.setdefault(one.attr, module)
                elif isinstance(one, ast.Name):
                    yield one.id, module

    def _defaults(self, parameters: ast.arguments) -> Iterator[tuple[str, str]]:
        plain = [*parameters.posonlyargs, *parameters.args]
        last = plain[len(plain) - len(parameters.defaults) :]
        named = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
        for parameter, value in (*zip(last, parameters.defaults, strict=True), *named):
            if module := self._held(value):
                yield parameter.arg, module


def _arguments(call: ast.Call) -> list[tuple[int | str, ast.expr]]:
    """By their places, or their names."""
    return [*enumerate(call.args), *((keyword.arg or "", keyword.value) for keyword in call.keywords)]


def _passed(parameters: ast.arguments, given: Mapping[int | str, str]) -> Iterator[tuple[str, str]]:
    """(parameter, module) of a function that is called with these."""
    plain = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    places = plain[1:] if plain[:1] in (["self"], ["cls"]) else plain
    named = [*plain, *(parameter.arg for parameter in parameters.kwonlyargs)]
    asked: list[tuple[int | str, str]] = [*enumerate(places), *zip(named, named, strict=True)]
    yield from ((name, given[place]) for place, name in asked if place in given)
