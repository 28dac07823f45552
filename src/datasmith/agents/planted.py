"""Did somebody's build scripts do more than build: change what was installed, or plant what runs unasked."""

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container
from datasmith.errors import ContainerError

TIMEOUT_S = 300.0
SHOWN = 5
_UNASKED = re.compile(r"(?:.*/)?(?:site|user)customize(?:\.py|\.so|/__init__\.py)?")
_TEST_HOOKS = re.compile(r"(?:.*/)?(?:conftest\.py|pytest\.ini|tox\.ini|asv[^/]*\.jsonc?)|(?:.*/)?test_[^/]*\.py")
_FINDER = re.compile(r"import (\w*editable\w*)(?:; *\1\.install\([^()]*\))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What an environment and a tree hold: digests by path, texts of .pth files, paths of all files of the tree."""

    files: Mapping[str, str]
    start: Mapping[str, str]
    tree: Sequence[str]


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
        return Holdings(dict(found["files"]), dict(found["start"]), tuple(found["tree"]))
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise ContainerError(f"what a build left cannot be listed: {error}") from error


def planted(before: Holdings, after: Holdings) -> tuple[str, ...]:
    """What a build did beside installing the package; `before` is the same environment, and the tree unbuilt.

    Files of the locked packages must be as they were. New files are what a build is for, but nothing new may run
    when an interpreter starts, other than what makes an editable installation; and no new test, or configuration
    of tests or benchmarks, may lie in the tree.
    """
    found = [f"changed {name}" for name, digest in sorted(before.files.items()) if after.files.get(name) != digest]
    new = sorted(after.files.keys() - before.files.keys())
    found += [f"planted {name}" for name in new if _UNASKED.fullmatch(name)]
    found += [f"planted {name}" for name in sorted(after.start) if name in new and not _is_editable(after.start[name])]
    strange = sorted(set(after.tree) - set(before.tree))
    hooks = [name for name in strange if _TEST_HOOKS.fullmatch(name) or _UNASKED.fullmatch(name)]
    found += [f"planted {name} in the tree" for name in hooks]
    return tuple(found[:SHOWN])


def _is_editable(text: str) -> bool:
    """Lines that name the tree, or call the finder that an editable installation brings."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return all(line == WORKDIR or line.startswith(f"{WORKDIR}/") or _FINDER.fullmatch(line) for line in lines)
