"""See what one call of a benchmark computes: what its statements give, what it returns, what it changes.

Most benchmarks drop what they compute. So the function's code is replaced, in this process alone, by a copy of itself
in which each statement's value goes through `keep`: see `rewrite.py`.
"""

from __future__ import annotations

import operator
import random
import sys
import types
from random import Random
from time import perf_counter

from . import OWN
from .attributes import attributes
from .describe import Describer
from .files import Files
from .foreign import Looked, Node
from .grown import only_grown
from .hush import Hush, uncollected
from .labels import FURTHER, INSIDE, SET_UP
from .outline import told
from .plain import is_plain, seems_plain
from .raw import run
from .report import TYPE_CHECKING, failure
from .rewrite import KEEP, TURN, Keep, plain_function, plant, rewrite
from .seeds import derived
from .suite import is_raw

if TYPE_CHECKING:
    from .later import Held
    from .suite import Benchmark

__builtins__ = OWN

_COPIED = frozenset((int, float, complex))
_NUMBERS = _COPIED | {bool, type(None)}
"""Of these types a copy is at hand at once, or there is one value of each kind anyway."""
MOST_FURTHER = 8
"""Values of a call that are seen further in."""
MOST_RECORDS = 100
"""All values up to this many, then a few that the seed draws: a loop of a million calls is not described as often."""


class Recorder:
    """Takes the values that a call makes.

    `seen`: how many there were; `paused`: of each for which the call was held up, how many values were described of it;
    `states`: how often it was held up for all that it can change. `looking_s`: seconds that looking at them took, in
    which work may be done that was put off. `again_s`: the same of looking at each once more, where that is asked for;
    what was put off until somebody looks is done by then, what was put off longer is not.
    `telling_s`: these, and the seconds of describing, unless code that is not ours could run in them. `held`: takes
    what is described, to see what later calls make of it.

    A number is copied, and described with the next value that is none, or at the end: else forty calls that give a
    number each would take as long again for being held up one by one. Copied, as what keeps it may write to memory.

    `late`: all is held until the call is over, and looked at then; before it nothing is described. Who is called cannot
    see then whether what it gives is told, which takes milliseconds: a stale answer would do where it is not.

    `deep`: what takes long to see of a value is told beside, each at the cost of a budget of its own.
    """

    def __init__(
        self,
        describer: Describer,
        *,
        again: bool = False,
        held: Held | None = None,
        late: bool = False,
        deep: bool = False,
    ) -> None:
        self._describer = describer
        self._again = again
        self._held = held
        self._late = late
        self._deep = deep
        self._further: list[tuple[str, Node]] = []
        self._until_over: list[tuple[str, object]] = []
        self._loops: dict[int, int] = {}
        self._found: dict[str, Node] = {}
        self._left: dict[str, Node] = {}
        self._wanted = True
        self._tells = not late
        self._hush = Hush()
        self._waiting: list[tuple[Node, object]] = []
        self._turns = 0
        self._draw_anew()
        self.seen = 0
        self.records: Node = []
        self.looking_s = 0.0
        self.again_s = 0.0
        self.telling_s = 0.0
        self.paused: list[int] = []
        self.states = 0

    def look_anew(self, *, tells: bool, deep: bool = False) -> None:
        """As if nothing had been seen so far; where it does not tell, values are looked at, and none is described.

        deep: values are also seen further in, see `Describer`.
        """
        self._wanted = tells
        self._tells = tells and not self._late
        self._until_over = []
        self._found = {}
        self._loops = {}
        self._describer = self._describer.anew()
        self._deep = deep
        self._further = []
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
            plant(function, {KEEP: self.keep, TURN: self.turn})

    def keep(self, line: int, value: object) -> object:
        """Describe a value before anything can change it, and give it back."""
        self.seen += 1
        if self.seen == self._next:
            self._next = self._after(self.seen)
            self.add(f"line {line}", value)
        return value

    def turn(self, line: int) -> None:
        """Count a turn of the loop in this line."""
        self._loops[line] = self._loops.get(line, 0) + 1

    def add(self, label: str, value: object) -> None:
        """Describe a value under a name, at once or when the call is over."""
        if self._late:
            self._until_over.append((label, _copied(value)))
        else:
            self._add(label, value)

    def call_is_over(self) -> None:
        """Look at all that was held until now."""
        held, self._until_over = self._until_over, []
        self._tells = self._wanted
        for label, value in held:
            self._add(label, value)

    def _add(self, label: str, value: object) -> None:
        record: Node = [label, []]
        self.records.append(record)
        kind = type(value)
        told: Node = []
        if kind in _NUMBERS:
            if self._tells:
                self._waiting.append((record, _copied(value)))
        else:
            record[1] = told = self._described(self._describer, value)
            self._look_further(label, value)
        if self._held is not None:
            self._held.take(label, value, told)

    def _look_further(self, label: str, value: object) -> None:
        if not (self._deep and self._tells) or len(self._further) >= MOST_FURTHER:
            return
        describer = Describer(self._describer.seed, deep=True)
        node = describer.node(value)
        if describer.went_deep:
            self._further.append((f"{label}, {len(self._further) + 1}.", node))

    def state(self, instance: object, given: tuple[object, ...]) -> dict[str, Node]:
        """Descriptions of what a call can change: the benchmark's attributes and its arguments, by name."""
        self.states += 1
        own = [] if isinstance(instance, type(sys)) else attributes(instance)
        parts = [("self." + name, value) for name, value in own]
        parts += [(f"argument {number}", value) for number, value in enumerate(given)]
        return {name: self._described(self._describer.anew(), value) for name, value in parts}

    def changes(self, before: dict[str, Node], after: dict[str, Node]) -> None:
        """Record what is not as it was before; `INSIDE` marks what is only added or private, as a cache is."""
        self._found = before
        for name, node in after.items():
            if before.get(name) != node:
                inside = name in before and only_grown(before[name], node)
                self.records.append([name + INSIDE if inside else name, self._describer.take(node)])

    def over(self, before: dict[str, Node], after: dict[str, Node]) -> None:
        """A call's state before and after it; where it was only looked at before, `over_late` says what it changed."""
        self._left = after
        if not self._late:
            self.changes(before, after)

    def over_late(self, before: dict[str, Node]) -> None:
        """The state before it, as it is again."""
        self.changes(before, self._left)

    def left(self, files: Files) -> None:
        """Record the files that a call left, of which `files` was made before it."""
        self.records.append(["files", self._describer.take(files.told())])

    def _described(self, describer: Describer, value: object) -> Node:
        early = self._tells and seems_plain(value)
        if early:
            self._hush.begin()
        started = perf_counter()
        if early and not is_plain(value):  # type: ignore[arg-type]
            early = False
            self._hush.end()
        twin, before = describer.twin() if self._again else None, describer.described
        looked, looking_s = _look(describer, value)
        if not self._tells:
            return []
        again_s = _looking_s(twin, value) if twin else 0.0
        if not early:
            self._hush.begin()
            started = perf_counter()
        self._tell_waiting()
        told = describer.tell(looked)
        if early:
            del looked
        stopped_s = perf_counter() - started
        stopped_s -= self._hush.end()
        self.looking_s += looking_s
        self.again_s += again_s
        self.telling_s += max(stopped_s - looking_s, again_s) if early else stopped_s + again_s
        self.paused.append(describer.described - before)
        return told

    def _tell_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for record, value in waiting:
            record[1] = self._describer.node(value)

    def whole(self) -> Node:
        """Everything that was seen, as one value."""
        return _as_one(self.finish())

    def told(self, label: str) -> Node:
        """Everything that was seen, as a record of this name, and what stands beside it."""
        return [[label, self.whole()], *self.beside(label + " ")]

    def beside(self, label: str = "") -> Node:
        """Records of what was there before the call, of large ones the outline; and of what was seen further in."""
        made = [[SET_UP + label + name, told(node)] for name, node in self._found.items()]
        return [*made, *([FURTHER + label + name, node] for name, node in self._further)]

    def finish(self) -> Node:
        """Everything that was seen."""
        self._tell_waiting()
        loops: Node = [[f"turns in line {line}", ["int", str(turns)]] for line, turns in sorted(self._loops.items())]
        return [*self.records, *loops, ["values", ["int", str(self.seen)]]]


def _copied(value: object) -> object:
    """A number of its own, or the same value."""
    return operator.neg(operator.neg(value)) if type(value) in _COPIED else value  # type: ignore[arg-type]


def _as_one(records: Node) -> Node:
    """What a call made, as one value; a line that was passed several times has a part for each."""
    parts: Node = []
    passed: dict[object, int] = {}
    for record in records:
        assert isinstance(record, list)
        label, node = record
        passed[label] = passed.get(label, 0) + 1
        parts.append([f"{label} #{passed[label]}", node])
    return ["call", parts]


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


def describer(twist: int) -> Describer:
    """The same in every arm; the launch's number, which all its inputs follow from, is not to be found in it."""
    return Describer(derived(twist, "looks"), thorough=True)


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
    recorder.call_is_over()
    after = recorder.state(instance, given)
    seconds = perf_counter() - started - (recorder.telling_s - told_s) + shared_s
    recorder.over(before, after)
    return seconds


def state_now(benchmark: Benchmark, recorder: Recorder) -> dict[str, Node]:
    """What a call of a benchmark that is set up can change."""
    given = benchmark._build_params()  # type: ignore[attr-defined]
    return recorder.state(getattr(benchmark.func, "__self__", None), given)


def capture(benchmark: Benchmark, seed: int) -> dict[str, object]:
    """Set a benchmark up anew, call it once, and say what came of it; a reason where that fails."""
    recorder = Recorder(Describer(seed), deep=True)
    try:
        plant_seed(seed)
        benchmark.do_teardown()
        files = Files()
        if benchmark.do_setup():
            return {"skipped": "its setup refuses to run again"}
        if is_raw(benchmark):
            return {"values": [["what it leaves", run(benchmark).values]]}
        function = plain_function(benchmark.func)
        if function is not None and rewrite(function, Keep(counts=True)):
            recorder.watch(function)
        with uncollected():
            watched_call(benchmark, recorder)
        recorder.left(files)
        return {"values": recorder.finish() + recorder.beside()}
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return {"failed": failure(error)}
