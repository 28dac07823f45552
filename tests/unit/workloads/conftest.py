"""A suite whose benchmarks ask a library for this and that, and a library that remembers what it was asked."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from asv_runner.benchmarks.time import TimeBenchmark

from datasmith.workloads.captured import apart
from datasmith.workloads.inside import fresh


def outputs(told: object) -> Any:
    """What a launch on other inputs told, without what set-up made."""
    return apart(told)[0]  # type: ignore[arg-type]


SUITE_NAME = "suite_of_test_fresh_inputs"
SUITE = """
import random
from library import Lazy, save, work

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

def time_documented():
    '''A text about this function, which is none of its inputs.'''
    work("some words and some more words")

def time_only_documented():
    '''A text about this function, which is none of its inputs.'''
    if False:
        raise ValueError("a text about what went wrong here")
    work(1)

VERSIONS = ["1.0", "2.1"]

class Texts:
    def setup(self):
        self.day = "-".join(["2026", "03", "14"])

    def time_texts(self):
        work(VERSIONS[1], "3.4", self.day)

def time_lazy():
    return [Lazy() for _ in range(3000)]

def time_nothing():
    work(1)

class Elsewhere:
    __slots__ = ("slot",)
    kept = {}

    def setup(self):
        global GLOBAL
        GLOBAL = self.slot = self.kept["n"] = 4000
        work.__self__.told = 4000

    def time_global(self):
        work(GLOBAL)

    def time_kept(self):
        work(self.kept["n"])

    def time_told(self):
        work(work.__self__.told)

    def time_slot(self):
        work(self.slot)

class Filled:
    def setup(self):
        self.out = []

    def time_filled(self):
        self.out[:] = work(300)
        return self.out

def time_written():
    save(3000)

class Computed:
    def setup(self):
        self.data = [0.5 * n for n in range(2)]

    def time_computed(self):
        work(self.data[1])

class Table:
    def setup(self):
        self.rows = [0.5 * n for n in range(40)]

    def time_sum(self):
        return work(*self.rows)

class Twice:
    def time_lazy_twice(self):
        one = Lazy()
        self.seen()
        work(300)

class Once:
    number = 1

    def time_once(self):
        work(300)

class Closed:
    params = [300, 400]
    opened = []

    def setup(self, n):
        self.opened.append(n)

    def teardown(self, n):
        self.opened.remove(n)

    def time_closed(self, n):
        assert self.opened == [n]
        work(n)

def time_broken():
    if 1000 != 1000:
        raise ValueError
    work(random.Random(5).random())
"""


class Library:
    """Stands for the code under test: remembers what it was asked, as a submission would."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.writes = True
        self.computed = functools.lru_cache(None)(self._compute)

    def work(self, *given: object, **_named: object) -> object:
        self.asked.append(given)
        return self.computed(*given)

    def save(self, size: int) -> None:
        if self.writes:
            Path("table.csv").write_text("12345678\n" * size)

    def _compute(self, *given: object) -> object:
        return given

    @property
    def misses(self) -> int:
        return self.computed.cache_info().misses


class Lazy:
    """Does its work when somebody looks."""

    __slots__ = ("cells",)
    made = done = 0

    def __init__(self) -> None:
        type(self).made += 1

    def __getattr__(self, name: str) -> object:
        if name != "cells":
            raise AttributeError(name)
        type(self).done += 1
        self.cells: list[int] = [1]
        return self.cells


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
def made(library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., TimeBenchmark]:
    """Makes a benchmark of the suite by its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fresh, "NEW_PLACES", f"{tmp_path}/fresh-")
    path = tmp_path / f"{SUITE_NAME}.py"
    path.write_text(SUITE)
    stand_in = ModuleType("library")
    stand_in.work = library.work  # type: ignore[attr-defined]
    stand_in.save = library.save  # type: ignore[attr-defined]
    stand_in.Lazy = Lazy  # type: ignore[attr-defined]
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
