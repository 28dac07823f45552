"""Searches beyond the cap: nothing lost, nothing asked for ever, and shortfalls told."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasmith.github.base import Window
from datasmith.github.search import ATTEMPTS, Files, Found, Merges, Page, Search, Shard

WINDOW = Window(datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC))


@dataclass
class Numbers:
    """A forge that holds numbers, counts up to `most` of a range, and hands out `cap` of them, three a page."""

    held: list[int]
    cap: int = 10
    most: int = 1_000_000
    shown: Callable[[str, int, int], bool] = lambda query, asked, number: True
    asked: dict[str, int] = field(default_factory=dict)
    incomplete: Callable[[str, int], bool] = lambda query, asked: False

    async def page(self, query: str, after: str | None) -> Page[int]:
        low, high = map(int, query.split(".."))
        if after is None:
            self.asked[query] = self.asked.get(query, 0) + 1
        times = self.asked[query]
        found = [number for number in self.held if low <= number <= high]
        start = int(after or 0)
        hits = tuple(n for n in found[: self.cap][start : start + 3] if self.shown(query, times, n))
        more = start + 3 < min(self.cap, len(found))
        return Page(min(len(found), self.most), hits, str(start + 3) if more else None, self.incomplete(query, times))


@dataclass(frozen=True)
class Range:
    low: int
    high: int

    @property
    def query(self) -> str:
        return f"{self.low}..{self.high}"

    def split(self) -> Sequence[Shard]:
        if self.low == self.high:
            return ()
        middle = (self.low + self.high) // 2
        return Range(self.low, middle), Range(middle + 1, self.high)


def collect(forge: Numbers, shard: Shard, pauses: list[float] | None = None) -> Found[int]:
    async def sleep(seconds: float) -> None:
        if pauses is not None:
            pauses.append(seconds)

    return asyncio.run(Search(forge, key=lambda number: number, cap=forge.cap, sleep=sleep).run(shard))


@settings(deadline=None)
@given(st.lists(st.integers(0, 200), max_size=150, unique=True))
def test_every_hit_is_found_once(held: list[int]) -> None:
    """However the hits lie, those beyond the cap are found in parts, and the counts agree."""
    found = collect(Numbers(sorted(held)), Range(0, 200))
    assert sorted(found.items) == sorted(held)
    assert (found.counted, found.missing) == (len(held), 0)


def test_a_part_that_fits_is_not_divided() -> None:
    """One count, then its pages."""
    forge = Numbers(list(range(9)))
    assert collect(forge, Range(0, 100)).missing == 0
    assert list(forge.asked) == ["0..100"]


def test_a_forge_that_counts_no_further_than_its_cap_hides_nothing() -> None:
    """A count of just the cap may stand for any larger one."""
    found = collect(Numbers(list(range(150)), most=10), Range(0, 200))
    assert (sorted(found.items), found.missing) == (list(range(150)), 0)


def test_hits_that_one_answer_left_out_are_asked_for_again() -> None:
    """What came once stays; the next answer brings the rest; between the two there is a pause."""
    forge = Numbers(list(range(8)), shown=lambda query, times, n: (n + times) % 2 == 0)
    pauses: list[float] = []
    assert sorted(collect(forge, Range(0, 100), pauses).items) == list(range(8))
    assert forge.asked == {"0..100": 2} and pauses == [2.0]


def test_an_incomplete_answer_is_not_believed() -> None:
    """Even where its own count agrees with what it gives."""
    forge = Numbers(list(range(8)), incomplete=lambda query, times: times < 3)
    assert collect(forge, Range(0, 100)).missing == 0
    assert forge.asked["0..100"] == 3


@pytest.mark.parametrize("held", [8, 50])
def test_a_count_that_stays_incomplete_is_told(held: int) -> None:
    """A forge that never looks everywhere counts what it saw: nothing is missing, and it is not all."""
    found = collect(Numbers(list(range(held)), incomplete=lambda query, times: query.startswith("0..")), Range(0, 127))
    assert (len(found.items), found.missing, found.incomplete) == (held, 0, True)
    assert not collect(Numbers(list(range(held))), Range(0, 127)).incomplete


def test_hits_that_never_come_are_told_after_a_few_tries() -> None:
    """The shortfall is a number; parts that are whole are asked once, and nobody asks without end."""
    forge = Numbers(list(range(100)), shown=lambda query, times, n: n != 42)
    found = collect(forge, Range(0, 127))
    assert (found.counted, found.missing, 42 in found.items) == (100, 1, False)
    assert max(forge.asked.values()) == ATTEMPTS
    assert sum(times > 1 for times in forge.asked.values()) == 1


def test_parts_that_do_not_add_up_are_counted_again() -> None:
    """A hit that only the whole's count knows is looked for a few times, then told as missing."""

    class Fickle(Numbers):
        async def page(self, query: str, after: str | None) -> Page[int]:
            page = await super().page(query, after)
            whole = query == "0..127"
            return Page(page.total + whole, page.items, page.next)

    forge = Fickle(list(range(50)))
    found = collect(forge, Range(0, 127))
    assert (found.counted, found.missing, len(found.items)) == (51, 1, 50)
    assert forge.asked["0..127"] == ATTEMPTS + 1


def test_one_undividable_part_that_is_too_full_is_told() -> None:
    """More hits than the cap at one place cannot be had: the count says how many are missing."""
    forge = Numbers([7] * 25)
    found = collect(forge, Range(0, 127))
    assert (found.counted, len(found.items)) == (25, 1)


def test_merges_ask_for_whole_seconds_with_both_ends() -> None:
    """A forge's range includes its ends: the window's last second is the one before its end."""
    shard = Merges.of("o/r", WINDOW)
    assert shard.query == "repo:o/r is:pr is:merged merged:2026-02-01T00:00:00Z..2026-02-28T23:59:59Z"
    first, second = shard.split()
    assert first.query.endswith("2026-02-14T23:59:59Z") and second.query.split("merged:")[1].startswith(
        "2026-02-15T00:"
    )


@settings(deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 5000))
def test_halves_of_merges_meet_and_do_not_overlap(start: int, length: int) -> None:
    """Every second of a shard is in exactly one half; one second is not divided."""
    shard = Merges("o/r", start, start + length)
    parts = shard.split()
    if length == 1:
        assert parts == ()
        return
    first, second = parts
    assert (first.start, first.end, second.end) == (shard.start, second.start, shard.end)
    assert first.start < first.end and second.start < second.end


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 400_000), st.sampled_from(["benchmarks", "asv", "src", ""])), max_size=40))
def test_files_are_divided_by_size_then_by_directory(files: list[tuple[int, str]]) -> None:
    """Down to the last part every file is in exactly one: sizes first, then directories, then what is in none."""

    def fits(shard: Files, size: int, folder: str) -> bool:
        inside = not shard.inside or folder == shard.inside
        return shard.smallest <= size <= shard.largest and inside and folder not in shard.outside

    for size, folder in files:
        shard, depth = Files("asv.conf.json"), 0
        while parts := shard.split():
            chosen = [part for part in parts if fits(part, size, folder)]
            assert len(chosen) == 1
            shard, depth = chosen[0], depth + 1
        assert shard.smallest == shard.largest == size and depth < 40


@pytest.mark.parametrize(
    ("shard", "query"),
    [
        (Files("asv.conf.json"), "filename:asv.conf.json size:0..400000"),
        (Files("a", 5, 5, "asv", ("benchmarks",)), "filename:a size:5..5 path:asv -path:benchmarks"),
    ],
)
def test_files_in_the_words_of_the_forge(shard: Files, query: str) -> None:
    """Sizes and directories are qualifiers."""
    assert shard.query == query
