"""Small real sandboxes for tests: a git tree of a few files in the embedded engine."""

import hashlib
import os
import shutil
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import ImageRef, Tier
from datasmith.errors import EngineUnavailable
from datasmith.tasks.task import Task

GIT_ENV = {
    "PATH": os.defpath,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def embedded_engine(cache: Path) -> BubblewrapEngine:
    """The bubblewrap engine; outside CI skips the test, saying why, where it cannot run."""
    engine = BubblewrapEngine(cache)
    try:
        engine.check()
    except EngineUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    return engine


def committed(where: Path, files: Mapping[str, bytes], untracked: Mapping[str, bytes] | None = None) -> Path:
    """A git tree with one commit of `files`, and `untracked` files beside them."""
    for name, content in files.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_bytes(content)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        done = process.run(["git", *words], cwd=where, env=GIT_ENV)
        assert done.ok, done.error_text
    for name, content in (untracked or {}).items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_bytes(content)
    return where


def bare(tree: Path) -> None:
    """Of .git, only what a sealed one has."""
    for name in ("logs", "hooks", "branches"):
        shutil.rmtree(tree / ".git" / name, ignore_errors=True)
    for name in ("COMMIT_EDITMSG", "description", "ORIG_HEAD"):
        (tree / ".git" / name).unlink(missing_ok=True)


def tree_image(
    engine: BubblewrapEngine, where: Path, files: Mapping[str, bytes], untracked: Mapping[str, bytes] | None = None
) -> ImageRef:
    """An image whose WORKDIR is that tree; `where` is an empty directory for what is needed on the way."""
    tree = committed(where / "tree", files, untracked)
    with tarfile.open(where / "repo.tar", "w") as archive:
        for path in sorted(tree.iterdir()):
            archive.add(path, arcname=path.name)
    shutil.rmtree(tree)
    log = where / "build.log"
    base = engine.build(None, Tier("base", "test-base", (), {}), log=log)
    return engine.build(base, Tier("pr", "test-tree", (), {"repo.tar": where / "repo.tar"}), log=log)


def tree_task(image: ImageRef, **changes: object) -> Task:
    """A task around such an image; its expert's patch changes `a.py`."""
    given: dict[str, object] = {
        "task_id": "acme_fast_1",
        "owner": "acme",
        "repo": "fast",
        "pr_number": 1,
        "base_commit": "a" * 40,
        "merge_commit": "b" * 40,
        "merged_at": datetime(2026, 1, 2, tzinfo=UTC),
        "title": "Make it faster",
        "instruction": "Reading is slow. Make it faster.",
        "expert_patch": EXPERT_PATCH,
        "image_name": image.name,
        "image_digest": image.digest,
        "benchmark_dir": "benchmarks",
        "workloads": ("bench.time_a",),
        "test_command": ("python", "-m", "pytest", "--junitxml={junit}"),
        "passing_tests": ("tests.test_a::test_a",),
        "compiled": False,
        "build": {"python_version": "3.11"},
    }
    return Task.model_validate({**given, **changes})


def blob_id(content: bytes) -> str:
    """What git calls a file with this content."""
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content)).hexdigest()


EXPERT_PATCH = """diff --git a/a.py b/a.py
index 7d4290a..2a2f1f0 100644
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-x = 1
+x = 2
"""
