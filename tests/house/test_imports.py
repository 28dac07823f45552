"""Importing does nothing: no settings, files, network, children, threads or log handlers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import package_modules

POISON = {
    "PATH": "/nowhere",
    "HOME": "/nowhere",
    "PYTHONDONTWRITEBYTECODE": "1",
    "FC_ENGINE": "no-such-engine",
    "FC_MEMORY_MB": "not a number",
    "DATABASE_URL": "nonsense://",
    "FC_LOG_LEVEL": "no-such-level",
}
"""An environment in which reading any setting fails."""

ELSEWHERE = frozenset({"src/datasmith/evaluation/harbor.py"})
"""Imported by another program, in its own environment; tests/integration/test_harbor.py does."""
WATCH = Path(__file__).with_name("watch_imports.py")


def names() -> list[str]:
    """Every importable module of the package, without the scripts of the sandbox: those are run by path."""
    found = []
    for module in package_modules():
        if not module.sandboxed() and module.name not in ELSEWHERE:
            dotted = module.name.removeprefix("src/").removesuffix(".py").replace("/", ".")
            found.append(dotted.removesuffix(".__init__"))
    return found


def after_importing(modules: list[str], directory: Path) -> dict[str, object]:
    """What a fresh interpreter did and holds after importing `modules` in an empty directory."""
    words = [sys.executable, str(WATCH), *modules]
    done = subprocess.run(words, env=POISON, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not list(directory.iterdir())
    report = json.loads(done.stdout)
    assert isinstance(report, dict)
    return report


def test_importing_everything_does_nothing(tmp_path: Path) -> None:
    """With settings that cannot be read and an unusable HOME, every module can be imported, and nothing happens."""
    report = after_importing(names(), tmp_path)
    assert report["seen"] == []
    assert (report["handlers"], report["environment"]) == (0, True)


@pytest.mark.parametrize("command", ["datasmith.cli.data", "datasmith.cli.eval"])
def test_a_command_loads_heavy_libraries_only_where_it_uses_them(command: str, tmp_path: Path) -> None:
    """`--help` is quick: tables, databases and arrays are not loaded for it."""
    loaded = after_importing([command], tmp_path)["modules"]
    assert isinstance(loaded, list)
    assert not {"polars", "numpy", "sqlalchemy", "alembic", "jinja2"} & set(loaded)
