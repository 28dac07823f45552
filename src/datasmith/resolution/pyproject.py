"""Read pyproject.toml: PEP 518, 621 and 735, Poetry's tables, and where a build backend says the modules are."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

from packaging.utils import canonicalize_name

from datasmith.resolution.poetry_versions import platform_marker, poetry_specifier, python_marker
from datasmith.resolution.requirements import MAX_CHARACTERS

Toml = Mapping[str, object]
_EMPTY: Toml = {}
_PLACES = ("path", "file", "git", "url")
"""Where Poetry's tables say that something is."""
_HATCH_GROUPS = {"default": "dev", "hatch-test": "test"}
"""Environments of Hatch's own: the one that is worked in, and the one that `hatch test` makes."""
MOST_LINES = 50_000
"""Lines and includes of all dependency groups together, each group written out."""
MOST_PARTS = 1000
"""Of a dotted key: the time that it takes to read one grows with their square."""


@dataclass(frozen=True, slots=True)
class Pyproject:
    """What a pyproject.toml says, requirement lists as written; `present` is False where there is no usable file.

    `files` maps what setuptools reads from files ("dependencies", "optional-dependencies.test") to their names;
    `searches` says that it looks for packages, beside the `modules` that are listed.
    """

    present: bool = False
    describes_project: bool = False
    name: str = ""
    version: str = ""
    requires_python: str = ""
    dependencies: tuple[str, ...] | None = None
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dynamic: tuple[str, ...] = ()
    build_requires: tuple[str, ...] | None = None
    build_backend: str = ""
    backend_path: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    searches: bool = False
    package_roots: tuple[str, ...] = ()
    package_patterns: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    pytest_options: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()


def _document(text: str) -> Toml:
    """Raises ValueError: it is no TOML, or beyond MAX_CHARACTERS or MOST_PARTS."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"more than {MAX_CHARACTERS} characters")
    if any(part.count(".") >= MOST_PARTS for line in text.splitlines() for part in line.split("=")):
        raise ValueError(f"a key of more than {MOST_PARTS} parts")
    return tomllib.loads(text)


def read_pyproject(text: str) -> Pyproject:
    """Read the text of a pyproject.toml; `problem` says why one cannot be used."""
    try:
        document = _document(text)
        groups = _groups(document)
    except (ValueError, RecursionError) as error:
        return Pyproject(problem=f"pyproject.toml cannot be read: {str(error).splitlines()[0]}")
    project, tool, build = _at(document, "project"), _at(document, "tool"), _at(document, "build-system")
    poetry, setuptools = _at(tool, "poetry"), _at(tool, "setuptools")
    roots, patterns = _search(tool)
    flit = _at(tool, "flit", "metadata")
    return Pyproject(
        present=True,
        describes_project=bool(project or poetry or flit),
        name=_text(project, "name") or _text(poetry, "name") or _text(flit, "dist-name") or _text(flit, "module"),
        version=_text(project, "version") or _text(poetry, "version"),
        requires_python=_text(project, "requires-python")
        or _text(flit, "requires-python")
        or poetry_specifier(_at(poetry, "dependencies").get("python", "")),
        dependencies=_dependencies(project, poetry, flit),
        extras=_extras(project, poetry, flit),
        groups=_together(groups, _poetry_groups(poetry), _tool_groups(tool)),
        files=_hatch_files(tool) | _files(setuptools),
        dynamic=_strings(project.get("dynamic")),
        build_requires=_strings(build.get("requires")) if "requires" in build else None,
        build_backend=_text(build, "build-backend"),
        backend_path=_strings(build.get("backend-path")),
        modules=_modules(tool),
        searches="find" in _at(setuptools, "packages"),
        package_roots=roots,
        package_patterns=patterns,
        tools=tuple(sorted(tool)),
        pytest_options=_pytest_options(tool),
        notes=_unknown_includes(document),
    )


def _dependencies(project: Toml, poetry: Toml, flit: Toml) -> tuple[str, ...] | None:
    """None where the file does not say: dependencies are dynamic, or stand elsewhere."""
    if "dependencies" in project:
        return _strings(project["dependencies"])
    if "requires" in flit:
        return _strings(flit["requires"])
    if "dependencies" in poetry:
        table = _at(poetry, "dependencies")
        return tuple(line for name in table if name != "python" for line in _poetry_lines(name, table[name], False))
    return None


def _extras(project: Toml, poetry: Toml, flit: Toml) -> dict[str, tuple[str, ...]]:
    extras = {name: _strings(items) for name, items in _at(project, "optional-dependencies").items()}
    extras |= {name: _strings(items) for name, items in _at(flit, "requires-extra").items()}
    optional = _at(poetry, "dependencies")
    for extra, names in _at(poetry, "extras").items():
        lines = [line for name in _strings(names) for line in _poetry_lines(name, optional.get(name, "*"), True)]
        extras.setdefault(extra, tuple(lines))
    return extras


def _poetry_groups(poetry: Toml) -> dict[str, tuple[str, ...]]:
    tables = {name: _at(_at(poetry, "group"), name, "dependencies") for name in _at(poetry, "group")}
    if "dev-dependencies" in poetry:
        tables["dev"] = _at(poetry, "dev-dependencies")
    return {
        group: tuple(line for name in table for line in _poetry_lines(name, table[name], True))
        for group, table in tables.items()
    }


def _tool_groups(tool: Toml) -> dict[str, tuple[str, ...]]:
    """What uv, PDM and Hatch list for development."""
    found = {group: _strings(lines) for group, lines in _at(tool, "pdm", "dev-dependencies").items()}
    if "dev-dependencies" in (uv := _at(tool, "uv")):
        found = _together(found, {"dev": _strings(uv["dev-dependencies"])})
    environments = _at(tool, "hatch", "envs")
    for name in environments:
        table = _at(environments, name)
        lines = (*_strings(table.get("dependencies")), *_strings(table.get("extra-dependencies")))
        found = _together(found, {_HATCH_GROUPS.get(name, name): lines} if lines else {})
    return found


def _together(*groups: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Groups of the same name are one, as uv takes them."""
    names = dict.fromkeys(name for some in groups for name in some)
    return {name: tuple(line for some in groups for line in some.get(name, ())) for name in names}


def _poetry_lines(name: str, value: object, with_optional: bool) -> Iterator[str]:
    """PEP 508 lines of one entry: a version, a table, or a list of tables."""
    for item in value if isinstance(value, list) else [value]:
        table: Toml = item if isinstance(item, Mapping) else {"version": item}
        if table.get("optional") and not with_optional:
            continue
        extras = f"[{','.join(_strings(table.get('extras')))}]" if table.get("extras") else ""
        if place := next((key for key in _PLACES if key in table), None):
            yield f"{name}{extras} @ {table[place]}"
        else:
            markers = " and ".join(f"({marker})" for marker in _poetry_markers(table))
            specifier = poetry_specifier(table.get("version", ""))
            yield f"{name}{extras}{specifier}" + (f"; {markers}" if markers else "")


def _poetry_markers(table: Toml) -> Iterator[str]:
    if _text(table, "markers"):
        yield _text(table, "markers")
    if python := poetry_specifier(table.get("python", "")):
        yield from (marker for clause in python.split(",") if (marker := python_marker(clause)))
    if platform := platform_marker(table.get("platform", "")):
        yield platform


def _groups(document: Toml) -> dict[str, tuple[str, ...]]:
    """PEP 735 groups with their includes written out; an include of an unknown or open group gives nothing.

    Names compare as PEP 503 says.

    Raises:
        ValueError: they are longer than MOST_LINES.
    """
    table = _at(document, "dependency-groups")
    by_name: Toml = {canonicalize_name(name): items for name, items in table.items()}
    found: dict[str, tuple[str, ...]] = {}
    left = MOST_LINES
    for name in table:
        items = list(islice(_group_items(by_name, name), left + 1))
        left -= len(items)
        if left < 0:
            raise ValueError(f"its dependency groups have more than {MOST_LINES} lines")
        found[name] = tuple(item for item in items if item is not None)
    return found


def _unknown_includes(document: Toml) -> tuple[str, ...]:
    table = _at(document, "dependency-groups")
    tables = (
        item for items in table.values() if isinstance(items, list) for item in items if isinstance(item, Mapping)
    )
    included = dict.fromkeys(_text(item, "include-group") for item in tables)
    known = {canonicalize_name(name) for name in table}
    lost = [repr(name[:100]) for name in included if canonicalize_name(name) not in known]
    return (f"dependency groups include what is not there: {', '.join(lost[:5])}",) if lost else ()


def _group_items(by_name: Toml, name: str) -> Iterator[str | None]:
    """The lines of a group, and None for each include, whose lines follow; no group comes in twice."""
    seen = set[str]()
    waiting: list[object] = [{"include-group": name}]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            yield None
            key = canonicalize_name(_text(item, "include-group"))
            items = by_name.get(key)
            waiting += reversed(items) if isinstance(items, list) and key not in seen else []
            seen.add(key)


def _files(setuptools: Toml) -> dict[str, tuple[str, ...]]:
    """Names of the files that setuptools reads dynamic fields from."""
    dynamic = _at(setuptools, "dynamic")
    named = {"dependencies": _file_names(_at(dynamic, "dependencies"))}
    for extra in _at(dynamic, "optional-dependencies"):
        named[f"optional-dependencies.{extra}"] = _file_names(_at(dynamic, "optional-dependencies", extra))
    return {key: names for key, names in named.items() if names}


def _hatch_files(tool: Toml) -> dict[str, tuple[str, ...]]:
    """Names of the files that the plugin hatch-requirements-txt reads."""
    hook = _at(tool, "hatch", "metadata", "hooks", "requirements_txt")
    extras = _at(hook, "optional-dependencies")
    named = {"dependencies": _strings(hook.get("files")) or ((_text(hook, "filename"),) if "filename" in hook else ())}
    named |= {f"optional-dependencies.{extra}": _strings(extras[extra]) for extra in extras}
    return {key: names for key, names in named.items() if names}


def _file_names(table: Toml) -> tuple[str, ...]:
    value = table.get("file")
    return (value,) if isinstance(value, str) else _strings(value)


def _modules(tool: Toml) -> tuple[str, ...]:
    """Import paths ("src/pkg", "pkg", "google.pkg") that a backend's table names; empty where it names none."""
    setuptools, flit = _at(tool, "setuptools"), _at(tool, "flit")
    named = [_text(_at(flit, "module"), "name") or _text(_at(flit, "metadata"), "module")]
    named += [name.split(".")[0] for name in _strings(setuptools.get("packages"))]
    named += _strings(setuptools.get("py-modules"))
    wheel = _at(tool, "hatch", "build", "targets", "wheel")
    named += [*_strings(wheel.get("packages")), *_strings(wheel.get("only-include"))]
    packages = _at(tool, "poetry").get("packages")
    included = packages if isinstance(packages, list) else []
    named += [_included(_text(item, "include")) for item in included if isinstance(item, Mapping)]
    built = _at(tool, "scikit-build", "wheel").get("packages")
    named += map(_included, built) if isinstance(built, Mapping) else _strings(built)
    named.append(_text(_at(tool, "maturin"), "module-name").split(".")[0])
    return tuple(dict.fromkeys(name for name in named if name))


def _included(path: str) -> str:
    """What a path below the place of packages is imported as: of "google/foo/**/*.py" google.foo."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ".".join(takewhile(lambda part: not set("*?[") & {*part}, parts)).removesuffix(".py")


def _search(tool: Toml) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where setuptools and PDM look for packages, and the name patterns that setuptools includes."""
    find = _at(tool, "setuptools", "packages", "find")
    mapped = _at(tool, "setuptools", "package-dir").get("") or _at(tool, "pdm", "build").get("package-dir")
    roots = _strings(find.get("where")) or ((mapped,) if isinstance(mapped, str) and mapped else ())
    return roots, _strings(find.get("include"))


def _pytest_options(tool: Toml) -> str:
    options = _at(tool, "pytest", "ini_options")
    words = [*_strings(options.get("addopts")), *_strings(options.get("required_plugins"))]
    return " ".join([_text(options, "addopts"), _text(options, "required_plugins"), *words]).strip()


def _at(table: Toml, *path: str) -> Toml:
    """The table at a path; anything else there is an empty one."""
    for key in path:
        value = table.get(key)
        table = value if isinstance(value, Mapping) else _EMPTY
    return table


def _text(table: Toml, key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""


def _strings(value: object) -> tuple[str, ...]:
    return (
        tuple(item for item in value if isinstance(item, str))
        if isinstance(value, Sequence) and not isinstance(value, str)
        else ()
    )
