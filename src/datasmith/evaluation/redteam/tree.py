"""What an attack has to know of a task's tree: its package, a benchmark, a test, and the files beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from datasmith.docker.archive import MOST_BYTES
from datasmith.errors import ConfigError, ContainerError
from datasmith.tar_members import DAMAGE, members, open_tar, what_is_wrong
from datasmith.tasks.folder import is_test_path, source_archive
from datasmith.tasks.task import Task

_READ = (".py", ".toml", ".cfg", ".ini", ".json", ".jsonc")
_LONGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class Tree:
    """The texts of a base tree by path, and where its package, benchmarks and tests lie.

    package: directory of the package that the benchmarks import; root: the directory that holds it, "" or ending in
    "/". benchmark, test: one file of each sort.
    """

    texts: Mapping[str, str]
    package: str
    benchmark_dir: str
    benchmark: str
    test: str

    @property
    def root(self) -> str:
        """Where modules are imported from."""
        return self.package[: self.package.rfind("/") + 1]

    @classmethod
    def of_task(cls, task: Task, folder: Path) -> Self:
        """Read the source archive of a task folder.

        Raises:
            ConfigError: the tree holds no package, benchmark or test that an attack could start from.
            ContainerError: the archive is damaged.
        """
        archive = source_archive(folder)
        try:
            texts = _texts(archive)
        except DAMAGE as error:
            raise ContainerError(f"{archive}: damaged: {what_is_wrong(error)}") from error
        return cls.of_texts(texts, task)

    @classmethod
    def of_texts(cls, texts: Mapping[str, str], task: Task) -> Self:
        """See `of_task`."""
        suite = f"{task.benchmark_dir.strip('/')}/"
        benchmarks = [path for path in texts if path.startswith(suite) and path.endswith(".py")]
        tests = [path for path in texts if is_test_path(path) and path.endswith(".py") and path not in benchmarks]
        names = task.build.build_args.get("FC_IMPORT_NAMES", "").split() or [task.repo.lower()]
        package = _package(texts, names)
        named = [path for path in tests if path.rsplit("/", 1)[-1].startswith("test_")] or tests
        if package is None or not benchmarks or not named:
            lacking = "package" if package is None else "test" if benchmarks else "benchmark"
            raise ConfigError(f"TASK {task.task_id}: its tree has no {lacking} to attack (example: another task)")
        full = [path for path in benchmarks if not path.endswith("__init__.py")] or benchmarks
        return cls(texts, package, task.benchmark_dir.strip("/"), sorted(full)[0], sorted(named)[0])


def _package(texts: Mapping[str, str], names: list[str]) -> str | None:
    """The shallowest directory of an `__init__.py` that has one of these names."""
    ends = tuple(f"/{name.replace('.', '/')}/__init__.py" for name in names)
    found = [path for path in texts if f"/{path}".endswith(ends) and not is_test_path(path)]
    shortest = min(found, key=lambda path: (path.count("/"), path), default=None)
    return None if shortest is None else shortest.rsplit("/", 1)[0]


def _texts(archive: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    with open_tar(archive) as tar:
        for member in members(tar, MOST_BYTES):
            path = member.name.removeprefix("./")
            content = tar.extractfile(member) if member.isfile() and path.endswith(_READ) else None
            if content is not None and member.size <= _LONGEST:
                texts[path] = content.read().decode("utf-8", "surrogateescape")
    return texts
