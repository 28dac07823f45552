"""A suite that is not base's own, as an agent finds it: in the tree and its commit, without what holds the fix."""

from datasmith.docker.engine import Container
from datasmith.docker.worktree import GIT, GIT_ENV, GIT_TIMEOUT_S
from datasmith.errors import ContainerError
from datasmith.tasks.suite import shown_part
from datasmith.tasks.task import Task

_COMMIT = ("commit", "-q", "--amend", "--no-edit", "--no-verify", "--no-gpg-sign")
_WHO = {f"GIT_{role}_{key}": "base" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}


def show_suite(container: Container, task: Task) -> None:
    """Lay the suite's part that may be seen into a fresh sandbox's tree and its one commit.

    As part of the commit it is nothing that an agent changed, and stays where an agent takes its own work back.

    Raises:
        ContainerError: it cannot be laid there; says nothing about the agent.
    """
    shown = shown_part(task.suite_patch, task.suite.hidden) if task.suite else ""
    if not shown:
        return
    patch = shown.encode("utf-8", "surrogateescape")
    for words, stdin in ((("apply", "--index", "--whitespace=nowarn", "-"), patch), (_COMMIT, b"")):
        done = container.exec([*GIT, *words], timeout=GIT_TIMEOUT_S, env={**GIT_ENV, **_WHO}, stdin=stdin)
        if not done.ok:
            raise ContainerError(f"the suite cannot be laid into the tree: {done.error_text.strip()[-300:]}")
