"""How an image came about, as an in-toto statement with SLSA provenance: inputs by their digests, and tools."""

import hashlib
import json
from pathlib import Path

from datasmith.tasks.folder import SOURCE
from datasmith.tasks.task import Task

MEDIA_TYPE = "application/vnd.in-toto+json"
BUILD_TYPE = "https://github.com/formulacode/fc-data/blob/main/docs/design/0011-images-in-registries.md"


def statement(
    task: Task, folder: Path, *, name: str, digest: str, engine: str, base_image: str, version: str
) -> dict[str, object]:
    """The statement about the image `name` with this manifest digest; the same image always gives the same.

    It names the base commit, the operating system (`base_image`, name@sha256:…), the files of environment/, and nothing
    of the fix; `version` is that of the fc-data that publishes. Who built it, and with which uv, the folder's
    provenance.json says; a folder that does not say it leaves it out here, too.
    """
    environment = sorted(path for path in (folder / "environment").iterdir() if path.is_file())
    inputs = [{"name": f"environment/{path.name}", "digest": {"sha256": _sha256(path)}} for path in environment]
    repository = f"git+https://github.com/{task.repository}"
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest.removeprefix("sha256:")}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "task_id": task.task_id,
                    "python_version": task.build.python_version,
                    "apt_packages": list(task.build.apt_packages),
                    "build_args": dict(sorted(task.build.build_args.items())),
                },
                "internalParameters": {"engine": engine, "engine_digest": task.image_digest, "source": SOURCE},
                "resolvedDependencies": [
                    {"uri": f"{repository}@{task.base_commit}", "digest": {"gitCommit": task.base_commit}},
                    _operating_system(base_image),
                    *inputs,
                ],
            },
            "runDetails": {
                "builder": {"id": f"pkg:pypi/fc-data@{version}", "version": _versions(folder, engine, version)},
                "metadata": {"invocationId": task.task_id},
            },
        },
    }


def _operating_system(base_image: str) -> dict[str, object]:
    name, _, digest = base_image.rpartition("@")
    kind, _, value = digest.partition(":")
    return {"name": "operating system", "uri": f"oci:{name}", "digest": {kind: value}}


def _versions(folder: Path, engine: str, version: str) -> dict[str, str]:
    told = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    known = {"fc-data": told.get("fc_data", version), "uv": told.get("uv"), "engine": told.get("engine", engine)}
    return {name: str(value) for name, value in known.items() if value}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
