"""Layers: whole or not there, made once, found again, and known by their content."""

import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.bubblewrap_root import make_etc
from datasmith.docker.engine import Tier
from datasmith.docker.layers import LayerStore, Origin, tier_key
from datasmith.docker.trees import tree_digest
from datasmith.errors import BuildFailed, ContainerError
from tests.mounts import small_disk

TIER = Tier("pr", "some/name:1", ("a.sh",), {"a.sh": b"echo"}, {"A": "1"})


def fill(draft: Path, _origins: dict[str, Origin]) -> Mapping[str, str]:
    """A layer of one file."""
    (draft / "env").mkdir()
    (draft / "env/file").write_text("content")
    return {"made": "here"}


def slowly(root: Path, notes: Path) -> None:
    """Make the layer, and note that it was made by this process."""

    def noted(draft: Path, origins: dict[str, Origin]) -> Mapping[str, str]:
        (notes / str(os.getpid())).touch()
        time.sleep(0.3)
        return fill(draft, origins)

    LayerStore(root).make("key", TIER, None, noted, ("env",))


def visible(root: Path) -> set[str]:
    """What lies under the store but for locks."""
    return {path.name for path in root.iterdir() if not path.name.endswith(".lock")}


def test_a_layer_is_made_once_and_found(tmp_path: Path) -> None:
    """The second call gives the same layer without filling; it is found by key, digest and name."""
    store = LayerStore(tmp_path)
    made = store.make("key", TIER, None, fill, ("env",))
    assert store.make("key", TIER, None, lambda *_: pytest.fail("filled again"), ("env",)) == made
    assert [store.find(name) for name in (made.key, made.digest, "some/name:1", "other")] == [made, made, made, None]
    assert made.facts["made"] == "here" and (made.path / "env/file").read_text() == "content"


def test_an_interrupted_layer_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C while a layer is filled leaves no directory, and the next call makes it."""

    def interrupted(draft: Path, origins: dict[str, Origin]) -> Mapping[str, str]:
        fill(draft, origins)
        (draft / "env").chmod(0)
        raise KeyboardInterrupt

    store = LayerStore(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        store.make("key", TIER, None, interrupted, ("env",))
    assert visible(tmp_path) == set() and store.get("key") is None
    assert store.make("key", TIER, None, fill, ("env",)).key == "key"


def test_a_path_that_is_too_long_before_a_script_ran_is_no_verdict(tmp_path: Path) -> None:
    """This file system has no names of so many characters: the cause says so, and the build did not fail."""

    def unpacked(draft: Path, _origins: dict[str, Origin]) -> Mapping[str, str]:
        (draft / ("x" * 256)).touch()
        return {}

    with pytest.raises(ContainerError) as caught:
        LayerStore(tmp_path).make("key", TIER, None, unpacked, ("env",))
    assert not isinstance(caught.value, BuildFailed) and isinstance(caught.value.__cause__, OSError)


def test_two_processes_make_one_layer(tmp_path: Path) -> None:
    """Of two processes that want the same key one builds; both end well."""
    notes = tmp_path / "notes"
    notes.mkdir()
    spawn = multiprocessing.get_context("spawn")
    children = [spawn.Process(target=slowly, args=(tmp_path / "layers", notes)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0]
    assert len(list(notes.iterdir())) == 1 and visible(tmp_path / "layers") == {"key"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system that is full at once")
def test_a_full_disk_is_one_clear_error(tmp_path: Path) -> None:
    """The message names the directory and the reason; no half of a layer stays."""
    root = tmp_path / "small"
    root.mkdir()
    assert process.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", root]).ok
    try:

        def big(draft: Path, _origins: dict[str, Origin]) -> Mapping[str, str]:
            (draft / "file").write_bytes(b"x" * 1_000_000)
            return {}

        with pytest.raises(ContainerError) as caught:
            LayerStore(root).make("key", TIER, None, big, ())
        assert str(root) in str(caught.value) and "No space left on device" in str(caught.value)
        assert visible(root) == set()
    finally:
        process.run(["umount", root])


def test_a_disk_that_fills_up_with_many_files_is_one_short_line(tmp_path: Path) -> None:
    """A tree that is copied into a layer: the line names the place, the setting and the reason, and no file of it."""
    fonts = tmp_path / "top/etc/fonts"
    fonts.mkdir(parents=True)
    for number in range(20):
        (fonts / f"{number}.conf").write_bytes(b"x" * 100_000)

    def etc(draft: Path, _origins: dict[str, Origin]) -> Mapping[str, str]:
        make_etc(draft / "etc", tmp_path / "top")
        return {}

    with small_disk(tmp_path / "small", megabytes=1) as disk:
        with pytest.raises(ContainerError) as caught:
            LayerStore(disk).make("key", TIER, None, etc, ())
        assert visible(disk) == set()
    said = str(caught.value)
    assert said.endswith(": No space left on device (example: FC_CACHE_DIR=/large/disk)")
    assert str(disk) in said and ".conf" not in said and "\n" not in said


def test_the_etc_of_a_sandbox_has_what_lies_behind_links(tmp_path: Path) -> None:
    """A directory that is a link, as /etc/ssl/certs on some systems, is copied; links in it stay links."""
    (tmp_path / "etc/pki").mkdir(parents=True)
    (tmp_path / "etc/pki/a.pem").write_text("pem")
    (tmp_path / "etc/pki/b.pem").symlink_to("a.pem")
    (tmp_path / "etc/ssl").mkdir()
    (tmp_path / "etc/ssl/certs").symlink_to("../pki")
    make_etc(tmp_path / "made", tmp_path)
    certs = tmp_path / "made/ssl/certs"
    assert not certs.is_symlink() and sorted(path.name for path in certs.iterdir()) == [
        "a.pem",
        "b.pem",
        "ca-certificates.crt",
    ]
    assert (certs / "b.pem").is_symlink() and (certs / "a.pem").read_text() == "pem"


@pytest.mark.parametrize(
    "other",
    [
        Tier("pr", "some/name:1", ("a.sh",), {"a.sh": b"echo changed"}, {"A": "1"}),
        Tier("pr", "some/name:1", ("a.sh",), {"a.sh": b"echo"}, {"A": "2"}),
        Tier("pr", "some/name:1", ("a.sh",), {"a.sh": b"echo", "b": b""}, {"A": "1"}),
        Tier("pr", "some/name:1", (), {"a.sh": b"echo"}, {"A": "1"}),
        Tier("pr", "some/name:1", ("a.sh",), {"a.sh": b"echo"}, {"A": "1"}, network="build"),
    ],
)
def test_the_address_covers_what_makes_a_layer(other: Tier) -> None:
    """Another script, argument, file, order or network is another layer; so is another parent."""
    assert tier_key(other, "", {}) != tier_key(TIER, "", {})
    assert tier_key(TIER, "sha256:1", {}) != tier_key(TIER, "", {})


def test_a_name_or_place_does_not_change_the_address(tmp_path: Path) -> None:
    """The same content under another name, or in a file, is the same layer."""
    (tmp_path / "a").write_bytes(b"echo")
    same = Tier("pr", "another:2", ("a.sh",), {"a.sh": tmp_path / "a"}, {"A": "1"})
    assert tier_key(same, "", {}) == tier_key(TIER, "", {})


def test_the_digest_sees_content_links_and_modes_but_not_times(tmp_path: Path) -> None:
    """Two trees are the same where a reader could not tell them apart."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file").write_text("one")
    (tmp_path / "link").symlink_to("nowhere")
    first = tree_digest(tmp_path)
    os.utime(tmp_path / "d/file", (1, 1))
    assert tree_digest(tmp_path) == first
    seen = {first}
    for change in ("chmod 755 d/file", "echo two >d/file", "ln -sfn elsewhere link", "mv d/file d/other"):
        assert process.run(["sh", "-c", change], cwd=tmp_path).ok
        seen.add(tree_digest(tmp_path))
    assert len(seen) == 5


def test_what_a_layer_has_of_others_is_kept_once(tmp_path: Path) -> None:
    """Untouched files of the layer below, and equal ones of the repository's last environment, are the same files.

    What was written in place, with the old size and time, is read again: the digest is that of the content.
    """
    store = LayerStore(tmp_path / "layers")
    env = Tier("env", "n/repo:py3.11-1", (), {})

    def packages(version: str) -> Callable[[Path, dict[str, Origin]], Mapping[str, str]]:
        def made(draft: Path, _origins: dict[str, Origin]) -> Mapping[str, str]:
            (draft / "env").mkdir()
            (draft / "env/large").write_text("the same in all")
            (draft / "env/version").write_text(version)
            return {}

        return made

    def changed(draft: Path, origins: dict[str, Origin]) -> Mapping[str, str]:
        origin = store.copy(first, "env", draft / "env")
        assert origin is not None
        origins["env"] = origin
        time.sleep(0.02)
        before = (draft / "env/version").stat()
        (draft / "env/version").write_text("9")
        os.utime(draft / "env/version", ns=(before.st_atime_ns, before.st_mtime_ns))
        return {}

    first = store.make("first", env, None, packages("1"), ("env",))
    second = store.make("second", replace(env, name="n/repo:py3.11-2"), None, packages("2"), ("env",))
    other = store.make("other", replace(env, name="n/another:py3.11-2"), None, packages("3"), ("env",))
    assert (second.path / "env/large").samefile(first.path / "env/large")
    assert not (other.path / "env/large").samefile(first.path / "env/large")
    pr = store.make("pr", Tier("pr", "n/repo:1", (), {}), first, changed, ("env",))
    assert (pr.path / "env/large").samefile(first.path / "env/large")
    assert (pr.path / "env/version").read_text() == "9" and (first.path / "env/version").read_text() == "1"
    assert pr.facts["tree:env"] == tree_digest(pr.path / "env") != first.facts["tree:env"]


def test_a_name_means_the_layer_that_was_called_so_last(tmp_path: Path) -> None:
    """Names move from layer to layer; a layer that is gone is not found by them."""
    store = LayerStore(tmp_path)
    one = store.make("one", TIER, None, fill, ("env",))
    two = store.make("two", TIER, None, fill, ("env",))
    store.call(one, ("a:latest", "a:1"))
    store.call(two, ("a:latest",))
    assert (store.find("a:latest"), store.find("a:1")) == (two, one)
    shutil.rmtree(two.path)
    assert store.find("a:latest") is None
