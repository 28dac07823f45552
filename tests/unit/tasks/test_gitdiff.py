"""The strict reader of git diffs, held against git's own reading."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasmith import process
from datasmith.tasks.gitdiff import MalformedDiff, parse_diff, touched_paths

GIT_ENV = {
    "PATH": os.defpath,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(where: Path, *words: str, stdin: bytes = b"") -> bytes:
    done = process.run(["git", *words], cwd=where, env=GIT_ENV, stdin=stdin)
    assert done.ok, done.error_text
    return done.stdout


def diff_of(where: Path, before: dict[str, bytes | None], after: dict[str, bytes | None]) -> str:
    """The diff between two states; None deletes, content that starts with x! makes the file executable."""
    git(where, "init", "-q")
    for state in (before, after):
        for name, content in state.items():
            path = where / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
                continue
            path.write_bytes(content)
            path.chmod(0o755 if content.startswith(b"x!") else 0o644)
        git(where, "add", "-A")
        git(where, "commit", "-qm", "state", "--allow-empty")
    words = ("diff", "--binary", "--full-index", "--no-renames", "HEAD~1", "HEAD")
    return git(where, *words).decode("utf-8", "surrogateescape")


STATES: list[tuple[dict[str, bytes | None], dict[str, bytes | None]]] = [
    ({"a.py": b"1\n2\n3\n"}, {"a.py": b"1\n2b\n3\n4\n"}),
    ({"a b/c d.py": b"1\n"}, {"a b/c d.py": b"2\n", "e f.txt": b""}),
    ({"\u00e9t\u00e9.py": b"1\n", 'q"uote.py': b"1\n"}, {"\u00e9t\u00e9.py": b"2\n", 'q"uote.py': b"2\n"}),
    ({"tab\there": b"1\n", "line\nbreak": b"1"}, {"tab\there": b"2\n", "line\nbreak": b"2"}),
    ({"gone.py": b"1\n"}, {"gone.py": None, "new.py": b"no newline at the end"}),
    ({"pic": bytes(range(256))}, {"pic": bytes(range(255, -1, -1)), "other": b"\0\1"}),
    ({"run.sh": b"echo\n"}, {"run.sh": b"x!echo\n"}),
    ({"empty": b""}, {"empty": None}),
    ({"crlf": b"a\r\nb\r\n", "latin": b"\xe9\n"}, {"crlf": b"a\r\nc\r\n", "latin": b"\xe8\n"}),
    ({"dashes": b"-- a\n++ b\n@@ c\n"}, {"dashes": b"--- a\n+++ b\n@@ -1 +1 @@\ndiff --git a/x b/x\n"}),
]


@pytest.mark.parametrize("state", range(len(STATES)))
def test_the_files_are_those_of_git(tmp_path: Path, state: int) -> None:
    """Names, added and removed lines equal what `git apply --numstat` says, also for odd names and contents."""
    patch = diff_of(tmp_path, *STATES[state])
    listed = git(tmp_path, "apply", "--numstat", "-z", stdin=patch.encode("utf-8", "surrogateescape"))
    expected = {}
    for row in listed.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        added, removed, name = row.split("\t", 2)
        expected[name] = None if added == "-" else (int(added), int(removed))
    changes = parse_diff(patch)
    found = {
        change.path: None if change.binary_bytes is not None else (change.added, change.removed) for change in changes
    }
    assert {name: value or (0, 0) for name, value in found.items()} == {
        name: value or (0, 0) for name, value in expected.items()
    }
    assert set(touched_paths(changes)) == set(expected)


def test_a_rename_has_both_names() -> None:
    """The old name counts as touched too."""
    patch = "diff --git a/x.py b/y.py\nsimilarity index 100%\nrename from x.py\nrename to y.py\n"
    assert touched_paths(parse_diff(patch)) == ("x.py", "y.py")


PLAIN = "diff --git a/x.py b/x.py\nindex 1234567..89abcde 100644\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-1\n+2\n"


@pytest.mark.parametrize(
    "patch",
    [
        "hello\n",
        PLAIN + "trailing words\n",
        "From: somebody\n" + PLAIN,
        PLAIN.replace("+++ b/x.py", "+++ b/conftest.py"),
        PLAIN.replace("--- a/x.py", "--- a/conftest.py"),
        PLAIN.replace("--- a/x.py", "--- /dev/null"),
        PLAIN.replace(" b/x.py\n", " b/y.py\n", 1),
        PLAIN.replace("-1\n+2\n", "-1\n"),
        PLAIN.replace("@@ -1 +1 @@", "@@ -1,2 +1 @@"),
        PLAIN.replace("index 1234567..89abcde 100644", "Index: conftest.py"),
        "diff --git a/x b/x\nBinary files a/x and b/x differ\n",
        "diff --git a/x b/x\nGIT binary patch\nliteral 3\n\u00e9\n\n",
        "diff --git x x\n",
        'diff --git "a/x b/x\n',
        'diff --git "a/\\999" "b/\\999"\n',
        "diff --git a/x b/x\nrename from x\nrename to conftest.py\n",
        "diff --git a/\ud800 b/\ud800\n",
    ],
)
def test_what_git_does_not_write_is_refused(patch: str) -> None:
    """No room between the lines: a second name, a word outside a hunk, a count that does not add up."""
    with pytest.raises(MalformedDiff):
        parse_diff(patch)


def test_a_binary_file_without_its_content_is_told_as_such() -> None:
    """What `git diff` says of an image cannot be applied: who wrote it hears how it is written."""
    with pytest.raises(MalformedDiff, match=r"line 3: a binary file without what is in it .*--binary"):
        parse_diff(
            "diff --git a/x.png b/x.png\nindex 1234567..89abcde 100644\nBinary files a/x.png and b/x.png differ\n"
        )


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*PLAIN.splitlines(), "GIT binary patch", "literal 3", "", "\\ No", "+", "\x00"])))
def test_no_text_breaks_the_reader(lines: list[str]) -> None:
    """Any sequence of lines is read or refused, never an exception of another kind."""
    try:
        parse_diff("\n".join(lines))
    except MalformedDiff as error:
        assert str(error)
