"""Run the code of a timeraw benchmark in a process of its own, as when it is timed, and see what it leaves.

It is mostly an import, and the benchmark drops it. So what the code's names stand for is looked at, and of a module
each of its public names is asked for: a package that sees how it is run could import nothing, and one that is lazy has
put its work off until then. How long that takes is told apart. The code comes on standard input, as asv_runner sends
it; whoever is imported finds no sign in the process of which of the two it is for.
"""

from __future__ import annotations

import ast
import json
import marshal
import os
import sys
from textwrap import dedent

from . import OWN
from .attributes import is_public
from .describe import Describer
from .report import TYPE_CHECKING, Report

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from .foreign import Looked, Node
    from .suite import Benchmark

__builtins__ = OWN

READ = "import sys\ncode = sys.stdin.read()\nexec(code)"
PROGRAM = """
def run():
    import marshal, sys
    from time import perf_counter
    setup, statement = map(marshal.loads, {codes!r})
    namespace = {{"__name__": "__main__"}}
    times = [perf_counter()]
    exec(setup, namespace)
    times.append(perf_counter())
    exec(statement, namespace)
    times.append(perf_counter())
    sys.path.insert(0, {home!r})
    from inside.raw import tell
    tell(namespace, times, perf_counter, {key!r}, {seed!r})
run()
"""


class RawFailed(Exception):
    """The process did not come to its end; the message says what it said last."""


class Ran:
    """One run: seconds of the setup's code, the statement, first looks at what it left and later ones; what that is.

    An import is made once in a process, so the statement is run once.
    """

    def __init__(self, said: dict[str, object]) -> None:
        seconds: list[float] = said["seconds"]  # type: ignore[assignment]
        self.setup_s, self.call_s, self.first_s, self.again_s = seconds
        self.values: Node = said["values"]  # type: ignore[assignment]


def run(benchmark: Benchmark, seed: int) -> Ran:
    """Run the code of a benchmark that is set up.

    Raises:
        RawFailed: it failed there.
    """
    import subprocess

    given = benchmark.func(*benchmark._build_params())  # type: ignore[attr-defined]
    statement, setup = given if isinstance(given, tuple) else (given, "")
    key = os.urandom(16).hex()
    program = PROGRAM.format(
        codes=[_compiled(str(setup)), _compiled(str(statement))],
        home=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        key=key,
        seed=seed,
    )
    own = getattr(benchmark, "_timeraw_env", None) or {}
    child = subprocess.Popen(
        [sys.executable, "-c", READ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ, **own),
    )
    stdout, stderr = child.communicate(program.encode())
    lines = stdout.splitlines()
    if child.returncode or not lines or not lines[-1].startswith(key.encode()):
        last = stderr.decode(errors="replace").strip().splitlines()
        raise RawFailed(f"its process ended with exit code {child.returncode}: {last[-1] if last else 'no word'}")
    return Ran(json.loads(lines[-1][len(key) :]))


def _compiled(code: str) -> bytes:
    """Code whose expressions leave their values under the names of their lines."""
    tree = ast.parse(dedent(code))
    for at, node in enumerate(tree.body):
        if isinstance(node, ast.Expr):
            name = ast.Name(id=f"line {node.lineno}", ctx=ast.Store())
            tree.body[at] = ast.copy_location(ast.Assign(targets=[name], value=node.value), node)
    return marshal.dumps(compile(ast.fix_missing_locations(tree), "<timeraw>", "exec"))


def tell(namespace: dict[str, object], times: list[float], clock: Callable[[], float], key: str, seed: int) -> NoReturn:
    """In that process: say what the code left, and end."""
    left = [(name, namespace[name]) for name in sorted(namespace) if not name.startswith("__")]
    moments = [clock()]
    describer, again = Describer(seed, thorough=True), Describer(seed, thorough=True)
    looked: Node = [[name, _looked(describer, value)] for name, value in left]
    moments.append(clock())
    for _, value in left:
        _looked(again, value)
    moments.append(clock())
    seconds = [*_passed(times), *_passed(moments)]
    values = describer.tell(["object", "call", looked, False])
    Report().end(key + json.dumps({"seconds": seconds, "values": values}))


def _passed(moments: list[float]) -> list[float]:
    return [moments[at + 1] - moments[at] for at in range(len(moments) - 1)]


def _looked(describer: Describer, value: object) -> Looked:
    if not issubclass(type(value), type(sys)):
        return describer.look(value)
    return ["object", "module", [[name, _kind(value, name)] for name in _offered(value)], False]


def _offered(module: object) -> list[str]:
    """The names that a module offers: those that it lists, or else what of its own package stands there."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(map(str, listed))
    package = str(getattr(module, "__name__", "")).partition(".")[0]
    return sorted(name for name in dir(module) if is_public(name) and _comes_from(module, name, package))


def _comes_from(module: object, name: str, package: str) -> bool:
    """True for a function or a class that this package defines; its own modules are told by who asks for them."""
    home = getattr(getattr(module, name, None), "__module__", None)
    return isinstance(home, str) and home.partition(".")[0] == package


def _kind(module: object, name: str) -> Node:
    try:
        value = getattr(module, name)
    except AttributeError:
        return ["text", "", "missing"]
    if issubclass(type(value), type(sys)):
        return ["text", "", "module"]
    return ["text", "", "callable" if callable(value) else type(value).__name__]
