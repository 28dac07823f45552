"""Directories that appear and disappear whole, whoever was killed on the way."""

from pathlib import Path

import pytest

from datasmith.tasks.drafts import replacing, take_away


def put(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "a").write_text(text)
    return folder


def test_the_new_takes_the_place_of_the_old(tmp_path: Path) -> None:
    """Parents are made; nothing but the directory is left."""
    target = tmp_path / "tasks" / "one"
    for text in ("first", "second"):
        with replacing(target) as draft:
            put(draft, text)
        assert (target / "a").read_text() == text
    assert list(target.parent.iterdir()) == [target]


def test_a_failure_leaves_the_old(tmp_path: Path) -> None:
    """As it was, and no draft."""
    target = put(tmp_path / "one", "first")
    with pytest.raises(OSError, match="full"), replacing(target) as draft:
        put(draft, "second")
        raise OSError("full")
    assert (target / "a").read_text() == "first" and list(tmp_path.iterdir()) == [target]


def test_what_killed_processes_left_is_deleted(tmp_path: Path) -> None:
    """Drafts of the same directory go, those of another whose name begins alike stay."""
    for folder in (tmp_path / ".acme_calc_1.k2x_9qza" / "new", tmp_path / ".acme_calc_1.b_2.k2x_9qza" / "new"):
        put(folder, "half")
    with replacing(tmp_path / "acme_calc_1") as draft:
        put(draft, "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".acme_calc_1.b_2.k2x_9qza", "acme_calc_1"]
    take_away(tmp_path / "acme_calc_1.b_2")
    assert [path.name for path in tmp_path.iterdir()] == ["acme_calc_1"]


def test_what_is_taken_away_is_gone(tmp_path: Path) -> None:
    """With its drafts; where there is nothing, nothing happens."""
    take_away(put(tmp_path / "one", "x"))
    take_away(tmp_path / "one")
    take_away(tmp_path / "nowhere" / "one")
    assert list(tmp_path.iterdir()) == []
