"""Build a patched package again, and see that its build did nothing else."""

import re
from collections.abc import Mapping

from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container
from datasmith.tasks.gitdiff import MalformedDiff, parse_diff
from datasmith.workloads.prints import environment_prints, told

_COMPILED = re.compile(
    r"\.(c|cc|cpp|cxx|cu|h|hh|hpp|hxx|inc|pyx|pxd|pxi|pyx\.in|pxd\.in|pxi\.in|tp|f|for|f90|f95|rs|go|s|asm|cmake|build)$"
    r"|(^|/)(setup\.py|CMakeLists\.txt|Cargo\.(toml|lock)|Makefile|pyproject\.toml|meson\.options|meson_options\.txt)$",
    re.IGNORECASE,
)


def touches_compiled(patch: str) -> bool:
    """True where a git diff changes a file that a build turns into machine code, or a build description."""
    try:
        changes = parse_diff(patch)
    except MalformedDiff:
        return True
    return any(is_compiled_source(path) for change in changes for path in change.paths)


def is_compiled_source(path: str) -> bool:
    """True for what a build turns into machine code, and for descriptions of builds."""
    return _COMPILED.search(path) is not None


def rebuild(container: Container, script: str, build_args: Mapping[str, str], *, timeout: float) -> str | None:
    """Build the package again as the image's pr tier did; the reason where that fails.

    The build runs code of the patch in an environment that it can write to. It may put the package there and nothing
    else: not another interpreter, start-up file or test runner, and not other tests.
    """
    before = environment_prints(container)
    env = {**build_args, "FC_WORKDIR": WORKDIR, "FC_ENV": ENV_PREFIX, "UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}
    result = container.exec(["/bin/bash", "-c", script], timeout=timeout, env=env)
    if not result.ok:
        return f"the patched tree does not build: {told(result, timeout)}"
    after = environment_prints(container)
    own = build_args.get("FC_IMPORT_NAMES", "").split()
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    foreign = sorted(name for name in changed if not _is_own(name, own))
    return f"its build changed what is not its own: {', '.join(foreign[:5])}" if foreign else None


def _is_own(entry: str, import_names: list[str]) -> bool:
    """True where an entry of the environment may be the package itself: its modules, or what its installation notes."""
    place, _, name = entry.rpartition("/")
    if not place.endswith("/site-packages"):
        return False
    top = name.split(".")[0]
    return top in import_names or name.startswith("__editable__") or name.endswith((".dist-info", ".egg-link"))
