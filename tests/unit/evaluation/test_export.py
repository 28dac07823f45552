"""Export of task folders: where they cannot go is said before anything is written."""

from pathlib import Path

import pytest

from datasmith.errors import ConfigError
from datasmith.evaluation.export import export_tasks


def test_a_file_is_no_place_for_folders(tmp_path: Path) -> None:
    """The option is named, with an example, and the file stays."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match=r"--output .*is no directory \(example: --output harbor-tasks\)"):
        export_tasks([], tmp_path / "file", "harbor")
    assert (tmp_path / "file").read_text() == "mine"
