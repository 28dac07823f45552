"""Did somebody's build scripts do more than build: change what was installed, or plant what runs unasked."""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container
from datasmith.errors import ContainerError
from datasmith.tasks.folder import is_test_path
from datasmith.tasks.policy import PYTEST_FILES, shadows
from datasmith.workloads.config import find_configs

TIMEOUT_S = 300.0
SHOWN = 5
_UNASKED = re.compile(r"(?:.*/)?(?:site|user)customize(?:[./].*)?")
_CACHED = re.compile(r"(.*/)?__pycache__/([^/.]+)\.[^/]*\.pyc")
_MODULE = (".py", ".so", ".pyd", ".pyc")
_FINDER = re.compile(r"import (\w*editable\w*)(?:; *\1\.install\([^()]*\))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What an environment and a tree hold: digests by path, texts of .pth files, paths of all files of the tree.

    `options` are those of the tree's files of many uses that speak of pytest, `programs` the names of the system's own.
    """

    files: Mapping[str, str]
    start: Mapping[str, str]
    tree: Sequence[str]
    options: Sequence[str] = ()
    programs: Sequence[str] = ()


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
        lists = (tuple(found[name]) for name in ("tree", "options", "programs"))
        return Holdings(dict(found["files"]), dict(found["start"]), *lists)
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise ContainerError(f"what a build left cannot be listed: {error}") from error


def planted(before: Holdings, after: Holdings) -> tuple[str, ...]:
    """What a build did beside installing the package; `before` is the same environment, and the tree unbuilt.

    Files of the locked packages must be as they were, and byte code that was there may only go. New files are what a
    build is for, but nothing new may run when an interpreter starts, other than what makes an editable installation;
    no byte code may stand for a locked source, or for none; no module may be found in the place of a locked one, and
    no program in the place of the system's; and no new test, or configuration of tests or benchmarks, may lie in the
    tree.
    """
    found = [f"changed {name}" for name in sorted(before.files) if _is_changed(name, before, after)]
    new = sorted(after.files.keys() - before.files.keys())
    found += [f"planted {name}" for name in _unasked(new, before, after)]
    found += [f"planted {name}" for name in sorted(after.start) if name in new and not _is_editable(after.start[name])]
    strange = sorted(set(after.tree) - set(before.tree))
    found += [f"planted {name} in the tree" for name in strange if _decides(name, name in after.options)]
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


def _is_editable(text: str) -> bool:
    """Lines that name the tree, or call the finder that an editable installation brings."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return all(line == WORKDIR or line.startswith(f"{WORKDIR}/") or _FINDER.fullmatch(line) for line in lines)
