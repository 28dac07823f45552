"""Choose an executor by name."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from datasmith.errors import ConfigError
from datasmith.executors.base import Executor
from datasmith.executors.inline import InlineExecutor
from datasmith.executors.local import LocalExecutor

if TYPE_CHECKING:  # reading settings is slow to import
    from datasmith.settings import Settings

EXECUTORS = {
    "local": "datasmith.executors.executors:open_local",
    "inline": "datasmith.executors.executors:open_inline",
    "ray": "datasmith.executors.executors:open_ray",
}
"""`module:function` takes Settings and returns an Executor."""
HERE = ("local", "inline")
"""Those whose work is done on this machine, with its programs and its settings."""


def open_local(_settings: "Settings") -> Executor:
    """This machine, side by side."""
    return LocalExecutor()


def open_inline(_settings: "Settings") -> Executor:
    """This machine, one after another."""
    return InlineExecutor()


def open_ray(settings: "Settings") -> Executor:
    """The Ray cluster at FC_RAY_ADDRESS."""
    from datasmith.executors.ray import RayExecutor

    return RayExecutor(settings.ray_address)


def check_executor(name: str) -> str:
    """The name itself.

    Raises:
        ConfigError: nothing is called so.
    """
    if name not in EXECUTORS and ":" not in name:
        raise ConfigError(f"--executor {name}: there is {', '.join(EXECUTORS)} (example: --executor local)")
    return name


def open_executor(name: str, settings: "Settings") -> Executor:
    """The executor with this name, or the one that `module:function` makes of the settings.

    Raises:
        ConfigError: there is none with this name, or it cannot be used here.
    """
    module, _, attribute = EXECUTORS.get(check_executor(name), name).partition(":")
    try:
        make = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"--executor {name}: {error} (example: --executor local)") from error
    return cast("Callable[[Settings], Executor]", make)(settings)
