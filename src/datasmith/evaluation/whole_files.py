"""Files that are written whole or not at all, and what the disk says where they are not."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel

from datasmith.errors import StoreUnavailable


@contextmanager
def disk(what: str) -> Iterator[None]:
    """Inside, what the disk refuses is told of `what`.

    Raises:
        StoreUnavailable: it refuses something.
    """
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"{what}: {error.strerror}") from error


def write_record(path: Path, record: BaseModel) -> None:
    """Write a record as JSON, whole or not at all."""
    write_bytes(path, record.model_dump_json(indent=1).encode() + b"\n")


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file by a rename, making its folder where needed.

    Raises:
        StoreUnavailable: the disk is full or the folder cannot be written; names the file.
    """
    draft = path.with_name(f".{path.name}.draft")
    with disk(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise


def write_text(path: Path, text: str) -> None:
    """Like `write_bytes`, for text that may hold bytes that are not UTF-8."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def move(source: Path, target: Path) -> None:
    """Move a file; the folder that it leaves goes with the last one. Nothing where it was moved before."""
    if not source.is_file():
        return
    with disk(f"cannot write {target}"):
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)
        if not any(source.parent.iterdir()):
            source.parent.rmdir()
