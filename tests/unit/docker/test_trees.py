"""Directories that a sandbox filled: told apart, copied, shared and deleted, whatever is in them."""

import errno
import os
import time
from pathlib import Path

import pytest

from datasmith.docker.trees import copy_tree, read_tree, remove_tree, share, stamps_of, tree_digest
from datasmith.errors import ContainerError, StoreUnavailable
from datasmith.runners.disk import needing_room
from tests.mounts import small_disk


def tree(root: Path) -> Path:
    """A tree with a file, a link and a subdirectory."""
    (root / "sub").mkdir(parents=True)
    (root / "sub/file").write_text("content")
    (root / "link").symlink_to("sub/file")
    return root


def make_deep(root: Path, levels: int) -> None:
    """A chain of directories far longer than a path may be."""
    root.mkdir()
    at = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 100, dir_fd=at)
        below = os.open("d" * 100, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


def test_empty_directories_and_pipes_count(tmp_path: Path) -> None:
    """An empty directory, its mode, a pipe: each changes the digest, and a pipe does not hang it."""
    seen = {tree_digest(tree(tmp_path / "a"))}
    (tmp_path / "a/empty").mkdir()
    seen.add(tree_digest(tmp_path / "a"))
    (tmp_path / "a/empty").chmod(0o700)
    seen.add(tree_digest(tmp_path / "a"))
    os.mkfifo(tmp_path / "a/pipe")
    seen.add(tree_digest(tmp_path / "a"))
    assert len(seen) == 4


def test_entries_cannot_be_shifted_between_directories(tmp_path: Path) -> None:
    """The same file one directory further is another tree."""
    (tmp_path / "one/a/b").mkdir(parents=True)
    (tmp_path / "two/a/b").mkdir(parents=True)
    (tmp_path / "one/a/f").write_text("x")
    (tmp_path / "two/a/b/f").write_text("x")
    assert tree_digest(tmp_path / "one") != tree_digest(tmp_path / "two")


def test_what_was_made_unreadable_is_read_all_the_same(tmp_path: Path) -> None:
    """Modes of zero hide nothing from the digest, and are opened for the owner."""
    root = tree(tmp_path / "a")
    (root / "sub/file").chmod(0)
    (root / "sub").chmod(0)
    tree_digest(root)
    assert (root / "sub").stat().st_mode & 0o700 == 0o700
    assert (root / "sub/file").stat().st_mode & 0o400


def test_a_tree_too_deep_for_a_path_can_be_deleted(tmp_path: Path) -> None:
    """A chain of 200 directories is refused by the digest and gone after `remove_tree`."""
    make_deep(tmp_path / "deep", 200)
    with pytest.raises(OSError, match="too long"):
        tree_digest(tmp_path / "deep")
    remove_tree(tmp_path / "deep")
    assert not (tmp_path / "deep").exists()
    remove_tree(tmp_path / "deep")


def test_unreadable_directories_are_deleted(tmp_path: Path) -> None:
    """Directories without any right do not stay behind."""
    root = tree(tmp_path / "a")
    (root / "sub").chmod(0)
    root.chmod(0)
    remove_tree(root)
    assert not root.exists()


def test_links_are_deleted_and_not_what_they_lead_to(tmp_path: Path) -> None:
    """A link out of the tree leaves its target alone."""
    kept = tree(tmp_path / "kept")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/out").symlink_to(kept)
    remove_tree(tmp_path / "a")
    assert (kept / "sub/file").exists()


def test_a_copy_shares_nothing_that_can_be_written(tmp_path: Path) -> None:
    """Each file of a copy is a file of its own, with the same content, mode and time."""
    source = tree(tmp_path / "a")
    (source / "twin").hardlink_to(source / "sub/file")
    copy_tree(source, tmp_path / "b")
    one, other = (source / "sub/file").stat(), (tmp_path / "b/sub/file").stat()
    assert one.st_ino != other.st_ino and one.st_mtime_ns == other.st_mtime_ns
    assert tree_digest(source) == tree_digest(tmp_path / "b")


def test_a_copy_that_fails_names_the_place(tmp_path: Path) -> None:
    """The message has the target and the reason."""
    with pytest.raises(ContainerError, match=r"nosuch.*No such file") as caught:
        copy_tree(tmp_path / "nosuch", tmp_path / "b")
    assert str(tmp_path / "b") in str(caught.value)


def test_a_copy_that_fills_the_disk_is_an_outage(tmp_path: Path) -> None:
    """The cause is the system's own error with the place, which tells a full disk from a tree that cannot be copied."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/big").write_bytes(os.urandom(3 << 20))
    with small_disk(tmp_path / "disk", megabytes=1) as disk:
        with pytest.raises(ContainerError, match="No space left") as caught:
            copy_tree(tmp_path / "a", disk / "b")
        with pytest.raises(StoreUnavailable, match=str(disk / "b")), needing_room(tmp_path):
            copy_tree(tmp_path / "a", disk / "b")
    cause = caught.value.__cause__
    assert isinstance(cause, OSError) and cause.errno == errno.ENOSPC
    with pytest.raises(ContainerError) as caught:
        copy_tree(tmp_path / "nosuch", tmp_path / "b")
    assert caught.value.__cause__ is None


def test_only_what_is_the_same_is_shared(tmp_path: Path) -> None:
    """Equal files become one; other content, mode or time, and files behind a link, stay apart; nothing changes."""
    source = tree(tmp_path / "a")
    for name in ("changed", "mode", "time"):
        (source / name).write_text("1234")
        os.utime(source / name, ns=(10**18, 10**18))
    copy_tree(source, tmp_path / "b")
    (tmp_path / "b/changed").write_text("4321")
    os.utime(tmp_path / "b/changed", ns=(10**18, 10**18))
    (tmp_path / "b/mode").chmod(0o755)
    os.utime(tmp_path / "b/time")
    before = tree_digest(tmp_path / "b")
    share(tmp_path / "b", source, read_tree(tmp_path / "b").like(read_tree(source).files))
    same = [name for name in ("sub/file", "changed", "mode", "time") if (tmp_path / "b" / name).samefile(source / name)]
    assert same == ["sub/file"] and tree_digest(tmp_path / "b") == before


def test_what_a_copy_left_alone_is_known_and_shared_unasked(tmp_path: Path) -> None:
    """Of a copy that was written to, the stamps tell every other file; a directory that is gone is passed over."""
    source = tree(tmp_path / "a")
    for name in ("content", "mode", "sub/kept"):
        (source / name).write_text("1234")
    copy_tree(source, tmp_path / "b")
    stamps, known = stamps_of(tmp_path / "b"), read_tree(source)
    time.sleep(0.02)
    (tmp_path / "b/content").write_text("4321")
    (tmp_path / "b/mode").chmod(0o755)
    read = read_tree(tmp_path / "b", known=known.files, stamps=stamps)
    assert read.untouched == known.files.keys() - {b"content", b"mode"} and not known.untouched
    share(tmp_path / "b", source, {*read.like(known.files), b"gone/file"}, sure=read.untouched)
    same = {name for name in read.files if (tmp_path / "b" / os.fsdecode(name)).samefile(source / os.fsdecode(name))}
    assert same == read.untouched and read.digest == tree_digest(tmp_path / "b") != known.digest


def test_nothing_is_shared_through_a_link(tmp_path: Path) -> None:
    """Where the original has a link to a directory elsewhere, its files there are not taken."""
    outside = tree(tmp_path / "outside")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/sub").symlink_to(outside / "sub")
    copy_tree(outside, tmp_path / "b")
    share(tmp_path / "b", tmp_path / "a", {b"sub/file"})
    assert not (tmp_path / "b/sub/file").samefile(outside / "sub/file")
