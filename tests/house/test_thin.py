"""fc-eval by itself: nothing that it can import needs a database, tables or a language model's library."""

import ast
import tomllib
from collections.abc import Iterator

from tests.house.source import ROOT

SOURCE = ROOT / "src"
THIN = ROOT / "wheels" / "fc-eval" / "pyproject.toml"
START = "datasmith.cli.entry"
HEAVY = {"sqlalchemy", "alembic", "polars", "psycopg", "httpx2", "dspy", "openai", "anthropic", "scipy", "pandas"}
OPTIONAL = {"ray"}
"""Imported where `--executor ray` is asked for; an extra of both."""
DATA_ONLY = {"datasmith.cli.data", "datasmith.runners.contexts"}
"""fc-data's command, and what remembers builds by a project's name: tasks are built from their folders."""


def _imports(module: str) -> Iterator[str]:
    """What a module imports, in functions too, but for types; and the `module:attribute` that its texts name."""
    path = SOURCE / f"{module.replace('.', '/')}.py"
    path = path if path.is_file() else SOURCE / module.replace(".", "/") / "__init__.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    beside = {place.stem for place in path.parent.glob("*.py")}
    typed = {id(part) for node in ast.walk(tree) if _is_for_types(node) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in typed:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name not in beside)
        elif isinstance(node, ast.ImportFrom) and node.module in beside:
            continue  # a script of the sandbox, where its directory is on the path
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            stem = node.value.partition(":")[0]
            if node.value.startswith("datasmith.") and ":" in node.value and stem.replace(".", "").isidentifier():
                yield stem


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _is_ours(name: str) -> bool:
    path = SOURCE / name.replace(".", "/")
    return name.startswith("datasmith") and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())


def reachable() -> tuple[set[str], set[str]]:
    """(our modules, other packages) that fc-eval may import."""
    ours: set[str] = set()
    others: set[str] = set()
    ahead = [START]
    while ahead:
        module = ahead.pop()
        if module in ours or module in DATA_ONLY:
            continue
        ours.add(module)
        parents = [module.rsplit(".", n)[0] for n in range(1, module.count(".") + 1)]
        ahead += [parent for parent in parents if parent not in ours]
        for name in _imports(module):
            if _is_ours(name):
                ahead.append(name)
            elif not name.startswith("datasmith"):
                others.add(name.partition(".")[0])
    return ours, others


def test_fc_eval_reaches_no_heavy_library() -> None:
    """From its entry on, through every import in every function and every registry: none of them."""
    ours, others = reachable()
    assert len(ours) > 100, "the walk has lost its way"
    assert {"datasmith.evaluation.grading", "datasmith.agents.coding.nop", "datasmith.tasks.hub"} <= ours
    assert others & HEAVY == set()


def test_the_wheel_holds_every_module_that_fc_eval_reaches() -> None:
    """The list of rooms in wheels/fc-eval is complete."""
    included = tomllib.loads(THIN.read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    places = tuple(target.removesuffix(".py") for target in included.values())
    ours, _ = reachable()
    lost = [name for name in ours if not _is_in(name.replace(".", "/"), places)]
    assert lost == []


def _is_in(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(f"{place}/") or f"{path}/__init__" == place for place in places)


def test_the_thin_dependencies_are_part_of_the_whole_and_enough() -> None:
    """Each stands in fc-data's list with the same bounds; whatever is imported is among them."""
    thin, whole = (tomllib.loads(path.read_text())["project"] for path in (THIN, ROOT / "pyproject.toml"))
    assert set(thin["dependencies"]) <= set(whole["dependencies"])
    assert thin["optional-dependencies"]["ray"] == whole["optional-dependencies"]["ray"]
    import sys

    named = {line.partition(">")[0].replace("-", "_") for line in thin["dependencies"]} | OPTIONAL
    modules = {"dotenv": "python_dotenv", "annotated_types": "pydantic", "yaml": "pyyaml", "pydantic_core": "pydantic"}
    modules["httpx"] = "huggingface_hub"  # whose errors are those of httpx
    _, others = reachable()
    missing = {name for name in others if modules.get(name, name) not in named} - set(sys.stdlib_module_names)
    assert missing == set()
