"""Which records say something of the noise here: those of the same image, on the same class of machine."""

from pathlib import Path

import pytest

from datasmith.tasks.certificate import Certificate, Machine
from datasmith.workloads.base import CONTROL
from datasmith.workloads.earlier import earlier_floors
from datasmith.workloads.machine import this_machine
from datasmith.workloads.summary import recorded_floors, summarise
from tests.unit.evaluation.sample_run import SampleRun
from tests.unit.tasks.samples import certificate

from .launches import history

NOISY = summarise(history({"m.time_x": 1.0}, control=1.1), seed=0)[CONTROL]
FLOORS = recorded_floors(NOISY)
IMAGE = "sha256:0123"
HERE = this_machine()
OTHER = HERE.model_copy(update={"cpu_model": "another one"})


def issued(image: str, machine: Machine) -> Certificate:
    """A certificate from a noisy day."""
    changes = {"image_digest": image, "machine": machine, "control": NOISY}
    return certificate("acme_calc_1").model_copy(update=changes)


@pytest.mark.parametrize(
    ("image", "machine", "known"),
    [
        (IMAGE, HERE, FLOORS),
        (IMAGE, HERE.model_copy(update={"memory_mb": 1, "kernel": "another"}), FLOORS),
        (IMAGE, OTHER, {}),
        ("sha256:other", HERE, {}),
    ],
)
def test_a_certificate_counts_for_its_image_and_class_of_machine(
    image: str, machine: Machine, known: dict[str, float]
) -> None:
    """Another image is other code, and what another processor scatters by is no fact of this one."""
    assert FLOORS["m.time_x"] > 0.09
    assert earlier_floors([None, issued(image, machine)], IMAGE) == known


def test_a_session_that_does_not_say_where_it_was_is_passed_over(tmp_path: Path) -> None:
    """As those of older runs."""
    run = SampleRun(tmp_path / "run", ["acme_fast_1"], ["good"])
    session = run.session("acme_fast_1", {"m.time_x": 1.0}).model_copy(update={"image_digest": IMAGE, "control": NOISY})
    assert earlier_floors([session], IMAGE) == {}
    assert earlier_floors([session.model_copy(update={"machine": HERE})], IMAGE) == FLOORS
