"""Say what a value of numpy, pandas or scipy is, without importing what the code under test has not imported."""

from __future__ import annotations

import base64
import hashlib
import sys
from random import Random
from types import ModuleType

from . import OWN
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Protocol, TypeAlias

    Node = list[object]
    Looked: TypeAlias = "Node | Later"

    class Foreign(Protocol):
        """An object recognised by what it is; whatever it lacks raises, and the value is skipped."""

        def __getattr__(self, name: str) -> Foreign:
            """Any attribute."""

        def __call__(self, *given: object, **named: object) -> Foreign:
            """Any method."""

        def __getitem__(self, at: object) -> Foreign:
            """Any element."""

        def __iter__(self) -> Iterator[Foreign]:
            """Its elements."""

        def __int__(self) -> int:
            """As an integer."""

        def __float__(self) -> float:
            """As a number."""

        def __complex__(self) -> complex:
            """As a complex number."""

        def __bytes__(self) -> bytes:
            """As bytes."""

        def __abs__(self) -> Foreign:
            """Its amount."""

        def __enter__(self) -> Foreign:
            """Where it holds for a while."""

        def __exit__(self, *_: object) -> None:
            """... to the end of that."""

    class Describer(Protocol):
        """The part of describe.Describer that is used here."""

        asks: bool

        def look(self, value: object) -> Looked:
            """A value taken apart."""

        def spend(self, size: int) -> None:
            """Count bytes against the budget."""

        def positions(self, size: int, most: int) -> list[int]:
            """Which elements of a sequence are described."""

else:
    Node = list
    Looked = object

__builtins__ = OWN

FULL_ARRAY = 16_384
"""Bytes of an array that are sent as they are; of a larger one a sample, sums, and for exact kinds a digest."""
SAMPLED = 512
MOST_COLUMNS = 200
_ITEMS = "OT"
"""Kinds of arrays that hold references: of objects, and of texts of any length."""
LEAST_AMOUNT = 1e-8
"""A smaller number that a sparse matrix holds is like none: by so much numbers may differ."""
_FLAGS = type.__dict__["__flags__"]
"""The flags of a class, whatever its own class makes of these."""
_HEAP_TYPE = 1 << 9
"""CPython's flag of classes that are made while a program runs."""
_IMMUTABLE_TYPE = 1 << 8
"""... and of those among them that nobody can change, as compiled modules make them since Python 3.10."""


class Later:
    """What is left to say of plain data; `tell` gives that part of a description."""

    def __init__(self, tell: Callable[[], Node | None]) -> None:
        self.tell = tell


def positions(size: int, most: int, seed: int) -> list[int]:
    """All positions of a sequence that is not too long; of a longer one the first, the last, and some that are drawn.

    The host draws the seed for each session: which elements will be looked at is not known while they are computed.
    """
    if size <= most:
        return list(range(size))
    drawn = Random(seed)
    return sorted({0, size - 1, *(drawn.randrange(size) for _ in range(max(2, min(SAMPLED, most))))})


def class_name(value: object) -> str:
    """The library and the name of a value's class; one that only says that it is a library's is marked."""
    kind = type(value)
    found: object = sys.modules.get(str(kind.__module__))
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return str(kind.__module__).partition(".")[0] + "." + kind.__qualname__ + ("" if found is kind else "?")


def array(describer: Describer, value: Foreign) -> Looked:
    """["array", class, dtype, shape, positions, data as float64 or complex128, sums, digest]."""
    if is_of(value, "numpy.ma", "MaskedArray"):
        return _masked(describer, value)
    plain = module("numpy").asarray(value)
    if not is_static(type(plain)):
        raise TypeError("numpy makes other arrays than its own")
    name, kind, dtype = class_name(value), str(value.dtype.kind), str(value.dtype.name)
    shape: Node = [int(size) for size in value.shape]
    fields: object = value.dtype.names
    if isinstance(fields, tuple):
        parts: Node = [[ascii(field), describer.look(plain[field])] for field in fields]
        return ["object", name, [["shape", describer.look(shape)], *parts], False]
    if kind in _ITEMS:
        items = describer.look(list(plain.reshape(-1).tolist()))
        return ["object", name, [["shape", describer.look(shape)], ["items", items]], False]
    return Later(lambda: ["array", name, dtype, shape, *_content(describer, plain, kind)])


def _masked(describer: Describer, value: Foreign) -> Looked:
    """What is masked, and the elements that are not: nobody asks for what lies under a mask."""
    masks = module("numpy.ma")
    kept = masks.MaskedArray.filled(value, 0)
    parts: Node = [["mask", describer.look(masks.getmaskarray(value))], ["data", describer.look(kept)]]
    return ["object", class_name(value), parts, False]


def _content(describer: Describer, plain: Foreign, kind: str) -> Node:
    """Positions, data, sums, digest of an array of numpy's own class."""
    numpy = module("numpy")
    exact = kind not in "fc"
    wide = "<c16" if kind == "c" else "<f8"
    flat = plain.reshape(-1) if exact else plain.astype(wide).reshape(-1)
    size = int(flat.size)
    at = describer.positions(size, FULL_ARRAY // 8)
    whole = len(at) == size
    picked = flat if whole else flat[numpy.asarray(at)]
    data = bytes(picked.astype(wide).tobytes()) if kind in "biufc" else b""
    describer.spend(len(data))
    sums = None if exact or whole else array_sums(numpy, flat)
    encoded = base64.b64encode(data).decode("ascii")
    return [None if whole else at, encoded, sums, digest(plain, kind) if exact else None]


def array_sums(numpy: Foreign, flat: Foreign) -> Node:
    """Sum, sum of amounts, number of elements that are not finite, imaginary part of the sum."""
    finite = flat[numpy.isfinite(flat)]
    with numpy.errstate(over="ignore"):
        total, amount = complex(finite.sum()), float(abs(finite).sum())
    return [repr(total.real), repr(amount), int(flat.size) - int(finite.size), repr(total.imag)]


def digest(plain: Foreign, kind: str) -> str:
    """Of the content of an array of an exact kind, whatever its byte order."""
    little = plain.astype(plain.dtype.newbyteorder("<")) if kind in "iuUmM" else plain
    return hashlib.sha256(bytes(little.tobytes())).hexdigest()[:32]


def numpy_scalar(describer: Describer, value: Foreign) -> Looked:
    """A scalar is compared as the plain number that it holds."""
    plain = plain_scalar(value)
    return exact(describer, value) if plain is value else describer.look(plain)


def plain_scalar(value: Foreign) -> object:
    """What a scalar of numpy holds, of one that is longer than Python's the next number; a moment is itself."""
    kind: object = value.dtype.kind
    item = value.item()
    if kind not in {"m", "M"} and type(item) is not type(value):
        return item
    return float(value) if kind == "f" else complex(value) if kind == "c" else value


def exact(describer: Describer, value: object) -> Looked:
    """A value that its text tells whole, and in which no number may be another one: a moment, a path, an address."""
    return ["object", class_name(value), [["text", describer.look(str(value))]], False]


def frame(describer: Describer, value: Foreign) -> Looked:
    """A pandas DataFrame, column by column; of very many the later ones together with others of their dtype."""
    columns = list(value.columns)
    parts: Node = [["columns", describer.look(columns)], ["index", describer.look(value.index)]]
    named: set[str] = set()
    for number, column in enumerate(columns[:MOST_COLUMNS]):
        name = ascii(column)[:80]
        parts.append([name if name not in named else f"{name} ({number})", data_of(describer, value.iloc[:, number])])
        named.add(name)
    if len(columns) > MOST_COLUMNS:
        parts += _other_columns(describer, value)
    return ["object", class_name(value), parts, False]


def _other_columns(describer: Describer, value: Foreign) -> Node:
    """Those of different dtypes apart: in one array they would all become the same."""
    dtypes = [str(dtype) for dtype in value.dtypes][MOST_COLUMNS:]
    parts: Node = [["other dtypes", describer.look(list(dtypes))]]
    for dtype in sorted(set(dtypes)):
        at = [MOST_COLUMNS + number for number, other in enumerate(dtypes) if other == dtype]
        parts.append([f"other columns of {dtype}", describer.look(value.iloc[:, at].to_numpy())])
    return parts


def series(describer: Describer, value: Foreign) -> Looked:
    """A pandas Series or Index; all classes of the latter count as one."""
    named = value.names if hasattr(value, "names") else [value.name]
    parts: Node = [["name", describer.look(list(named))], ["values", data_of(describer, value)]]
    if hasattr(value, "index"):
        parts.append(["index", describer.look(value.index)])
    name = class_name(value)
    return ["object", "pandas.Index" if name.endswith("Index") else name, parts, False]


def data_of(describer: Describer, value: Foreign) -> Looked:
    """The elements under the name of their dtype, as numbers where each would be an object, and its categories."""
    dtype = value.dtype
    if hasattr(dtype, "tz") or hasattr(dtype, "freq"):
        data: Node = [["data", describer.look(value.array.asi8)]]
    elif hasattr(dtype, "closed"):
        data = [["left", describer.look(value.array.left)], ["right", describer.look(value.array.right)]]
    else:
        data = [["data", describer.look(value.to_numpy())]]
    if hasattr(dtype, "categories"):
        data.append(["categories", describer.look(list(dtype.categories))])
        data.append(["ordered", describer.look(bool(dtype.ordered))])
    return ["object", str(dtype), data, False]


def sparse(describer: Describer, value: Foreign) -> Looked:
    """A sparse matrix of scipy, in the one form that any of them has."""
    rows = value.tocsr().copy()
    rows.sum_duplicates()
    if str(rows.dtype.kind) in "fc":
        rows.data[abs(rows.data) <= LEAST_AMOUNT] = 0  # type: ignore[operator]
    rows.eliminate_zeros()
    rows.sort_indices()
    parts: Node = [["data", describer.look(rows.data)], ["indices", describer.look(rows.indices.astype("i8"))]]
    parts += [["indptr", describer.look(rows.indptr.astype("i8"))], ["shape", describer.look(list(rows.shape))]]
    return ["object", class_name(value), parts, False]


def as_array(describer: Describer, name: str, value: object) -> Looked:
    """What turns itself into an array."""
    return ["object", name, [["array", describer.look(module("numpy").asarray(value))]], False]


def module(name: str) -> Foreign:
    """A module that is imported already."""
    found: Foreign = sys.modules[name]
    return found


def is_of(value: object, library: str, *names: str) -> bool:
    """True for an instance of one of these classes of a library that is imported."""
    known = sys.modules.get(library)
    kinds = [getattr(known, name, None) for name in names] if known is not None else []
    return isinstance(value, tuple(kind for kind in kinds if isinstance(kind, type)))


def is_static(kind: type) -> bool:
    """True for a class that was compiled into a library; one that Python code defines never is."""
    return int(_FLAGS.__get__(kind)) & (_HEAP_TYPE | _IMMUTABLE_TYPE) != _HEAP_TYPE


def is_numpy(value: object, name: str) -> bool:
    """True for an instance of a class of the real numpy, whatever else is called so."""
    known = sys.modules.get("numpy")
    kind = known.__dict__.get(name) if type(known) is ModuleType else None
    return isinstance(kind, type) and is_static(kind) and isinstance(value, kind)


def is_sparse(value: object) -> bool:
    """True for the classes of scipy.sparse."""
    return type(value).__module__.startswith("scipy.sparse") and hasattr(value, "tocsr")


def reader(value: object) -> Callable[[Describer, Foreign], Looked] | None:
    """What describes such a value; None where it is none of these libraries'."""
    if is_numpy(value, "ndarray"):
        return array
    if is_numpy(value, "generic") and is_static(type(value)):
        return numpy_scalar
    if is_of(value, "pandas", "DataFrame"):
        return frame
    if is_of(value, "pandas", "Series", "Index"):
        return series
    return sparse if is_sparse(value) else None
