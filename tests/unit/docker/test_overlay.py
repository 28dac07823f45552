"""What a program leaves of a directory that it was shown is the same whether it was copied or overlaid."""

import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from datasmith import process
from datasmith.docker.bubblewrap_command import bare
from datasmith.docker.overlay import Overlay, is_possible, mounting
from datasmith.docker.trees import copy_tree, read_tree, remove_tree, tree_digest
from datasmith.errors import StoreUnavailable
from datasmith.runners.disk import needing_room
from tests.mounts import small_disk

PATHS = st.sampled_from(["a", "a/b", "a/b/c", "a/b/d", "a/e", "f", "g", "g/h", "g/h/i", "s", "s/b", "d"])
COMMANDS = st.one_of(
    st.tuples(st.sampled_from(["rm -rf", "mkdir -p", "echo new >>", "chmod 500", "chmod 750", "touch"]), PATHS),
    st.tuples(st.sampled_from(["mv -f", "mv -T", "ln -sfn", "ln -f"]), PATHS, PATHS),
)
"""Directories, files and links to both, in each other's place."""


def below(place: Path) -> Path:
    """A small tree of all kinds."""
    (place / "a/b/c").mkdir(parents=True)
    (place / "g/h").mkdir(parents=True)
    for name in ("a/b/c/deep", "a/b/d", "a/e", "f", "g/h/i"):
        (place / name).write_text(name)
    (place / "s").symlink_to("a")
    (place / "d").symlink_to("nowhere")
    (place / "g/h/i").chmod(0o640)
    return place


def run(script: str, directory: Path, words: list[str]) -> None:
    """Each line of a script of ours, whatever became of the one before."""
    lines = "; ".join(f"{line} 2>/dev/null" for line in script.splitlines())
    done = process.run([*words, "/bin/sh", "-c", f'cd "$1" && {lines}; true', "sh", directory], timeout=60)
    assert done.ok, done.error_text


PLAIN = "mkdir l u w m && mount -t overlay -o userxattr,lowerdir=l,upperdir=u,workdir=w x m && mkdir m/d && rmdir m/d"
"""What the kernel has to let a user do here."""


@pytest.fixture(autouse=True)
def possible(tmp_path_factory: pytest.TempPathFactory) -> None:
    """None of these says anything where the kernel has no overlays for users; where it has, builds use them."""
    place = tmp_path_factory.mktemp("plain")
    if not process.run(["unshare", "-Urm", "sh", "-c", PLAIN], cwd=place, timeout=60).ok:
        pytest.skip("no overlay can be mounted here")
    probe = tmp_path_factory.mktemp("probes") / "probe"
    assert is_possible(probe, bare("bwrap")) and not probe.exists()


@settings(max_examples=60)
@example([[("rm -rf", "a"), ("mkdir -p", "a")]])
@example([[("rm -rf", "g/h"), ("echo new >>", "g/h")], [("rm -rf", "g/h"), ("mkdir -p", "g/h")]])
@given(st.lists(st.lists(COMMANDS, min_size=1, max_size=6), min_size=1, max_size=2))
def test_whatever_is_done_the_tree_is_that_of_a_copy(scripts: list[list[tuple[str, ...]]]) -> None:
    """By one program after another; what is below stays, and what is said to be linked is that very file."""
    with TemporaryDirectory() as name:
        place = Path(name)
        lower = below(place / "lower")
        known = read_tree(lower)
        copy_tree(lower, place / "copy")
        overlay = Overlay.over(lower, known.files, place / "shown", place / "apart")
        for script in scripts:
            text = "\n".join(" ".join(words) for words in script)
            run(text, place / "copy", ["unshare", "--user", "--map-root-user"])
            run(text, overlay.place, mounting(overlay))
        linked = overlay.settle()
        assert tree_digest(place / "shown") == tree_digest(place / "copy")
        assert tree_digest(lower) == known.digest
        same = {
            path
            for path in known.files
            if (found := place / "shown" / path.decode()).exists() and found.samefile(lower / path.decode())
        }
        assert linked.keys() <= same
        assert not any(path.name == "apart" for path in place.iterdir())
        remove_tree(place / "shown")


def test_what_nobody_touched_is_linked(tmp_path: Path) -> None:
    """All of it but what was written, and it is known without being read."""
    lower = below(tmp_path / "lower")
    known = read_tree(lower).files
    overlay = Overlay.over(lower, known, tmp_path / "shown", tmp_path / "apart")
    run("echo more >>a/e\nrm f\nmkdir a/b/new", overlay.place, mounting(overlay))
    assert not list((tmp_path / "shown").iterdir()), "nobody else sees it"
    linked = overlay.settle()
    assert known.keys() - linked.keys() == {b"a/e", b"f"}
    assert (tmp_path / "shown/g/h/i").samefile(lower / "g/h/i")
    assert (tmp_path / "shown/a/e").read_text() == "a/emore\n" and (lower / "a/e").read_text() == "a/e"
    assert (tmp_path / "shown/a/b/new").is_dir() and not (tmp_path / "shown/f").exists()


def test_a_disk_that_fills_up_while_linking_is_an_outage(tmp_path: Path) -> None:
    """It says nothing about the commit: the cause is the system's error, as of a copy."""
    with small_disk(tmp_path / "disk", megabytes=1) as disk:
        for number in range(300):
            (disk / f"lower/{number}").mkdir(parents=True)
        overlay = Overlay.over(disk / "lower", {}, disk / "shown", disk / "apart")
        assert process.run(["mount", "-o", "remount,nr_inodes=400", disk]).ok, "room for less than another 300"
        with pytest.raises(StoreUnavailable, match="No space left"), needing_room(tmp_path):
            overlay.settle()


def test_the_directory_itself_is_as_it_was(tmp_path: Path) -> None:
    """Its modes, too, which a digest of what lies in it does not hold."""
    lower = below(tmp_path / "lower")
    lower.chmod(0o750)
    overlay = Overlay.over(lower, {}, tmp_path / "shown", tmp_path / "apart")
    run("echo 1 >new", overlay.place, mounting(overlay))
    overlay.settle()
    assert stat.S_IMODE((tmp_path / "shown").stat().st_mode) == 0o750


def test_what_may_not_be_read_is_moved_all_the_same(tmp_path: Path) -> None:
    """Directories without a mode, new ones and old ones, stay so until the tree is read."""
    lower = below(tmp_path / "lower")
    overlay = Overlay.over(lower, {}, tmp_path / "shown", tmp_path / "apart")
    run("mkdir -p n/m\necho 1 >n/m/f\nchmod 0 n/m n g", overlay.place, mounting(overlay))
    overlay.settle()
    modes = {name: stat.S_IMODE((tmp_path / "shown" / name).stat().st_mode) for name in ("g", "n")}
    assert modes == {"g": 0, "n": 0}
    assert b"n/m/f" in read_tree(tmp_path / "shown").files and b"g/h/i" in read_tree(tmp_path / "shown").files


@pytest.mark.parametrize("words", [["false"], ["no-such-program"]])
def test_where_nothing_can_start_overlays_are_not_used(words: list[str], tmp_path: Path) -> None:
    """The answer is no, whatever the reason."""
    assert not is_possible(tmp_path / "probe", words)
