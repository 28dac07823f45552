"""What earlier measurements of an image say of its noise here."""

from collections.abc import Iterable
from typing import Protocol

from datasmith.tasks.certificate import ArmSummary, Machine
from datasmith.tasks.certificates import machine_key
from datasmith.workloads.machine import this_machine
from datasmith.workloads.summary import recorded_floors


class Recorded(Protocol):
    """A measurement that was kept: a certificate, or a session of a run."""

    @property
    def image_digest(self) -> str:
        """Of the image that was measured."""

    @property
    def machine(self) -> Machine | None:
        """Where; None in records that do not say."""

    @property
    def control(self) -> ArmSummary:
        """base2 against base."""


def earlier_floors(records: Iterable[Recorded | None], image_digest: str) -> dict[str, float]:
    """The largest noise floor of each workload, as |ln ratio|, in records of this image and this class of machine."""
    here = machine_key(this_machine())
    known = [one for one in records if one and one.machine and one.image_digest == image_digest]
    return recorded_floors(*(one.control for one in known if one.machine and machine_key(one.machine) == here))
