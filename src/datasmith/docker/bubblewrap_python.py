"""Which CPythons of this machine a sandbox can be built with."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from datasmith import process

_OLDEST = (3, 7)
_PROGRAM = re.compile(r"python3\.(\d+)")
_SHIMS = ".pyenv/shims"


@dataclass(frozen=True, slots=True, order=True)
class Interpreter:
    """A CPython as its real path; the greater one is the better one of its minor version.

    Better is what has headers, so that extensions can be compiled, then what lies in the system, which is shown
    anyway, then what is newer.
    """

    has_headers: bool
    in_system: bool
    patch: int
    minor: int
    path: Path

    @property
    def version(self) -> str:
        """As in "3.11"."""
        return f"3.{self.minor}"

    @property
    def prefix(self) -> Path:
        """The directory that has to be shown for it to run."""
        return prefix_of(self.path)


def prefix_of(python: Path) -> Path:
    """The installation that the interpreter at `python`, its real path, belongs to."""
    return python.parent.parent


def find_interpreters(uv: Path, home: Path, system: Path = Path("/usr")) -> Mapping[str, Interpreter]:
    """The best interpreter of each minor version, among those of the system, of uv, of PATH and of pyenv.

    None whose installation is the home directory or holds it: a sandbox would be shown all of that.
    """
    found: dict[str, Interpreter] = {}
    for path, patch in _candidates(uv, home, system):
        interpreter = _look_at(path, patch, system)
        if interpreter and home.resolve().is_relative_to(interpreter.prefix):
            continue
        if interpreter and (interpreter.version not in found or interpreter > found[interpreter.version]):
            found[interpreter.version] = interpreter
    return found


def _candidates(uv: Path, home: Path, system: Path) -> Iterator[tuple[Path, int]]:
    for directory in (system / "bin", system / "local/bin"):
        yield from ((path, 0) for path in directory.glob("python3.*") if _PROGRAM.fullmatch(path.name))
    for path in (home / ".pyenv/versions").glob("3.*/bin/python3.*"):
        patch = path.parent.parent.name.split(".")[-1]
        if _PROGRAM.fullmatch(path.name) and patch.isdigit():
            yield path, int(patch)
    yield from _listed(uv)


def _listed(uv: Path) -> Iterator[tuple[Path, int]]:
    """What uv knows of; pyenv's shims are left out, which start a shell each only to say what they stand for."""
    environment = process.clean_environment()
    kept = [place for place in environment.get("PATH", "").split(":") if not place.rstrip("/").endswith(_SHIMS)]
    words = [str(uv), "python", "list", "--only-installed", "--output-format", "json", "--no-config"]
    listed = process.run(words, timeout=60, env={**environment, "PATH": ":".join(kept)})
    for entry in json.loads(listed.stdout or b"[]") if listed.ok else []:
        if entry["implementation"] == "cpython" and entry.get("variant", "default") == "default":
            yield Path(entry["path"]), entry["version_parts"]["patch"]


def _look_at(path: Path, patch: int, system: Path) -> Interpreter | None:
    """What stands at `path`, unless it is no installation of its own (a shim, a virtual environment) or too old."""
    real = path.resolve()
    named = _PROGRAM.fullmatch(real.name)
    prefix = prefix_of(real)
    if not named or not real.is_file() or (prefix / "pyvenv.cfg").exists():
        return None
    if not (prefix / f"lib/{real.name}/os.py").exists() or (3, int(named[1])) < _OLDEST:
        return None
    headers = (prefix / f"include/{real.name}/Python.h").exists()
    return Interpreter(headers, real.is_relative_to(system), patch, int(named[1]), real)
