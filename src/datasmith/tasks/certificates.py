"""Certificates of several machines, side by side in a task folder, and the one status that follows from them."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from datasmith.errors import InvalidTask
from datasmith.misfits import misfit
from datasmith.tasks.certificate import Certificate, CertificateStatus, Machine
from datasmith.tasks.folder import CERTIFICATES, write_certificate

SHOWN = 3
"""So many refusals of other machines are told in a reason."""


def machine_key(machine: Machine) -> str:
    """The name of a class of machines: processor, its flags, cores, virtualised or not; not memory and kernel."""
    facts = (machine.cpu_model, machine.cpu_flags_sha256, machine.cores, machine.virtualised)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def read_certificates(folder: Path) -> tuple[Certificate, ...]:
    """What each class of machines said of a task, the oldest first.

    A folder that was certified once, by stage 5, holds `certificate.json` alone: that is then the one.

    Raises:
        InvalidTask: a certificate cannot be read; names it.
    """
    paths = sorted(path for path in (folder / CERTIFICATES).glob("*.json") if path.is_file())
    alone = folder / "certificate.json"
    if not paths and alone.is_file():
        paths = [alone]
    return tuple(sorted(map(_read, paths), key=lambda certificate: certificate.issued_at))


def _read(path: Path) -> Certificate:
    try:
        return Certificate.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        said = misfit(error) if isinstance(error, ValidationError) else error.strerror
        raise InvalidTask([f"{path}: no certificate: {said}"]) from error


def add_certificate(folder: Path, certificate: Certificate) -> Certificate:
    """Put a certificate beside those of other machines, in the place of its own machine's; returns the merged one.

    `certificates/<machine>.json` holds what each said, `certificate.json` what follows.

    Raises:
        InvalidTask: an earlier certificate cannot be read.
    """
    key = machine_key(certificate.machine)
    kept = [earlier for earlier in read_certificates(folder) if machine_key(earlier.machine) != key]
    for one in (*kept, certificate):
        write_certificate(folder, one, f"{CERTIFICATES}/{machine_key(one.machine)}.json")
    whole = merged((*kept, certificate))
    write_certificate(folder, whole)
    return whole


def merged(certificates: Sequence[Certificate]) -> Certificate:
    """The newest certificate that is valid (else the newest), with the status that follows from all.

    `valid` where every machine finds the task valid, `fragile` where some do, `withdrawn` where none does.
    """
    valid = [one for one in certificates if one.status == "valid"]
    shown = max(valid or certificates, key=lambda one: one.issued_at)
    status: CertificateStatus = "withdrawn" if not valid else "valid" if len(valid) == len(certificates) else "fragile"
    if len(certificates) == 1:
        return shown.model_copy(update={"status": status})
    others = [f"{one.machine.cpu_model}: {one.reason}" for one in certificates if one.status != "valid"]
    told = "; ".join([shown.reason, *others[:SHOWN]]) if valid else "; ".join(others[:SHOWN])
    reason = f"valid on {len(valid)} of {len(certificates)} machines: {told}"
    return shown.model_copy(update={"status": status, "reason": reason})
