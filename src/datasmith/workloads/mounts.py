"""What a measuring sandbox is shown: our scripts, and asv_runner alone of all that is installed here."""

import importlib.util
from pathlib import Path

from datasmith.docker.engine import CACHE_DIR, Mount
from datasmith.errors import ConfigError

INSIDE_HOME = "/opt/fc"
"""Working directory of our scripts: `python -m inside.launch` finds them here."""
ASV_PATH = f"{INSIDE_HOME}/asv"
"""PYTHONPATH in a measuring sandbox: a directory that holds the asv_runner package and nothing else."""


def inside_mounts() -> tuple[Mount, ...]:
    """The read-only mounts of every container that discovers or measures.

    Raises:
        ConfigError: asv_runner is not installed.
    """
    found = importlib.util.find_spec("asv_runner")
    if found is None or not found.submodule_search_locations:
        raise ConfigError("asv_runner is not installed (pip install 'asv-runner>=0.2.1')")
    ours, asv_runner = Path(__file__).parent / "inside", Path(found.submodule_search_locations[0])
    return (Mount(ours, f"{INSIDE_HOME}/inside"), Mount(asv_runner, f"{ASV_PATH}/asv_runner"))


def script(name: str, *arguments: str) -> list[str]:
    """The command line of one of our scripts inside a sandbox; run it with `SCRIPT_ENV` in `INSIDE_HOME`."""
    return ["python", "-m", f"inside.{name}", *arguments]


SCRIPT_ENV = {"PYTHONPATH": ASV_PATH, "PYTHONDONTWRITEBYTECODE": "1"}
"""Environment of our scripts, on top of the container's own."""
COMPILED_HOME = f"{CACHE_DIR}/fc"
"""The same as INSIDE_HOME in a prepared arm, with byte code of the arm's own interpreter."""
COMPILED_ENV = {**SCRIPT_ENV, "PYTHONPATH": f"{COMPILED_HOME}/asv"}
"""Environment of launches, which start there."""
