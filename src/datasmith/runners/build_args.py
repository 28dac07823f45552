"""What build scripts of a repository are told: the project's place, its modules, a version that git cannot tell."""

from datasmith.docker.images import ROOT_ARG
from datasmith.resolution.base import Resolution

_VERSION_VARIABLES = ("SETUPTOOLS_SCM_PRETEND_VERSION", "PBR_VERSION", "POETRY_DYNAMIC_VERSIONING_BYPASS")


def build_args(resolution: Resolution, version: str | None) -> dict[str, str]:
    """Arguments of the pr tier; without `version` the project finds its own."""
    args = {ROOT_ARG: resolution.project_root, "FC_IMPORT_NAMES": " ".join(resolution.import_names)}
    return args | (dict.fromkeys(_VERSION_VARIABLES, version) if version else {})
