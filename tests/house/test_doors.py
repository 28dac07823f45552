"""What only one place may do: read the environment, start programs, print, catch everything."""

import ast
from collections.abc import Iterator

from tests.house.source import Module, each_of, package_modules

every_module = each_of(package_modules())

READS_ENVIRONMENT = ("src/datasmith/settings.py", "src/datasmith/process.py")
STARTS_PROGRAMS = ("src/datasmith/process.py",)
PRINTS = ("src/datasmith/cli/", "src/datasmith/preflight/__main__.py")
CATCHES_ALL = ("src/datasmith/runners/base.py", "src/datasmith/cli/common.py")
ENVIRONMENT = {"environ", "environb", "getenv", "putenv"}
PROGRAMS = {"system", "popen", "fork", "forkpty", "execv", "execve", "execvp", "spawnv", "posix_spawn"}


def attributes_of(module: Module, owner: str) -> Iterator[str]:
    """Names taken from a module, as `owner.name` or by `from owner import name`."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name == owner:
                yield attribute
            case ast.ImportFrom(module=name, names=names) if name == owner:
                yield from (alias.name for alias in names)


def imported(module: Module) -> set[str]:
    """First parts of every imported module's name, function-level imports too."""
    found = set()
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=names):
                found |= {alias.name.split(".")[0] for alias in names}
            case ast.ImportFrom(module=str(name), level=0):
                found.add(name.split(".")[0])
    return found


def catches_everything(handler: ast.ExceptHandler) -> bool:
    """True for a handler of every exception that does not end by raising it again."""
    caught = handler.type
    named = [node.id for node in ast.walk(caught) if isinstance(node, ast.Name)] if caught else ["BaseException"]
    last = handler.body[-1]
    raises_again = isinstance(last, ast.Raise) and last.exc is None
    return bool({"Exception", "BaseException"} & set(named)) and not raises_again


@every_module
def test_only_settings_and_process_know_the_environment(module: Module) -> None:
    """A value of the environment has one reader; children get an allow-listed copy from process."""
    if module.name not in READS_ENVIRONMENT and not module.sandboxed():
        assert not ENVIRONMENT & set(attributes_of(module, "os"))


@every_module
def test_only_process_starts_programs(module: Module) -> None:
    """subprocess, multiprocessing and os.system's family are behind one door."""
    if module.name not in STARTS_PROGRAMS and not module.sandboxed():
        assert not {"subprocess", "multiprocessing", "pty"} & imported(module)
        assert not PROGRAMS & set(attributes_of(module, "os"))


@every_module
def test_only_the_commands_print(module: Module) -> None:
    """A library that prints cannot be used by another program."""
    if not module.name.startswith(PRINTS) and not module.sandboxed():
        calls = [node.func for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
        assert not [call.lineno for call in calls if isinstance(call, ast.Name) and call.id == "print"]


@every_module
def test_only_two_places_catch_everything(module: Module) -> None:
    """The item loop of the runners and the commands' last line; elsewhere a broad handler raises again."""
    if module.name not in CATCHES_ALL and not module.sandboxed():
        handlers = [node for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler)]
        assert not [handler.lineno for handler in handlers if catches_everything(handler)]


@every_module
def test_the_scripts_of_the_sandbox_need_only_asv_runner(module: Module) -> None:
    """What runs in the container must run with any Python that a repository asks for, without our dependencies."""
    if module.sandboxed():
        assert not imported(module) & {"datasmith", "numpy", "pydantic", "polars", "typer", "rich", "structlog"}
