"""What stage 5 makes of an order where nothing is built."""

from datasmith.runners.order import Order
from datasmith.tasks.task import Task
from tests.unit.tasks.samples import certificate, sample_task


def made(order: Order) -> Task:
    """A certified task for an order."""
    identity = {"owner": order.pr.owner, "repo": order.pr.repo, "pr_number": order.pr.issue_number}
    commits = {"base_commit": order.pr.base_sha, "merge_commit": order.pr.merge_commit_sha}
    proof = {"task_id": order.task_id, "certificate": certificate(order.task_id), "title": order.pr.title}
    return sample_task(**identity, **commits, **proof, instruction="It is slow.")
