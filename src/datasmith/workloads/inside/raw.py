"""Run the code of timeraw benchmarks in processes of their own, and see what it leaves there.

It is mostly an import, and the benchmark drops it. A package that sees how it is run could import nothing, or say a
time and end, and one that is lazy puts its work off. So some processes tell what the code's names stand for when it
is over, and what the modules offer that it imports: each name is asked for. How long that takes is told apart.

The program that does so (`raw_teller.py`) comes on standard input in each process, with the code and the key that its
reply begins with, and is out of the main module before the code runs. No collector runs from its start to the end.
"""

from __future__ import annotations

import ast
import os
import sys
from textwrap import dedent

from . import OWN
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from .foreign import Node
    from .suite import Benchmark

__builtins__ = OWN

READ = "import sys\nexec(sys.stdin.read())"
TEMPLATE = """
def inner(_it, _timer{init}):
    {setup}
    _t0 = _timer()
    for _i in _it:
        {stmt}
        pass
    _t1 = _timer()
    return _t1, _t0, locals()
"""
"""As timeit has it, but for what it returns."""
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "raw_teller.py")) as stream:
    TELLER = stream.read()
"""The program, to run where nothing of ours is imported; read before any code of the arm is there."""
_VALUE = "value_of_line_"


class RawFailed(Exception):
    """The process did not come to its end; the message says what it said last."""


class Ran:
    """One run: seconds of the setup's code, the statement, first looks at what it left and later ones; what that is."""

    def __init__(self, seconds: list[float], told: Node) -> None:
        self.setup_s, self.call_s, self.first_s, self.again_s = (*seconds, 0.0, 0.0)[:4]
        self.values: Node = ["call", told]


class RawTimer:
    """What asv_runner asks for a time, in the place of its own."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark

    def timeit(self, number: int) -> float:
        """Seconds of so many turns."""
        return run(self._benchmark, number, tells=False).call_s


def time_in_our_way(benchmark: Benchmark) -> None:
    """Have a benchmark's code timed by what is here."""
    benchmark._get_timer = lambda *_: RawTimer(benchmark)  # type: ignore[attr-defined]


def run(benchmark: Benchmark, number: int = 1, *, tells: bool = True) -> Ran:
    """Run the code of a benchmark that is set up, so many times; `tells`: and look at what it left.

    Raises:
        RawFailed: it failed there.
    """
    import subprocess

    setup, statement = _code(benchmark)
    key = os.urandom(16).hex()
    asked = {
        "key": key,
        "template": TEMPLATE,
        "setup": setup,
        "statement": with_values(statement) if tells else statement,
        "number": number,
        "tells": tells,
        "modules": imported(setup) + imported(statement) if tells else [],
    }
    child = subprocess.Popen(
        [sys.executable, "-c", READ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ, **(getattr(benchmark, "_timeraw_env", None) or {})),
    )
    stdout, stderr = child.communicate(f"{TELLER}\n\nrun({asked!a})\n".encode())
    said = [line for line in stdout.decode(errors="replace").splitlines() if line.startswith(key)]
    if child.returncode or len(said) != 1:
        last = stderr.decode(errors="replace").strip().splitlines()
        raise RawFailed(f"its process ended with exit code {child.returncode}: {last[-1] if last else 'no word'}")
    return Ran(*ast.literal_eval(said[0][len(key) :]))


def _code(benchmark: Benchmark) -> tuple[str, str]:
    """Setup and statement, as asv would run them."""
    given = benchmark.func(*benchmark._build_params())  # type: ignore[attr-defined]
    statement, setup = given if isinstance(given, tuple) else (given, "")
    if not (isinstance(statement, str) and isinstance(setup, str)):
        raise TypeError("the code of a timeraw benchmark is a text, or a pair of them")
    return as_pasted(dedent(setup)), as_pasted(dedent(statement))


def as_pasted(code: str) -> str:
    """Code as it is between quotes: asv puts it there, so that a backslash in it begins what it does in a text."""
    try:
        return str(ast.literal_eval('"""' + code.replace('"""', r"\"\"\"") + '"""'))
    except (SyntaxError, ValueError):  # it ends with a quote, which asv would trip over
        return code


def with_values(code: str) -> str:
    """Code whose expressions leave their values under names of their own."""
    lines = code.split("\n")
    for node in ast.parse(code).body:
        if isinstance(node, ast.Expr) and not node.col_offset:
            lines[node.lineno - 1] = f"{_VALUE}{node.lineno} = {lines[node.lineno - 1]}"
    return "\n".join(lines)


def imported(code: str) -> list[str]:
    """The modules that code imports, by their whole names."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found
