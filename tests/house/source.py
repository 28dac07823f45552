"""The project's own files, parsed once: what the house rules look at."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "datasmith"
TESTS = ROOT / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One parsed file; `name` is its path from the project's root."""

    name: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """All lines, empty ones and comments too."""
        return self.text.count("\n")

    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def classes(self) -> Iterator[ast.ClassDef]:
        """Every class."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))

    def sandboxed(self) -> bool:
        """True for the scripts that run inside a sandbox: they have only the standard library and no seams."""
        inside = ("src/datasmith/workloads/inside/", "src/datasmith/agents/coding/inside/")
        return self.name.startswith(inside) or "/templates/" in self.name


def read(path: Path) -> Module:
    """Parse one file of the project."""
    text = path.read_text(encoding="utf-8")
    return Module(path.relative_to(ROOT).as_posix(), text, ast.parse(text))


@cache
def package_modules() -> tuple[Module, ...]:
    """The modules of the package."""
    return tuple(read(path) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def modules_of_tests() -> tuple[Module, ...]:
    """The modules of the tests, helpers included."""
    return tuple(read(path) for path in sorted(TESTS.rglob("*.py")))


@cache
def project_files() -> tuple[Path, ...]:
    """The files that git knows, or would add."""
    words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, capture_output=True, check=True).stdout.decode()
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def length(node: Function | ast.ClassDef) -> int:
    """Lines from `def` or `class` to the end, without decorators."""
    return (node.end_lineno or node.lineno) - node.lineno + 1
