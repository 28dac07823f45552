"""Other files in place of a directory, as a diff that git itself applies."""

from pathlib import Path

import pytest

from datasmith.errors import ForgeError
from datasmith.github import overlay
from datasmith.github.git import Git
from datasmith.github.overlay import File, directory_at, lines_at, overlay_patch
from tests.clones import Clone


def test_the_directory_holds_the_files_and_nothing_else(tmp_path: Path) -> None:
    """Text, binary and executable files, odd names and ends of lines arrive; what was there goes; the rest stays."""
    clone = Clone(tmp_path / "calc", {"calc.py": "x = 1\n", "benchmarks/old.py": "x\n", "benchmarks/deep/a.py": "y\n"})
    files = {
        "old.py": File(b"new\r\nlines"),
        "sub dir/b\xe4.py": File("é\n".encode()),
        "run.sh": File(b"#!/bin/sh\n", executable=True),
        "data.bin": File(bytes(range(256)) * 20),
        "bad\udcff.py": File(b"z\n"),
    }
    patch = overlay_patch(Git(clone.path), clone.git("rev-parse", "HEAD"), "benchmarks", files)
    clone.git("apply", "--whitespace=nowarn", "-", stdin=patch.encode("utf-8", "surrogateescape"))
    clone.commit("laid over", {}, "2026-02-01T00:00:00+0000")
    git = Git(clone.path)
    assert directory_at(git, git.head(), "benchmarks") == files
    assert git.read(git.head(), "calc.py") == b"x = 1\n"
    assert overlay_patch(git, git.head(), "benchmarks", files) == ""


def test_a_directory_can_take_a_files_place_and_no_path_can_lead_out(tmp_path: Path) -> None:
    """A place that base has as a file is replaced; what no checkout may write is not in the diff."""
    clone = Clone(tmp_path / "calc", {"bench": "a file\n"})
    git = Git(clone.path)
    patch = overlay_patch(git, git.head(), "bench", {"a.py": File(b"x\n")})
    clone.git("apply", "-", stdin=patch.encode())
    assert (clone.path / "bench/a.py").read_text() == "x\n"
    odd = {"../../.git/config": File(b"x\n"), ".git/hooks/post-checkout": File(b"x\n"), "a.py": File(b"x\n")}
    assert overlay_patch(git, git.head(), "bench", odd) == patch


def test_links_are_left_out_and_a_large_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only regular files are taken, and not more than fits."""
    clone = Clone(tmp_path / "calc", {"benchmarks/a.py": "12345\n"})
    (clone.path / "benchmarks/link.py").symlink_to("/etc/passwd")
    clone.commit("a link", {}, "2026-02-01T00:00:00+0000")
    git = Git(clone.path)
    assert set(directory_at(git, git.head(), "benchmarks")) == {"a.py"}
    # A limit of megabytes is reached with a small one.
    monkeypatch.setattr(overlay, "MOST_BYTES", 5)
    with pytest.raises(ForgeError, match="larger than 5 bytes"):
        directory_at(git, git.head(), "benchmarks")


def test_lines_are_found_as_parts_of_lines_and_behind_longer_ones(tmp_path: Path) -> None:
    """Each line that some file of the commit holds, and no other."""
    clone = Clone(tmp_path / "calc", {"a.py": "    value = compute(table)  # note\n", "b.txt": "only here\n"})
    git = Git(clone.path)
    asked = {"value = compute(table)", "value = compute(table)  # note", "only here", "nowhere", "--option"}
    assert lines_at(git, git.head(), asked) == asked - {"nowhere", "--option"}
    assert lines_at(git, git.head(), ()) == frozenset()


def test_a_line_may_hold_what_ends_one_elsewhere(tmp_path: Path) -> None:
    """Git ends lines at line feeds alone."""
    asked = {"one\x0ctwo", "one\u2028two", "one\x85two", "one\rtwo"}
    clone = Clone(tmp_path / "calc", {"a.py": "a\n"})
    (clone.path / "a.py").write_bytes("\n".join(sorted(asked)).encode())
    clone.commit("odd lines", {}, "2026-02-01T00:00:00+0000")
    git = Git(clone.path)
    assert lines_at(git, git.head(), asked) == asked
