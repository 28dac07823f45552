"""Binary files of a patch: pictures and numbers may come, what may run may not."""

import zlib
from base64 import b85encode
from pathlib import Path

import pytest

from datasmith import process
from datasmith.tasks.policy import MAX_BINARY_BYTES, check_patch
from tests.sandboxes import GIT_ENV

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
ARRAY = b"\x93NUMPY\x01\x00" + bytes(range(256)) * 20
CODE = b"\x7fELF\x02\x01\x01" + bytes(300)


def patch(data: bytes, how: str = "literal", size: int | None = None) -> str:
    """A diff that puts binary data into a file of some name, as git writes it."""
    packed = zlib.compress(data)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    pieces = [packed[at : at + 52] for at in range(0, len(packed), 52)]
    lines = [letters[len(piece) - 1] + b85encode(piece + bytes(-len(piece) % 4)).decode() for piece in pieces]
    head = "diff --git a/x.dat b/x.dat\nindex 0000000..1111111 100644\nGIT binary patch\n"
    return head + "\n".join(
        [f"{how} {len(data) if size is None else size}", *lines, "", "literal 0", "HcmV?d00001", "", ""]
    )


def allowed(text: str) -> bool:
    """Whether the policy lets a patch pass."""
    return check_patch(text, benchmark_dir="b").allowed


@pytest.mark.parametrize("data", [PICTURE, ARRAY, b"%PDF-1.4", b"GIF89a\0"])
def test_what_nobody_runs_is_allowed(data: bytes) -> None:
    """By how it begins, whatever it is called."""
    assert allowed(patch(data))


@pytest.mark.parametrize(
    "data", [CODE, b"PK\3\4\0", b"\x80\4\x95\0", b"MZ\0", b"\xa7\r\r\n\0", b"\x1f\x8b\0", b"\0", b""]
)
def test_what_may_run_is_refused(data: bytes) -> None:
    """Machine code, archives, pickles, byte code, and what nobody knows."""
    assert not allowed(patch(data))


def test_data_that_cannot_be_taken_apart_is_refused() -> None:
    """It is no array, whatever it says."""
    assert not allowed(patch(ARRAY).replace("GIT binary patch\nliteral", "GIT binary patch\ndelta"))
    broken = patch(ARRAY).split("\n")
    broken[4] = "zabc"
    assert not allowed("\n".join(broken))


def test_a_large_binary_is_refused() -> None:
    """By the size it says it inflates to."""
    assert allowed(patch(ARRAY, size=MAX_BINARY_BYTES))
    assert not allowed(patch(ARRAY, size=MAX_BINARY_BYTES + 1))


@pytest.mark.parametrize(
    ("delta", "well"),
    [
        (b"\x10\x10\x90\x10", True),
        (b"\x90\x20\x90\x20\x80", True),
        (b"\x10\x10\x91\x01\x0f", False),
        (b"\x10\x10\x90\x07\x05abcde", False),
        (b"\x10\x10\x08\x7fELF\x02\x01\x01\x00", False),
        (b"\x10\x10\x08\x89PNG\r\n\x1a\n", True),
        (b"\x10", False),
    ],
)
def test_a_change_of_a_binary_file_may_not_make_another_of_it(delta: bytes, *, well: bool) -> None:
    """It begins as base does, for at least eight bytes, or like something that is known."""
    assert allowed(patch(delta, how="delta")) is well


def test_what_git_writes_is_read(tmp_path: Path) -> None:
    """A new file, and one that is changed at its end, as a diff of both kinds."""
    (tmp_path / "old").write_bytes(ARRAY)
    (tmp_path / "new").write_bytes(ARRAY + b"\0more")
    words = ["git", "diff", "--binary", "--no-index", "--src-prefix=a/", "--dst-prefix=b/"]
    for first, kind in (("old", "delta"), ("/dev/null", "literal")):
        made = process.run([*words, first, "new"], cwd=tmp_path, env=GIT_ENV, timeout=60).stdout.decode()
        assert f"patch\n{kind} " in made
        assert allowed(made.replace("a/old", "a/new")), made
