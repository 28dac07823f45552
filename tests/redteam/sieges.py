"""One session of samplelib's attacks on the last core, beside an honest solution, and what became of each."""

import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from datasmith.docker.engine import Limits
from datasmith.evaluation.redteam.attack import Attack, experts, read_patches
from datasmith.evaluation.redteam.generic import generic_attacks
from datasmith.evaluation.redteam.session import Ended, Siege, Terms, besiege
from datasmith.evaluation.redteam.tree import Tree
from datasmith.executors.cores import usable_cores
from datasmith.tasks.task import Task
from tests.redteam.samplelib_task import ATTACKS, CONTROLS, HONEST, samplelib
from tests.sandboxes import embedded_engine


def honest(task: Task) -> Attack:
    """The expert's patch as somebody else would hand it in; it may score."""
    handed = experts(task.expert_patch)
    assert handed is not None
    return replace(handed, name="honest", kind="none")


def besieged(place: Path, workloads: tuple[str, ...], names: Collection[str], *, past_policy: bool = False) -> Siege:
    """The attacks of these names, and what is `honest`, in pull request 4's task with these workloads."""
    engine = embedded_engine(place / "cache")
    task, image, folder = samplelib(place, engine).task(4)
    own = [attack for where in (ATTACKS, CONTROLS, HONEST) for attack in read_patches(where)]
    known = [honest(task), *own, *generic_attacks(Tree.of_task(task, folder))]
    return besiege(
        engine,
        image,
        task.model_copy(update={"workloads": workloads}),
        [attack for attack in known if attack.name in names],
        terms=Terms(max_rounds=8, past_policy=past_policy),
        limits=Limits(cpus=(usable_cores()[-1],)),
        say=lambda *_: None,
        now=time.monotonic,
    )


def ended(siege: Siege, name: str) -> Ended:
    """What became of one submission."""
    return next(one for one in siege.ended if one.attack.name == name)
