"""Time a benchmark on inputs that it was not written with: what its own code makes them of is moved a little.

What a submission has stored of earlier calls, computed beforehand for the suite's inputs, or written down, does not
help there. The process is warmed up on one set of such inputs, and timed on others, each of them seen once.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from random import getstate
from time import perf_counter

from . import OWN
from .afterwards import afterwards
from .capture import Recorder, describer, plant_seed, state_now, watched_call
from .files import Files
from .hush import Hush, uncollected
from .later import Held
from .moves import INPUTS, Draw, Move, Moves
from .raw import run
from .report import TYPE_CHECKING
from .rewrite import Keep, plain_function, plant, rewrite
from .seeds import derived
from .suite import is_raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FunctionType

    from .foreign import Node
    from .pauses import Pauses
    from .suite import Benchmark

__builtins__ = OWN

WARM_CALLS = 10
WARM_S = 0.05
TIMED_INPUTS = INPUTS - 1
TIMED_S = 0.3
"""Inputs are made and timed for so long, and one at least."""
SLOW_S = 1.0
"""What takes base longer, set up, called and looked at, is not called again afterwards: that would be five times."""
NEW_PLACES = "/tmp/fresh-"
"""How the directories begin that files of setup_cache are written to, each once."""
_OF_ASV = frozenset(
    (
        *("timeout", "number", "repeat", "rounds", "warmup_time", "sample_time", "processes", "version", "params"),
        *("param_names", "min_run_count", "unit", "pretty_name", "timer", "setup_cache_timeout"),
    )
)


class NothingToMove(Exception):
    """Neither the benchmark's code nor its parameters hold a number, and it draws none."""


class Input:
    """One input of a benchmark, ready to be set up: the code that makes it, the values that this refers to, a seed."""

    def __init__(
        self,
        functions: list[FunctionType],
        values: list[tuple[object, str, object]],
        params: tuple[object, ...],
        seed: int,
        moves: Moves,
        changes: int,
    ) -> None:
        self._codes = [(function, function.__code__) for function in functions]
        self._values = [(owner, name, getattr(owner, name)) for owner, name, _ in values]
        self._params = params
        self.seed = seed
        self._moves = moves
        self._changes = changes
        self.is_known = False
        """True once it was seen to be another than the suite's."""

    def put(self, benchmark: Benchmark, turn: int = 0, but: float | None = None) -> None:
        """Make it the one that the benchmark's setup makes; see `Moves.begin`."""
        self.put_code()
        for owner, name, value in self._values:
            setattr(owner, name, value)
        benchmark._current_params = self._params  # type: ignore[attr-defined]
        self._moves.begin(turn, but)

    def put_code(self) -> None:
        """Only its code; what this refers to stays as it is."""
        for function, code in self._codes:
            function.__code__ = code

    @property
    def values(self) -> int:
        """How many computed values it has; known when it has been left."""
        return self._moves.values

    @property
    def is_moved(self) -> bool:
        """True where something of it is not what the suite has; known after it was set up."""
        return bool(self._changes or self._moves.changes)


class Inputs:
    """Makes a benchmark's inputs anew, with other numbers each time."""

    def __init__(self, benchmark: Benchmark, what: str) -> None:
        self._benchmark = benchmark
        self._what = what
        self._setups = list(benchmark._setups)  # type: ignore[attr-defined]
        self._cache: Callable[[], object] | None = benchmark._setup_cache  # type: ignore[attr-defined]
        self._params = tuple(benchmark._current_params)  # type: ignore[attr-defined]
        self._instance = getattr(benchmark.func, "__self__", None)
        self._function = plain_function(benchmark.func)
        self._values = self._plain_values() if what != "seeds" else []
        self._entered: Input | None = None
        self.hush = Hush()
        """Since the benchmark was set up: what is needed for its next call is not made before the clock runs."""

    def make(self, twist: int, number: int, recorder: Recorder) -> float:
        """Set the benchmark up with the numbers of an input, its values going to `recorder` when it is called.

        See `prepare` and `enter`.
        """
        self.leave()
        return self.enter(self.prepare(twist, number, recorder))

    def prepare(self, twist: int, number: int, recorder: Recorder | None, *, counts: bool = False) -> Input:
        """Rewrite the code for an input.

        twist: the launch's number; number: which of its inputs, 0 being that of the warm-up; recorder: None where the
        benchmark is to be called as it is; counts: see `Keep`.
        """
        draw = Draw(twist, number, self._what)
        changes, moves = self._move_values(draw), Moves(draw)
        for function in (*self._setups, self._cache):
            changes += self._rewrite(function, Move(draw, self._what, sets_up=True), moves)
        watch = (Keep(counts=counts),) if recorder else ()
        changes += self._rewrite(self._function, Move(draw, self._what, sets_up=False), moves, *watch)
        if recorder:
            recorder.watch(self._function)
        every = (*self._setups, self._cache, self._function)
        functions = [plain for plain in (plain_function(each) for each in every if each is not None) if plain]
        params = tuple(self._benchmark._current_params)  # type: ignore[attr-defined]
        return Input(functions, self._values, params, draw.seed, moves, changes)

    def leave(self) -> float:
        """Tear the benchmark down, as the input that it was set up with; the seconds that it took."""
        entered, self._entered = self._entered, None
        started = perf_counter()
        if entered is not None:
            entered.put(self._benchmark)
            self._benchmark.do_teardown()
        return max(perf_counter() - started, 1e-9)

    def enter(self, made: Input, turn: int = 0, but: float | None = None) -> float:
        """Set the benchmark up with an input; see `Input.put`.

        Returns the seconds that setup_cache and setup took: work may be moved there.

        Raises:
            NothingToMove: it would be the suite's own.
        """
        self.hush.end()
        self.leave()
        made.put(self._benchmark, turn, but)
        plant_seed(made.seed, turn)
        before = None if made.is_known else drawn_so_far()
        started = perf_counter()
        if self._cache is not None:
            fresh_directory()
            self._benchmark.set_cache(self._benchmark.do_setup_cache())
        if self._benchmark.do_setup():
            raise NothingToMove("setup refuses other parameters")
        self.hush.begin()
        seconds = perf_counter() - started
        self._entered = made
        if not made.is_known and not made.is_moved and drawn_so_far() == before:
            raise NothingToMove("its code holds no number that could be moved")
        made.is_known = True
        return max(seconds, 1e-9)

    def _rewrite(self, function: object, move: Move, moves: Moves, *others: Keep) -> int:
        """How many numbers in a function's code are other ones now."""
        plain = plain_function(function) if function is not None else None
        if plain is None or not rewrite(plain, move, *others):
            return 0
        plant(plain, moves.constants)
        return move.changes

    def _plain_values(self) -> list[tuple[object, str, object]]:
        """(owner, name, number) of what the code refers to: the module's and the class's constants."""
        found: list[tuple[object, str, object]] = []
        names = set()
        for function in (*self._setups, self._cache, self._function):
            plain = plain_function(function) if function is not None else None
            if plain is not None:
                names |= set(plain.__code__.co_names)
        if self._function is not None:
            module = sys.modules.get(self._function.__module__)
            found += [(module, name, value) for name, value in self._function.__globals__.items() if name in names]
        if self._instance is not None and not inspect.ismodule(self._instance):
            kind = type(self._instance)
            own = [(name, getattr(kind, name, None)) for name in sorted(names - _OF_ASV)]
            found += [(self._instance, name, value) for name, value in own]
        return [(owner, name, value) for owner, name, value in found if _is_plain(value)]

    def _move_values(self, draw: Draw) -> int:
        if self._what == "seeds":
            return 0
        changes = 0
        for owner, name, value in self._values:
            new = _each(draw, value)
            changes += new != value
            setattr(owner, name, new)
        params = tuple(_each(draw, value) for value in self._params)
        self._benchmark._current_params = params  # type: ignore[attr-defined]
        return changes + (params != self._params)


def _is_plain(value: object) -> bool:
    """True for numbers and texts, and for lists and tuples of them."""
    parts = value if type(value) in (list, tuple) else (value,)
    return {int, float, str}.issuperset(map(type, parts))  # type: ignore[call-overload]


def _each(draw: Draw, value: object) -> object:
    """A plain value with its numbers moved; of a list or tuple only texts are: numbers there may be shapes."""
    if type(value) not in (list, tuple):
        return draw.moved(value)
    items = [draw.moved(item) if type(item) is str else item for item in value]  # type: ignore[attr-defined]
    return tuple(items) if type(value) is tuple else items


def drawn_so_far() -> object:
    """The state of the generators that everybody shares."""
    drawn = sys.modules.get("numpy.random")
    get_state = getattr(drawn, "get_state", None)
    return getstate(), repr(get_state()) if get_state else ""


def fresh_directory() -> None:
    """Files that setup_cache writes have a new place."""
    place = NEW_PLACES + os.urandom(8).hex()
    os.mkdir(place, 0o700)
    os.chdir(place)


class Times:
    """Of each input that is new to the process, seconds.

    Setting up, the call with looks at it, the call alone, and looks at the same values again. Work that was put off
    until somebody looks is done in the first looks, work that was done beforehand in setting up. How long these take
    for code that does neither is what base's own launches say. Of short calls: setting up, the first call, a later one,
    and what the first one takes longer than that where the same input is set up once more.
    """

    def __init__(self) -> None:
        self.setups: list[float] = []
        self.looked: list[float] = []
        self.calls: list[float] = []
        self.again: list[float] = []

    def add(self, setup_s: float, looked_s: float, looking_s: float, again_s: float = 0.0) -> None:
        """One input."""
        self.setups.append(setup_s)
        self.looked.append(looked_s)
        self.calls.append(max(looked_s - looking_s, 1e-9))
        self.again.append(max(again_s, 1e-9))


def time_fresh(
    benchmark: Benchmark, twist: int, what: str, count: int = 0, *, later: bool = True, pauses: Pauses
) -> tuple[Times, Node]:
    """How long the benchmark takes on inputs that are new to the process, and what it computes of them.

    `count`: on so many; 0: on as many as TIMED_S allows. `later`: and of `afterwards`, which with a count of 0 is left
    out where that would take long. `pauses`: come off each call.
    """
    if is_raw(benchmark):
        return _time_raw(benchmark, count)
    with undisturbed(Inputs(benchmark, what)) as inputs:
        return _time_fresh(inputs, benchmark, twist, count, later, pauses)


@contextlib.contextmanager
def undisturbed(inputs: Inputs) -> Iterator[Inputs]:
    """See `uncollected`; what keeps all else from running after the last setting up ends here."""
    with uncollected():
        try:
            yield inputs
        finally:
            inputs.hush.end()


def warm(inputs: Inputs, benchmark: Benchmark, twist: int) -> None:
    """Call the benchmark some times on an input that is not timed."""
    warming = Recorder(describer(twist))
    inputs.make(twist, 0, warming)
    started = perf_counter()
    for _ in range(WARM_CALLS):
        watched_call(benchmark, warming, inputs.hush)
        if perf_counter() - started > WARM_S:
            break


def _time_fresh(
    inputs: Inputs, benchmark: Benchmark, twist: int, count: int, later: bool, pauses: Pauses
) -> tuple[Times, Node]:
    warm(inputs, benchmark, twist)
    times = Times()
    values: Node = []
    held = Held(derived(twist, "later"))
    started = perf_counter()
    for number in range(1, (count or TIMED_INPUTS) + 1):
        recorder = Recorder(describer(twist), again=True, held=held if number == 1 else None)
        files = Files()
        setup_s = inputs.make(twist, number, recorder)
        looked_s = watched_call(benchmark, recorder, inputs.hush)
        looking_s = recorder.looking_s
        times.add(setup_s, max(looked_s - pauses.of(recorder), looking_s), looking_s, recorder.again_s)
        recorder.left(files)
        values += recorder.told(f"input {number}")
        if number == 1:
            held.describe()
        if not count and perf_counter() - started > TIMED_S:
            break
    if later and (count or times.setups[0] + times.looked[0] < SLOW_S):
        values += afterwards(inputs, benchmark, twist, held)
    return times, values


def _time_raw(benchmark: Benchmark, count: int) -> tuple[Times, Node]:
    """The same of code that runs in a process of its own: each has to do all of its work, also what was put off."""
    times = Times()
    values: Node = []
    if benchmark.do_setup():
        raise NothingToMove("setup refuses to run again")
    started = perf_counter()
    try:
        for number in range(1, (count or TIMED_INPUTS) + 1):
            ran = run(benchmark)
            times.add(max(ran.setup_s, 1e-9), ran.call_s + ran.first_s, ran.first_s, ran.again_s)
            values.append([f"input {number}", ran.values])
            if not count and perf_counter() - started > TIMED_S:
                break
    finally:
        benchmark.do_teardown()
    return times, values


def told_late(inputs: Inputs, benchmark: Benchmark, made: Input, recorder: Recorder, label: str, turn: int = 0) -> Node:
    """Records of all that a call gave, and changed: what was before it is seen when its input is set up once more.

    To tell it before the call would take so long that it shows.
    """
    inputs.enter(made, turn)
    recorder.over_late(state_now(benchmark, recorder))
    return recorder.told(label)
