"""The project's own files, each parsed once, where a rule asks for it: what the house rules look at."""

import ast
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "datasmith"
TESTS = ROOT / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file; `name` is its path from the project's root. Read when it is looked at: collecting tests reads none."""

    name: str

    @cached_property
    def text(self) -> str:
        """All that is in it."""
        return (ROOT / self.name).read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The same, parsed."""
        return ast.parse(self.text)

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


def _below(place: Path) -> tuple[Module, ...]:
    return tuple(Module(path.relative_to(ROOT).as_posix()) for path in sorted(place.rglob("*.py")))


@cache
def package_modules() -> tuple[Module, ...]:
    """The modules of the package."""
    return _below(PACKAGE)


@cache
def modules_of_tests() -> tuple[Module, ...]:
    """The modules of the tests, helpers included."""
    return _below(TESTS)


@cache
def project_files() -> tuple[Path, ...]:
    """The files that git knows, or would add."""
    words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, capture_output=True, check=True).stdout.decode()
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def length(node: Function | ast.ClassDef) -> int:
    """Lines from `def` or `class` to the end, without decorators."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def each_of(modules: Iterable[Module]) -> Callable[[Callable[[Module], None]], Callable[[], None]]:
    """One test of a rule for all modules, which names every one that breaks it: a test for each would cost far more."""

    def of_all(rule: Callable[[Module], None]) -> Callable[[], None]:
        def test() -> None:
            broken, every = [], list(modules)
            assert every, "no modules"
            for module in every:
                try:
                    rule(module)
                except AssertionError as error:
                    broken.append(f"{module.name}: {error}")
            assert not broken, "\n".join(broken)

        test.__name__, test.__doc__, test.__module__ = rule.__name__, rule.__doc__, rule.__module__
        return test

    return of_all
