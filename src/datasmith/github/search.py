"""Searches that give more hits than a forge hands out: divided until each part fits, and every part counted."""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import ceil
from typing import Generic, Protocol, Self, TypeVar

import anyio

from datasmith.executors.local import LocalExecutor
from datasmith.github.base import Window

CAP = 1_000
"""A forge hands out at most this many hits of one query, however many it counts."""
ATTEMPTS = 4
"""A part whose hits are fewer than its count is asked for so often before it is called short."""
PAUSE_S = 2.0
MOST_BYTES = 400_000
"""Larger files are not in a forge's code index."""
SUITE_PATHS = ("benchmarks", "asv_bench", "benchmark", "asv", "bench", "perf", "performance", "tests", "python", "ci")
"""Directories by which files of one size are told apart; the last part is what lies in none of them."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """One page of hits: how many the whole query has, these, where the next page starts (None: nowhere).

    `incomplete`: the forge gave up before it had looked everywhere.
    """

    total: int
    items: tuple[Item, ...]
    next: str | None = None
    incomplete: bool = False


class Pages(Protocol[Item]):
    """A search, page by page."""

    async def page(self, query: str, after: str | None) -> Page[Item]:
        """The page of `query` that starts at `after`; None for the first."""


class Shard(Protocol):
    """A part of what is looked for."""

    @property
    def query(self) -> str:
        """In the words of the forge."""

    def split(self) -> "Sequence[Shard]":
        """Parts that have every hit of this one, each hit in exactly one of them; none where it cannot be divided."""


@dataclass(frozen=True, slots=True)
class Merges:
    """Pull requests of a repository merged in [start, end), whole seconds since 1970."""

    repository: str
    start: int
    end: int

    @classmethod
    def of(cls, repository: str, window: Window) -> Self:
        """All of a window."""
        return cls(repository, int(window.start.timestamp()), ceil(window.end.timestamp()))

    @property
    def query(self) -> str:
        """See Shard. A forge's ranges include both ends."""
        return f"repo:{self.repository} is:pr is:merged merged:{_utc(self.start)}..{_utc(self.end - 1)}"

    def split(self) -> "Sequence[Merges]":
        """See Shard: two halves, down to single seconds."""
        middle = (self.start + self.end) // 2
        if middle in {self.start, self.end}:
            return ()
        return Merges(self.repository, self.start, middle), Merges(self.repository, middle, self.end)


def _utc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Files:
    """Files of this name with a size in [smallest, largest] bytes, in and not in certain directories."""

    filename: str
    smallest: int = 0
    largest: int = MOST_BYTES
    inside: str = ""
    outside: tuple[str, ...] = ()
    paths: tuple[str, ...] = SUITE_PATHS

    @property
    def query(self) -> str:
        """See Shard."""
        where = ([f"path:{self.inside}"] if self.inside else []) + [f"-path:{path}" for path in self.outside]
        return " ".join([f"filename:{self.filename}", f"size:{self.smallest}..{self.largest}", *where])

    def split(self) -> "Sequence[Files]":
        """See Shard: by size down to single bytes, then by directory."""
        if self.smallest < self.largest:
            middle = (self.smallest + self.largest) // 2
            return replace(self, largest=middle), replace(self, smallest=middle + 1)
        if self.inside or not self.paths:
            return ()
        first, *others = self.paths
        return (
            replace(self, inside=first, paths=()),
            replace(self, outside=(*self.outside, first), paths=tuple(others)),
        )


@dataclass(frozen=True, slots=True)
class Found(Generic[Item]):
    """Distinct hits, and how many the forge counted; `incomplete`: it never said that it had looked everywhere."""

    items: tuple[Item, ...]
    counted: int
    incomplete: bool = False

    @property
    def missing(self) -> int:
        """Hits that were counted and not given; 0 means complete, unless the count is `incomplete` itself."""
        return max(0, self.counted - len(self.items))


class Search(Generic[Item]):
    """Collects every hit of a shard; hits with one key are one hit."""

    def __init__(
        self,
        pages: Pages[Item],
        key: Callable[[Item], Hashable],
        *,
        cap: int = CAP,
        n_concurrent: int = 8,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._pages = pages
        self._key = key
        self._cap = cap
        self._n_concurrent = n_concurrent
        self._sleep = sleep

    async def run(self, shard: Shard) -> Found[Item]:
        """All hits. Whoever needs every one looks at `missing` and `incomplete`."""
        # Both belong to one run, and the semaphore to the running event loop.
        self._places = anyio.Semaphore(self._n_concurrent)
        self._recounts = ATTEMPTS
        return await self._all_of(shard)

    async def _all_of(self, shard: Shard) -> Found[Item]:
        """Ask until as many hits came as were counted, a few times at most; what came once stays."""
        seen: dict[Hashable, Item] = {}
        counted, complete = 0, False
        for attempt in range(ATTEMPTS):
            await self._pause(attempt)
            page = await self._page(shard.query, None)
            # A forge that never counts beyond its cap says the cap where there are more.
            parts = shard.split() if page.total >= self._cap else ()
            if parts:
                return await self._divided(shard, parts, page.total)
            hits, counted, complete = await self._turned(shard.query, page)
            seen |= {self._key(item): item for item in hits}
            if complete and len(seen) >= counted:
                break
        return Found(tuple(seen.values()), counted, not complete)

    async def _divided(self, shard: Shard, parts: Sequence[Shard], total: int) -> Found[Item]:
        """The hits of the parts; they are counted again where their counts do not add up to the whole's."""
        found = await LocalExecutor().map(self._all_of, parts, n_concurrent=len(parts))
        while sum(part.counted for part in found) < total and self._recounts > 0:
            self._recounts -= 1
            await self._pause(ATTEMPTS - self._recounts)
            found = await LocalExecutor().map(self._all_of, parts, n_concurrent=len(parts))
            total = (await self._page(shard.query, None)).total
        items = {self._key(item): item for part in found for item in part.items}
        incomplete = any(part.incomplete for part in found)
        return Found(tuple(items.values()), max(total, sum(part.counted for part in found)), incomplete)

    async def _turned(self, query: str, page: Page[Item]) -> tuple[list[Item], int, bool]:
        """Hits of this page and those after it, the count as last given, and whether the forge looked everywhere."""
        items, complete = list(page.items), not page.incomplete
        while page.next is not None and len(items) < self._cap:
            page = await self._page(query, page.next)
            items += page.items
            complete &= not page.incomplete
        return items, page.total, complete

    async def _page(self, query: str, after: str | None) -> Page[Item]:
        async with self._places:
            return await self._pages.page(query, after)

    async def _pause(self, attempt: int) -> None:
        if attempt:
            await self._sleep(PAUSE_S * 2 ** (attempt - 1))
