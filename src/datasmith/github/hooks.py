"""Operations of your own on issues and pull requests, each computed once per argument."""

from collections.abc import Callable
from typing import ClassVar, ParamSpec, TypeVar

from datasmith.errors import ConfigError
from datasmith.storage.base import Store
from datasmith.storage.cache import CachedFunction, as_function

P = ParamSpec("P")
R = TypeVar("R")


class HookRegistry:
    """Functions by name, for the whole process; what they return is kept in the store."""

    _hooks: ClassVar[dict[str, CachedFunction[..., object]]] = {}

    @classmethod
    def register(cls, name: str, function: Callable[P, R], *, store: Store | None = None) -> Callable[P, R]:
        """Make `function` (any callable, sync or async) the hook `name`, and return it with its results kept.

        The name is what kept results are found by: a function that says something else needs another name, or `force`.
        Without a `store` it is the one of the settings, opened at the first call.
        """
        if not name:
            raise ConfigError('a hook needs a name (example: HookRegistry.register("summarize", summarize))')
        hook = CachedFunction(function, name, store=store)
        cls._hooks[name] = hook
        return as_function(hook, function)

    @classmethod
    def call(cls, name: str, /, *args: object, force: bool = False, **kwargs: object) -> object:
        """What the hook returns for these arguments: from the store where it is known, unless `force`.

        For an async hook, what must be awaited for it.

        Raises:
            ConfigError: no hook has this name.
            StoreError: see CachedFunction.call; an outage of the store is none.
        """
        if name not in cls._hooks:
            known = ", ".join(sorted(cls._hooks)) or "none"
            raise ConfigError(f"there is no hook {name!r} (registered: {known})")
        return cls._hooks[name].call(args, kwargs, force=force)

    @classmethod
    def clear(cls) -> None:
        """Forget every hook; what they returned stays in the store."""
        cls._hooks.clear()
