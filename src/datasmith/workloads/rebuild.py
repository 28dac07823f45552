"""Build a patched package again, and see that its build did nothing else."""

import re
from collections.abc import Mapping
from importlib.resources import files

from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container, ExecResult
from datasmith.tasks.gitdiff import MalformedDiff, parse_diff

_COMPILED = re.compile(
    r"\.(c|cc|cpp|cxx|cu|h|hh|hpp|hxx|inc|pyx|pxd|pxi|pyx\.in|pxd\.in|pxi\.in|tp|f|for|f90|f95|rs|go|s|asm|cmake|build)$"
    r"|(^|/)(setup\.py|CMakeLists\.txt|Cargo\.(toml|lock)|Makefile|pyproject\.toml|meson\.options|meson_options\.txt)$",
    re.IGNORECASE,
)
_PRINTS_TIMEOUT_S = 600.0


def touches_compiled(patch: str) -> bool:
    """True where a git diff changes a file that a build turns into machine code, or a build description."""
    try:
        changes = parse_diff(patch)
    except MalformedDiff:
        return True
    return any(_COMPILED.search(path) for change in changes for path in change.paths)


def rebuild(container: Container, script: str, build_args: Mapping[str, str], *, timeout: float) -> str | None:
    """Build the package again as the image's pr tier did; the reason where that fails.

    The build runs code of the patch in an environment that it can write to. It may put the package there and nothing
    else: not another interpreter, start-up file or test runner, and not other tests.
    """
    before = _prints(container)
    env = {**build_args, "FC_WORKDIR": WORKDIR, "FC_ENV": ENV_PREFIX, "UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}
    result = container.exec(["/bin/bash", "-c", script], timeout=timeout, env=env)
    if not result.ok:
        return f"the patched tree does not build: {told(result, timeout)}"
    after = _prints(container)
    own = build_args.get("FC_IMPORT_NAMES", "").split()
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    foreign = sorted(name for name in changed if not _is_own(name, own))
    return f"its build changed what is not its own: {', '.join(foreign[:5])}" if foreign else None


def _prints(container: Container) -> dict[str, str]:
    text = files("datasmith.workloads").joinpath("prints.sh").read_text(encoding="utf-8")
    result = container.exec(["/bin/sh", "-c", text, "prints", ENV_PREFIX, WORKDIR], timeout=_PRINTS_TIMEOUT_S)
    pairs = (line.partition(" ") for line in result.text.splitlines())
    return {name: digest for digest, _, name in pairs} if result.ok else {"the environment": told(result, 0.0)}


def _is_own(entry: str, import_names: list[str]) -> bool:
    """True where an entry of the environment may be the package itself: its modules, or what its installation notes."""
    place, _, name = entry.rpartition("/")
    if not place.endswith("/site-packages"):
        return False
    top = name.split(".")[0]
    return top in import_names or name.startswith("__editable__") or name.endswith((".dist-info", ".egg-link"))


def told(result: ExecResult, timeout: float) -> str:
    """The end of what a command said, on one line; or that it took too long."""
    if result.timed_out:
        return f"not done after {timeout:g} s"
    said = " ".join((result.error_text.strip() or result.text.strip()).split())
    return "".join(char if char.isprintable() else " " for char in said)[-300:] or f"exit code {result.rc}"
