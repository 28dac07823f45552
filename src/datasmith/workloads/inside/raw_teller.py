"""The program that runs the code of a timeraw benchmark; it imports nothing that asv's does not, and leaves nothing."""

from __future__ import annotations

import sys


class Teller:
    """Describes what names stand for, with nothing but Python's own functions; made before any other code runs."""

    def __init__(self, modules: list[str], loaded: dict[str, object], module: type) -> None:
        self._modules = sorted(set(modules))
        self._loaded = loaded
        self._module = module
        self._most, self._deepest = 200, 3

    def tell(self, left: dict[str, object]) -> list[object]:
        """What code left under its names, and what the modules offer that it imports."""
        found: list[object] = [[name, self._told(left[name], 0)] for name in sorted(left) if name[:1] != "_"]
        modules = [(name, self._loaded[name]) for name in self._modules if name in self._loaded]
        return found + [["module " + name, self._of_module(module, name)] for name, module in modules]

    def _told(self, value: object, depth: int) -> list[object]:
        if value is None:
            return ["none"]
        if type(value) is bool:
            return ["bool", value]
        if type(value) is int:
            return ["int", str(value)] if abs(value) < 1 << 4096 else ["text", "int", hex(value)[:1000]]
        if type(value) is float:
            return ["float", repr(value)]
        if type(value) in (str, bytes):
            return ["text", type(value).__name__, repr(value)[:1000]]
        if depth < self._deepest and type(value) in (list, tuple, dict, set, frozenset):
            return self._container(value, depth + 1)
        return ["text", "", self._kind(value)]

    def _container(self, value: object, depth: int) -> list[object]:
        if isinstance(value, (list, tuple)):
            at = None if len(value) <= self._most else list(range(self._most))
            return ["seq", "", len(value), at, [self._told(item, depth) for item in value[: self._most]], None]
        if isinstance(value, dict):
            pairs = [[self._told(key, depth), self._told(item, depth)] for key, item in value.items()]
            return ["map", "", len(pairs), sorted(pairs, key=repr)[: self._most]]
        assert isinstance(value, (set, frozenset))
        return ["set", len(value), [self._told(item, depth) for item in value] if len(value) <= self._most else []]

    def _kind(self, value: object) -> str:
        if type(value) is self._module:
            return "module"
        return "callable" if callable(value) else type(value).__name__

    def _of_module(self, module: object, name: str) -> list[object]:
        """What it offers, each name asked for; what it has besides; whether it makes more when somebody asks."""
        package = name.partition(".")[0]
        names = [each for each in dir(module) if each[:1] != "_"]
        offered = getattr(module, "__all__", None)
        if offered is None:
            own = [each for each in names if self._home(module, each).partition(".")[0] == package]
            offered = [each for each in own if self._asked(module, each)[-1] != "module"] or own
        parts = [[each, self._asked(module, each)] for each in sorted(map(str, offered))]
        return ["module", parts, names, "__getattr__" in vars(module)]

    def _asked(self, module: object, name: str) -> list[object]:
        try:
            return ["text", "", self._kind(getattr(module, name))]
        except AttributeError:
            return ["text", "", "missing"]
        except BaseException as error:
            return ["skip", "it raises " + type(error).__name__]

    def _home(self, module: object, name: str) -> str:
        """The module that something comes from; of a module its own name."""
        try:
            value = getattr(module, name)
            home = getattr(value, "__name__" if type(value) is self._module else "__module__", None)
        except BaseException:
            return ""
        return home if isinstance(home, str) else ""


def run(asked: dict[str, object]) -> None:
    """Run the code that is asked for, so many times, and say how long that took; and what it left, where that is asked.

    Said is the key, and the seconds of the setup's code, of the statement, of first looks and of later ones.
    """
    teller = Teller(asked["modules"], sys.modules, type(sys))  # type: ignore[arg-type]
    for name in ("Teller", "run", "annotations"):
        globals().pop(name, None)
    import gc
    import timeit

    gc.disable()
    clock, write, flush = timeit.default_timer, sys.stdout.write, sys.stdout.flush
    usual, timeit.template = timeit.template, str(asked["template"])  # type: ignore[attr-defined]
    timer = timeit.Timer(str(asked["statement"]), str(asked["setup"]), clock)
    timeit.template = usual  # type: ignore[attr-defined]
    began = clock()
    timed: tuple[float, float, dict[str, object]] = timer.timeit(int(str(asked["number"])))  # type: ignore[assignment]
    end, start, left = timed
    gc.disable()
    seconds, told = [start - began, end - start], []
    if asked["tells"]:
        teller.tell(left)
        first = clock()
        told = teller.tell(left)
        seconds += [first - end, clock() - first]
    write("\n" + str(asked["key"]) + ascii((seconds, told)) + "\n")
    flush()
