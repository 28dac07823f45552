"""Inside a sandbox: let a project's build backend write its metadata, and copy that to a file.

Arguments: the file, the backend ("module" or "module:object"), and its own directories. The current directory is the
project's. What the backend makes goes to FILE.d: it may name that place, so its name is the same each time.
"""

from __future__ import annotations

import importlib
import sys
import zipfile
from pathlib import Path


def ask(backend: str, place: Path) -> str:
    """The metadata by PEP 517's hook for it, else out of a wheel."""
    module, _, path = backend.partition(":")
    found = importlib.import_module(module)
    for name in filter(None, path.split(".")):
        found = getattr(found, name)
    prepare = getattr(found, "prepare_metadata_for_build_wheel", None)
    if prepare is not None:
        written: str = prepare(str(place))
        return (place / written / "METADATA").read_text(encoding="utf-8")
    built: str = found.build_wheel(str(place))
    with zipfile.ZipFile(place / built) as wheel:
        names = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        return wheel.read(names[0]).decode("utf-8")


def main() -> None:
    """Do what the first line says."""
    target, backend, own = sys.argv[1], sys.argv[2], sys.argv[3:]
    sys.path[:0] = [str(Path(path).resolve()) for path in own]
    sys.argv[1:] = []
    place = Path(f"{target}.d")
    place.mkdir(exist_ok=True)
    Path(target).write_text(ask(backend, place), encoding="utf-8")


if __name__ == "__main__":
    main()
