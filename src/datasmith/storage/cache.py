"""Keep what functions return in the store, so that nothing expensive is computed twice."""

import asyncio
import hashlib
import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache, wraps
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar, cast, overload

from anyio import to_thread

from datasmith.errors import ConfigError, StoreError, StoreUnavailable
from datasmith.storage import open_store
from datasmith.storage.base import Row, Store, Value, utc_now
from datasmith.storage.flights import Abandoned, Flights
from datasmith.storage.values import UNREADABLE, canonical, pack, pack_arguments, unpack

if TYPE_CHECKING:
    from datasmith.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
_log = logging.getLogger(__name__)
_TABLE = "hook_cache"


class CachedFunction(Generic[P, R_co]):
    """A function whose results are kept under a hook name, by its arguments.

    An argument with a `cache_key` (a pull request: "owner/repo:n") counts as that key, any other by its content. The
    store is the one of the settings, opened at the first call, or the one that is given. While it cannot be reached,
    the function is called and nothing is kept. Calls with the same arguments at the same time compute once.
    """

    def __init__(
        self,
        function: Callable[P, R_co],
        name: str = "",
        *,
        store: Store | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.name = name or _own_name(function)
        self.is_async = _is_async(function)
        self._function = function
        self._signature = _signature(function)
        self._given = store
        self._now = now
        self._flights = Flights()

    def call(self, args: tuple[object, ...], kwargs: Mapping[str, object], *, force: bool = False) -> R_co:
        """The result, from the store where it is known; computed and kept otherwise, and always with `force`.

        For an async function, what must be awaited for it.

        Raises:
            StoreError: an argument cannot be told from others, or the result would not come back as it is.
            SchemaMismatch: the store is of another version.
        """
        return cast("R_co", self._call_async(args, kwargs, force) if self.is_async else self._call(args, kwargs, force))

    def _call(self, args: tuple[object, ...], kwargs: Mapping[str, object], force: bool) -> object:
        key = self._key(args, kwargs)
        flight = (*key.values(), force)
        while (waiting := self._flights.join(flight)) is not None:
            with suppress(Abandoned):
                return unpack(waiting.result())
        try:
            known = None if force else self._find(key)
            if known is None:
                value = cast(Callable[..., object], self._function)(*args, **kwargs)
                known = self._packed(value), value
                self._keep(key, known[0])
        except BaseException as error:
            self._flights.end(flight, error=error)
            raise
        self._flights.end(flight, known[0])
        return known[1]

    async def _call_async(self, args: tuple[object, ...], kwargs: Mapping[str, object], force: bool) -> object:
        key = self._key(args, kwargs)
        flight = (*key.values(), force)
        while (waiting := self._flights.join(flight)) is not None:
            with suppress(Abandoned):
                return unpack(await asyncio.shield(asyncio.wrap_future(waiting)))
        try:
            known = None if force else await to_thread.run_sync(self._find, key)
            if known is None:
                value = await cast(Callable[..., Coroutine[None, None, object]], self._function)(*args, **kwargs)
                known = self._packed(value), value
                await to_thread.run_sync(self._keep, key, known[0])
        except BaseException as error:
            self._flights.end(flight, error=error)
            raise
        self._flights.end(flight, known[0])
        return known[1]

    def _key(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, Value]:
        """The row's primary key; the same for f(1) and f(a=1), where a is the first parameter."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        try:
            packed = canonical(pack_arguments(dict(bound.arguments), identity))
        except StoreError as error:
            raise StoreError(f"{self.name}: an argument has no cache_key, and {error}") from error
        digest = hashlib.sha256(packed.encode()).hexdigest()
        entity = next(filter(None, map(identity, bound.arguments.values())), f"sha256:{digest}")
        return {"entity_key": entity, "hook_name": self.name, "args_hash": digest}

    def _packed(self, value: object) -> Value:
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise ConfigError(f"{self.name} returns an awaitable: write it as `async def`, so that its result is kept")
        try:
            return pack(value)
        except StoreError as error:
            raise StoreError(f"{self.name}: its result, {error}") from error

    def _find(self, key: Row) -> tuple[Value, object] | None:
        """A kept result, packed and as it was; None where there is none, or none that can be read."""
        try:
            rows = self._store().select(_TABLE, key)
        except StoreUnavailable as error:
            _log.warning("%s: the result is not looked up: %s", self.name, error)
            return None
        try:
            return (rows[0]["value"], unpack(rows[0]["value"])) if rows else None
        except UNREADABLE as error:
            _log.info("%s: a kept result cannot be read, and is computed again: %s", self.name, error)
            return None

    def _keep(self, key: Row, packed: Value) -> None:
        try:
            self._store().upsert(_TABLE, [{**key, "value": packed, "created_at": self._now()}])
        except StoreUnavailable as error:
            _log.warning("%s: the result is not kept: %s", self.name, error)

    def _store(self) -> Store:
        if self._given is not None:
            return self._given
        from datasmith.settings import load_settings  # slow to import

        settings = load_settings()
        return _opened(settings.model_copy(update={"data_dir": settings.data_dir.absolute()}))


@overload
def cached(function: Callable[P, R], /) -> Callable[P, R]:  # noqa: D418
    """As `@cached`: with the function's own name, and the store of the settings."""


@overload
def cached(*, name: str = "", store: Store | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:  # noqa: D418
    """As `@cached(name=..., store=...)`."""


def cached(
    function: Callable[P, R] | None = None, /, *, name: str = "", store: Store | None = None
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: keep what the function, sync or async, returns; see CachedFunction.

    Without a `name` it is that of the function and its module. A result that cannot come back equal and of the same
    type is an error when it is kept.
    """
    if function is None:
        return lambda given: as_function(CachedFunction(given, name, store=store), given)
    return as_function(CachedFunction(function, name, store=store), function)


supabase_cached = cached


def as_function(kept: CachedFunction[P, R], function: Callable[P, R]) -> Callable[P, R]:
    """The cached function as a function: with the name and documentation of `function`, async where that is."""

    @wraps(function, updated=())
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return kept.call(args, kwargs)

    @wraps(function, updated=())
    async def call_async(*args: P.args, **kwargs: P.kwargs) -> object:
        return await cast(Coroutine[None, None, object], kept.call(args, kwargs))

    return cast("Callable[P, R]", call_async) if kept.is_async else call


def identity(value: object) -> str:
    """The `cache_key` of an object; "" where it has none."""
    key = getattr(value, "cache_key", "")
    return key if isinstance(key, str) else ""


@lru_cache(maxsize=8)
def _opened(settings: "Settings") -> Store:
    return open_store(settings)


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _signature(function: Callable[..., object]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:  # a few built-in functions do not tell theirs
        return inspect.signature(lambda *args, **kwargs: (args, kwargs))


def _own_name(function: Callable[..., object]) -> str:
    """Module and name; for a function that others of this name may stand beside, also a digest of its code.

    Raises:
        ConfigError: an object without a name of its own.
    """
    if not isinstance(function, FunctionType):
        raise ConfigError(f'{type(function).__qualname__} has no name of its own (example: @cached(name="summarize"))')
    name = f"{function.__module__}.{function.__qualname__}"
    if function.__module__ != "__main__" and "<" not in name:
        return name
    digest = hashlib.sha256(_code_text(function.__code__).encode())
    for cell in function.__closure__ or ():
        digest.update(_captured_text(cell).encode())
    return f"{name}:{digest.hexdigest()[:16]}"


def _code_text(code: CodeType) -> str:
    constants = [_code_text(part) if isinstance(part, CodeType) else _value_text(part) for part in code.co_consts]
    return "\n".join([code.co_code.hex(), *code.co_names, *code.co_varnames, *constants])


def _captured_text(cell: CellType) -> str:
    try:
        return _value_text(cell.cell_contents)
    except ValueError:  # filled later, such as by the function's own name
        return "empty"


def _value_text(value: object) -> str:
    try:
        return canonical(pack_arguments(value, identity))
    except StoreError:
        return type(value).__qualname__
