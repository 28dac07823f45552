"""Task folders as terminal-bench's: `FormulaCodeAdapter(task_dir=..., force=...).generate_task(record)`."""

import base64
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Protocol

import yaml

from datasmith.errors import ConfigError
from datasmith.settings import load_settings
from datasmith.tasks.drafts import replacing
from datasmith.tasks.folder import AGENT_TIMEOUT_S, VERIFIER_TIMEOUT_S, read_task
from datasmith.tasks.task import Task

_TOOLS = """
# terminal-bench works in a tmux session, and records it.
USER 0:0
RUN export PATH=/usr/sbin:/usr/bin:/sbin:/bin && apt-get update \\
 && apt-get install --yes --no-install-recommends tmux asciinema && rm -rf /var/lib/apt/lists/*
"""


class TaskRecord(Protocol):
    """Whatever names a task: a `Task`, a row of the dataset, or `PR.to_record()`."""

    @property
    def task_id(self) -> str:
        """The task's id, which is the name of its folder."""


class FormulaCodeAdapter:
    """Writes task folders of terminal-bench below `task_dir`.

    The task itself (environment, tests, solution) is read from its own folder below `tasks`; by default that is where
    fc-data leaves it, `<data_dir>/dataset/tasks`. `force` replaces what is there already.
    """

    def __init__(self, task_dir: Path | str, force: bool = False, *, tasks: Path | str | None = None) -> None:
        self._target = Path(task_dir)
        self._force = force
        self._tasks = Path(tasks) if tasks is not None else None

    def generate_task(self, record: TaskRecord) -> Path:
        """Write the folder of one task, whole or not at all; returns it.

        Raises:
            ConfigError: it is there already, and `force` is off; or there is no task folder to make it from.
            InvalidTask: that task folder is none.
        """
        source = self._source(record)
        task = read_task(source)
        target = self._target / task.task_id
        if target.exists() and not self._force:
            raise ConfigError(f"{target} is there already (example: FormulaCodeAdapter(task_dir=..., force=True))")
        with replacing(target) as draft:
            _fill(draft, task, source)
        return target

    def _source(self, record: TaskRecord) -> Path:
        root = self._tasks if self._tasks is not None else load_settings().data_dir / "dataset" / "tasks"
        source = root / record.task_id
        if not (source / "task.toml").is_file():
            raise ConfigError(
                f"there is no task folder {source} (example: FormulaCodeAdapter(task_dir='fctasks',"
                " tasks='work/dataset/tasks'))"
            )
        return source


def _fill(draft: Path, task: Task, source: Path) -> None:
    shutil.copytree(source / "tests", draft / "tests")
    for path in (source / "environment").iterdir():
        shutil.copyfile(path, draft / path.name)
    dockerfile = (source / "environment/Dockerfile").read_text(encoding="utf-8")
    (draft / "Dockerfile").write_text(dockerfile.rstrip("\n") + "\n" + _TOOLS, encoding="utf-8")
    (draft / "tests/summary.py").write_text(_template("summary.py"), encoding="utf-8")
    for name in ("docker-compose.yaml", "run-tests.sh"):
        (draft / name).write_text(_template(name), encoding="utf-8")
    patch = base64.encodebytes((source / "solution/expert.patch").read_bytes()).decode()
    (draft / "solution.sh").write_text(_template("solution.sh").replace("@PATCH@\n", patch), encoding="utf-8")
    about = {
        "instruction": task.instruction,
        "author_name": "FormulaCode",
        "difficulty": task.difficulty,
        "category": "performance",
        "tags": ["performance", task.repo.lower()],
        "parser_name": "pytest",
        "max_agent_timeout_sec": AGENT_TIMEOUT_S,
        "max_test_timeout_sec": VERIFIER_TIMEOUT_S,
        "run_tests_in_same_shell": False,
    }
    (draft / "task.yaml").write_text(yaml.safe_dump(about, sort_keys=False, allow_unicode=True), encoding="utf-8")


def _template(name: str) -> str:
    return files("datasmith.tasks").joinpath("templates", "terminal_bench", name).read_text("utf-8")
