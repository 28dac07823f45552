"""The archive of asv_runner that a task folder brings along: Python imports from it, so nothing has to be installed."""

import functools
import importlib.metadata
import importlib.util
import io
import zipfile
from pathlib import Path

from datasmith.errors import ConfigError

_MADE = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a zip archive can note: no two archives of one version differ."""


@functools.cache
def runner_archive() -> bytes:
    """A zip of the installed asv_runner's modules and its licence.

    Raises:
        ConfigError: asv_runner is not installed.
    """
    found = importlib.util.find_spec("asv_runner")
    if found is None or not found.submodule_search_locations:
        raise ConfigError("asv_runner is not installed (pip install 'asv-runner>=0.2.1')")
    home = Path(found.submodule_search_locations[0])
    inside = {f"asv_runner/{path.relative_to(home).as_posix()}": path for path in home.rglob("*.py")}
    listed = importlib.metadata.distribution("asv_runner").files or []
    inside |= {f"asv_runner/{path.name}": Path(str(path.locate())) for path in listed if "LICENSE" in path.name}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as draft:
        for name, path in sorted(inside.items()):
            draft.writestr(zipfile.ZipInfo(name, _MADE), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive.getvalue()
