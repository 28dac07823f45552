"""The older task folder, `<owner_repo>/<sha>/`: its task.txt, one constructor expression, is read, never evaluated."""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from datasmith.errors import InvalidTask

RECORD = "task.txt"
DOCKERFILE = "Dockerfile"
TESTS = "run-tests.sh"
OLD_TESTS = "run_tests.sh"
PROFILE = "profile.sh"
MAX_RECORD = 5_000_000
_FIELDS = ("owner", "repo", "sha")
"""What the constructor's positional arguments are, in their order."""
_DEEPEST = 50

Literal = str | bytes | int | float | bool | None | list["Literal"] | dict[str, "Literal"]


@dataclass(frozen=True, slots=True)
class LegacyTask:
    """One task.txt: which commit it is about, and every argument by name.

    An argument that is no plain value (a call such as `datetime(...)`) is kept as its text.
    """

    owner: str
    repo: str
    sha: str
    values: Mapping[str, Literal]

    @property
    def dependencies(self) -> tuple[str, ...]:
        """The pins of env_payload, a JSON object; empty where there are none."""
        payload = self.values.get("env_payload")
        try:
            found = json.loads(payload) if isinstance(payload, str) and payload else payload
        except (ValueError, RecursionError):
            return ()
        pins = found.get("dependencies") if isinstance(found, dict) else None
        return tuple(pin for pin in pins if isinstance(pin, str)) if isinstance(pins, list) else ()

    def text(self, name: str) -> str | None:
        """An argument as the text that a build argument can be; None where it is not given, or is None."""
        value = self.values.get(name)
        if value is None or isinstance(value, str):
            return value
        return json.dumps(value) if isinstance(value, list | dict) else str(value)


def parse_legacy(text: str) -> LegacyTask:
    """Read `Task(owner='astropy', repo='astropy', sha='...', ...)`; names of other constructors are as good.

    Raises:
        InvalidTask: it is no such expression, or names no owner, repo and sha.
    """
    call = _call(text)
    values: dict[str, Literal] = {}
    for name, node in [*zip(_FIELDS, call.args, strict=False), *((word.arg, word.value) for word in call.keywords)]:
        if name is None:
            raise InvalidTask([f"{RECORD}: ** is no plain argument"])
        if name in values:
            raise InvalidTask([f"{RECORD}: {name} is given twice"])
        values[name] = _value(node)
    named = {name: value for name in _FIELDS if isinstance(value := values.get(name), str) and value}
    missing = [name for name in _FIELDS if name not in named]
    if missing:
        raise InvalidTask([f"{RECORD}: {name} is missing" for name in missing])
    return LegacyTask(**named, values=values)


def _call(text: str) -> ast.Call:
    if len(text) > MAX_RECORD:
        raise InvalidTask([f"{RECORD}: larger than {MAX_RECORD} characters"])
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = error.msg if isinstance(error, SyntaxError) else type(error).__name__
        raise InvalidTask([f"{RECORD}: no Python expression: {said}"]) from error
    call = tree.body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name | ast.Attribute):
        raise InvalidTask([f"{RECORD}: no constructor expression (example: Task(owner='a', repo='b', sha='...'))"])
    if len(call.args) > len(_FIELDS):
        raise InvalidTask([f"{RECORD}: more than {len(_FIELDS)} arguments without a name"])
    return call


def _value(node: ast.expr, depth: int = 0) -> Literal:
    """The value of a display of constants; anything else is its own text."""
    if depth > _DEEPEST:
        raise InvalidTask([f"{RECORD}: a value is more than {_DEEPEST} levels deep"])
    match node:
        case ast.Constant(value=str() | bytes() | int() | float() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return [_value(part, depth + 1) for part in parts]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {str(_value(key, depth + 1)): _value(value, depth + 1) for key, value in pairs if key is not None}
        case _:
            return _text(node)


def _text(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except RecursionError as error:
        raise InvalidTask([f"{RECORD}: a value is nested too deep"]) from error


def read_legacy(folder: Path) -> LegacyTask:
    """The task of an older folder, whose files are all there.

    Raises:
        InvalidTask: files are missing, or task.txt cannot be read; lists every problem found.
    """
    scripts = {TESTS, OLD_TESTS}
    there = {path.name for path in folder.iterdir() if path.is_file() and not path.is_symlink()}
    missing = [name for name in (DOCKERFILE, PROFILE, RECORD) if name not in there]
    missing += [] if scripts & there else [TESTS]
    if missing:
        raise InvalidTask([f"{name} is missing" for name in missing])
    try:
        return parse_legacy((folder / RECORD).read_bytes().decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidTask([f"{RECORD}: not UTF-8 text: {error.reason}"]) from error
