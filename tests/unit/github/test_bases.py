"""Which commit a pull request started from, for every way to merge one."""

from pathlib import Path

import pytest

from datasmith.github.bases import Size, Told, ground, grounded
from datasmith.github.git import Git
from datasmith.github.models import PR, FileChange
from tests.unit.github.scripted import ScriptedRepository

ABSENT = "9" * 40


@pytest.fixture
def history(tmp_path: Path) -> ScriptedRepository:
    made = ScriptedRepository(tmp_path / "history.git")
    made.commit("Start", {"a.py": b"1\n", "b.py": b"1\n"})
    return made


def pull(merge: str, number: int = 7, base: str = "") -> PR:
    return PR(repository="o/r", issue_number=number, merge_commit_sha=merge, base_sha=base, patch="as told")


def one(history: ScriptedRepository, told: Told) -> PR:
    """The pull request as the clone has it; its patch must be what is between its base and its merge."""
    git = Git(history.path)
    (found,) = ground(git, [told])
    assert found.patch == git.diff(found.base_sha, found.merge_commit_sha)
    return found


def test_a_squash_starts_from_its_parent(history: ScriptedRepository) -> None:
    """Whatever the forge says of the base, and however many commits were squashed."""
    base = history.tip
    merge = history.commit("Speed up (#7)", {"a.py": b"2\n", "b.py": b"2\n"})
    assert one(history, Told(pull(merge, base=ABSENT), Size(2, 2, 2), 5)).base_sha == base
    assert one(history, Told(pull(merge, base=ABSENT))).base_sha == base


def test_a_squash_that_the_forge_counts_otherwise_starts_from_its_parent(history: ScriptedRepository) -> None:
    """A renamed file has other counts there."""
    history.commit("Other", {"c.py": b"1\n"})
    base = history.tip
    merge = history.commit("Rename (#7)", {"a.py": None, "z.py": b"1\n"})
    assert one(history, Told(pull(merge), Size(1, 0, 0), 2)).base_sha == base


def test_a_squash_with_a_renamed_file_starts_from_its_parent(history: ScriptedRepository) -> None:
    """A forge counts the renamed file once, git twice; what came before is another pull request's."""
    lines = [b"line %d\n" % number for number in range(40)]
    history.commit("Reader", {"reader.py": b"".join(lines)})
    base = history.commit("Somebody else's work", {"c.py": b"1\n"})
    merge = history.commit("Faster reader", {"reader.py": None, "fast.py": b"".join([*lines[:-1], b"fast\n"])})
    found = one(history, Told(pull(merge), Size(1, 1, 1), 2))
    assert (found.base_sha, {file.path for file in found.files}) == (base, {"reader.py", "fast.py"})


@pytest.mark.parametrize("files", [1, 3])
def test_what_fits_neither_a_squash_nor_a_rebase_starts_from_its_parent(
    history: ScriptedRepository, files: int
) -> None:
    """A size that nothing explains makes no other commit part of the pull request."""
    base = history.commit("Somebody else's work", {"c.py": b"1\n"})
    merge = history.commit("Speed up", {"a.py": b"2\n", "b.py": b"2\n"})
    assert one(history, Told(pull(merge), Size(files, 9, 9), 2)).base_sha == base


def test_a_merge_commit_starts_from_its_first_parent(history: ScriptedRepository) -> None:
    """Its branch is what changed."""
    base = history.tip
    merge = history.merge("Merge pull request #7 from ann/faster", {"a.py": b"2\n"})
    assert one(history, Told(pull(merge), Size(9, 9, 9), 3)).base_sha == base


@pytest.mark.parametrize("n_commits", [3, None])
def test_a_rebase_starts_before_its_first_commit(history: ScriptedRepository, n_commits: int | None) -> None:
    """Told by the size of all its commits together, with or without their number."""
    history.commit("Other", {"b.py": b"5\n"})
    base = history.tip
    for content in (b"2\n", b"2\n3\n"):
        history.commit("step", {"a.py": content})
    merge = history.commit("last step", {"b.py": b"6\n"})
    found = one(history, Told(pull(merge), Size(2, 3, 2), n_commits))
    assert found.base_sha == base
    assert {file.path for file in found.files} == {"a.py", "b.py"}


def test_a_rebase_with_a_renamed_file_starts_before_its_first_commit(history: ScriptedRepository) -> None:
    """The forge counts the renamed file once, and no title names the number."""
    base = history.tip
    history.commit("step", {"a.py": None, "z.py": b"1\n"})
    merge = history.commit("step", {"b.py": b"2\n"})
    assert one(history, Told(pull(merge), Size(2, 1, 1), 2)).base_sha == base


def test_what_the_clone_does_not_know_stays_as_it_was_told(history: ScriptedRepository) -> None:
    """An absent, an empty, a hostile and a first commit's id; the others of the batch are grounded all the same."""
    first = history.tip
    base, merge = first, history.commit("Speed up (#8)", {"a.py": b"2\n"})
    told = [Told(pull(sha)) for sha in (ABSENT, "", "--output=/tmp/x", first)]
    *same, known = ground(Git(history.path), [*told, Told(pull(merge, 8))])
    assert all(found is each.pr for found, each in zip(same, told, strict=True))
    assert known.base_sha == base


def test_a_pull_request_that_fits_its_clone_is_left_alone(history: ScriptedRepository) -> None:
    """Also where its base is not the parent; one that does not fit is grounded by its files."""
    base = history.tip
    history.commit("step", {"a.py": b"2\n"})
    merge = history.commit("step", {"b.py": b"2\n"})
    git = Git(history.path)
    fits = pull(merge, base=base).model_copy(update={"patch": git.diff(base, merge)})
    assert grounded(git, fits) is fits
    files = tuple(FileChange(path=name, additions=1, deletions=1) for name in ("a.py", "b.py"))
    told = pull(merge, base=ABSENT).model_copy(update={"files": files})
    assert (grounded(git, told).base_sha, grounded(git, told).patch) == (base, fits.patch)
    lost = pull(ABSENT, base=base)
    assert grounded(git, lost) is lost
