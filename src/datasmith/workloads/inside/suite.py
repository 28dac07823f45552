"""Load one benchmark of a suite, in a directory of its own, with what setup_cache prepared."""

from __future__ import annotations

import importlib
import os
import sys
import types

from . import OWN
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

__builtins__ = OWN
"""Python 3.7 has no Protocol; nothing is checked in the sandbox anyway."""

PICKLE = "cache.pickle"
FAILED = "failed.txt"
PLACES = "/tmp/asv-"
"""How working directories begin."""


class SetupCacheFailed(Exception):
    """setup_cache did not finish in this arm; the message is its reason."""


class Benchmark(Protocol):
    """The part of an asv_runner benchmark object that is used here."""

    name: str
    setup_cache_key: str | None
    number: int
    repeat: int | tuple[int, int, float]
    warmup_time: float

    def set_cache(self, cache: object) -> None:
        """Give the benchmark what its setup_cache returned."""

    def do_setup_cache(self) -> object:
        """Run setup_cache."""

    def do_setup(self) -> bool:
        """Run setup; True where it refuses this workload."""

    def do_run(self) -> object:
        """Run the benchmark with its parameters."""

    def do_teardown(self) -> None:
        """Run teardown."""

    def func(self, *params: object) -> object:
        """The function that is timed."""


def import_asv_runner() -> None:
    """Import asv_runner without its search for plug-ins among all installed packages.

    The search reads the metadata of each; with importing importlib.metadata that would be half of a launch's start.
    """
    name = "importlib.metadata"
    known = sys.modules.get(name)
    stand_in = types.ModuleType(name)
    stand_in.distributions = lambda: iter(())  # type: ignore[attr-defined]
    sys.modules[name] = stand_in
    try:
        import asv_runner.benchmarks  # noqa: F401
    finally:
        del sys.modules[name]
        if known is not None:
            sys.modules[name] = known


def import_module(root: str, name: str | None) -> None:
    """Import a module of the suite as `load` would; None: only asv_runner."""
    import_asv_runner()
    from asv_runner.discovery import update_sys_path

    update_sys_path(root)
    if name:
        importlib.import_module(name)


def load(root: str, name: str, index: int | None) -> Benchmark:
    """The benchmark object; only the modules it needs are imported where its name tells its place."""
    import_asv_runner()
    from asv_runner.discovery import get_benchmark_from_name

    wanted = name if index is None else f"{name}-{index}"
    benchmark: Benchmark = get_benchmark_from_name(root, wanted)
    return benchmark


def is_raw(benchmark: Benchmark) -> bool:
    """True where the benchmark gives code that is to be run in a process of its own."""
    return type(benchmark).__name__ == "TimerawBenchmark"


def loaded(root: str, asked: dict[str, object]) -> Benchmark:
    """The benchmark with the name and index (or null) of a request, without what setup_cache left."""
    index = asked["index"]
    return load(root, str(asked["name"]), None if index is None else int(str(index)))


def cached(benchmark: Benchmark, asked: dict[str, object]) -> Benchmark:
    """The same with what setup_cache left in the cache (or null) of a request.

    Raises:
        SetupCacheFailed: it left nothing.
    """
    cache = asked["cache"]
    give_cache(benchmark, str(cache) if cache else None)
    return benchmark


def enter_directory(cache_dir: str | None) -> None:
    """Make a fresh working directory that shows, by links, the files that setup_cache left (they are read-only)."""
    place = PLACES + os.urandom(8).hex()  # tempfile is slow to import
    os.mkdir(place, 0o700)
    os.chdir(place)
    for name in os.listdir(cache_dir) if cache_dir and os.path.isdir(cache_dir) else []:
        if name != FAILED:
            os.symlink(os.path.join(str(cache_dir), name), name)


def give_cache(benchmark: Benchmark, cache_dir: str | None) -> None:
    """Hand the object that setup_cache returned to the benchmark.

    Raises:
        SetupCacheFailed: it left none.
    """
    if benchmark.setup_cache_key is None or cache_dir is None:
        benchmark.set_cache(None)
        return
    if not os.path.isfile(os.path.join(cache_dir, PICKLE)):
        raise SetupCacheFailed(_reason(os.path.join(cache_dir, FAILED)))
    import pickle

    with open(os.path.join(cache_dir, PICKLE), "rb") as stream:
        benchmark.set_cache(pickle.load(stream))


def _reason(path: str) -> str:
    try:
        with open(path) as stream:
            return stream.read(300)
    except OSError:
        return "it was not run"
