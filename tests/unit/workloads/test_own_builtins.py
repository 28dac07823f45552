"""What our code calls beside a library's is Python's own, whatever the library exchanges."""

import builtins
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import datasmith.workloads.inside as inside
from datasmith.workloads.inside.plain import is_plain

SENT_AS_TEXT = "raw_teller"
"""Made in another process before any other code is there, and imported by nobody."""
MODULES = sorted(
    path.stem for path in Path(inside.__file__).parent.glob("*.py") if path.stem not in ("__init__", SENT_AS_TEXT)
)


@pytest.mark.parametrize("name", MODULES)
def test_each_module_has_its_own_builtins(name: str) -> None:
    """None is forgotten, and functions look names up there."""
    module = import_module(f"datasmith.workloads.inside.{name}")
    assert vars(module)["__builtins__"] is inside.OWN
    assert inside.OWN is not builtins


def test_an_exchanged_builtin_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """It could do the library's work while a value is described, when no clock runs."""
    called: list[object] = []

    def noticed(function: object, *given: list[object]) -> Iterator[object]:
        called.append(function)
        return iter(given[0])

    monkeypatch.setattr(builtins, "map", noticed)
    plain = is_plain([1.0, 2.0])
    monkeypatch.undo()
    assert plain
    assert not called
