"""Note which functions a process runs, which files it opens, and whether it does what cannot be seen from here."""

from __future__ import annotations

import os
import sys
import threading

from . import OWN
from .report import TYPE_CHECKING

if TYPE_CHECKING:
    import types
    from collections.abc import Iterator

__builtins__ = OWN

ROOTS = ("", "src", "lib", "python")
"""Where in a tree its packages may lie."""
STARTS = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "os.exec", "subprocess.Popen"})
"""Audit events of another process: what that runs is not seen."""
COMPILERS = ("numba", "torch._dynamo", "jax")
"""Modules that run a Python function without its frame."""
SOURCES = (".py", ".pyc")
LONGEST_TEXT = 60
"""Longer string constants are no names."""


class Recorder:
    """Notes code objects from `start` on, one set per phase; calls cost little, and nothing from Python 3.12."""

    def __init__(self, tree: str) -> None:
        self.tree = tree.rstrip("/") + "/"
        self.codes: set[types.CodeType] = set()
        self.opened: set[str] = set()
        self.libraries: set[str] = set()
        self.spawned = False
        self.watching_spawns = True
        self._tool: int | None = None

    def start(self) -> None:
        """Begin.

        Raises:
            RuntimeError: this Python cannot tell of files and processes.
        """
        if not hasattr(sys, "addaudithook"):
            raise RuntimeError("coverage needs Python 3.8 or newer in the image")
        sys.addaudithook(self._audit)
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            threading.settrace(self._call)
            sys.settrace(self._call)
            return
        self._tool = next(number for number in range(6) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(self._tool, "fc")
        monitoring.register_callback(self._tool, monitoring.events.PY_START, self._begin)
        monitoring.set_events(self._tool, monitoring.events.PY_START)

    def taken(self) -> set[types.CodeType]:
        """The code objects since the last call of this; from now on those are noted anew.

        Raises:
            RuntimeError: the code that is watched has switched the watching off.
        """
        if self._tool is None and sys.gettrace() != self._call:
            raise RuntimeError("the benchmark uses the tracing of Python itself")
        found, self.codes = self.codes, set()
        if self._tool is not None:
            sys.monitoring.restart_events()  # type: ignore[attr-defined]
        return found

    def _call(self, frame: types.FrameType, _event: str, _argument: object) -> None:
        self.codes.add(frame.f_code)

    def _begin(self, code: types.CodeType, _offset: int) -> object:
        self.codes.add(code)
        return sys.monitoring.DISABLE  # type: ignore[attr-defined]

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in STARTS:
            self.spawned = self.spawned or self.watching_spawns
        elif event == "ctypes.dlopen" and isinstance(arguments[0], str):
            self.libraries.add(arguments[0])
        elif event == "open" and isinstance(arguments[0], (str, bytes)):
            path = os.fsdecode(arguments[0])
            if not path.endswith(SOURCES):
                self.opened.add(os.path.abspath(path))


class Places:
    """Translates paths of the sandbox into those of the tree, also where a copy of the tree is installed."""

    def __init__(self, tree: str) -> None:
        self._tree = os.path.abspath(tree) + "/"
        self._known: dict[str, str | None] = {}

    def of(self, path: str) -> str | None:
        """The path relative to the tree; None where the file is none of the tree's."""
        if path not in self._known:
            self._known[path] = self._find(path)
        return self._known[path]

    def _find(self, path: str) -> str | None:
        if path.startswith("<"):
            return None
        whole = os.path.abspath(path)
        if whole.startswith(self._tree):
            return whole[len(self._tree) :]
        _, installed, inner = whole.rpartition("/site-packages/")
        for root in ROOTS if installed else ():
            below = os.path.join(root, inner)
            if os.path.isfile(self._tree + below):
                return below
        return None

    def is_compiled_part(self, path: str) -> bool:
        """True for a library of the tree, or of an installed package that the tree has a directory of."""
        whole = os.path.abspath(path)
        if whole.startswith(self._tree):
            return True
        _, installed, inner = whole.rpartition("/site-packages/")
        top, below, _ = inner.partition("/")
        return bool(installed) and (
            not below or any(os.path.isdir(os.path.join(self._tree, root, top)) for root in ROOTS)
        )


def described(codes: set[types.CodeType], places: Places) -> list[list[object]]:
    """[path in the tree, first line, name] of each code object that is the tree's."""
    found = ((places.of(code.co_filename), code.co_firstlineno, code.co_name) for code in codes)
    return [list(entry) for entry in sorted({entry for entry in found if entry[0] is not None}, key=str)]


def names(codes: set[types.CodeType]) -> set[str]:
    """All that these code objects look up by name, and the constants that may be names."""
    return {name for code in codes for name in _names(code)}


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        for text in constant if isinstance(constant, (tuple, frozenset)) else (constant,):
            if isinstance(text, str) and len(text) <= LONGEST_TEXT and text.isidentifier():
                yield text


def facts(recorder: Recorder, places: Places) -> dict[str, object]:
    """What is known besides functions: files that were opened, compiled parts that were loaded, and what hides code."""
    origins = {str(getattr(module, "__file__", "") or "") for module in list(sys.modules.values())}
    compiled = {path for path in origins if path and not path.endswith(SOURCES)} | recorder.libraries
    opened = {places.of(path) for path in recorder.opened}
    return {
        "opened": sorted(path for path in opened if path is not None),
        "compiled": sorted(path for path in compiled if places.is_compiled_part(path)),
        "spawned": recorder.spawned,
        "jit": any(name in sys.modules for name in COMPILERS),
    }
