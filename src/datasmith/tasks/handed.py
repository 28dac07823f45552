"""Other names that a patch's new lines give to modules: by assignments, loops, `with`, defaults and calls.

`j = json` is an import by another name, and `f(json)` one in what `f` calls its parameter. Only plain handing on is
followed: what is put into an object, or comes back from a call, is not.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from datasmith.tasks.targets import statements

FURTHEST = 3
"""Names of names of a module that are followed."""
_FETCHES = re.compile(r"""(?:__import__|\b(?:importlib\s*\.\s*)?import_module)\s*\(\s*["']([A-Za-z_][\w.]*)["']\s*\)""")
_WORD = re.compile(r"\w+")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def fetched(text: str) -> str:
    """A line in which calls that import a module by its name are that name."""
    return _FETCHES.sub(r"\1", text)


class Handed:
    """The names that some lines of Python give to modules.

    `modules` are names of modules, and what each stands for. `everywhere` are the lines of all files of the patch: a
    function of one may be called in another.
    """

    def __init__(self, modules: Mapping[str, str], texts: Sequence[str], everywhere: Sequence[str]) -> None:
        self.names: dict[str, str] = {}
        """Name -> the module that it stands for, or an attribute of one."""
        self._modules = modules
        for _ in range(FURTHEST):
            before = dict(self.names)
            given: dict[str, list[ast.Call]] = {}
            for name, call in self._calls(everywhere):
                given.setdefault(name, []).append(call)
            for node in self._nodes(texts, given):
                self.names.update(self._bound(node, given))
            if self.names == before:
                break

    def _nodes(self, texts: Sequence[str], more: Mapping[str, object] | None = None) -> Iterator[ast.AST]:
        """What is in those statements that have one of the names, or one of `more`."""
        words = {*self._modules, *self.names, *(more or ())}
        for _, body in statements(texts, lambda text: not words.isdisjoint(_WORD.findall(text))):
            yield from (node for statement in body for node in ast.walk(statement))

    def _calls(self, texts: Sequence[str]) -> Iterator[tuple[str, ast.Call]]:
        """(name of a function, a call of it) where that is given a module."""
        for node in self._nodes(texts):
            if isinstance(node, ast.Call) and any(map(self._held, _arguments(node))):
                called = node.func
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                yield name, node

    def _held(self, value: ast.AST | None) -> str:
        """The module that a value is, or may be, or holds as it stands there; empty where there is none."""
        if isinstance(value, ast.Name):
            return self.names.get(value.id, "") or self._modules.get(value.id, "")
        if isinstance(value, ast.Attribute):
            root = self._held(value.value) if isinstance(value.value, ast.Name | ast.Attribute) else ""
            return f"{root}.{value.attr}" if root else ""
        parts: Sequence[ast.AST | None] = ()
        if isinstance(value, ast.Tuple | ast.List | ast.Set):
            parts = value.elts
        elif isinstance(value, ast.Dict):
            parts = value.values
        elif isinstance(value, ast.IfExp):
            parts = (value.body, value.orelse)
        elif isinstance(value, ast.BoolOp):
            parts = value.values
        elif isinstance(value, ast.NamedExpr | ast.Starred | ast.Await):
            parts = (value.value,)
        return next(filter(None, map(self._held, parts)), "")

    def _bound(self, node: ast.AST, given: Mapping[str, Sequence[ast.Call]]) -> Iterator[tuple[str, str]]:
        """(name, module) of what a statement or an expression binds."""
        if isinstance(node, ast.Assign):
            yield from (pair for target in node.targets for pair in self._taken(target, node.value))
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            yield from self._taken(node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield from self._taken(node.target, node.iter)
        elif isinstance(node, ast.withitem) and node.optional_vars and isinstance(node.context_expr, ast.Call):
            for argument in _arguments(node.context_expr):
                yield from self._taken(node.optional_vars, argument)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Lambda):
            yield from self._passed(node.func.args, node)
        elif isinstance(node, _FUNCTIONS):
            yield from self._defaults(node.args)
            for call in given.get(getattr(node, "name", ""), ()):
                yield from self._passed(node.args, call)

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
            elif isinstance(one, ast.Name) and (module := self._held(part)):
                yield one.id, module

    def _defaults(self, parameters: ast.arguments) -> Iterator[tuple[str, str]]:
        plain = [*parameters.posonlyargs, *parameters.args]
        last = plain[len(plain) - len(parameters.defaults) :]
        named = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
        for parameter, value in (*zip(last, parameters.defaults, strict=True), *named):
            if module := self._held(value):
                yield parameter.arg, module

    def _passed(self, parameters: ast.arguments, call: ast.Call) -> Iterator[tuple[str, str]]:
        plain = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
        places = plain[1:] if plain[:1] in (["self"], ["cls"]) else plain
        named = {keyword.arg or "": keyword.value for keyword in call.keywords}
        for name, value in (*zip(places, call.args, strict=False), *named.items()):
            if module := self._held(value):
                yield name, module


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]
