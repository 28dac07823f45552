"""Files of a task folder, each read by its parser, and told of in words where that cannot be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from datasmith.errors import InvalidTask, said_by
from datasmith.misfits import misfits

_Read = TypeVar("_Read")


def as_object(value: object) -> dict[str, Any]:
    """The value, which has to be a table or an object; raises TypeError."""
    if not isinstance(value, dict):
        raise TypeError("a value stands where a table or an object belongs")
    return value


def read_file(folder: Path, name: str, parse: Callable[[str], _Read], errors: str = "strict") -> _Read:
    """What a file of the folder says to `parse`; `errors` is for what is no UTF-8.

    Raises:
        InvalidTask: it cannot be read so; names the file.
    """
    try:
        return parse((folder / name).read_bytes().decode("utf-8", errors))
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidTask([f"{folder.name}: {name}: cannot be read: {_said(error)}"]) from error


def _said(error: Exception) -> str:
    match error:
        case KeyError():
            return f"{error} is missing"
        case RecursionError():
            return "it is nested too deep"
        case UnicodeDecodeError():
            return f"not UTF-8 text: {error.reason}"
        case ValidationError():
            return "; ".join(misfits(error))
    return said_by(error)
