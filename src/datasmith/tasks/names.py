"""Names of datasets: what the registry files say, from the nearest to the one that is built in."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from datasmith.errors import ConfigError, TaskError, said_by
from datasmith.misfits import nearest
from datasmith.tasks.hub import SCHEME, HubAddress
from datasmith.written_json import written_json

EXAMPLE = "work/dataset/tasks"


def example(said: str, value: str) -> str:
    """How a value is given: after its option, or bare where `said` is an argument, as in TASK."""
    return f"{said} {value}" if said.startswith("-") else value


@dataclass(frozen=True, slots=True)
class Named:
    """What a name stands for: a directory, or a dataset on the Hub; `release` is what stood behind the `@`.

    `exact`: the registry knows the name with its release. `releases`: those that it knows of the name.
    """

    target: Path | HubAddress
    release: str
    exact: bool
    releases: tuple[str, ...] = ()


def resolve(name: str, registries: Mapping[str, Path], said: str = "--dataset") -> Named:
    """Look a name up: in `registries` in their order (those that exist), then among the names that are built in.

    A registry is a file, by the setting that names it. `said` is the word by which the name was given.

    Raises:
        ConfigError: no registry knows it; names those that are known.
        TaskError: a registry cannot be read; names its setting.
    """
    if name.startswith(SCHEME):
        return Named(HubAddress.parse(name), "", exact=True)
    stem, _, release = name.partition("@")
    known: set[str] = set()
    for registry, entries in _registries(registries):
        known |= entries.keys()
        for asked, exact in ((name, True), (stem, not release)):
            if asked in entries:
                releases = sorted(entry.partition("@")[2] for entry in entries if entry.startswith(f"{stem}@"))
                return Named(_target(entries[asked], registry), release, exact, tuple(releases))
    looked = ", ".join(str(path) for path in registries.values() if path.is_file())
    where = f"no name in {looked}" if looked else "no registered name: there is no registry file"
    near = nearest(stem, known)
    guess = f"; did you mean {near!r}?" if near else ""
    raise ConfigError(
        f"{said} {name}: not a directory, and {where}; "
        f"known: {', '.join(sorted(known))}{guess} (example: {example(said, EXAMPLE)})"
    )


def _registries(files_of: Mapping[str, Path]) -> list[tuple[Path | None, Mapping[str, str]]]:
    there = {setting: path for setting, path in files_of.items() if path.is_file()}
    given: list[tuple[Path | None, Mapping[str, str]]] = [(path, _read(path, name)) for name, path in there.items()]
    built_in = files("datasmith.tasks").joinpath("datasets.json").read_bytes()
    return [*given, (None, TypeAdapter(dict[str, str]).validate_json(built_in))]


def _read(registry: Path, setting: str) -> dict[str, str]:
    try:
        return _names(written_json(registry.read_bytes()))
    except (OSError, ValueError) as error:
        problem = f"no registry of datasets: {said_by(error)}"
        raise TaskError(f'{setting} {registry}: {problem} (example of its text: {{"mine": "{EXAMPLE}"}})') from error


def _names(said: JsonValue) -> dict[str, str]:
    if not isinstance(said, dict):
        raise ValueError("not a JSON object")
    found = {name: what for name, what in said.items() if isinstance(what, str)}
    for name in said.keys() - found.keys():
        raise ValueError(f"{name!r} stands for no text")
    return found


def _target(text: str, registry: Path | None) -> Path | HubAddress:
    if text.startswith(SCHEME):
        return HubAddress.parse(text)
    return (registry.parent if registry else Path()) / text
