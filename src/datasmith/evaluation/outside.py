"""Facts that no run folder holds: knowledge cutoffs of models and stars of repositories, from files."""

import json
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue

from datasmith.errors import ConfigError, said_by
from datasmith.written_json import written_json

Value = TypeVar("Value")
CUTOFFS_EXAMPLE = '{"gpt-5": "2024-09-01"}'
STARS_EXAMPLE = '{"pandas-dev/pandas": 48265}'


class Cutoffs:
    """Knowledge cutoffs by model: those of a file before those that ship.

    Upper and lower case are one. An entry is a model's name, with or without its provider, or a glob; a glob with a
    provider (`openai/*`) says nothing about models without one. Names go before globs, the whole name before the one
    without its provider.
    """

    def __init__(self, own: Path | None = None) -> None:
        """Raises ConfigError where the file is not a JSON object of dates."""
        shipped = json.loads(files("datasmith.evaluation").joinpath("cutoffs.json").read_text("utf-8"))
        self.source = str(shipped["source"])
        self._own = _read(own, "--cutoffs", CUTOFFS_EXAMPLE, _date) if own else {}
        self._shipped = {name: _date(text) for name, text in shipped["cutoffs"].items()}

    def of(self, model: str) -> datetime | None:
        """The cutoff of a model, named with or without its provider (`openai/gpt-5`); None: not known."""
        for dates in (self._own, self._shipped):
            found = [entry for entry in dates if _says(entry, model)]
            if found:
                return dates[min(found, key=lambda entry: _says(entry, model))]
        return None

    def unmatched(self, models: Collection[str]) -> tuple[str, ...]:
        """The file's entries that say nothing about any of these models."""
        return tuple(entry for entry in self._own if not any(_says(entry, model) for model in models))


def _says(entry: str, model: str) -> int:
    """How an entry speaks of a model: 1 by its whole name, 2 without its provider, 3 as a glob; 0 not at all."""
    entry, model = entry.lower(), model.lower()
    bare = _bare(model)
    if entry == model:
        return 1
    if _bare(entry) == bare:
        return 2
    return 3 if fnmatchcase(model, entry) or fnmatchcase(bare, entry) else 0


def _bare(name: str) -> str:
    return name.rpartition("/")[2]


def read_stars(path: Path | None) -> Mapping[str, int]:
    """Stars by `owner/repo` or by task id; nothing without a file.

    Raises:
        ConfigError: it is not a JSON object of whole numbers.
    """
    return _read(path, "--stars", STARS_EXAMPLE, _count) if path else {}


def _read(path: Path, option: str, example: str, parse: Callable[[JsonValue], Value]) -> dict[str, Value]:
    try:
        found = written_json(path.read_text("utf-8"))
        if not isinstance(found, dict):
            raise ValueError("no JSON object")
        return {name: parse(value) for name, value in found.items()}
    except (OSError, ValueError) as error:
        problem = f"cannot be read: {said_by(error)}"
        raise ConfigError(f"{option} {path}: {problem} (example of its text: {example})") from error


def _date(value: JsonValue) -> datetime:
    found = datetime.fromisoformat(str(value))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _count(value: JsonValue) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no number of stars")
    return value
