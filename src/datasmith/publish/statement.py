"""How an image came about, as an in-toto statement with SLSA provenance: inputs by their digests, and tools."""

import hashlib
from pathlib import Path

from datasmith.tasks.folder import SOURCE
from datasmith.tasks.task import Task

MEDIA_TYPE = "application/vnd.in-toto+json"
BUILD_TYPE = "https://github.com/formulacode/fc-data/blob/main/docs/design/0011-images-in-registries.md"


def statement(task: Task, folder: Path, *, name: str, digest: str, engine: str, version: str) -> dict[str, object]:
    """The statement about the image `name` with this manifest digest; the same image always gives the same.

    It names the base commit and the files of environment/, nothing of the fix; `version` is that of fc-data.
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
                    *inputs,
                ],
            },
            "runDetails": {
                "builder": {"id": f"pkg:pypi/fc-data@{version}", "version": {"fc-data": version}},
                "metadata": {"invocationId": task.task_id},
            },
        },
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
