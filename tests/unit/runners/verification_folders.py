"""Task folders of both generations that really build: a tree of a few files, and an environment without packages."""

import gzip
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ImageRef
from datasmith.docker.images import BUILD_ARGS
from datasmith.tasks.folder import write_task
from datasmith.tasks.task import BuildInputs
from tests.integration.eval_task import FILES, MAKE_ENV, expert_patch
from tests.sandboxes import committed, tree_task

IMAGE = ImageRef("bubblewrap", "made-elsewhere", f"sha256:{'0' * 64}")
LEGACY_DOCKERFILE = """FROM {base} AS env
ARG PY_VERSION
ARG COMMIT_SHA
ARG REPO_URL
ARG UNKNOWN=1
WORKDIR /workspace/repo
COPY docker_build_env.sh /build/
RUN bash /build/docker_build_env.sh
ENV SAID_BY_IMAGE=$COMMIT_SHA
FROM env AS pkg
COPY docker_build_pkg.sh profile.sh run-tests.sh entrypoint.sh /
RUN bash /docker_build_pkg.sh
ENTRYPOINT ["/entrypoint.sh"]
"""
PYTEST = """import os, sys
words = os.environ["PYTEST_ADDOPTS"].split()
report = [word.partition("=")[2] for word in words if word.startswith("--junitxml")][0]
case = '<testcase classname="t" name="test_a"/><testcase classname="t" name="test_b"><failure/></testcase>'
open(report, "w").write(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
sys.exit(1)
"""
"""What pytest does with PYTEST_ADDOPTS, for an image without packages: one test passes, one fails."""
RESULTS = '{"version": 2, "results": {"bench.time_a": [[0.0012], []], "bench.time_b": [[null], []]}}'
LEGACY = {
    "Dockerfile": LEGACY_DOCKERFILE,
    "docker_build_env.sh": "set -eu\ncat >/workspace/repo/pytest.py <<'END'\n" + PYTEST + "END\n",
    "docker_build_pkg.sh": "set -eu\nmkdir -p /workspace/repo/results/here\n",
    "entrypoint.sh": "#!/bin/bash\nexit 9\n",
    "run-tests.sh": 'set -eu\ntest "$SAID_BY_IMAGE" = {sha}\npython3 pytest.py\n'.replace("{sha}", "c" * 40),
    "profile.sh": f"set -eu\nmkdir -p \"$1\"\necho '{RESULTS}' >results/here/abc.json\n",
    "task.txt": f"Task(owner='acme', repo='calc', sha='{'c' * 40}', python_version='3.11', commit_date=1.5)\n",
}


def sealed_folder(root: Path, *, files: Mapping[str, bytes] | None = None, **changes: object) -> Path:
    """A folder of ours below `root` that passes every check, but for `changes` of the task and `files` of its tree."""
    work = root.parent / f"{root.name}-work"
    tree = committed(work / "tree", {**FILES, **(files or {})})
    with tarfile.open(work / "repo.tar", "w") as archive:
        for path in sorted(tree.iterdir()):
            archive.add(path, arcname=path.name)
    (work / "repo.tar.gz").write_bytes(gzip.compress((work / "repo.tar").read_bytes()))
    shutil.rmtree(tree)
    texts = dict(DockerContext.default(lock="").texts)
    texts |= {"docker_build_env.sh": MAKE_ENV, "docker_build_pkg.sh": "true\n", BUILD_ARGS: "FC_PYTHON=3.11\n"}
    given: dict[str, object] = {
        "task_id": "acme_calc_1",
        "repo": "calc",
        "expert_patch": expert_patch(),
        "workloads": ("bench.time_total",),
        "test_command": ("python", "tests/run_tests.py", "{junit}"),
        "passing_tests": ("tests.test_calc::test_total",),
        "build": BuildInputs(python_version="3.11", files=texts),
    }
    task = tree_task(IMAGE, **{**given, **changes})
    return write_task(task, root, source=work / "repo.tar.gz", provenance={})


def legacy_folder(root: Path, base: str, changes: Mapping[str, str] | None = None) -> Path:
    """An older folder below `root` whose Dockerfile starts from `base`, with `changes` of its files by name."""
    folder = root / "acme_calc" / ("c" * 40)
    folder.mkdir(parents=True)
    for name, text in {**LEGACY, **(changes or {})}.items():
        (folder / name).write_text(text.replace("{base}", base))
    return folder
