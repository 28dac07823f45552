"""The program of the seal that reads archives: damage in one place hides nothing in another."""

import bz2
import gzip
import io
import json
import lzma
import random
import resource
import zipfile
import zlib
from hashlib import sha256
from pathlib import Path

import pytest

from datasmith.docker.templates import seal_embedded, seal_readers, seal_streams
from datasmith.docker.templates.seal_archives import Found, Lines, Wanted, look
from tests.unit.docker.packed import FIX, FRONT, NOISE, Packer, tar, told, zipped

CUT = gzip.compress(NOISE + FIX)[:-30]
FAKE = b"PK\3\4 is how this text begins\n"


def strange_method() -> bytes:
    """A zip whose first file is packed in a way that nobody knows."""
    data = bytearray(zipped({"a": b"first", "b.py": FIX}))
    at = data.index(b"PK\1\2") + 10
    data[at : at + 2] = (77).to_bytes(2, "little")
    return bytes(data)


def wrong_sum() -> bytes:
    """A zip whose only file has another checksum."""
    data = bytearray(zipped({"b.py": FIX}))
    at = data.index(b"PK\1\2") + 16
    data[at : at + 4] = b"\0\0\0\0"
    return bytes(data)


def torn_header() -> bytes:
    """A tar whose second header is damaged; what comes after it is compressed."""
    data = bytearray(tar({"a": b"x", "b.gz": gzip.compress(FIX)}))
    data[1024:1032] = b"\xff" * 8
    return bytes(data)


def torn_file() -> bytes:
    """A zip whose first file cannot be unpacked at all."""
    data = bytearray(zipped({"a": NOISE, "b.py": FIX}))
    data[31:35] = b"\xff" * 4
    return bytes(data)


def marked(place: int, *values: int, central: bool = True) -> bytes:
    """A zip with the fix, deflated, and other bytes in one of its headers: it says that nobody can open it."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", FIX * 3)
    found = bytearray(data.getvalue())
    begin = found.index(b"PK\1\2") if central else 0
    found[begin + place : begin + place + len(values)] = bytes(values)
    return bytes(found)


@pytest.mark.parametrize("data", [marked(10, 97), marked(8, 1), marked(30, 98, central=False)])
def test_a_zip_that_says_it_cannot_be_opened_is_searched(data: bytes, tmp_path: Path) -> None:
    """Another method, a password, another name: what lies there can be unpacked by whoever does not care."""
    assert told(tmp_path, data) == (True, True)


@pytest.mark.parametrize(
    "data",
    [
        tar({"bad.gz": CUT, "b.py": FIX}, "w:gz"),
        tar({"bad.gz": CUT[:15], "bad.bz2": bz2.compress(NOISE)[:50], "bad.xz": lzma.compress(NOISE)[:50], "b": FIX}),
        tar({"a.txt": FAKE, "b.py": FIX}, "w:xz"),
        tar({"a.txt": FAKE + FIX}, "w:gz"),
        tar({"a.txt": b"BZh" + FIX}, "w:gz"),
        tar({"a.tar": tar({"x": b"y"})[:700] + FIX, "b": b""}, "w:gz"),
        tar({"bad.zip": zipped({"a": NOISE})[:90], "b.py": FIX}, "w:bz2"),
        tar({"bad.tar": tar({"a": NOISE})[:900], "b.py": FIX}, "w:gz"),
        strange_method(),
        wrong_sum(),
        tar({"a.zip": torn_file()}, "w:gz"),
        zipped({"bad.gz": CUT, "bad.zip": zipped({"a": NOISE})[:90], "b.py": FIX}),
        gzip.compress(tar({"a": b"b"}) + FIX),
        b"#!/usr/bin/env python3\n" + zipped({"b.py": FIX}),
        b"\x7fELF" + NOISE + zipped({"a.tgz": tar({"b.py": FIX}, "w:gz")}),
    ],
)
def test_the_fix_is_found_behind_what_is_damaged(data: bytes, tmp_path: Path) -> None:
    """Whatever its neighbours are; damage inside of an archive that can be read to its end is no problem of its own."""
    assert told(tmp_path, data) == (True, True)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (gzip.compress(FIX + NOISE)[:-20], True),
        (tar({"a": FIX, "b": NOISE}, "w:gz")[:-20], True),
        (tar({"a": FIX, "b": NOISE * 9})[:50_000], True),
        (zipped({"a": NOISE, "b.py": FIX})[:-40], False),
        (torn_header(), False),
    ],
)
def test_an_archive_without_its_end_is_told(data: bytes, found: bool, tmp_path: Path) -> None:
    """What could be read of it is searched; that the rest could not is a problem."""
    assert told(tmp_path, data) == (found, False)


@pytest.mark.parametrize(
    "data",
    [FAKE + NOISE, b"PK\3\4", b"BZh", b"BZh" + NOISE, b"\x1f\x8b" + NOISE, b"x" * 257 + b"ustar" + NOISE, b""],
)
def test_what_only_begins_like_an_archive_is_none(data: bytes, tmp_path: Path) -> None:
    """Nothing is told of it: it is searched as the file that it is."""
    assert told(tmp_path, data) == (False, True)


@pytest.mark.parametrize(("times", "whole"), [(seal_readers.DEEPEST + 1, True), (seal_readers.DEEPEST + 2, False)])
def test_what_lies_too_deep_is_told(times: int, whole: bool, tmp_path: Path) -> None:
    """Archives in archives are opened down to a depth; that there was one more is a problem."""
    data = FIX
    for _ in range(times):
        data = gzip.compress(data)
    assert told(tmp_path, data) == (whole, whole)


def test_too_much_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before counts."""
    monkeypatch.setattr(seal_streams, "MOST", 100_000)
    assert told(tmp_path, tar({"a": FIX, "b": bytes(200_000)}, "w:gz")) == (True, False)
    assert told(tmp_path, tar({"a": FIX}) + bytes(20_000)) == (True, True)


def test_a_full_disk_is_no_damage(tmp_path: Path) -> None:
    """A zip in a zip is laid down to be read: where there is no room for it, nobody knows what it holds."""
    data = zipped({"a.zip": zipped({"a": NOISE * 40, "b.py": FIX}, zipfile.ZIP_STORED)})
    assert told(tmp_path, data) == (True, True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        assert told(tmp_path, data) == (False, False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_zeros_are_no_long_line() -> None:
    """Grep keeps a line in memory to its end: what is searched of machine code and arrays has ends."""
    pipe = io.BytesIO()
    assert Lines(pipe).write(b"a\0\0b") == 4
    assert pipe.getvalue() == b"a\n\nb"


def test_text_that_begins_like_zlib_is_text(tmp_path: Path) -> None:
    """Two bytes are no sign: it is searched as it is, and nothing is said of its end."""
    assert told(tmp_path, b"x^2 + 3 is what it computes\n" + FIX) == (True, True)
    assert told(tmp_path, b"\x78\x9c" + NOISE)[1]


PACKERS = (gzip.compress, bz2.compress, lzma.compress, zlib.compress)


@pytest.mark.parametrize("first", PACKERS)
@pytest.mark.parametrize("second", PACKERS)
def test_what_comes_after_a_packed_stream_is_read(first: Packer, second: Packer, tmp_path: Path) -> None:
    """Another one of any kind, many of its own, and plain text: whoever unpacks them in turn has it all."""
    assert told(tmp_path, first(NOISE) + second(FIX)) == (True, True)
    assert told(tmp_path, first(NOISE) * 20 + FIX) == (True, True)
    assert told(tmp_path, tar({"a": first(b"x") + second(NOISE) + second(FIX)}, "w:gz")) == (True, True)


def test_lzma_alone_is_opened(tmp_path: Path) -> None:
    """Its few first bytes are no sign where the rest does not fit."""
    data = lzma.compress(FIX + NOISE, lzma.FORMAT_ALONE)
    assert told(tmp_path, data) == (True, True)
    assert told(tmp_path, data[:3] + NOISE) == (False, True)


def test_text_of_any_size_is_read_as_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of HTML and UTF-16 piece by piece; two bytes at the beginning of noise are no mark."""
    monkeypatch.setattr(seal_streams, "CHUNK", 1001)
    page = b"<p>&lt;\n" * 3000 + b"<i>" + FIX.replace(b" ", b"<b> </b>")
    assert told(tmp_path, zipped({"a.html": page})) == (True, True)
    assert told(tmp_path, ("\n" * 7001 + FIX.decode()).encode("utf-16")) == (True, True)
    monkeypatch.setattr(seal_streams, "MOST", 100_000)
    noise = b"\xff\xfe" + random.Random(1).randbytes(200_000)
    assert told(tmp_path, noise) == (False, True)


def test_generated_metadata_may_be_equal_to_a_file_of_the_fix(tmp_path: Path) -> None:
    """What a tool makes of a project's requirements is not what the fix makes of its file."""
    (tmp_path / "texts").write_bytes(b"no such line\n")
    (tmp_path / "files").write_text(f"{len(FIX)}\t{sha256(FIX).hexdigest()}\t7\n")
    wanted = Wanted(str(tmp_path / "texts"), str(tmp_path / "files"))
    for name, same in (("pkg.egg-info", set()), ("requirements", {"7"})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "requires.txt").write_bytes(FIX)
        assert wanted.plain(str(tmp_path / name / "requires.txt")).same == same


def unlisted() -> bytes:
    """A zip whose list at the end does not name the first of its files."""
    data = zipped({"b.py": FIX * 9, "c.txt": b"nothing\n"})
    first = data.index(b"PK\1\2")
    second, end = data.index(b"PK\1\2", first + 1), data.index(b"PK\5\6")
    size = (end - second).to_bytes(4, "little")
    return data[:first] + data[second:end] + b"PK\5\6\0\0\0\0\1\0\1\0" + size + first.to_bytes(4, "little") + b"\0\0"


@pytest.mark.parametrize("data", [unlisted(), FRONT + unlisted(), tar({"a.whl": unlisted()}, "w:gz")])
def test_what_the_list_of_a_zip_does_not_name_is_read(data: bytes, tmp_path: Path) -> None:
    """Whoever reads the zip from its beginning finds it."""
    assert told(tmp_path, data) == (True, True)


@pytest.mark.parametrize("pack", PACKERS)
def test_what_is_packed_behind_other_bytes_is_read(pack: Packer, tmp_path: Path) -> None:
    """Wherever it begins, whatever follows it, and others before it: as caches of downloads and databases have it."""
    assert told(tmp_path, FRONT + pack(FIX) + FRONT) == (True, True)
    assert told(tmp_path, FRONT + pack(NOISE) * 50 + b"x" + pack(tar({"a": pack(FIX)}))) == (True, True)
    for size in range(seal_streams.CHUNK - 3, seal_streams.CHUNK + 1):
        assert told(tmp_path, bytes(size) + pack(FIX)) == (True, True)


def test_an_archive_is_read_where_only_whole_files_are_looked_for(tmp_path: Path) -> None:
    """The fix that has no lines of its own is found in it, and all of it was read."""
    (tmp_path / "texts").touch()
    (tmp_path / "files").write_text(f"{len(FIX)}\t{sha256(FIX).hexdigest()}\t7\n")
    (tmp_path / "archive").write_bytes(tar({"a": random.Random(1).randbytes(300_000), "b.py": FIX}, "w:gz"))
    wanted = Wanted(str(tmp_path / "texts"), str(tmp_path / "files"))
    assert look(wanted, str(tmp_path / "archive"), foreign=False) == Found(same={"7"}, inside=True)


def commented(comment: bytes) -> bytes:
    """A zip that says something at its end."""
    return zipped({"a": b"x"})[:-2] + len(comment).to_bytes(2, "little") + comment


@pytest.mark.parametrize(
    "data",
    [
        FRONT + gzip.compress(FIX) + b"PK\5\6" + bytes(18),
        FRONT + gzip.compress(FIX) + zipped({"a": b"x"}),
        commented(gzip.compress(FIX)),
        commented(zipped({"b.py": FIX * 9})[:200]),
        tar({"a": b"x"}) + gzip.compress(FIX),
        gzip.compress(b"x") + FRONT + gzip.compress(FIX),
    ],
    ids=["the end of a zip", "before a zip", "in its comment", "a file in it", "behind a tar", "behind what is packed"],
)
def test_what_is_packed_beside_an_archive_is_read(data: bytes, tmp_path: Path) -> None:
    """That a file is an archive, or ends like one, says nothing of the bytes that its list does not come by."""
    assert told(tmp_path, data) == (True, True)


@pytest.mark.parametrize("name", ["a.json", "a.html"])
def test_what_is_packed_in_a_file_that_is_called_text_is_read(name: str, tmp_path: Path) -> None:
    """Its name says how its text would be written, and not that it is one."""
    told(tmp_path, b"")
    (tmp_path / name).write_bytes(FRONT + gzip.compress(FIX))
    wanted = Wanted(str(tmp_path / "texts"), str(tmp_path / "files"))
    assert look(wanted, str(tmp_path / name), foreign=False).lines == {FIX.strip(b"\n")}


def test_a_large_zip_between_other_bytes_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its files by itself, and not with all that follows it: which would soon be too much."""
    noise = random.Random(1).randbytes(300_000)
    data = zipped({**{str(number): noise for number in range(9)}, "b.py": FIX * 9})
    monkeypatch.setattr(seal_streams, "MOST", 3 * len(data))
    assert told(tmp_path, FRONT + data + FRONT) == (True, True)


def test_a_zip_between_other_bytes_is_read(tmp_path: Path) -> None:
    """Where its end is too far from the file's to be found."""
    assert told(tmp_path, FRONT + zipped({"b.py": FIX * 9}) + FRONT) == (True, True)


def test_a_file_with_too_many_beginnings_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search has an end, and says where it had to stop."""
    monkeypatch.setattr(seal_embedded, "MOST_PLACES", 100)
    assert told(tmp_path, FRONT + b"\x1f\x8b\x08" * 99) == (False, True)
    assert told(tmp_path, FRONT + b"\x1f\x8b\x08" * 102) == (False, False)


CLOSED = (
    *(b"Salted__", b"age-encryption.org/v1\n", b"-----BEGIN PGP MESSAGE-----\n", b"hsqs", b"MSCF\0\0\0\0"),
    *(b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07\1", b"\x04\x22\x4d\x18", b"LZIP\1", b"\x28\xb5\x2f\xfd"),
    *(b"\x1f\x9d\x90", b"\xff\x06\0\0sNaPpY", b"\xed\xab\xee\xdb\3\0", b"xar!\0\x1c", b"MSWIM\0\0\0"),
)


@pytest.mark.parametrize("head", CLOSED)
def test_an_archive_that_nobody_opens_is_told(head: bytes, tmp_path: Path) -> None:
    """By itself and in another one; what another distribution lists can be of any kind."""
    assert told(tmp_path, head + NOISE) == (False, False)
    assert told(tmp_path, zipped({"a": head + NOISE})) == (False, False)
    (tmp_path / "archive").write_bytes(head + NOISE)
    wanted = Wanted(str(tmp_path / "texts"), str(tmp_path / "files"))
    assert look(wanted, str(tmp_path / "archive"), foreign=True) == Found()


def encrypted(content: bytes, password: bytes) -> bytes:
    """A zip with one file that only opens with a password, by the cipher that every zip program knows."""
    keys = [0x12345678, 0x23456789, 0x34567890]

    def turn(byte: int) -> None:
        keys[0] = ~zlib.crc32(bytes([byte]), ~keys[0] & 0xFFFFFFFF) & 0xFFFFFFFF
        keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = ~zlib.crc32(bytes([keys[1] >> 24]), ~keys[2] & 0xFFFFFFFF) & 0xFFFFFFFF

    def closed(byte: int) -> int:
        key = (keys[2] | 2) & 0xFFFF
        turn(byte)
        return byte ^ ((key * (key ^ 1) >> 8) & 0xFF)

    for byte in password:
        turn(byte)
    plain = zipped({"a": content}, zipfile.ZIP_STORED)
    body = bytes(map(closed, bytes(11) + plain[17:18] + content))
    local, end = plain.index(content), plain.index(b"PK\1\2")
    data = bytearray(plain[:local] + body + plain[end:])
    for at in (0, local + len(body)):
        data[at + 6 + 2 * bool(at)] |= 1
        data[at + 18 + 2 * bool(at) : at + 22 + 2 * bool(at)] = len(body).to_bytes(4, "little")
    data[-6:-2] = (local + len(body)).to_bytes(4, "little")
    return bytes(data)


def unknown_method() -> bytes:
    """A zip whose file is packed in a way that nobody here knows, as zstd is."""
    data = bytearray(zipped({"a": FIX * 9}, zipfile.ZIP_LZMA))
    at = data.index(b"PK\1\2") + 10
    data[at : at + 2] = (93).to_bytes(2, "little")
    return bytes(data)


def test_a_zip_that_nobody_opens_is_told(tmp_path: Path) -> None:
    """Without its password, by itself, behind a program and in another archive; its neighbours are read."""
    data = encrypted(FIX, b"secret")
    assert zipfile.ZipFile(io.BytesIO(data)).read("a", pwd=b"secret") == FIX
    for found in (data, FRONT + data, tar({"a.zip": data}, "w:gz"), zipped({"a.zip": data})):
        assert told(tmp_path, found) == (False, False)
    assert told(tmp_path, tar({"b.py": FIX, "a.zip": data})) == (True, False)
    assert told(tmp_path, unknown_method()) == (False, False)
    (tmp_path / "archive").write_bytes(data)
    wanted = Wanted(str(tmp_path / "texts"), str(tmp_path / "files"))
    assert look(wanted, str(tmp_path / "archive"), foreign=True) == Found(inside=True)


PACK = b"PACK\0\0\0\2" + bytes(60)
BUNDLE = b"# v2 git bundle\n" + bytes(60)


@pytest.mark.parametrize(
    "data",
    [PACK, BUNDLE, gzip.compress(BUNDLE), FRONT + gzip.compress(PACK)],
    ids=["pack", "bundle", "packed", "behind other bytes"],
)
def test_objects_of_git_are_told_whatever_they_are_called(data: bytes, tmp_path: Path) -> None:
    """A bundle or a pack, by itself or packed."""
    (tmp_path / "texts").write_bytes(FIX)
    (tmp_path / "files").touch()
    (tmp_path / "a.txt").write_bytes(data)
    assert look(Wanted(str(tmp_path / "texts"), str(tmp_path / "files")), str(tmp_path / "a.txt"), foreign=False).repo


STRINGS = b"\x7fELF\2\1" + b"\0" * 20 + FIX


def test_code_in_an_archive_is_known_by_how_it_begins(tmp_path: Path) -> None:
    """Where only code counts: whatever it is called, and not what only has the same names."""
    (tmp_path / "texts").write_bytes(FIX)
    (tmp_path / "files").touch()
    wanted = Wanted(str(tmp_path / "texts"), str(tmp_path / "files"), r"\.so$")
    for name, data, found in (("a", STRINGS, True), ("a.so", FIX, True), ("a", FIX, False), ("a", b"", False)):
        (tmp_path / "archive").write_bytes(zipped({name: data}))
        assert bool(look(wanted, str(tmp_path / "archive"), foreign=False).lines) is found


WORDS = 'cached = table["of\u00e9 all"].get("the \\\\ first")\n'
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_text_in_wide_characters_is_read(encoding: str, tmp_path: Path) -> None:
    """With its mark or without."""
    assert told(tmp_path, (FIX * 3).decode().encode(encoding)) == (True, True)


@pytest.mark.parametrize("name", ["a.ipynb", "a.json", "a.jsonl", "b"])
def test_what_json_writes_otherwise_is_read(name: str, tmp_path: Path) -> None:
    """Quotes, backslashes and letters of notebooks, line by line, and in an archive as well."""
    for file, text in (("texts", WORDS), ("files", "")):
        (tmp_path / file).write_text(text)
    notebook = json.dumps({"cells": [{"source": ["x\n", WORDS]}]}).encode()
    (tmp_path / name).write_bytes(zipped({"a.ipynb": notebook}) if name == "b" else notebook)
    wanted = Wanted(str(tmp_path / "texts"), str(tmp_path / "files"))
    assert look(wanted, str(tmp_path / name), foreign=False).lines == {WORDS.strip().encode()}
