"""A task folder in order, for the tests of what is made of one."""

from pathlib import Path

import pytest

from datasmith.tasks.folder import write_task
from tests.unit.tasks.samples import sample_task, source_tar


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return source_tar(tmp_path / "source.tar.gz")


@pytest.fixture
def folder(tmp_path: Path, source: Path) -> Path:
    """A task folder in order."""
    return write_task(sample_task(), tmp_path / "tasks", source=source, provenance={"by": "test"})
