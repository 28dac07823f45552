"""Fingerprints of what a sandbox holds, taken by programs that no arm can change."""

from importlib.resources import files

from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container, ExecResult
from datasmith.errors import MeasurementFailed
from datasmith.printable import printable

_TIMEOUT_S = 600.0


def directory_print(container: Container, path: str) -> str:
    """What tells the files and links below `path` from others.

    Raises:
        MeasurementFailed: they cannot be read.
        EngineUnavailable: the engine is gone.
    """
    return _printed(container, path).strip()


def environment_prints(container: Container) -> dict[str, str]:
    """A fingerprint of each entry of the environment, by its path there, and one of the tree's tests.

    Raises:
        MeasurementFailed: they cannot be read.
        EngineUnavailable: the engine is gone.
    """
    pairs = (line.partition(" ") for line in _printed(container, ENV_PREFIX, WORKDIR).split("\n") if line)
    return {name: digest for digest, _, name in pairs}


def _printed(container: Container, *paths: str) -> str:
    text = files("datasmith.workloads").joinpath("prints.sh").read_text(encoding="utf-8")
    result = container.exec(["/bin/sh", "-c", text, "prints", *paths], timeout=_TIMEOUT_S)
    if not result.ok:
        raise MeasurementFailed(f"the files of {' and '.join(paths)} cannot be read: {told(result, _TIMEOUT_S)}")
    return result.text


def told(result: ExecResult, timeout: float) -> str:
    """The end of what a command said, on one line; or that it took too long."""
    if result.timed_out:
        return f"not done after {timeout:g} s"
    said = " ".join((result.error_text.strip() or result.text.strip()).split())
    return printable(said)[-300:] or f"exit code {result.rc}"
