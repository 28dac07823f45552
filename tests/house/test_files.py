"""What no file of the project may contain."""

import re

from tests.house.source import ROOT, project_files

PLACES = re.compile(r"(?<![\w./~$*})>-])/(?:work|root|farm)(?![\w.-])(?:/|\b)")
"""Absolute paths that exist on one machine only; what a sandbox calls its own (/workspace) is no such path."""
OF_SANDBOXES = "src/datasmith/docker/"
"""Here /root is the one inside an image."""


def test_no_file_names_a_place_of_one_machine() -> None:
    """A clone works anywhere: no path of somebody's machine is written down."""
    found = []
    for path in project_files():
        if path.name in {".gitignore", "uv.lock"} or path.suffix in {".gz", ".xz", ".png", ".parquet"}:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            place = PLACES.search(line)
            name = path.relative_to(ROOT).as_posix()
            if place and path.name != "test_files.py" and not (name.startswith(OF_SANDBOXES) and "root" in place[0]):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not found


def test_files_end_with_a_newline_and_have_no_carriage_returns() -> None:
    """Text files are POSIX text files, so that diffs show what changed and nothing else."""
    suffixes = {".py", ".sh", ".md", ".toml", ".yml", ".json", ".sql"}
    for path in project_files():
        if path.suffix in suffixes:
            data = path.read_bytes()
            assert (not data or data.endswith(b"\n")) and b"\r" not in data, path
