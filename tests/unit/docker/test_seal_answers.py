"""What the seal makes of answers that are none: an image's own bash, wc or gzip may say anything."""

import gzip
from typing import cast

import pytest

from datasmith.docker import seal
from datasmith.docker.engine import Container, ExecResult
from datasmith.errors import ContainerError


class Saying:
    """A container in which every command says the same."""

    def __init__(self, said: bytes, *, rc: int = 0, timed_out: bool = False) -> None:
        self.result = ExecResult(rc, said, b"", 0.1, 0.1, timed_out)

    def exec(self, argv: list[str], **_: object) -> ExecResult:
        asks = argv[0] == "bash"
        return self.result if asks else ExecResult(0, b"", b"", 0.1, 0.1, False)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"", "settings: not an answer: b''"),
        (b"hello", "settings: not an answer: b'hello'"),
        (b"two\nab", "settings: not an answer: b'two\\nab'"),
        (b"-1\nab", "settings: not an answer: b'-1\\nab'"),
        (b"3\nab", "settings: half an answer: b'3\\nab'"),
        (b"2\nab", "objects: not an answer: b''"),
        (b"   2\nab9", "objects: not an answer: b'9'"),
        (b"1\na" + b"9" * 200, f"objects: not an answer: b'{'9' * seal.SHOWN_BYTES}'"),
        (b"0\n" * 9, "objects: not an answer: []"),
    ],
)
def test_what_is_no_answer_is_named(answer: bytes, says: str) -> None:
    """By its question, with how it begins: nothing is known of the seal, and no report is made."""
    container = cast("Container", Saying(gzip.compress(answer)))
    with pytest.raises(ContainerError) as caught:
        list(seal._Tree(container, (), ()).about_objects())
    assert str(caught.value) == f"cannot check the seal: {says}"


@pytest.mark.parametrize(
    ("container", "says"),
    [
        (Saying(b"", rc=137), "exit code 137"),
        (Saying(b"", rc=-9, timed_out=True), "no answer in 2700 s"),
        (Saying(b"plain"), "Error -3 while decompressing data: incorrect header check"),
    ],
    ids=("killed", "too late", "not packed"),
)
def test_who_says_nothing_is_named(container: Saying, says: str) -> None:
    """By what was asked, with the reason that the sandbox has."""
    with pytest.raises(ContainerError) as caught:
        seal.check(cast("Container", container))
    assert str(caught.value) == f"cannot check the seal: the repository: {says}"
