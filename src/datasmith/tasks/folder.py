"""The task folder on disk: written whole or not at all, and read back equal."""

import hashlib
import json
import re
import shutil
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from datasmith.docker.archive import unpack
from datasmith.docker.engine import SANDBOX_USER
from datasmith.errors import InvalidTask, said_by
from datasmith.misfits import misfits
from datasmith.printable import printable
from datasmith.tasks.asv_archive import runner_archive
from datasmith.tasks.certificate import Certificate
from datasmith.tasks.drafts import replacing
from datasmith.tasks.reading import as_object, read_file
from datasmith.tasks.task import BuildInputs, Task

SCHEMA_VERSION = "1.4"
"""Version of Harbor's task.toml that is written."""
TEST_TIMEOUT_S = 1800.0
AGENT_TIMEOUT_S = 3600.0
REBUILD_TIMEOUT_S = 3600.0
"""Limits in seconds: of a test run, of an agent, of applying a patch and building the patched tree (each)."""
INSIDE_ROUNDS = 9
"""Rounds in which tests/speed.py times each workload, where the seconds below allow for as many."""
INSIDE_MEASURE_S = 900.0
REBUILD = "docker_build_pkg.sh"
SOURCE = "environment/repo.tar.gz"
EXPERT_PATCH = "solution/expert.patch"
CERTIFICATE = "certificate.json"
CERTIFICATES = "certificates"
"""Holds what each class of machines found, where a task was certified on several; see certificates.py."""
PROVENANCE = "provenance.json"
SUITE = "tests/suite.patch"
"""Brings the suite that is measured, where that is not base's own."""

VERIFIER_TIMEOUT_S = TEST_TIMEOUT_S + REBUILD_TIMEOUT_S + INSIDE_MEASURE_S

_IN_OTHER_FILES = {
    "instruction",
    "expert_patch",
    "passing_tests",
    "certificate",
    "build",
    "test_command",
    "suite_patch",
}
TEMPLATES = {"solution": ("solve.sh",), "tests": ("test.sh", "verdict.py", "speed.py", "launch.py")}
RUNNER = "asv_runner.zip"
PATCH_PLACE = "/logs/artifacts/patch.diff"
"""Where Harbor's sandboxes keep the submission's diff on its way from the agent's to the verifier's."""
_REQUIRED = (
    "task.toml",
    "instruction.md",
    "environment/Dockerfile",
    "environment/lock.txt",
    SOURCE,
    "solution/solve.sh",
    EXPERT_PATCH,
    "tests/test.sh",
    "tests/verdict.py",
    "tests/expected.json",
    PROVENANCE,
)
MAX_NAME = 220
"""Characters of a file name that leave room for what stands around it in a draft."""
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")

COMPILED_SOURCE = re.compile(
    r"\.(c|cc|cpp|cxx|cu|h|hh|hpp|hxx|inc|pyx|pxd|pxi|pyx\.in|pxd\.in|pxi\.in|tp|f|for|f90|f95|rs|go|s|asm|cmake|build)$"
    r"|(^|/)(setup\.py|CMakeLists\.txt|Cargo\.(toml|lock)|Makefile|pyproject\.toml|meson\.options|meson_options\.txt)$",
    re.IGNORECASE,
)
"""Paths of what a build turns into machine code, and of descriptions of builds."""


def write_task(task: Task, root: Path, *, source: Path, provenance: Mapping[str, object]) -> Path:
    """Write `root/<task_id>/`, replacing an older version; returns the folder.

    `source` is the gzipped tar of the sealed base tree. The folder appears by one rename: an interrupted call leaves
    nothing that looks like a task.

    Raises:
        InvalidTask: a name in it cannot be a file's, or a text holds what no text file can.
    """
    given = (task.task_id, *task.build.files)
    names = [name[:100] for name in given if len(name) > MAX_NAME or not _FILE_NAME.fullmatch(name)]
    if names:
        raise InvalidTask([f"{task.task_id}: {name!r} cannot be the name of a file" for name in names])
    target = root / task.task_id
    with replacing(target) as draft:
        try:
            _fill(draft, task, source, provenance)
        except UnicodeEncodeError as error:
            raise InvalidTask([f"{task.task_id}: a text cannot be written as UTF-8: {error}"]) from error
    return target


def _fill(folder: Path, task: Task, source: Path, provenance: Mapping[str, object]) -> None:
    for name in ("environment", "solution", "tests/base"):
        (folder / name).mkdir(parents=True)
    shutil.copyfile(source, folder / SOURCE)
    for name, text in task.build.files.items():
        _put(folder / "environment" / name, text)
    _put(folder / "task.toml", tomli_w.dumps(_toml(task)))
    _put(folder / "instruction.md", task.instruction)
    (folder / EXPERT_PATCH).write_bytes(task.expert_patch.encode("utf-8", "surrogateescape"))
    for place, templates in TEMPLATES.items():
        for name in templates:
            _put(folder / place / name, _template(name))
            (folder / place / name).chmod(0o755)
    _put(folder / "tests/expected.json", _json(_expected(task)))
    (folder / "tests" / RUNNER).write_bytes(runner_archive())
    if task.compiled and REBUILD in task.build.files:
        _put(folder / "tests/rebuild.sh", task.build.files[REBUILD])
    _grader_copies(source, folder / "tests/base", task.benchmark_dir)
    if task.suite:
        (folder / SUITE).write_bytes(task.suite_patch.encode("utf-8", "surrogateescape"))
    _put(folder / PROVENANCE, _json(dict(provenance)))
    if task.certificate:
        write_certificate(folder, task.certificate)


def _expected(task: Task) -> dict[str, object]:
    """What the scripts of tests/ have to know: how tests are run, which ones pass, and what is timed."""
    return {
        "command": task.test_command,
        "passing": task.passing_tests,
        "timeout_s": TEST_TIMEOUT_S,
        "benchmark_dir": task.benchmark_dir,
        "benchmark_timeout_s": task.benchmark_timeout_s,
        "workloads": task.workloads,
        "rounds": INSIDE_ROUNDS,
        "measure_s": INSIDE_MEASURE_S,
        "compiled": task.compiled,
        "compiled_source": COMPILED_SOURCE.pattern,
        "build_args": dict(task.build.build_args),
    }


def write_certificate(folder: Path, certificate: Certificate, name: str = CERTIFICATE) -> None:
    """Put a certificate into a task folder, replacing the one that is there."""
    target = folder / name
    target.parent.mkdir(exist_ok=True)
    draft = target.with_name(f".{target.name}")
    _put(draft, certificate.model_dump_json(indent=2) + "\n")
    draft.rename(target)


def _toml(task: Task) -> dict[str, object]:
    record = task.model_dump(mode="json", exclude=_IN_OTHER_FILES, exclude_none=True)
    record["build"] = task.build.model_dump(mode="json", exclude={"files"})
    return {
        "schema_version": SCHEMA_VERSION,
        "task": {
            "name": f"{task.owner}/{task.task_id}",
            "version": f"{task.merged_at:%Y.%m}",
            "keywords": ["performance", task.repo.lower()],
        },
        "metadata": {"difficulty": task.difficulty, "category": task.category, "formulacode": record},
        "agent": {"timeout_sec": AGENT_TIMEOUT_S, "network_mode": "no-network", "user": SANDBOX_USER},
        "verifier": {
            "timeout_sec": VERIFIER_TIMEOUT_S,
            "network_mode": "no-network",
            "environment_mode": "separate",
            "env": {"FC_PATCH": PATCH_PLACE},
            "collect": [{"command": _template("collect.sh"), "timeout_sec": 300.0}],
        },
        "environment": {
            "build_timeout_sec": 3600.0,
            "cpus": 1,
            "memory_mb": 4096,
            "network_mode": "no-network",
            "workdir": "/workspace/repo",
        },
    }


def _template(name: str) -> str:
    return files("datasmith.tasks").joinpath("templates", name).read_text("utf-8")


def _put(target: Path, text: str) -> None:
    """Write a text with its line ends as they are, whatever the locale."""
    target.write_bytes(text.encode("utf-8"))


def _json(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def is_test_path(path: str) -> bool:
    """True for files that belong to a test suite: under a test directory, or named as pytest collects them."""
    *parents, name = path.split("/")
    return (
        any(part in {"test", "tests", "testing"} for part in parents)
        or name == "conftest.py"
        or (name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")))
    )


def _grader_copies(source: Path, target: Path, benchmark_dir: str) -> None:
    """Copy benchmark and test files at base out of the source tar; links and devices are left out."""
    suite = "" if benchmark_dir in {"", "."} else f"{benchmark_dir.strip('/')}/"

    def wanted(path: str) -> bool:
        return not path.startswith(".git/") and (path.startswith(suite) or is_test_path(path))

    unpack(source, target, wanted=wanted, links=False)


def read_task(folder: Path | str) -> Task:
    """Read a task folder back; a file that is a link, or lies behind one, counts as missing.

    Raises:
        InvalidTask: files are missing or do not say what a task needs; lists every problem found.
    """
    folder = Path(folder)
    try:
        linked = (SUITE,) if (folder / SUITE).is_symlink() else ()
        missing = [name for name in (*_REQUIRED, *linked) if not is_own_file(folder, name)]
        if missing:
            raise InvalidTask([f"{folder.name}: {name} is missing" for name in missing])
        return _parse(folder)
    except OSError as error:
        raise InvalidTask([f"{folder.name}: {unread(error)}"]) from error
    except ValueError as error:
        problems = misfits(error) if isinstance(error, ValidationError) else [str(error)]
        raise InvalidTask([f"{folder.name}: {problem}" for problem in problems]) from error


def unread(error: OSError) -> str:
    """What the system does not let us read, and why."""
    return f"{error.filename} cannot be read: {said_by(error)}"


def is_own_file(folder: Path, name: str) -> bool:
    """True for a plain file of the folder: it is no link, and lies behind none."""
    path = folder / name
    return path.is_file() and path.resolve() == folder.resolve() / name


def _parse(folder: Path) -> Task:
    record = read_file(folder, "task.toml", _record_of)
    expected = read_file(folder, "tests/expected.json", _expected_of)
    names = sorted(path.name for path in (folder / "environment").iterdir() if path.name != "repo.tar.gz")
    linked = [name for name in names if not is_own_file(folder, f"environment/{name}")]
    if linked:
        raise ValueError(f"environment/{printable(linked[0])} is no plain file")
    texts = {name: read_file(folder, f"environment/{name}", str) for name in names}
    record["build"] = BuildInputs.model_validate({**record["build"], "files": texts})
    record["instruction"] = read_file(folder, "instruction.md", str)
    record["expert_patch"] = read_file(folder, EXPERT_PATCH, str, "surrogateescape")
    if "suite" in record:
        record["suite_patch"] = read_file(folder, SUITE, str, "surrogateescape")
    if is_own_file(folder, CERTIFICATE):
        record["certificate"] = read_file(folder, CERTIFICATE, Certificate.model_validate_json)
    return Task.model_validate({**record, **expected})


def _record_of(text: str) -> dict[str, Any]:
    record = as_object(as_object(as_object(tomllib.loads(text))["metadata"])["formulacode"])
    return {**record, "build": as_object(record["build"])}


def _expected_of(text: str) -> dict[str, Any]:
    said = as_object(json.loads(text))
    return {"passing_tests": said["passing"], "test_command": said["command"]}


def source_archive(folder: Path) -> Path:
    """The gzipped tar of the sealed base tree."""
    return folder / SOURCE


def task_digest(folder: Path) -> str:
    """sha256 over the names and contents of all files of the folder but its certificates."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CERTIFICATE):
        name = path.relative_to(folder).as_posix()
        if not name.startswith(f"{CERTIFICATES}/"):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            whole.update(f"{name}\0{content}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}"
