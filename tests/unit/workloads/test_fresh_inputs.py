"""The inputs that are made of a benchmark's own numbers: others than the suite's, and never the same twice."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from asv_runner.benchmarks.time import TimeBenchmark

from datasmith.workloads.inside.fresh import NothingToMove, time_fresh
from datasmith.workloads.inside.moves import moved

SUITE = """
import random
from library import work

SIZE = 40

class Suite:
    params = [20, 300]

    def setup(self, n):
        self.data = [random.Random(7).random() for _ in range(n)]

    def time_parameter(self, n):
        work(n, len(self.data))

    def time_seeded(self, n):
        work(random.Random(3).random())

def time_literal():
    work(2000, 3, axis=1)

def time_constant():
    work(SIZE)

class Cached:
    def setup_cache(self):
        return list(range(500))

    def time_cached(self, data):
        work(len(data))

def time_nothing():
    work(1)

def time_broken():
    if 1000 != 1000:
        raise ValueError
    work(random.Random(5).random())
"""


class Library:
    """Stands for the code under test: remembers what it was asked, as a submission would."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.computed = functools.lru_cache(None)(self._compute)

    def work(self, *given: object, **_named: object) -> object:
        self.asked.append(given)
        return self.computed(*given)

    def _compute(self, *given: object) -> object:
        return given

    @property
    def misses(self) -> int:
        return self.computed.cache_info().misses


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
def made(library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., TimeBenchmark]:
    """Makes a benchmark of the suite by its name."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "suite_of_test_fresh_inputs.py"
    path.write_text(SUITE)
    stand_in = ModuleType("library")
    stand_in.work = library.work  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "library", stand_in)
    module = ModuleType(path.stem)
    monkeypatch.setitem(sys.modules, path.stem, module)
    exec(compile(SUITE, str(path), "exec"), vars(module))

    def make(name: str, owner: str = "", index: int | None = None) -> TimeBenchmark:
        instance = getattr(module, owner)() if owner else None
        function = getattr(instance or module, name)
        benchmark = TimeBenchmark(name, function, [function, instance, module] if instance else [function, module])
        if index is not None:
            benchmark.set_param_idx(index)
        return benchmark

    return make


@pytest.mark.parametrize(
    ("name", "owner", "index", "own"),
    [
        ("time_parameter", "Suite", 1, (300, 300)),
        ("time_literal", "", None, (2000, 3)),
        ("time_constant", "", None, (40,)),
        ("time_cached", "Cached", None, (500,)),
    ],
)
def test_no_answer_is_known_beforehand(
    library: Library, made: Callable[..., TimeBenchmark], name: str, owner: str, index: int | None, own: tuple[int, ...]
) -> None:
    """Parameters, literals, constants of the module and setup_cache: what was stored of them is never asked again."""
    library.work(*own)
    times, values = time_fresh(made(name, owner, index), 12345, "everything")
    timed = library.asked[-len(times.looked) :]
    assert own not in library.asked[1:]
    assert len(set(timed)) > 1
    assert all(len(given) == len(own) for given in timed)
    assert library.misses >= 1 + len(set(timed))
    assert len(values) == len(times.looked) == len(times.setups)
    assert all(0 < call <= told for call, told in zip(times.calls, times.looked, strict=True))
    assert all(setup_s > 0 for setup_s in times.setups)


def test_as_many_inputs_as_base_had_time_for(
    made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However fast the arm is: what it computes can be compared input by input."""
    monkeypatch.setattr("datasmith.workloads.inside.fresh.TIMED_S", 0.0)
    assert len(time_fresh(made("time_literal"), 5, "everything")[0].calls) == 1
    assert len(time_fresh(made("time_literal"), 5, "everything", 3)[0].calls) == 3


def test_seeds_alone_can_be_moved(library: Library, made: Callable[..., TimeBenchmark]) -> None:
    """Where other numbers would not do: sizes stay."""
    time_fresh(made("time_parameter", "Suite", 1), 5, "seeds")
    assert set(library.asked) == {(300, 300)}
    first = list(library.asked)
    time_fresh(made("time_seeded", "Suite", 0), 5, "seeds")
    assert len(set(library.asked) - set(first)) > 1


def test_a_benchmark_without_numbers_says_so(made: Callable[..., TimeBenchmark]) -> None:
    """Its inputs would be the same: nothing could be learnt."""
    with pytest.raises(NothingToMove):
        time_fresh(made("time_nothing"), 5, "everything")


def test_numbers_move_a_little_and_always_alike() -> None:
    """The same number becomes the same one; what may be an axis or a flag stays; bools are no numbers."""
    assert [moved(value, 7) for value in (0, 1, 7, True, "8", 0.5, 1.0)] == [0, 1, 7, True, "8", 0.5, 1.0]
    for value in (8, 20, 1000, 0.9, 2.5):
        new = moved(value, 7)
        assert new == moved(value, 7)
        assert isinstance(new, int | float)
        assert value < new <= value * 1.5
    assert len({moved(10**6, twist) for twist in range(100)}) == 100
