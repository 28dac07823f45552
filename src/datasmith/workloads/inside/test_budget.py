"""A pytest plugin for a run that has only so long: tests next to a change first, and an end between two modules."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Protocol

from . import OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__builtins__ = OWN

SECONDS = "FC_TEST_BUDGET_S"
FIRST = "FC_TESTS_FIRST"
"""Paths of modules below the root, one a line, the nearest first."""
PLUGIN = "inside.test_budget"
_NAME = "fc-test-budget"


class Session(Protocol):
    """What of pytest's session is used."""

    shouldstop: bool | str


class Item(Protocol):
    """What of pytest's item is used."""

    nodeid: str
    session: Session


class PluginManager(Protocol):
    """What of pytest's plugin manager is used."""

    @property
    def register(self) -> Callable[[object, str], object]:
        """Adds a plugin under a name."""


class Config(Protocol):
    """What of pytest's configuration is used."""

    @property
    def pluginmanager(self) -> PluginManager:
        """Where plugins are added."""

    def getoption(self, name: str, default: object = None) -> object:
        """The value of a command-line option."""


class Budget:
    """Puts the first modules first, and ends the run at the end of a module where `seconds` are over."""

    def __init__(self, seconds: float, first: list[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._rank = {path: rank for rank, path in enumerate(first)}

    def pytest_collection_modifyitems(self, items: list[Item]) -> None:
        """Modules stay whole, and in their order among themselves."""
        items.sort(key=lambda item: self._rank.get(module_of(item), len(self._rank)))

    def pytest_runtest_teardown(self, item: Item, nextitem: Item | None) -> None:
        """Between two modules the run may end."""
        if nextitem is not None and self._clock() >= self._end and module_of(item) != module_of(nextitem):
            item.session.shouldstop = "the time for tests is up"


def module_of(item: Item) -> str:
    """The path of the file that a test is in."""
    return item.nodeid.partition("::")[0]


def pytest_configure(config: Config, environment: Mapping[str, str] = os.environ) -> None:
    """Take part as the environment says; where tests run in several processes, none of them knows the whole run."""
    seconds = environment.get(SECONDS)
    if seconds and not config.getoption("numprocesses", None):
        first = environment.get(FIRST, "").splitlines()
        config.pluginmanager.register(Budget(float(seconds), first), _NAME)
