"""Write Poetry's version constraints as PEP 440 specifiers."""

import re
from collections.abc import Sequence

from packaging.specifiers import Specifier, SpecifierSet
from packaging.version import Version

_OPERATORS = {"=": "==", "<>": "!="}
_PATCHLESS = {">": ">=", "<=": "<", "~=": "=="}
_NEVER = "python_version < '0'"
_GAP = re.compile(r"([<>=!~^])\s+(?=[\w*])")
_PLATFORM = re.compile(r"\s*(?:==?|(!=))?\s*(\w+)\s*", re.ASCII)
_CLAUSE = re.compile(r"([<>=!~^]*)(.+)")


def poetry_specifier(constraint: object) -> str:
    """Poetry's "^1.2", "~1.2", "1.2", ">=1 <2" and "*" as a PEP 440 specifier; empty where any version will do.

    A union goes from the lowest lower bound to the highest upper one; what cannot be read bounds nothing.
    """
    if not isinstance(constraint, str):
        return ""
    try:
        choices = [_conjunction(part) for part in re.split(r"\|\|?", constraint)]
        return choices[0] if len(choices) == 1 else _hull([SpecifierSet(choice) for choice in choices])
    except ValueError:
        return ""


def python_marker(clause: str) -> str:
    """One bound of an interpreter as a marker; empty where it bounds nothing, or names no version.

    Environments have the newest patch of a Python: ">=3.8.1" holds on 3.8, "<3.8.5" does not, "!=3.9.7" always does,
    and "==3.8.1" nowhere.
    """
    operator = clause[: len(clause) - len(clause.lstrip("<>=!~"))]
    version = clause[len(operator) :]
    try:
        release = Version(version.removesuffix(".*")).release
    except ValueError:
        return ""
    if len(release) > 2:
        if operator in ("!=", "==", "==="):
            return "" if operator == "!=" else _NEVER
        operator = _PATCHLESS.get(operator, operator)
        version = f"{release[0]}.{release[1]}"
    return f"python_version {operator} '{version}'"


def platform_marker(constraint: object) -> str:
    """Poetry's "win32", "!=win32" and "linux || darwin" as a marker; empty where that cannot be read."""
    choices = re.split(r"\|\|?", constraint) if isinstance(constraint, str) else ()
    found = [_PLATFORM.fullmatch(choice) for choice in choices]
    return " or ".join(f"sys_platform {match[1] or '=='} '{match[2]}'" for match in found if match and all(found))


def _conjunction(text: str) -> str:
    clauses = (_clause(clause) for clause in re.split(r"[,\s]+", _GAP.sub(r"\1", text)))
    found = ",".join(filter(None, clauses))
    SpecifierSet(found)
    return found


def _clause(clause: str) -> str:
    match = _CLAUSE.fullmatch(clause.partition("@")[0])
    if not match or match[2] == "*":
        return ""
    operator, text = match.groups()
    if operator not in ("^", "~"):
        return f"{_OPERATORS.get(operator, operator) or '=='}{text}"
    release = Version(text.removesuffix(".*")).release
    if operator == "~":
        keep = min(2, len(release))
    else:
        keep = next((index + 1 for index, part in enumerate(release) if part), len(release))
    return f">={text.removesuffix('.*')},<{_after(release[:keep])}"


def _after(release: tuple[int, ...]) -> str:
    return ".".join(map(str, (*release[:-1], release[-1] + 1)))


def _hull(choices: Sequence[SpecifierSet]) -> str:
    """The smallest range that holds all choices."""
    lowers = [max((bound for clause in choice if (bound := _lower(clause))), default=None) for choice in choices]
    uppers = [min((bound for clause in choice if (bound := _upper(clause))), default=None) for choice in choices]
    found = list[str]()
    if known := [bound for bound in lowers if bound]:
        version, beyond = min(known)
        found += [f"{'>' if beyond else '>='}{version}"] if len(known) == len(choices) else []
    if known := [bound for bound in uppers if bound]:
        version, included = max(known)
        found += [f"{'<=' if included else '<'}{version}"] if len(known) == len(choices) else []
    return ",".join(found)


def _lower(clause: Specifier) -> tuple[Version, bool] | None:
    """The version that a clause begins at, or (True) behind."""
    if clause.operator not in (">", ">=", "==", "~="):
        return None
    return Version(clause.version.removesuffix(".*")), clause.operator == ">"


def _upper(clause: Specifier) -> tuple[Version, bool] | None:
    """The version that a clause ends before, or (True) at."""
    if clause.operator not in ("<", "<=", "==", "~="):
        return None
    version = Version(clause.version.removesuffix(".*"))
    if clause.operator == "~=":
        return Version(_after(version.release[:-1])), False
    if clause.version.endswith(".*"):
        return Version(_after(version.release)), False
    return version, clause.operator != "<"
