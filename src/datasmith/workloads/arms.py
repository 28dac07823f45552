"""Arms: containers of one image with a patch applied, rebuilt where it must be, prepared and then frozen."""

import json
from collections.abc import Mapping, Sequence

from datasmith.docker.engine import WORKDIR, Container, ContainerEngine, ImageRef, Limits
from datasmith.errors import ContainerError, EngineUnavailable, MeasurementFailed
from datasmith.workloads.base import Workload
from datasmith.workloads.inside.suite import FAILED
from datasmith.workloads.launch import START_ALLOWANCE_S, cache_path, suite_path
from datasmith.workloads.mounts import ASV_PATH, COMPILED_HOME, INSIDE_HOME, SCRIPT_ENV, inside_mounts, script
from datasmith.workloads.prints import directory_print, environment_prints, told
from datasmith.workloads.rebuild import rebuild, touches_compiled

COMPILE_TIMEOUT_S = 600.0
_COPY = '/bin/mkdir "$1" && /bin/cp -R "$2" "$3" "$1"'


def start_arm(
    engine: ContainerEngine,
    image: ImageRef,
    *,
    patch: str,
    rebuild_script: str | None,
    build_args: Mapping[str, str],
    limits: Limits | None,
    timeout: float,
    suite: str = "",
) -> Container:
    """Start a writable container of `image` with `patch` (may be empty) in its tree; the caller stops it.

    `suite` is a git diff that brings the benchmarks where they are not base's own; it is applied first.

    `rebuild_script` is the text of docker_build_pkg.sh, run again with `build_args` where the patch touches compiled
    sources; None: the package needs no building. `timeout` holds for applying and for building, each.

    Raises:
        MeasurementFailed: the patch does not apply, or does not build; the message says which. The container is gone.
        EngineUnavailable: the engine is gone; says nothing about the patch.
    """
    builds = rebuild_script is not None and touches_compiled(patch)
    container = engine.start(image, limits=limits, mounts=inside_mounts(), writable_env=builds)
    try:
        problem = apply_patch(container, suite, timeout=timeout)
        problem = f"the suite: {problem}" if problem else apply_patch(container, patch, timeout=timeout)
        if problem is None and builds and rebuild_script is not None:
            problem = rebuild(container, rebuild_script, build_args, timeout=timeout)
        if problem is not None:
            raise MeasurementFailed(problem)
    except BaseException:
        container.stop()
        raise
    return container


def apply_patch(container: Container, patch: str, *, timeout: float) -> str | None:
    """Apply a git diff to the tree inside the sandbox; the reason where it does not apply (then nothing changed)."""
    if not patch.strip():
        return None
    result = container.exec(
        ["git", "-c", "safe.directory=*", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"],
        timeout=timeout,
        stdin=patch.encode("utf-8", "surrogateescape"),
    )
    return None if result.ok else f"the patch does not apply: {told(result, timeout)}"


def suite_print(container: Container, benchmark_dir: str) -> str:
    """See `directory_print`: that of the suite."""
    return directory_print(container, suite_path(benchmark_dir))


def prepare(
    container: Container, workloads: Sequence[Workload], benchmark_dir: str, *, suite: str | None = None
) -> Container:
    """Run every setup_cache once, compile to byte code, and freeze: nothing can be kept between launches.

    What is compiled is the tree, and a copy of our scripts and asv_runner: a launch of the arm's interpreter would
    otherwise compile them again each time. The copy is made, and the suite is looked at, after the last code of the
    arm has run: `suite` is the print that its files must still have (None: the one that they have now).

    A setup_cache that fails or runs into its benchmarks' time limit leaves a reason, which the launches of its
    workloads then report.

    Raises:
        MeasurementFailed: a build or a setup_cache of the arm changed a benchmark, or left something where our files
            have to go; a setup_cache changed the environment, the tests or what starts with Python; or the disk is
            full.
        EngineUnavailable: the engine is gone; says nothing about the arm.
    """
    expected = suite or suite_print(container, benchmark_dir)
    _set_up_caches(container, _by_key(workloads), suite_path(benchmark_dir))
    if suite_print(container, benchmark_dir) != expected:
        raise MeasurementFailed("its own code changed the benchmarks after they were sealed")
    words = ["/bin/sh", "-c", _COPY, "copy", COMPILED_HOME, f"{INSIDE_HOME}/inside", ASV_PATH]
    copied = container.exec(words, timeout=COMPILE_TIMEOUT_S)
    if not copied.ok:
        raise MeasurementFailed(f"the scripts of a launch cannot be copied: {told(copied, COMPILE_TIMEOUT_S)}")
    # -f: byte code that the arm's own code left is not believed. -I and -S: nothing of the tree runs while it is
    # compiled. Files that do not parse are not our concern.
    words = ["python", "-I", "-S", "-m", "compileall", "-q", "-f", "-x", r"/\.git/", WORKDIR, COMPILED_HOME]
    container.exec(words, timeout=COMPILE_TIMEOUT_S)
    return container.freeze()


def _set_up_caches(container: Container, by_key: Mapping[str, Sequence[Workload]], suite: str) -> None:
    """Run each setup_cache; code of the arm runs there, which may leave nothing that runs before a launch does."""
    before = environment_prints(container) if by_key else {}
    for key, users in by_key.items():
        request = {"suite": suite, "name": users[0].benchmark, "cache": cache_path(key)}
        limit = max(workload.timeout_s for workload in users) + START_ALLOWANCE_S
        words = script("setup_cache", json.dumps(request))
        result = container.exec(words, timeout=limit, env=SCRIPT_ENV, cwd=INSIDE_HOME)
        if not result.ok:
            _note(container, f"{cache_path(key)}/{FAILED}", told(result, limit))
    after = environment_prints(container) if by_key else {}
    if before != after:
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        raise MeasurementFailed(f"its setup_cache changed what it only may use: {', '.join(changed[:5])}")


def _note(container: Container, path: str, reason: str) -> None:
    try:
        container.write_file(path, reason.encode())
    except EngineUnavailable:
        raise
    except ContainerError as error:
        raise MeasurementFailed(f"setup_cache: {error}") from error


def _by_key(workloads: Sequence[Workload]) -> dict[str, list[Workload]]:
    found: dict[str, list[Workload]] = {}
    for workload in workloads:
        if workload.setup_cache_key is not None:
            found.setdefault(workload.setup_cache_key, []).append(workload)
    return found
