"""The seal reads what is written in letters: base64, base32, base85 and hexadecimal digits."""

import base64
import binascii
import json
import lzma
import random
from hashlib import sha256
from pathlib import Path

import pytest

from datasmith.docker.templates import seal_encoded, seal_streams
from datasmith.docker.templates.seal_archives import Wanted, look, looked_into
from tests.unit.docker.packed import FIX, FRONT, Packer, tar, told, zipped

LETTERS = (
    *(
        base64.b64encode,
        base64.encodebytes,
        base64.urlsafe_b64encode,
        base64.b32encode,
        base64.b85encode,
        binascii.hexlify,
    ),
    *(lambda data: b'"' + base64.encodebytes(data).strip().replace(b"\n", b'"\n    b"') + b'"',),
    *(lambda data: json.dumps({"a": base64.encodebytes(data).decode()}).encode(),),
    *(lambda data: base64.b64encode(base64.b64encode(data)),),
    *(lambda data: b"https://example.org/" + base64.b64encode(data),),
    *(lambda data: binascii.hexlify(data, "\n", -30),),
)


@pytest.mark.parametrize("write", LETTERS)
@pytest.mark.parametrize("first", [FRONT, b"A page of text.\ndata = ", b"x" * (seal_streams.CHUNK - 60) + b"\n"])
def test_what_is_written_in_letters_is_read(write: Packer, first: bytes, tmp_path: Path) -> None:
    """A text or an archive in base64, base32, base85 or hex: in one line, in many, as strings of a program, in JSON."""
    noise = random.Random(1).randbytes(9000)
    for data in (
        FIX * 3,
        tar({"a": noise, "b.py": FIX}, "w:gz"),
        zipped({"a": noise, "b.py": FIX}),
        lzma.compress(FIX * 9),
    ):
        assert told(tmp_path, first + write(data) + b"\n\nand more of it\n") == (True, True)


def test_a_whole_file_in_letters_is_that_file(tmp_path: Path) -> None:
    """To its last byte, whatever its length: a fix that only takes lines away is known by nothing else."""
    for length in range(3):
        content = FIX * 3 + b"x" * length
        (tmp_path / "texts").write_bytes(b"no such line\n")
        (tmp_path / "files").write_text(f"{len(content)}\t{sha256(content).hexdigest()}\t7\n")
        (tmp_path / "a.txt").write_bytes(b"is: " + base64.encodebytes(content) + b"-- \n")
        wanted = Wanted(str(tmp_path / "texts"), str(tmp_path / "files"))
        assert look(wanted, str(tmp_path / "a.txt"), foreign=False).same == {"7"}


def test_a_line_with_a_carriage_return_is_told_as_it_is(tmp_path: Path) -> None:
    """Lines end at line feeds alone: cut at another place it would be none of the fix's."""
    line = FIX.strip().replace(b"  #", b"\r#")
    (tmp_path / "texts").write_bytes(line + b"\n")
    (tmp_path / "files").write_text("")
    (tmp_path / "a.txt").write_bytes(base64.b64encode(FRONT + b"\n" + line + b"\n"))
    wanted = Wanted(str(tmp_path / "texts"), str(tmp_path / "files"))
    assert look(wanted, str(tmp_path / "a.txt"), foreign=False).lines == {line}


def test_what_is_no_text_in_letters_is_gone_past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests, ruled lines and long names say nothing; of a text that is too long it is told that it was not read."""
    digests = b"".join(f"{sha256(bytes([n])).hexdigest()}  file{n}\n".encode() for n in range(99))
    (tmp_path / "a.txt").write_bytes(digests + b"-" * 200 + b"\n" + b"=" * 300 + b"\n" + b"a_long_name_" * 5)
    assert not looked_into(str(tmp_path / "a.txt"), foreign=False)
    monkeypatch.setattr(seal_encoded, "MOST", 1000)
    assert told(tmp_path, base64.b64encode(FIX * 30)) == (False, False)
