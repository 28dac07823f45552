"""Files that are written whole or not at all."""

import resource
from pathlib import Path

import pytest

from datasmith.errors import StoreUnavailable
from datasmith.evaluation.whole_files import write_bytes


def test_a_disk_without_room_leaves_no_draft(tmp_path: Path) -> None:
    """The file stays as it was, and nothing of the new one lies beside it (a limit of a file's size is such a disk)."""
    page = tmp_path / "report.html"
    write_bytes(page, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(StoreUnavailable, match=rf"^cannot write {page}: "):
            write_bytes(page, bytes(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert page.read_bytes() == b"old" and list(tmp_path.iterdir()) == [page]
