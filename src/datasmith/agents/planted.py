"""Did somebody's build scripts do more than build: change what was installed, or plant what runs unasked."""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container
from datasmith.errors import ConfigError, ContainerError
from datasmith.tasks.folder import is_test_path
from datasmith.tasks.policy import PYTEST_FILES, shadows
from datasmith.workloads.config import AsvConfig, find_configs

TIMEOUT_S = 300.0
SHOWN = 5
LONGEST_START = 10_000
"""Characters of a start-up file: of a longer one the listing may lack the end."""
_UNASKED = re.compile(r"(?:.*/)?(?:site|user)customize(?:[./].*)?")
_CACHED = re.compile(r"(.*/)?__pycache__/([^/.]+)\.[^/]*\.pyc")
_MODULE = (".py", ".so", ".pyd", ".pyc")
_FINDER = re.compile(r"import (\w*editable\w*)(?:; *\1\.install\([^()]*\))?", re.IGNORECASE)
_COMPILED_FROM = (".pyx", ".c", ".cc", ".cpp", ".cxx")
"""Sources of machine code."""
_OF_BUILDS = ("build", "dist")
"""Directories of the tree that builds fill, and that nobody imports from."""
_PLUGIN = re.compile(r"=\s*([\w.]+)")


@dataclass(frozen=True, slots=True)
class Holdings:
    """What an environment and a tree hold: digests by path, texts of .pth files, paths of all files of the tree.

    `options` are those of the tree's files of many uses that speak of pytest, `programs` the names of the system's own.
    `plugins` are texts of lists of entry points, in both, that bring plug-ins of pytest; `declared` is what the tree
    says of its own.
    """

    files: Mapping[str, str]
    start: Mapping[str, str]
    tree: Sequence[str]
    options: Sequence[str] = ()
    programs: Sequence[str] = ()
    plugins: Mapping[str, str] = field(default_factory=dict)
    declared: str = ""


@dataclass(frozen=True, slots=True)
class Own:
    """What a build may bring: the top names of the package's modules. `suites` are the directories of benchmarks."""

    modules: frozenset[str]
    suites: tuple[str, ...]


def holdings(container: Container) -> Holdings:
    """Look; the interpreter of the system does it, which no build can change.

    Raises:
        ContainerError: it does not answer as it should.
    """
    script = files("datasmith.agents").joinpath("coding", "inside", "listing.py").read_text(encoding="utf-8")
    words = ["/usr/bin/python3", "-I", "-c", script, ENV_PREFIX, WORKDIR]
    # Compressed, so that what an engine keeps of a stream holds the names of all files.
    packed = f"import subprocess, sys, zlib; o = subprocess.run({words!r}, stdout=-1, check=True).stdout"
    ended = "; sys.stdout.buffer.write(zlib.compress(o, 9))"
    done = container.exec(["/usr/bin/python3", "-I", "-c", packed + ended], timeout=TIMEOUT_S)
    if not done.ok:
        raise ContainerError(f"what a build left cannot be listed: {done.error_text.strip()[-300:]}")
    return _read(done.stdout)


def _read(data: bytes) -> Holdings:
    try:
        found = json.loads(zlib.decompress(data))
        tree, options, programs = (tuple(found[name]) for name in ("tree", "options", "programs"))
        texts, declared = dict(found["plugins"]), str(found["declared"])
        return Holdings(dict(found["files"]), dict(found["start"]), tree, options, programs, texts, declared)
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise ContainerError(f"what a build left cannot be listed: {error}") from error


def own_of(import_names: Iterable[str], untouched: Container, tree: Iterable[str]) -> Own:
    """What the package is called, and where the configurations of an unbuilt tree, of these paths, have benchmarks.

    A configuration that cannot be read names none: nothing can be run of it.
    """
    suites = {suite for path in find_configs(tree) if (suite := _suite(untouched, path))}
    return Own(frozenset(name.partition(".")[0] for name in import_names), tuple(sorted(suites)))


def _suite(untouched: Container, path: str) -> str:
    try:
        text = untouched.read_file(f"{WORKDIR}/{path}").decode("utf-8", "replace")
        return AsvConfig.parse(text, path).benchmark_dir
    except (ConfigError, FileNotFoundError):
        return ""


def planted(before: Holdings, after: Holdings, own: Own) -> tuple[str, ...]:
    """What a build did beside installing the package; `before` is the same environment, and the tree unbuilt.

    Files of the locked packages must be as they were, and byte code that was there may only go. New files are what a
    build is for, but nothing new may run when an interpreter or pytest starts, other than what makes an editable
    installation, and plug-ins that the tree itself declares; no byte code may stand for a locked source, or for none;
    no module may be found in the place of a locked one, and no program in the place of the system's. In the tree there
    may lie no new test or benchmark, nothing that configures them, and no new module, other than the package's own,
    where imports look first.
    """
    found = [f"changed {name}" for name in sorted(before.files) if _is_changed(name, before, after)]
    new = sorted(after.files.keys() - before.files.keys())
    found += [f"planted {name}" for name in _unasked(new, before, after)]
    found += [f"planted {name}" for name in sorted(after.start) if name in new and not _is_editable(after.start[name])]
    strange = sorted(set(after.tree) - set(before.tree))
    brought = after.plugins.keys() & {*new, *strange}
    found += [
        f"planted {name}" for name in sorted(brought) if not _is_declared(after.plugins[name], before.declared, own)
    ]
    here = _Tree.of(before.tree, _import_roots(after), own)
    found += [
        f"planted {name} in the tree" for name in strange if _decides(name, name in after.options) or here.refuses(name)
    ]
    return tuple(dict.fromkeys(found))[:SHOWN]


def _is_changed(name: str, before: Holdings, after: Holdings) -> bool:
    gone = name not in after.files
    return after.files.get(name) != before.files[name] and not (gone and _CACHED.fullmatch(name))


def _unasked(new: Sequence[str], before: Holdings, after: Holdings) -> Iterator[str]:
    """New files of the environment that run in the place of others, or of nothing."""
    locked = _modules(before.files)
    programs = {f"bin/{name}" for name in before.programs}
    for name in new:
        stands_in = name.endswith(".pyc") and _is_strange_code(name, before, after)
        if stands_in or name in programs or _UNASKED.fullmatch(name) or _hides(name, locked):
            yield name


def _is_strange_code(name: str, before: Holdings, after: Holdings) -> bool:
    """Whether byte code has no source, or a locked one, of which an interpreter would not look at any more."""
    source = _source_of(name)
    return source not in after.files or source in before.files


def _source_of(name: str) -> str:
    cached = _CACHED.fullmatch(name)
    return f"{cached[1] or ''}{cached[2]}.py" if cached else f"{name.removesuffix('.pyc')}.py"


@dataclass(frozen=True, slots=True)
class _Modules:
    """Paths without ends: of all files that are modules, and of all directories that hold some."""

    files: frozenset[str]
    packages: frozenset[str]


def _modules(files: Iterable[str]) -> _Modules:
    paths = [name for name in files if name.endswith(_MODULE) and "/__pycache__/" not in name]
    return _Modules(frozenset(map(_stem, paths)), frozenset(name.rpartition("/")[0] for name in paths))


def _stem(name: str) -> str:
    folder, slash, file = name.rpartition("/")
    return f"{folder}{slash}{file.partition('.')[0]}"


def _hides(name: str, locked: _Modules) -> bool:
    """Whether an interpreter may find this module where it looks for a locked one."""
    if not name.endswith(_MODULE) or "/__pycache__/" in name:
        return False
    stem = _stem(name)
    package = stem.removesuffix("/__init__")
    return stem in locked.files or stem in locked.packages or (package != stem and package in locked.files)


def _decides(name: str, speaks_of_pytest: bool) -> bool:
    """Whether a new file of the tree is, or configures, tests or benchmarks, or is found before what they import."""
    file = name.rpartition("/")[2]
    if name.endswith(".pyc") and is_test_path(_source_of(name).rpartition("/")[2]):
        return True
    # pytest does not look below build/, where setuptools copies packages with their tests to.
    is_test = name.endswith(".py") and is_test_path(name) and not name.startswith("build/")
    configures = file in PYTEST_FILES or bool(find_configs((name,))) or speaks_of_pytest
    unasked = bool(_UNASKED.fullmatch(name))
    return is_test or configures or unasked or (name.endswith(_MODULE) and shadows(name))


@dataclass(frozen=True, slots=True)
class _Tree:
    """The tree before a build.

    `roots` are the directories in which imports look, "" or with a slash at the end; `folders` those right in them.
    """

    before: frozenset[str]
    roots: tuple[str, ...]
    folders: frozenset[str]
    own: Own

    @classmethod
    def of(cls, before: Sequence[str], roots: tuple[str, ...], own: Own) -> "_Tree":
        below = ((root, path[len(root) :].partition("/")) for path in before for root in roots if path.startswith(root))
        return cls(frozenset(before), roots, frozenset(root + top for root, (top, slash, _) in below if slash), own)

    def refuses(self, name: str) -> bool:
        """Whether a new file is a module that takes part in benchmarks or tests, or that others are to import.

        Neither pytest nor an import looks below build/, where setuptools copies packages with their tests to.
        """
        if not name.endswith(_MODULE) or "__pycache__/" in name or name.startswith("build/"):
            return False
        in_suite = any(name.startswith(f"{suite}/") for suite in self.own.suites)
        return in_suite or self._tests_anew(name) or any(self._stands_first(name, root) for root in self.roots)

    def _tests_anew(self, name: str) -> bool:
        """Whether machine code lies among tests that no source of the tree can have become."""
        return is_test_path(name) and not any(_stem(name) + end in self.before for end in _COMPILED_FROM)

    def _stands_first(self, name: str, root: str) -> bool:
        """Whether a module, or one right in a new directory, has a name of its own in one of the roots."""
        top, _, rest = name.removeprefix(root).partition("/")
        if not name.startswith(root) or "/" in rest or (rest and not top.isidentifier()):
            return False
        known = bool(rest) and root + top in self.folders
        return not known and top.partition(".")[0] not in self.own.modules and top not in _OF_BUILDS


def _import_roots(after: Holdings) -> tuple[str, ...]:
    """The tree's root, which pytest puts before all, and what start-up files name of it."""
    lines = {line.strip().rstrip("/") for text in after.start.values() for line in text.splitlines()}
    return ("", *sorted(f"{line.removeprefix(f'{WORKDIR}/')}/" for line in lines if line.startswith(f"{WORKDIR}/")))


def _is_declared(text: str, declared: str, own: Own) -> bool:
    """Whether each module that a new list of entry points gives to pytest is the package's, and declared by its tree.

    A list may have a group twice, and all that it holds counts.
    """
    modules = _PLUGIN.findall(text.partition("[pytest11]")[2].partition("\n[")[0])
    ours = all(module.partition(".")[0] in own.modules and module in declared for module in modules)
    return bool(modules) and text.count("pytest11") == 1 and ours


def _is_editable(text: str) -> bool:
    """Lines that name the tree, or call the finder that an editable installation brings; all of them were read."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ours = all(line == WORKDIR or line.startswith(f"{WORKDIR}/") or _FINDER.fullmatch(line) for line in lines)
    return ours and len(text) < LONGEST_START
