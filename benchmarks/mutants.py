"""Mutation score of one module: python benchmarks/mutants.py MODULE TEST_FILE... [--at-most N].

Every string, number and operator of the module is changed, one at a time (of regular expressions also each
look-around and each quantifier), every call whose result nobody uses is left out, and every answer is None; the tests
run against each changed module in a process of their own. Prints what survived.
"""

import argparse
import ast
import contextlib
import importlib
import os
import random
import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOOK = re.compile(r"\(\?<?[=!](?:[^()\\]|\\.)*\)")
CPU_S = 60
"""A changed module that keeps the processor busy for longer does not come to an end: that is seen, too."""
QUANTITY = re.compile(r"\{(\d+),?\}")
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.And: ast.Or, ast.Or: ast.And, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.GtE: ast.Gt, ast.Gt: ast.GtE,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add,
}  # fmt: skip
"""An operator, and what stands there instead."""


def texts(value: str) -> Iterator[str]:
    """Other strings in place of one."""
    yield f"XX{value}XX"
    for found in LOOK.finditer(value):
        yield value[: found.start()] + value[found.end() :]
    for found in QUANTITY.finditer(value):
        yield value[: found.start(1)] + str(int(found[1]) + 1) + value[found.end(1) :]


def changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    """(attribute, new value) of each change to one node."""
    match node:
        case ast.Constant(value=str(text)):
            yield from (("value", other) for other in texts(text))
        case ast.Constant(value=bool(truth)):
            yield "value", not truth
        case ast.Constant(value=int(number) | float(number)):
            yield "value", number + 1
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPPED:
            yield "op", SWAPPED[type(op)]()
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            yield "ops", [SWAPPED[type(op)]()]
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield "operand", ast.UnaryOp(ast.Not(), inner)
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield "value", ast.Constant(None)
        case ast.Return(value=ast.expr()):
            yield "value", ast.Constant(None)


def docstrings(tree: ast.Module) -> set[int]:
    """Nodes that are documentation: to change them changes nothing."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """(what was changed, the changed module's source)."""
    tree = ast.parse(source)
    left_out = docstrings(tree)
    for node in ast.walk(tree):
        for name, value in changes(node) if id(node) not in left_out else ():
            before = getattr(node, name)
            setattr(node, name, value)
            shown = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else str(value)
            yield f"line {getattr(node, 'lineno', 0)}: {shown[:150]}", ast.unparse(ast.fix_missing_locations(tree))
            setattr(node, name, before)


def survives(module: str, source: str, tests: list[str]) -> bool:
    """True where the tests pass with the changed module in the place of the real one."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    code = 1
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    try:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            with contextlib.suppress(Exception):
                real = importlib.import_module(module)
                exec(compile(source, str(real.__file__), "exec"), real.__dict__)
                code = int(pytest.main(["-x", "-q", "-n0", "-p", "no:cacheprovider", "--timeout=60", *tests]))
    finally:
        os._exit(code)


def main() -> None:
    """Print the survivors and the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--at-most", type=int, default=0, help="a sample of so many, chosen by a fixed seed")
    asked = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    source = Path(str(importlib.import_module(asked.module).__file__)).read_text(encoding="utf-8")
    found = list(mutants(source))
    if asked.at_most and asked.at_most < len(found):
        found = random.Random(0).sample(found, asked.at_most)
    if not survives(asked.module, source, asked.tests):
        raise SystemExit("the tests fail without any change")
    killed = 0
    for number, (what, changed) in enumerate(found, 1):
        if survives(asked.module, changed, asked.tests):
            print(f"survived ({number} of {len(found)}): {what}", flush=True)
        else:
            killed += 1
    print(f"{asked.module}: {killed} of {len(found)} mutants killed, score {killed / len(found):.2f}")


if __name__ == "__main__":
    main()
