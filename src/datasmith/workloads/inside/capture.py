"""See what one call of a benchmark computes: what its statements give, what it returns, what it changes.

Most benchmarks drop what they compute. So the function's code is replaced, in this process alone, by a copy of itself
in which each statement's value goes through `keep`; the file's other code, and every line number, stay as they are.
`keep` is a constant of that code: the code under test sees no new name anywhere.
"""

from __future__ import annotations

import ast
import inspect
import operator
import random
import sys
import tokenize
import types
import warnings
from random import Random
from time import perf_counter

from .attributes import attributes
from .describe import Describer
from .foreign import Looked, Node
from .hush import Hush
from .report import TYPE_CHECKING, failure
from .seeds import derived

if TYPE_CHECKING:
    from .suite import Benchmark

KEEP = "\0keep"
"""Stands in rewritten code where the recorder's `keep` is to be called."""
INSIDE = " (inside)"
"""Ends the label of something that changed, and looks the same to whoever uses it."""
_COPIED = frozenset((int, float, complex))
_NUMBERS = _COPIED | {bool, type(None)}
"""Of these types a copy is at hand at once, or there is one value of each kind anyway."""
MOST_RECORDS = 100
"""All values up to this many, then a few that the seed draws: a loop of a million calls is not described as often."""


class Recorder:
    """Takes the values that a call makes.

    `seen`: how many there were; `paused`: how often the call was held up to describe one. `looking_s`: seconds that
    looking at them took, in which work may be done that was put off. `again_s`: the same of looking at each once more,
    where that is asked for; what was put off until somebody looks is done by then, what was put off longer is not.
    `telling_s`: these, and the seconds of describing, unless code that is not ours could run in them. Where it does not
    tell, values are looked at, and none is described.

    A number is copied, and described with the next value that is none, or at the end: else forty calls that give a
    number each would take as long again for being held up one by one. Copied, as what keeps it may write to memory.
    """

    def __init__(self, describer: Describer, *, again: bool = False, tells: bool = True) -> None:
        self._describer = describer
        self._again = again
        self._tells = tells
        self._hush = Hush()
        self._waiting: list[tuple[Node, object]] = []
        self._turns = 0
        self._draw_anew()
        self.seen = 0
        self.records: Node = []
        self.looking_s = 0.0
        self.again_s = 0.0
        self.telling_s = 0.0
        self.paused = 0

    def look_anew(self) -> None:
        """As if nothing had been seen so far."""
        self._describer = self._describer.anew()
        self._waiting = []
        self._turns += 1
        self._draw_anew()
        self.seen = 0
        self.records = []

    def _draw_anew(self) -> None:
        self._random = Random(derived(self._describer.seed, "values", self._turns)).random
        self._next = 1

    def _after(self, seen: int) -> int:
        """The number of the next value that is described: the more there were, the further from them."""
        return seen + 1 + (int(self._random() * seen) if seen >= MOST_RECORDS else 0)

    def watch(self, function: types.FunctionType | None) -> None:
        """Take the values of a function that was rewritten with `Keep`."""
        if function is not None:
            plant(function, {KEEP: self.keep})

    def keep(self, line: int, value: object) -> object:
        """Describe a value before anything can change it, and give it back."""
        self.seen += 1
        if self.seen == self._next:
            self._next = self._after(self.seen)
            self.add(f"line {line}", value)
        return value

    def add(self, label: str, value: object) -> None:
        """Describe a value under a name."""
        record: Node = [label, []]
        self.records.append(record)
        kind = type(value)
        if kind not in _NUMBERS:
            record[1] = self._described(self._describer, value)
        elif self._tells:
            self._waiting.append((record, operator.neg(operator.neg(value)) if kind in _COPIED else value))  # type: ignore[arg-type]

    def state(self, instance: object, given: tuple[object, ...]) -> dict[str, Node]:
        """Descriptions of what a call can change: the benchmark's attributes and its arguments, by name."""
        own = [] if isinstance(instance, type(sys)) else attributes(instance)
        parts = [("self." + name, value) for name, value in own]
        parts += [(f"argument {number}", value) for number, value in enumerate(given)]
        return {name: self._described(self._describer.anew(), value) for name, value in parts}

    def changes(self, before: dict[str, Node], after: dict[str, Node]) -> None:
        """Record what is not as it was before; `INSIDE` marks what is only added or private, as a cache is."""
        for name, node in after.items():
            if before.get(name) != node:
                inside = name in before and _only_grown(before[name], node)
                self.records.append([name + INSIDE if inside else name, self._describer.take(node)])

    def _described(self, describer: Describer, value: object) -> Node:
        twin = describer.twin() if self._again else None
        looked, looking_s = _look(describer, value)
        if not self._tells:
            return []
        again_s = _looking_s(twin, value) if twin else 0.0
        self._hush.begin()
        started = perf_counter()
        self._tell_waiting()
        told = describer.tell(looked)
        self.looking_s += looking_s
        self.again_s += again_s
        self.telling_s += again_s + perf_counter() - started - self._hush.end()
        self.paused += 1
        return told

    def _tell_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for record, value in waiting:
            record[1] = self._describer.tell(self._describer.look(value))

    def whole(self) -> Node:
        """Everything that was seen, as one value; a line that was passed several times has a part for each."""
        parts: Node = []
        passed: dict[object, int] = {}
        for record in self.finish():
            assert isinstance(record, list)
            label, node = record
            passed[label] = passed.get(label, 0) + 1
            parts.append([f"{label} #{passed[label]}", node])
        return ["object", "call", parts, False]

    def finish(self) -> Node:
        """Everything that was seen."""
        self._tell_waiting()
        self.records.append(["values", ["int", str(self.seen)]])
        return self.records


def _only_grown(before: object, after: object) -> bool:
    """Whether all that was there stands as it was: objects may have more attributes, and other private parts."""
    if before == after or not isinstance(before, list) or not isinstance(after, list):
        return before == after
    if before[:1] == after[:1] == ["object"] and len(before) == len(after) == 4:
        theirs = dict(map(tuple, after[2]))
        kept = [] if before[3] is True else before[2]
        return before[1] == after[1] and all(name in theirs and _only_grown(own, theirs[name]) for name, own in kept)
    return len(before) == len(after) and all(map(_only_grown, before, after))


def _look(describer: Describer, value: object) -> tuple[Looked, float]:
    """What a describer sees, and the seconds that it took."""
    started = perf_counter()
    looked = describer.look(value)
    return looked, perf_counter() - started


def _looking_s(describer: Describer, value: object) -> float:
    """The seconds of a look, and of letting go of what was seen."""
    started = perf_counter()
    describer.look(value)
    return perf_counter() - started


class Keep(ast.NodeTransformer):
    """Sends the values of a function's own statements through `keep`."""

    def _kept(self, value: ast.expr) -> ast.expr:
        if isinstance(value, (ast.Yield, ast.YieldFrom, ast.Await)):
            return value
        line = ast.copy_location(ast.parse(str(value.lineno), mode="eval").body, value)
        call = ast.Call(func=ast.Constant(value=KEEP), args=[line, value], keywords=[])
        return ast.fix_missing_locations(ast.copy_location(call, value))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """`f(x)` as a statement; texts and `...` stay."""
        if not isinstance(node.value, ast.Constant):
            node.value = self._kept(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`y = f(x)`."""
        node.value = self._kept(node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """`y: int = f(x)`."""
        node.value = self._kept(node.value) if node.value else None
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`y += f(x)`."""
        node.value = self._kept(node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """`for x in f():` what it goes over, where that is no name."""
        self.generic_visit(node)
        node.iter = self._called(node.iter)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """`if f():`."""
        self.generic_visit(node)
        node.test = self._called(node.test)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """`assert f()`."""
        node.test = self._called(node.test)
        return node

    def _called(self, value: ast.expr) -> ast.expr:
        return self._kept(value) if any(isinstance(part, ast.Call) for part in ast.walk(value)) else value

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function in the function is left as it is; so is a class."""
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """See visit_FunctionDef."""
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """See visit_FunctionDef."""
        return node


class OfPython37(ast.NodeTransformer):
    """Makes constants of the numbers and texts that Python 3.7 has nodes of their own for."""

    def visit_Num(self, node: ast.AST) -> ast.AST:
        """`2`."""
        return ast.copy_location(ast.Constant(value=node.n), node)  # type: ignore[attr-defined]

    def visit_Str(self, node: ast.AST) -> ast.AST:
        """`"a"`."""
        return ast.copy_location(ast.Constant(value=node.s), node)  # type: ignore[attr-defined]

    def visit_Ellipsis(self, node: ast.AST) -> ast.AST:
        """`...`."""
        return ast.copy_location(ast.Constant(value=...), node)


def plain_function(function: object) -> types.FunctionType | None:
    """The function behind methods and decorators that say what they wrap; None where that is no Python code."""
    found = inspect.unwrap(getattr(function, "__func__", function))  # type: ignore[arg-type]
    return found if isinstance(found, types.FunctionType) else None


def first_line(node: ast.FunctionDef) -> int:
    """Where Python says that a function begins: at its first decorator."""
    return min([node.lineno, *(mark.lineno for mark in node.decorator_list)])


def rewrite(function: types.FunctionType, *changes: ast.NodeTransformer) -> bool:
    """Replace a function's code by that of its changed source; False where its source is not to be had."""
    code = function.__code__
    try:
        with tokenize.open(code.co_filename) as stream:
            tree = ast.parse(stream.read())
        if not hasattr(code, "replace"):
            tree = OfPython37().visit(tree)
    except (OSError, SyntaxError, ValueError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name and first_line(node) == code.co_firstlineno:
            for change in changes:
                node.body = [change.visit(statement) for statement in node.body]
            ast.fix_missing_locations(tree)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a constant that is called
                changed = compile(tree, code.co_filename, "exec", dont_inherit=True)
            return _take_code(function, changed)
    return False


def _take_code(function: types.FunctionType, module: types.CodeType) -> bool:
    wanted, pending = function.__code__, [module]
    while pending:
        code = pending.pop()
        if (code.co_name, code.co_firstlineno) == (wanted.co_name, wanted.co_firstlineno):
            if code.co_freevars != wanted.co_freevars:
                return False
            function.__code__ = code
            return True
        pending += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return False


def plant(function: types.FunctionType, constants: dict[str, object]) -> None:
    """Put objects where the code of a function, and of what is defined in it, has their stand-ins."""
    function.__code__ = _planted(function.__code__, constants)


def _planted(code: types.CodeType, constants: dict[str, object]) -> types.CodeType:
    def put(constant: object) -> object:
        if isinstance(constant, types.CodeType):
            return _planted(constant, constants)
        return constants.get(constant, constant) if isinstance(constant, str) else constant

    return _with_constants(code, tuple(map(put, code.co_consts)))


def _with_constants(code: types.CodeType, constants: tuple[object, ...]) -> types.CodeType:
    if hasattr(code, "replace"):
        return code.replace(co_consts=constants)
    parts = ("argcount", "kwonlyargcount", "nlocals", "stacksize", "flags", "code")
    more = ("names", "varnames", "filename", "name", "firstlineno", "lnotab", "freevars", "cellvars")
    first, last = ([getattr(code, "co_" + name) for name in names] for names in (parts, more))
    return types.CodeType(*first, constants, *last)  # type: ignore[call-arg]  # that of Python 3.7


def plant_seed(seed: int, turn: int = 0) -> None:
    """Make what is drawn at random from now on the same in every arm; it does not tell the seed."""
    planted = derived(seed, "planted", turn)
    random.seed(planted)
    drawn = sys.modules.get("numpy.random")
    if drawn is not None and hasattr(drawn, "seed"):
        drawn.seed(planted % 2**32)


def watched_call(benchmark: Benchmark, recorder: Recorder, hush: Hush | None = None) -> float:
    """Call a benchmark that is set up, and rewritten, once; the seconds that it took with all looks at it.

    What it can change is looked at before and after it in that time: work that was put off is done when somebody looks.
    `hush`: what has been keeping all else from running since the benchmark was set up; it ends when the clock runs.
    """
    given = benchmark._build_params()  # type: ignore[attr-defined]
    instance = getattr(benchmark.func, "__self__", None)
    started, told_s = perf_counter(), recorder.telling_s
    shared_s = hush.end() if hush is not None else 0.0
    before = recorder.state(instance, given)
    returned = benchmark.func(*given)
    recorder.add("returned value", returned)
    after = recorder.state(instance, given)
    seconds = perf_counter() - started - (recorder.telling_s - told_s) + shared_s
    recorder.changes(before, after)
    return seconds


def capture(benchmark: Benchmark, seed: int) -> dict[str, object]:
    """Set a benchmark up anew, call it once, and say what came of it; a reason where that fails."""
    recorder = Recorder(Describer(seed))
    try:
        if type(benchmark).__name__ == "TimerawBenchmark":
            return {"skipped": "its code runs in a process of its own"}
        plant_seed(seed)
        benchmark.do_teardown()
        if benchmark.do_setup():
            return {"skipped": "its setup refuses to run again"}
        function = plain_function(benchmark.func)
        if function is not None and rewrite(function, Keep()):
            recorder.watch(function)
        watched_call(benchmark, recorder)
        return {"values": recorder.finish()}
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return {"failed": failure(error)}
