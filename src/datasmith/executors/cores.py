"""Cores as a resource: whoever measures holds one core alone."""

import fcntl
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path

import anyio

from datasmith.errors import ConfigError
from datasmith.executors.holders import lock_holder
from datasmith.settings import Settings

WAITS = "waits for a free core to measure on"
HOW = "(which cores may be used says FC_BENCH_CORES, as in FC_BENCH_CORES=2,3; Ctrl-C ends the wait)"
AGAIN_S = 30.0
"""Who waits for a core says so again after so long, as a log may have passed over the first time; then seldomer."""


def usable_cores() -> tuple[int, ...]:
    """Core numbers this process may run on, ascending."""
    return tuple(sorted(os.sched_getaffinity(0)))


CoreSet = tuple[int, ...]
"""Cores of one slot: measured is on the first; work that is not measured may use all of them."""


def core_sets(text: str, usable: Sequence[int]) -> tuple[CoreSet, ...]:
    """The slots that FC_BENCH_CORES names, as in `2,3;4,5`; empty: each usable core is one, the last one first.

    Raises:
        ConfigError: no such list, a core that cannot be used, or one that is named twice.
    """
    example = "(example: FC_BENCH_CORES=2,3;4,5)"
    if not text.strip():
        return tuple((core,) for core in sorted(usable, reverse=True))
    try:
        sets = tuple(tuple(int(core) for core in part.split(",")) for part in text.split(";"))
    except ValueError as error:
        raise ConfigError(f"FC_BENCH_CORES={text}: numbers of cores, slots apart by ';' {example}") from error
    named = [core for cores in sets for core in cores]
    if len(set(named)) < len(named):
        raise ConfigError(f"FC_BENCH_CORES={text}: a core is named twice {example}")
    if missing := sorted(set(named) - set(usable)):
        raise ConfigError(f"FC_BENCH_CORES={text}: there is no core {missing[0]} here {example}")
    return sets


class CoreLocks:
    """Slots of this machine, each in the hands of one process at a time; a killed one gives its slot back."""

    def __init__(self, directory: Path, sets: Sequence[CoreSet], *, poll_s: float = 0.2) -> None:
        """`directory` holds two lock files for each slot, and must be the same for all who measure here.

        Raises:
            ConfigError: there is no slot.
        """
        if not sets:
            raise ConfigError("no core to measure on (example: taskset -c 0,1 fc-eval ...)")
        self._directory = directory
        self._sets = sets
        self._poll_s = poll_s

    def __len__(self) -> int:
        """How many slots there are."""
        return len(self._sets)

    @contextmanager
    def hold(
        self,
        check: Callable[[], None],
        *,
        say: Callable[[str], None] = lambda _text: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Iterator[CoreSet]:
        """Wait for a free slot and keep it for the body; `check` is called while waiting, and may raise.

        `say` is told once, where the slot has to be waited for, that it has, and who holds the slots.

        Raises:
            ConfigError: the directory cannot be written.
        """
        with self._asking() as ask:
            check()
            free = ask()
            if free is None:
                say(self._waits())
            while free is None:
                sleep(self._poll_s)
                check()
                free = ask()
        with _kept(*free) as cores:
            yield cores

    @asynccontextmanager
    async def held(self, say: Callable[[str], None], *, again_s: float = AGAIN_S) -> AsyncIterator[CoreSet]:
        """The same without blocking others; `say` is told again after `again_s` seconds, and whenever that doubles.

        Raises:
            ConfigError: the directory cannot be written.
        """
        waited, next_told = 0, 0
        with self._asking() as ask:
            while (free := ask()) is None:
                if waited == next_told:
                    say(self._waits())
                    next_told = 2 * waited or max(1, round(again_s / self._poll_s))
                waited += 1
                await anyio.sleep(self._poll_s)
        with _kept(*free) as cores:
            yield cores

    def _waits(self) -> str:
        """That a slot is waited for, who holds which, and what one can do about it."""
        held = [(cores[0], lock_holder(self._directory / f"core-{cores[0]}")) for cores in self._sets]
        told = [f"core {core} is held by {holder}" for core, holder in held if holder]
        return " ".join([f"{WAITS}:" if told else WAITS, *([", ".join(told)] if told else []), HOW])

    @contextmanager
    def _asking(self) -> Iterator[Callable[[], tuple[CoreSet, int] | None]]:
        """What gives a slot that nobody holds, locked by the descriptor beside it.

        Who finds a slot held is the next one to have it: whoever gives it back and asks again comes after.
        """
        turns: dict[CoreSet, int] = {}
        try:
            yield partial(self._free, turns)
        finally:
            for descriptor in turns.values():
                os.close(descriptor)

    def _free(self, turns: dict[CoreSet, int]) -> tuple[CoreSet, int] | None:
        for cores in self._sets:
            if cores not in turns:
                turn = self._lock(f"next-{cores[0]}")
                if turn is None:
                    continue
                turns[cores] = turn
            descriptor = self._lock(f"core-{cores[0]}")
            if descriptor is not None:
                os.utime(descriptor)  # since when, for who waits
                return cores, descriptor
        return None

    def _lock(self, name: str) -> int | None:
        try:
            descriptor = _opened(self._directory / name)
        except OSError as error:
            problem = f"cannot write {self._directory}: {error.strerror} (example: FC_LOCKS_DIR=~/fc-cores)"
            raise ConfigError(problem) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor


def _opened(path: Path) -> int:
    """A file that every user can lock, whoever made it. Nothing is written to it; its time is when it was locked."""
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(PermissionError):  # somebody else has made it meanwhile
            path.parent.chmod(0o1777)
    try:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CREAT, 0o666)
    with suppress(PermissionError):  # as above
        os.fchmod(descriptor, 0o666)
    return descriptor


@contextmanager
def _kept(cores: CoreSet, descriptor: int) -> Iterator[CoreSet]:
    try:
        yield cores
    finally:
        os.close(descriptor)


def core_locks(settings: Settings) -> CoreLocks:
    """This machine's slots, shared by all commands that measure on it.

    Raises:
        ConfigError: FC_BENCH_CORES cannot be used here.
    """
    return locks_of(settings, core_sets(settings.bench_cores, usable_cores()))


def locks_of(settings: Settings, sets: Sequence[CoreSet]) -> CoreLocks:
    """Such slots, shared as those of `core_locks` are."""
    return CoreLocks(settings.locks_dir.absolute(), sets)
