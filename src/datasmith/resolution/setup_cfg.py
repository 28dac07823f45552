"""Read the declarative part of a setup.cfg, setuptools' [metadata] and [options]."""

import configparser
import re
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field

from packaging.requirements import InvalidRequirement

from datasmith.resolution.requirements import MAX_CHARACTERS, parsed

_REFERENCE = re.compile(r"%(?:\(([^()]+)\)s|(%))")


@dataclass(frozen=True, slots=True)
class SetupCfg:
    """What a setup.cfg says, requirement lists as written; `files` maps fields read with "file:" to the names.

    `dependencies` is None where the file has no install_requires; `searches` says that packages are looked for, beside
    the `modules` that are listed.
    """

    name: str = ""
    version: str = ""
    requires_python: str = ""
    dependencies: tuple[str, ...] | None = None
    setup_requires: tuple[str, ...] = ()
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    searches: bool = False
    package_roots: tuple[str, ...] = ()
    pytest_options: str = ""
    problem: str = ""


class _References(configparser.Interpolation):
    """Puts values of a section in the place of `%(name)s`, as setuptools does; what cannot be resolved stays.

    All that is put together of a file has MAX_CHARACTERS at most.
    """

    def __init__(self) -> None:
        self._left = MAX_CHARACTERS

    def before_get(
        self,
        parser: MutableMapping[str, Mapping[str, str]],  # noqa: ARG002
        section: str,  # noqa: ARG002
        option: str,  # noqa: ARG002
        value: str,
        defaults: Mapping[str, str],
    ) -> str:
        """See configparser."""
        try:
            return self._resolved(value, defaults, configparser.MAX_INTERPOLATION_DEPTH)
        except LookupError:
            return value

    def _resolved(self, value: str, section: Mapping[str, str], depth: int) -> str:
        if "%" not in value:
            return value

        def put(found: re.Match[str]) -> str:
            name, percent = found.groups()
            text = percent or section[name.lower()]
            self._left -= len(text)
            if not depth or self._left < 0:
                raise LookupError(name)
            return text if percent else self._resolved(text, section, depth - 1)

        return _REFERENCE.sub(put, value)


def read_setup_cfg(text: str) -> SetupCfg:
    """Read the text of a setup.cfg; `problem` says why one cannot be used."""
    parser = configparser.ConfigParser(interpolation=_References(), strict=False, delimiters=("=", ":"))
    try:
        parser.read_string(text)
    except configparser.Error as error:
        return SetupCfg(problem=f"setup.cfg cannot be read: {str(error).splitlines()[0]}")
    options, extras = _keywords(parser, "options"), _section(parser, "options.extras_require")
    asked = [*extras.items(), ("test", options.get("tests_require", ""))]
    metadata = _keywords(parser, "metadata")
    install = options.get("install_requires")
    packages = options.get("packages", "")
    searches = packages.startswith(("find:", "find_namespace:"))
    return SetupCfg(
        name=metadata.get("name", ""),
        version=metadata.get("version", ""),
        requires_python=options.get("python_requires", metadata.get("requires_python", "")),
        dependencies=None if install is None or install.startswith("file:") else _requirements(install),
        setup_requires=_requirements(options.get("setup_requires", "")),
        extras=_together((name, _requirements(value)) for name, value in asked if not value.startswith("file:")),
        files=_files(
            [("dependencies", install or ""), *((f"optional-dependencies.{name}", value) for name, value in asked)]
        ),
        modules=(*(() if searches else _words(packages)), *_words(options.get("py_modules", ""))),
        searches=searches,
        package_roots=_roots(parser, options),
        pytest_options=_section(parser, "tool:pytest").get("addopts", ""),
    )


def _files(fields: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    return _together(
        (name, _words(value.removeprefix("file:").replace(",", " ")))
        for name, value in fields
        if value.startswith("file:")
    )


def _together(items: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """The items of each name, in their order; none of a name that has none."""
    found: dict[str, tuple[str, ...]] = {}
    for name, values in items:
        if values:
            found[name] = (*found.get(name, ()), *values)
    return found


def _roots(parser: configparser.ConfigParser, options: Mapping[str, str]) -> tuple[str, ...]:
    where = _section(parser, "options.packages.find").get("where", "")
    mapped = [line.split("=", 1)[1].strip() for line in _lines(options.get("package_dir", "")) if line.startswith("=")]
    return tuple(root for root in (*_words(where), *mapped) if root)


def _section(parser: configparser.ConfigParser, name: str) -> dict[str, str]:
    if not parser.has_section(name):
        return {}
    return {key: (value or "").strip() for key, value in parser.items(name)}


def _keywords(parser: configparser.ConfigParser, name: str) -> dict[str, str]:
    """A section whose keys are keywords of setup(): setuptools took dashes in them for underscores."""
    return {key.replace("-", "_"): value for key, value in _section(parser, name).items()}


def _lines(value: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in value.splitlines() if line.strip())


def _requirements(value: str) -> tuple[str, ...]:
    """One a line; a single line may hold several between semicolons, as in setuptools, but a marker is none."""
    lines = _lines(value)
    if len(lines) != 1:
        return lines
    found = list[str]()
    for part in lines[0].split(";"):
        if found and _is_marker(part):
            found[-1] += f";{part}"
        else:
            found.append(part)
    return tuple(part.strip() for part in found if part.strip())


def _is_marker(text: str) -> bool:
    try:
        return parsed(f"marked; {text}").marker is not None
    except InvalidRequirement:
        return False


def _words(value: str) -> tuple[str, ...]:
    return tuple(value.replace(",", " ").split())
