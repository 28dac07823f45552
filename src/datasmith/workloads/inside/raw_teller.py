"""Tell what the code of a timeraw benchmark left; this text begins the program that runs it, and imports nothing."""

from __future__ import annotations


class Teller:
    """Describes what names stand for, with nothing but Python's own functions; made before any other code runs."""

    def __init__(self, modules: list[str], loaded: dict[str, object], module: type) -> None:
        self._modules = sorted(set(modules))
        self._loaded = loaded
        self._module = module

    def tell(self, left: dict[str, object]) -> list[object]:
        """What code left under its names, and what the modules offer that it imports."""
        found: list[object] = [[name, self._told(left[name])] for name in sorted(left) if name[:1] != "_"]
        for name in self._modules:
            module = self._loaded.get(name)
            names = [] if module is None else self._offered(module, name.partition(".")[0])
            parts = [[each, self._asked(module, each)] for each in names]
            found.append(["module " + name, ["object", "module", parts, False]])
        return found

    def _kind(self, value: object) -> str:
        if type(value) is self._module:
            return "module"
        return "callable" if callable(value) else type(value).__name__

    def _told(self, value: object) -> list[object]:
        if value is None:
            return ["none"]
        if isinstance(value, bool):
            return ["bool", value]
        if type(value) in (int, float):
            return [type(value).__name__, repr(value)]
        if type(value) in (str, bytes):
            return ["text", type(value).__name__, repr(value)[:1000]]
        size = ""
        if isinstance(value, (list, tuple, dict, set, frozenset)):
            size = " of " + str(len(value))
        return ["text", "", self._kind(value) + size]

    def _asked(self, module: object, name: str) -> list[object]:
        try:
            return ["text", "", self._kind(getattr(module, name))]
        except AttributeError:
            return ["text", "", "missing"]
        except Exception as error:
            return ["skip", "it raises " + type(error).__name__]

    def _offered(self, module: object, package: str) -> list[str]:
        """The names that a module lists, or else those of functions and classes of its own package."""
        listed = getattr(module, "__all__", None)
        if listed is not None:
            return sorted(map(str, listed))
        return sorted(name for name in dir(module) if name[:1] != "_" and self._is_own(module, name, package))

    def _is_own(self, module: object, name: str, package: str) -> bool:
        try:
            home = getattr(getattr(module, name), "__module__", None)
        except Exception:
            return False
        return isinstance(home, str) and home.partition(".")[0] == package
