"""Replies kept with their ETags."""

import asyncio
import os
from pathlib import Path

import pytest

from datasmith.github.etags import DirectoryReplies, Kept, MemoryReplies, ReplyStore, worth_keeping

KEPT = Kept('W/"1"', {"etag": 'W/"1"', "content-type": "application/json"}, b'{"a": 1}' * 10)


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ReplyStore:
    """Room for about ten replies of 1,000 random bytes."""
    return MemoryReplies(11_000) if request.param == "memory" else DirectoryReplies(tmp_path / "replies", 11_000)


def noise(number: int) -> Kept:
    return Kept(str(number), {}, os.urandom(1000))


def test_a_reply_comes_back_as_it_was(store: ReplyStore) -> None:
    """ETag, headers and body are those that were put; another key has none; a newer reply replaces it."""

    async def work() -> list[Kept | None]:
        await store.put("a", KEPT)
        found = [await store.get("a"), await store.get("b")]
        await store.put("a", Kept("2", {}, b""))
        return [*found, await store.get("a")]

    assert asyncio.run(work()) == [KEPT, None, Kept("2", {}, b"")]


def test_it_stays_within_its_bound(store: ReplyStore, tmp_path: Path) -> None:
    """After many replies the newest is there, the oldest is not, and what is kept fits the bound."""

    async def work() -> list[bool]:
        for number in range(50):
            await store.put(str(number), noise(number))
        return [await store.get(str(number)) is not None for number in range(50)]

    there = asyncio.run(work())
    assert there[-1] and not there[0]
    assert 5 <= sum(there) <= 10
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 11_000


def test_what_is_used_is_forgotten_last() -> None:
    """Among replies of one age the one that was asked for stays."""

    async def work() -> Kept | None:
        store = MemoryReplies(3_500)
        for number in range(30):
            await store.put(str(number), noise(number))
            await store.get("0")
        return await store.get("0")

    assert asyncio.run(work()) is not None


def test_a_reply_that_is_larger_than_the_bound_is_not_kept() -> None:
    """One giant leaves an empty store, no error and no negative count."""

    async def work() -> tuple[Kept | None, Kept | None]:
        store = MemoryReplies(500)
        await store.put("giant", noise(1))
        giant = await store.get("giant")
        await store.put("small", KEPT)
        return giant, await store.get("small")

    assert asyncio.run(work()) == (None, KEPT)


@pytest.mark.parametrize(
    "damage", [b"", b"\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x02[]", b"\x00\x00\x00\x02{}garbage"]
)
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, damage: bytes) -> None:
    """What cannot be read is asked for again."""

    async def work() -> Kept | None:
        store = DirectoryReplies(tmp_path)
        await store.put("a", KEPT)
        return await store.get("a")

    assert asyncio.run(work()) == KEPT
    for path in tmp_path.iterdir():
        path.write_bytes(damage)
    assert asyncio.run(DirectoryReplies(tmp_path).get("a")) is None


def test_a_directory_that_cannot_be_written_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file in the directory's place is told in the log, once for each reply, and the work goes on."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    async def work() -> Kept | None:
        store = DirectoryReplies(tmp_path / "file")
        await store.put("a", KEPT)
        return await store.get("a")

    assert asyncio.run(work()) is None
    assert "could not be kept" in caplog.text


def test_only_replies_with_an_etag_are_kept() -> None:
    """Without an ETag GitHub cannot be asked whether a reply still holds."""
    assert worth_keeping({"content-type": "text/plain"}, b"") is None
    kept = worth_keeping({"etag": "x", "link": "<a>", "date": "now", "set-cookie": "secret"}, b"b")
    assert kept == Kept("x", {"etag": "x", "link": "<a>"}, b"b")
