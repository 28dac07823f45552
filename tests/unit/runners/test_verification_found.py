"""Which directories are task folders, and of which generation."""

from pathlib import Path

import pytest

from datasmith.errors import ConfigError
from datasmith.runners.verification.run import Kind, find_folders


def test_folders_are_found_below_a_root(tmp_path: Path) -> None:
    """Both generations, in order; links and hidden directories are left alone; nothing at all is an error."""
    kinds: dict[str, Kind] = {"b/task.toml": "task", "a/acme_calc/sha/task.txt": "legacy"}
    for name in [*kinds, ".hidden/task.toml"]:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert find_folders(tmp_path) == ((tmp_path / "a/acme_calc/sha", "legacy"), (tmp_path / "b", "task"))
    with pytest.raises(ConfigError, match="example: --task work/dataset/tasks"):
        find_folders(tmp_path / ".nothing")
