"""Certificates side by side: one for each class of machines, and one status that follows from all."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from datasmith.errors import InvalidTask
from datasmith.tasks.certificate import Certificate
from datasmith.tasks.certificates import add_certificate, machine_key, merged, read_certificates
from datasmith.tasks.folder import read_task, task_digest, write_task
from datasmith.tasks.folder_check import check_task
from tests.unit.tasks.samples import certificate, sample_task, source_tar

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def of(cpu: str, status: str, day: int, kernel: str = "6.1") -> Certificate:
    """A certificate of a machine with this processor, issued on a day."""
    one = certificate()
    machine = one.machine.model_copy(update={"cpu_model": cpu, "kernel": kernel})
    changes = {"machine": machine, "status": status, "issued_at": DAY + timedelta(days=day), "reason": f"{cpu} {day}"}
    return one.model_copy(update=changes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task with the certificate of stage 5."""
    task = sample_task(certificate=of("A", "valid", 0))
    return write_task(task, tmp_path, source=source_tar(tmp_path / "source.tar.gz"), provenance={})


@pytest.mark.parametrize(
    ("statuses", "expected", "shown"),
    [
        (("valid",), "valid", "0 0"),
        (("refused",), "withdrawn", "0 0"),
        (("valid", "valid"), "valid", "valid on 2 of 2 machines: 1 1"),
        (("valid", "refused"), "fragile", "valid on 1 of 2 machines: 0 0; 1: 1 1"),
        (("refused", "refused"), "withdrawn", "valid on 0 of 2 machines: 0: 0 0; 1: 1 1"),
    ],
)
def test_the_status_follows_from_all_machines(statuses: tuple[str, ...], expected: str, shown: str) -> None:
    """Valid everywhere, somewhere or nowhere; the newest valid one is shown."""
    whole = merged([of(str(number), status, number) for number, status in enumerate(statuses)])
    assert (whole.status, whole.reason) == (expected, shown)


def test_a_certificate_that_says_nothing_of_what_was_not_looked_for_is_read() -> None:
    """As of folders that were made when it had no place for that."""
    kept = certificate().model_dump(mode="json", exclude={"not_looked_for"})
    assert Certificate.model_validate(kept) == certificate()


def test_another_machine_is_put_beside_the_first(folder: Path) -> None:
    """The one of stage 5 is kept; the folder's digest and its contract stay; the same machine replaces its own."""
    digest = task_digest(folder)
    assert add_certificate(folder, of("B", "refused", 1)).status == "fragile"
    assert [one.machine.cpu_model for one in read_certificates(folder)] == ["A", "B"]
    assert add_certificate(folder, of("B", "valid", 2, kernel="6.9")).status == "valid"
    assert [one.reason for one in read_certificates(folder)] == ["A 0", "B 2"]
    again = read_task(folder).certificate
    assert again is not None and again.reason == "valid on 2 of 2 machines: B 2"
    assert task_digest(folder) == digest
    assert not [problem for problem in check_task(folder) if "certificate" in problem]


def test_an_image_that_was_built_again_is_said(folder: Path) -> None:
    """The certificate of another image is refused, unless it says that it was built from this task's."""
    other = of("A", "valid", 1).model_copy(update={"image_digest": "sha256:" + "9" * 64})
    add_certificate(folder, other)
    assert [problem for problem in check_task(folder) if "another image" in problem]
    add_certificate(folder, other.model_copy(update={"rebuilt_from": read_task(folder).image_digest}))
    assert not [problem for problem in check_task(folder) if "another image" in problem]


def test_a_certificate_that_cannot_be_read_is_named(folder: Path) -> None:
    """And nothing is written over it."""
    add_certificate(folder, of("A", "valid", 1))
    path = folder / "certificates" / f"{machine_key(of('A', 'valid', 1).machine)}.json"
    path.write_text("[")
    with pytest.raises(InvalidTask, match="no certificate"):
        add_certificate(folder, of("B", "valid", 2))
    assert path.read_text() == "["
