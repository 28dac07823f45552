"""What a pull request's merge brought: its solution, and all by which that could be recognised in an image."""

from datasmith.docker import seal
from datasmith.github.git import MAX_PATCH, Git
from datasmith.runners.order import Order, Refusal
from datasmith.tasks.gitdiff import MalformedDiff
from datasmith.tasks.policy import solution_part
from datasmith.tasks.telltale import fix_of


def solution(order: Order, git: Git) -> str | Refusal:
    """What of the pull request's patch counts as its solution."""
    patch = _whole_patch(order, git)
    if patch is None:
        return Refusal(f"its patch is larger than {MAX_PATCH} bytes")
    try:
        part = solution_part(patch, benchmark_dir=order.benchmark_dir)
        part = solution_part(part, benchmark_dir=order.own_benchmark_dir)
    except MalformedDiff as error:
        return Refusal(f"its patch cannot be read: {error}")
    return part or Refusal("its patch changes nothing but tests, benchmarks and their configuration")


def fix_of_order(order: Order, git: Git) -> seal.Fix:
    """All that the merge brought, tests and documentation included."""
    base, merge = order.pr.base_sha, order.pr.merge_commit_sha
    return fix_of(_whole_patch(order, git) or "", {merge, *git.objects_between(base, merge)})


def _whole_patch(order: Order, git: Git) -> str | None:
    """From base to the merge; None where it is too large to be read."""
    return git.changes([(order.pr.base_sha, order.pr.merge_commit_sha)])[0].patch
