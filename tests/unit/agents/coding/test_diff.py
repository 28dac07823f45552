"""Patches taken out of a real sandbox."""

from collections.abc import Iterator

import pytest

from datasmith.agents.coding.diff import Baseline, baseline, extract_patch
from datasmith.docker.engine import WORKDIR, Container
from datasmith.errors import AgentFailed
from datasmith.tasks.gitdiff import parse_diff
from tests.sandboxes import embedded_engine, tree_image

pytestmark = pytest.mark.engine
FILES = {"a.py": b"x = 1\n", "keep/b.txt": b"b\n", ".gitignore": b"*.log\n", "bin.dat": bytes(range(64))}
LEFT_BY_BUILD = {"pkg.egg-info/PKG-INFO": b"v1\n", "fast.so": b"\0\1\2"}


@pytest.fixture(scope="module")
def image_and_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[object, object]]:
    engine = embedded_engine(tmp_path_factory.mktemp("cache"))
    yield tree_image(engine, tmp_path_factory.mktemp("tree"), FILES, LEFT_BY_BUILD), engine


@pytest.fixture
def box(image_and_engine: tuple[object, object]) -> Iterator[Container]:
    image, engine = image_and_engine
    with engine.start(image) as container:  # type: ignore[attr-defined]
        yield container


def sh(box: Container, script: str) -> None:
    done = box.exec(["sh", "-c", script], timeout=30)
    assert done.ok, done.error_text


def paths(box: Container, start: Baseline) -> set[str]:
    return {change.path for change in parse_diff(extract_patch(box, start))}


def test_an_untouched_tree_has_no_patch(box: Container) -> None:
    """What the build left behind is not the agent's work."""
    assert extract_patch(box, baseline(box)) == ""


def test_every_kind_of_change_is_in_the_patch(box: Container) -> None:
    """Edited, new, deleted, binary and executable files; ignored ones and by-products of running are not."""
    start = baseline(box)
    sh(
        box,
        "echo 'x = 2' >a.py; rm keep/b.txt; mkdir 'new dir'; printf '\\377\\0' >'new dir/c.bin'; echo hi >run.sh;"
        "chmod +x run.sh; echo out >x.log; mkdir __pycache__; echo p >__pycache__/a.pyc;"
        "echo v2 >pkg.egg-info/PKG-INFO",
    )
    patch = extract_patch(box, start)
    assert {change.path for change in parse_diff(patch)} == {"a.py", "keep/b.txt", "new dir/c.bin", "run.sh"}
    assert "-x = 1\n+x = 2\n" in patch


def test_the_patch_makes_the_same_tree_again(box: Container, image_and_engine: tuple[object, object]) -> None:
    """Applied to a pristine sandbox it gives equal bytes, for text, binary and bytes that are no UTF-8."""
    start = baseline(box)
    sh(box, "printf 'caf\\351\\r\\n' >a.py; printf '\\1\\2' >>bin.dat; printf 'no end' >d.txt")
    patch = extract_patch(box, start)
    image, engine = image_and_engine
    with engine.start(image) as fresh:  # type: ignore[attr-defined]
        done = fresh.exec(["git", "apply", "-"], timeout=30, stdin=patch.encode("utf-8", "surrogateescape"))
        assert done.ok, done.error_text
        for name in ("a.py", "bin.dat", "d.txt"):
            assert fresh.read_file(f"{WORKDIR}/{name}") == box.read_file(f"{WORKDIR}/{name}")


def test_commits_change_nothing(box: Container) -> None:
    """Whether the agent commits its work, moves HEAD or leaves it in the tree, the patch is against base."""
    start = baseline(box)
    sh(box, "echo 'x = 3' >a.py; git -c user.name=a -c user.email=a@b commit -qam work; git checkout -q --detach")
    assert paths(box, start) == {"a.py"}


def test_hostile_git_settings_do_not_hide_changes(box: Container) -> None:
    """External diffs, text conversion, odd prefixes, renames and a staged index do not change what is taken."""
    start = baseline(box)
    sh(
        box,
        "git config diff.external /bin/true; git config diff.noprefix true; git config diff.renames true;"
        "git config diff.x.textconv /bin/true; echo '*.py diff=x' >.git/info/attributes;"
        "git config core.fsmonitor /bin/false; git config color.ui always; git config core.hooksPath /tmp;"
        "git mv a.py z.py; echo y >>z.py; mkdir /tmp/o; git config core.worktree /tmp/o; git config core.bare true",
    )
    patch = extract_patch(box, start)
    assert {change.path for change in parse_diff(patch)} == {"a.py", "z.py"}
    assert "\x1b" not in patch


def test_a_link_in_the_way_is_not_followed(box: Container) -> None:
    """The diff's own file cannot be turned into something else."""
    start = baseline(box)
    sh(box, "ln -s /etc/passwd .git/fc-patch.diff; echo 1 >a.py")
    with pytest.raises(AgentFailed, match="no diff"):
        extract_patch(box, start)


def test_a_destroyed_repository_is_the_agents_failure(box: Container) -> None:
    """Not the sandbox's, and not an empty patch."""
    start = baseline(box)
    sh(box, "rm -rf .git")
    with pytest.raises(AgentFailed, match="no diff"):
        extract_patch(box, start)
