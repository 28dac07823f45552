"""Build a patched package again, and see that its build did nothing else."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container
from datasmith.docker.worktree import GIT, GIT_ENV, GIT_TIMEOUT_S
from datasmith.errors import MeasurementFailed
from datasmith.tasks.folder import COMPILED_SOURCE
from datasmith.tasks.gitdiff import MalformedDiff, parse_diff
from datasmith.workloads.prints import environment_prints, told

CLEAN_TIMEOUT_S = 300.0


def touches_compiled(patch: str) -> bool:
    """True where a git diff changes a file that a build turns into machine code, or a build description."""
    try:
        changes = parse_diff(patch)
    except MalformedDiff:
        return True
    return any(is_compiled_source(path) for change in changes for path in change.paths)


def is_compiled_source(path: str) -> bool:
    """True for what a build turns into machine code, and for descriptions of builds."""
    return COMPILED_SOURCE.search(path) is not None


def rebuild(container: Container, script: str, build_args: Mapping[str, str], *, timeout: float) -> str | None:
    """Build the package again as the image's pr tier did; the reason where that fails.

    The build runs code of the patch in an environment that it can write to. It may put the package there and nothing
    else: not another interpreter, start-up file or test runner, and not other tests.

    Raises:
        MeasurementFailed: git fails in the tree.
    """
    before = environment_prints(container)
    env = {**build_args, "FC_WORKDIR": WORKDIR, "FC_ENV": ENV_PREFIX, "UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}
    with _looking_committed(container):
        result = container.exec(["/bin/bash", "-c", script], timeout=timeout, env=env)
    if not result.ok:
        return f"the patched tree does not build: {told(result, timeout)}"
    problem = _cleaned(container)
    if problem:
        return problem
    after = environment_prints(container)
    own = {name.partition(".")[0] for name in build_args.get("FC_IMPORT_NAMES", "").split()}
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    start_up = {digest for name, digest in before.items() if _runs_at_start(name)}
    foreign = sorted(name for name in changed if not _is_own(name, own))
    foreign += sorted(name for name in changed if _runs_at_start(name) and after.get(name, "") not in {"", *start_up})
    return f"its build changed what is not its own: {', '.join(foreign[:5])}" if foreign else None


@contextmanager
def _looking_committed(container: Container) -> Iterator[None]:
    """Let git call no file of the tree changed: versions made of its state would differ, and name other start-up files.

    A tree without git has no such version.
    """
    found = container.exec([*GIT, "diff", "--name-only", "-z"], timeout=GIT_TIMEOUT_S, env=GIT_ENV)
    changed = found.stdout if found.ok else b""
    if changed:
        _mark(container, "--assume-unchanged", changed)
    yield
    if changed:
        _mark(container, "--no-assume-unchanged", changed)


def _mark(container: Container, how: str, names: bytes) -> None:
    words = [*GIT, "update-index", "-z", how, "--stdin"]
    done = container.exec(words, timeout=GIT_TIMEOUT_S, env=GIT_ENV, stdin=names)
    if not done.ok:
        raise MeasurementFailed(f"git cannot mark the files of the patch: {told(done, GIT_TIMEOUT_S)}")


def _cleaned(container: Container) -> str | None:
    """Take away what a build may have left for Python to run for the tree's sources, or for pytest above it."""
    place, _, tree = WORKDIR.rpartition("/")
    above = [place, "-mindepth", "1", "-maxdepth", "1", "!", "-name", tree, "!", "-name", "cache"]
    for where in ([WORKDIR, "-name", "__pycache__", "-prune"], above):
        words = ["/usr/bin/find", *where, "-exec", "/bin/rm", "-rf", "{}", "+"]
        done = container.exec(words, timeout=CLEAN_TIMEOUT_S)
        if not done.ok:
            return f"what the build left cannot be deleted: {told(done, CLEAN_TIMEOUT_S)}"
    return None


def _runs_at_start(entry: str) -> bool:
    """True for what an interpreter, or pytest, runs of an environment by itself; a new version may rename it."""
    name = entry.rpartition("/")[2]
    return name.endswith((".pth", "entry_points.txt")) or (name.startswith("__editable__") and name.endswith(".py"))


def _is_own(entry: str, top_names: set[str]) -> bool:
    """True where an entry of the environment may be the package itself: its modules, or what its installation notes."""
    if entry.endswith(".dist-info/entry_points.txt"):
        return True
    place, _, name = entry.rpartition("/")
    if not place.endswith("/site-packages"):
        return False
    top = name.split(".")[0]
    return top in top_names or name.startswith("__editable__") or name.endswith((".dist-info", ".egg-link"))
