"""Python values as JSON and back, each with its type.

None, truth, whole numbers, text and lists stand for themselves. Everything else is an object with one key, its tag; so
no text or dict of anybody's can pass for a tag.
"""

import base64
import dataclasses
import importlib
import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path, PosixPath
from typing import TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel, RootModel

from datasmith.errors import StoreError
from datasmith.storage.base import Value

T = TypeVar("T")
_LARGEST = 2**63
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ImportError, RecursionError)
"""What `unpack` raises for a value that another version wrote, and whose type this one does not have."""


def pack(value: object) -> Value:
    """The value as JSON that every store keeps as it is.

    Raises:
        StoreError: the value would not come back equal and of the same type, at any depth.
    """
    packed = _within_depth(value, None)
    try:
        same = canonical(_encode(unpack(packed), None)) == canonical(packed)
    except UNREADABLE as error:
        raise StoreError(f"{_kind(value)} cannot be stored: {error}") from error
    if not same:
        raise StoreError(f"{_kind(value)} cannot be stored: it would not come back as it is")
    return packed


def unpack(packed: Value) -> object:
    """The value that `pack` was given.

    Raises:
        One of UNREADABLE: its type is not known here, or takes other fields by now.
    """
    if isinstance(packed, list):
        return [unpack(part) for part in packed]
    if isinstance(packed, dict):
        ((tag, inner),) = packed.items()
        return _DECODERS[tag](inner)
    return packed


def pack_arguments(value: object, identity: Callable[[object], str]) -> Value:
    """As `pack`, to tell values apart only: what has an `identity` (not "") stands as that, dicts have no order.

    Raises:
        StoreError: there is neither an identity nor a way to store the value.
    """
    return _within_depth(value, identity)


def canonical(packed: Value) -> str:
    """The one text of a packed value."""
    return json.dumps(packed, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


Identity = Callable[[object], str] | None


def _within_depth(value: object, identity: Identity) -> Value:
    try:
        return _encode(value, identity)
    except RecursionError as error:
        raise StoreError(f"{_kind(value)} cannot be stored: it is nested too deeply, or holds itself") from error


def _encode(value: object, identity: Identity) -> Value:
    if value is None or type(value) is bool or (type(value) is int and abs(value) < _LARGEST):
        return value
    if type(value) is str and value.isprintable():
        return value
    if identity is not None and (name := identity(value)):
        return {"identity": [_kind(value), name]}
    if type(value) is list:
        return [_encode(part, identity) for part in value]
    return _scalar(value) or _container(value, identity) or _instance(value, identity)


def _scalar(value: object) -> Value:
    """Numbers, text, bytes, moments, paths and their like; None for anything else."""
    kind = type(value)
    if type(value) is str:
        return value if _is_plain(value) else {"text": _base64(value.encode("utf-8", "surrogatepass"))}
    if type(value) is int:
        return {"int": hex(value)}
    if type(value) is float:
        return {"float": repr(value)}
    if type(value) is bytes:
        return {"bytes": _base64(value)}
    if type(value) is datetime:
        return _moment(value)
    if type(value) is timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    return {_AS_STR[kind]: str(value)} if kind in _AS_STR else None


def _is_plain(text: str) -> bool:
    """False for text that databases refuse: NUL and lone surrogates."""
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:
        return False


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _moment(value: datetime) -> Value:
    """A zone with a name keeps it; any other comes back as its offset."""
    if isinstance(value.tzinfo, ZoneInfo):
        return {"zoned": [value.replace(tzinfo=None, fold=0).isoformat(), value.fold, value.tzinfo.key]}
    return {"datetime": value.isoformat()}


def _container(value: object, identity: Identity) -> Value:
    """Tuples, sets and dicts; None for anything else."""
    if type(value) is tuple:
        return {"tuple": [_encode(part, identity) for part in value]}
    if type(value) is set or type(value) is frozenset:
        return {type(value).__name__: sorted((_encode(part, identity) for part in value), key=canonical)}
    if type(value) is dict:
        pairs: list[Value] = [[_encode(key, identity), _encode(part, identity)] for key, part in value.items()]
        return {"dict": sorted(pairs, key=canonical) if identity else pairs}
    return None


def _instance(value: object, identity: Identity) -> Value:
    """Enumerations, models, dataclasses and named tuples, with the address of their class."""
    kind = type(value)
    if isinstance(value, Enum):
        return {"enum": [_address(kind), _encode(value.value, identity)]}
    if isinstance(value, BaseModel):
        parts = {name: vars(value)[name] for name in type(value).model_fields} | (value.model_extra or {})
        private = _fields(value.__pydantic_private__ or {}, identity)
        return {"model": [_address(kind), _fields(parts, identity), private, [*sorted(value.model_fields_set)]]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"dataclass": [_address(kind), _fields(parts, identity)]}
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return {"namedtuple": [_address(kind), *(_encode(part, identity) for part in value)]}
    raise StoreError(f"{_kind(value)} cannot be stored (example of what can: a dict, a dataclass, a pydantic model)")


def _fields(parts: dict[str, object], identity: Identity) -> Value:
    return {name: _encode(part, identity) for name, part in parts.items()}


def _kind(value: object) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _address(kind: type) -> str:
    """Where a class is found again: module:name.

    Raises:
        StoreError: it is not found there, such as a class made in a function.
    """
    address = f"{kind.__module__}:{kind.__qualname__}"
    try:
        found = _class_at(address)
    except UNREADABLE as error:
        raise StoreError(f"{address} cannot be stored: move the class to the top of its module ({error})") from error
    if found is not kind:
        raise StoreError(f"{address} cannot be stored: another class has this name")
    return address


def _class_at(address: str) -> object:
    module, _, name = address.partition(":")
    found: object = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _kind_at(address: Value, base: type[T]) -> type[T]:
    found = _class_at(_text(address))
    if not (isinstance(found, type) and issubclass(found, base)):
        raise TypeError(f"{address!r} is no {base.__name__}")
    return found


def _text(inner: Value) -> str:
    if not isinstance(inner, str):
        raise TypeError(f"text expected, not {inner!r:.50}")
    return inner


def _list(inner: Value) -> list[Value]:
    if not isinstance(inner, list):
        raise TypeError(f"a list expected, not {inner!r:.50}")
    return inner


def _unpacked(inner: Value) -> dict[str, object]:
    if not isinstance(inner, dict):
        raise TypeError(f"fields expected, not {inner!r:.50}")
    return {name: unpack(part) for name, part in inner.items()}


def _read_zoned(inner: Value) -> datetime:
    moment, fold, key = _list(inner)
    return datetime.fromisoformat(_text(moment)).replace(fold=1 if fold else 0, tzinfo=ZoneInfo(_text(key)))


def _read_timedelta(inner: Value) -> timedelta:
    days, seconds, microseconds = (part if isinstance(part, int) else 0 for part in _list(inner))
    return timedelta(days, seconds, microseconds)


def _read_dict(inner: Value) -> dict[object, object]:
    return {unpack(key): unpack(part) for key, part in map(_list, _list(inner))}


def _read_enum(inner: Value) -> Enum:
    address, value = _list(inner)
    return _kind_at(address, Enum)(unpack(value))


def _read_model(inner: Value) -> BaseModel:
    address, fields, _, names = _list(inner)
    kind = _kind_at(address, BaseModel)
    values = _unpacked(fields)
    if not kind.model_fields.keys() <= values.keys():
        raise ValueError(f"{address!r} has other fields by now")
    if issubclass(kind, RootModel):
        return kind.model_validate(values["root"])
    model = kind.model_validate(values, by_alias=False, by_name=True)
    model.model_fields_set.intersection_update(map(_text, _list(names)))
    return model


def _read_dataclass(inner: Value) -> object:
    address, fields = _list(inner)
    kind = _kind_at(address, object)
    values = _unpacked(fields)
    known = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    if values.keys() != {field.name for field in known}:
        raise ValueError(f"{address!r} has other fields by now")
    return kind(**{field.name: values[field.name] for field in known if field.init})


def _read_namedtuple(inner: Value) -> object:
    address, *parts = _list(inner)
    kind: type = _kind_at(address, tuple)
    return kind(*map(unpack, parts))


_AS_STR = {date: "date", time: "time", Decimal: "decimal", PosixPath: "path", UUID: "uuid"}
_DECODERS: dict[str, Callable[[Value], object]] = {
    "text": lambda inner: base64.b64decode(_text(inner)).decode("utf-8", "surrogatepass"),
    "int": lambda inner: int(_text(inner), 16),
    "float": lambda inner: float(_text(inner)),
    "bytes": lambda inner: base64.b64decode(_text(inner)),
    "datetime": lambda inner: datetime.fromisoformat(_text(inner)),
    "timedelta": _read_timedelta,
    "zoned": _read_zoned,
    "date": lambda inner: date.fromisoformat(_text(inner)),
    "time": lambda inner: time.fromisoformat(_text(inner)),
    "decimal": lambda inner: Decimal(_text(inner)),
    "path": lambda inner: Path(_text(inner)),
    "uuid": lambda inner: UUID(_text(inner)),
    "tuple": lambda inner: tuple(map(unpack, _list(inner))),
    "set": lambda inner: set(map(unpack, _list(inner))),
    "frozenset": lambda inner: frozenset(map(unpack, _list(inner))),
    "dict": _read_dict,
    "enum": _read_enum,
    "model": _read_model,
    "dataclass": _read_dataclass,
    "namedtuple": _read_namedtuple,
}
