"""A whole task in the embedded engine without any download: an environment of the standard library alone."""

import gzip
import shutil
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from datasmith.docker.context import SCRIPTS
from datasmith.docker.engine import ContainerEngine, ImageRef, Tier
from datasmith.tasks.folder import write_task
from datasmith.tasks.task import BuildInputs, Task
from tests.sandboxes import bare, blob_id, committed

SLOW = "def total(n):\n    result = 0\n    for i in range(n):\n        result += i\n    return result\n"
FAST = "def total(n):\n    return n * (n - 1) // 2\n"
HALF = "def total(n):\n    return sum(range(n))\n"
WRONG = "def total(n):\n    return 0\n"
TEST_CALC = "import calc\n\ndef test_total():\n    assert calc.total(10) == 45\n"
RUN_TESTS = """
import sys
sys.path[:0] = [".", "tests"]
try:
    import test_calc
    test_calc.test_total()
    ok = True
except Exception:
    ok = False
body = "" if ok else '<failure message="wrong"/>'
case = f'<testcase classname="tests.test_calc" name="test_total">{body}</testcase>'
open(sys.argv[1], "w").write(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
sys.exit(0 if ok else 1)
"""
BENCH = """
import sys
sys.path.insert(0, ".")
sys.path.insert(0, "/workspace/repo")
import calc

def time_total():
    calc.total(2000)

time_total.sample_time = 0.002
"""
FILES = {
    "calc.py": SLOW.encode(),
    "benchmarks/__init__.py": b"",
    "benchmarks/bench.py": BENCH.encode(),
    "tests/run_tests.py": RUN_TESTS.encode(),
    "tests/test_calc.py": TEST_CALC.encode(),
}
MAKE_ENV = "set -eu\nrm -rf /opt/env/*\npython3 -m venv --without-pip /opt/env\n"


def expert_patch(new: str = FAST) -> str:
    """The git diff from SLOW to another calc.py."""
    old_lines, new_lines = SLOW.splitlines(), new.splitlines()
    body = "".join(f"-{line}\n" for line in old_lines) + "".join(f"+{line}\n" for line in new_lines)
    ids = "..".join(blob_id(text.encode()) for text in (SLOW, new))
    head = f"diff --git a/calc.py b/calc.py\nindex {ids} 100644\n--- a/calc.py\n+++ b/calc.py\n"
    return f"{head}@@ -1,{len(old_lines)} +1,{len(new_lines)} @@\n{body}"


def calc_image(engine: ContainerEngine, where: Path, files: Mapping[str, bytes] = FILES) -> ImageRef:
    """The image: the tree, and a venv without packages."""
    tree = committed(where / "tree", dict(files))
    bare(tree)
    with tarfile.open(where / "repo.tar", "w") as archive:
        for path in sorted(tree.iterdir()):
            archive.add(path, arcname=path.name)
    shutil.rmtree(tree)
    (where / "repo.tar.gz").write_bytes(gzip.compress((where / "repo.tar").read_bytes()))
    log = where / "build.log"
    base = engine.build(None, Tier("base", "test-base", (), {}), log=log)
    laid: dict[str, bytes | Path] = {"repo.tar": where / "repo.tar", "make_env.sh": MAKE_ENV.encode()}
    return engine.build(base, Tier("pr", "test-calc", ("make_env.sh",), laid), log=log)


def calc_task(
    image: ImageRef,
    root: Path,
    source: Path,
    number: int = 1,
    *,
    owner: str = "acme",
    repo: str = "calc",
    workloads: tuple[str, ...] = ("bench.time_total",),
) -> Task:
    """Write the task folder of owner/repo#number below `root`."""
    task = Task(
        task_id=f"{owner}_{repo}_{number}",
        owner=owner,
        repo=repo,
        pr_number=number,
        base_commit="a" * 40,
        merge_commit="b" * 40,
        merged_at=datetime(2026, 1, 2, tzinfo=UTC),
        title="Use the closed form",
        instruction="total(n) is slow. Make it faster.\n",
        expert_patch=expert_patch(),
        image_name=image.name,
        image_digest=image.digest,
        benchmark_dir="benchmarks",
        workloads=workloads,
        test_command=("python", "tests/run_tests.py", "{junit}"),
        passing_tests=("tests.test_calc::test_total",),
        compiled=False,
        build=BuildInputs(
            python_version="3.11",
            files={"Dockerfile": "FROM scratch\n", "lock.txt": "", **dict.fromkeys(SCRIPTS, "true\n")},
        ),
    )
    write_task(task, root, source=source, provenance={})
    return task
