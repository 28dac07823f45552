"""GitHub's search over real sockets: 20,000 pull requests, none lost."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from datasmith.errors import ForgeError, ForgeUnavailable, NotFound
from datasmith.github.base import Window
from datasmith.github.bases import Told
from datasmith.github.client import GitHubClient
from datasmith.github.clones import CloneCache
from datasmith.github.discovery import discover, look_up, search_suites
from datasmith.github.github_forge import PER_PAGE, GitHubForge, PullPages
from datasmith.github.models import Repository
from datasmith.github.repos_csv import Listed
from datasmith.github.search import CAP, Found, Merges, Search
from datasmith.github.tokens import TokenPool
from tests.loopback.github_graphql_search import SearchingGraphQL, loopback_repository
from tests.loopback.github_server import GitHubServer, Response, github_server
from tests.loopback.github_world import LoopbackIssue, LoopbackPull, LoopbackRepository, many_pulls

WINDOW = Window(datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC))
MONTHS_BEFORE = timedelta(days=300)


@dataclass
class World:
    server: GitHubServer
    graphql: SearchingGraphQL

    def client(self) -> GitHubClient:
        return GitHubClient(TokenPool(["token-a", "token-b"]), base_url=self.server.url)


@contextmanager
def world(*repositories: LoopbackRepository) -> Iterator[World]:
    with github_server(*repositories) as server:
        server.no_limits = True
        yield World(server, SearchingGraphQL(server))


def found(world: World, repository: str, window: Window = WINDOW) -> Found[Told]:
    async def no_pause(_seconds: float) -> None:
        pass

    async def look() -> Found[Told]:
        async with world.client() as client:
            pages = PullPages(client, repository)
            search = Search(pages, key=lambda told: told.pr.issue_number, sleep=no_pause)
            return await search.run(Merges.of(repository, window))

    return asyncio.run(look())


def numbers(told: Sequence[Told]) -> list[int]:
    return sorted(each.pr.issue_number for each in told)


def twenty_thousand() -> list[LoopbackPull]:
    """Merged over three years, 3,000 of them on one day of the window, most created long before it."""
    years = many_pulls(17_000, start=datetime(2023, 1, 1, tzinfo=UTC), step=timedelta(minutes=90))
    day = many_pulls(3_000, first=17_001, start=datetime(2026, 2, 10, tzinfo=UTC), step=timedelta(seconds=20))
    pulls = [*years, *day]
    for pull in pulls:
        pull.created_at -= MONTHS_BEFORE if pull.number % 3 else timedelta()
    return pulls


def test_of_twenty_thousand_pull_requests_none_is_lost() -> None:
    """A month that holds three times the cap comes whole, and so does the whole history; every part was counted."""
    pulls = twenty_thousand()
    noise = [LoopbackIssue(number) for number in range(30_001, 30_200)]
    noise += list(many_pulls(50, first=40_001, start=WINDOW.end))
    unmerged = LoopbackPull(number=50_000, closed_at=WINDOW.start)
    repository = loopback_repository("o/r", *pulls, unmerged)
    repository.add(*noise)
    with world(repository) as here:
        month = found(here, "o/r")
        parts = len(here.graphql.queries)
        ever = found(here, "o/r", Window(datetime(2000, 1, 1, tzinfo=UTC), WINDOW.end))
    inside = [pull for pull in pulls if pull.merged_at and pull.merged_at in WINDOW]
    assert len(inside) == 3 * CAP and sum(pull.created_at < WINDOW.start for pull in inside) >= 2 * CAP
    assert numbers(month.items) == [pull.number for pull in inside] and month.missing == 0
    assert numbers(ever.items) == sorted(pull.number for pull in pulls) and ever.counted == 20_000
    print(f"20,000 pull requests: 0 lost; the month of {len(inside)} in {parts} parts")


@pytest.mark.parametrize(
    ("merged", "kept"),
    [
        ("2026-01-31T23:59:59", False),
        ("2026-02-01T00:00:00", True),
        ("2026-02-05T12:00:00", True),
        ("2026-02-28T23:59:59", True),
        ("2026-03-01T00:00:00", False),
    ],
)
def test_the_window_is_half_open_and_counts_merges(merged: str, kept: bool) -> None:
    """A pull request created on 20 January counts where it was merged, to the second."""
    moment = datetime.fromisoformat(merged).replace(tzinfo=UTC)
    pull = LoopbackPull(number=7, created_at=datetime(2026, 1, 20, tzinfo=UTC), merged_at=moment, closed_at=moment)
    with world(loopback_repository("o/r", pull)) as here:
        assert numbers(found(here, "o/r").items) == [7] * kept


def test_a_pull_request_is_told_whole() -> None:
    """Title, text, author, labels, times, commits and size; a deleted author and a missing text are empty."""
    moment = datetime(2026, 2, 5, tzinfo=UTC)
    pulls = [
        LoopbackPull(7, "Speed up", "Because", "ann", ("perf",), created_at=moment, merged_at=moment, closed_at=moment),
        LoopbackPull(8, body=None, author=None, merged_at=moment, closed_at=moment, merge_commit_sha="c" * 40),
    ]
    with world(loopback_repository("o/r", *pulls)) as here:
        here.graphql.commits[7] = 3
        first, second = sorted(found(here, "o/r").items, key=lambda told: told.pr.issue_number)
    pr = first.pr
    assert (pr.repository, pr.title, pr.body, pr.author, pr.labels) == ("o/r", "Speed up", "Because", "ann", ("perf",))
    assert (pr.created_at, pr.merged_at, len(pr.merge_commit_sha), first.n_commits) == (moment, moment, 40, 3)
    assert first.size and (first.size.files, first.size.additions, first.size.deletions) == (1, 1, 1)
    assert (second.pr.body, second.pr.author, second.pr.merge_commit_sha) == ("", "", "c" * 40)


def test_hits_that_an_answer_left_out_are_fetched_again() -> None:
    """An index that gives a part's hits at the second asking loses nothing; one that never does is found out."""
    pulls = list(many_pulls(300, start=WINDOW.start))
    with world(loopback_repository("o/r", *pulls)) as here:
        asked = here.graphql.queries
        here.graphql.lose = lambda query, number: number == 42 and asked.count(query) < 2
        assert found(here, "o/r").missing == 0
        here.graphql.lose = lambda query, number: number == 42
        short = found(here, "o/r")
    assert (short.counted, len(short.items), short.missing) == (300, 299, 1)


def test_faults_on_the_way_lose_nothing() -> None:
    """Each answer in turn is cut, reset, a fault or a limit: the hits are the same."""
    pulls = list(many_pulls(3 * PER_PAGE[0], start=WINDOW.start))
    with world(loopback_repository("o/r", *pulls)) as here:
        for fault in ("reset", "truncated", "502", "html", "429_retry_after"):
            start = len(here.server.seen)
            here.server.fault = lambda seen, start=start, fault=fault: fault if seen.number == start + 2 else None  # type: ignore[misc]
            result = found(here, "o/r")
            assert (len(result.items), result.missing) == (len(pulls), 0), fault
        assert here.server.fault is not None


@pytest.mark.parametrize("data", [{}, {"search": None}, {"search": {"issueCount": 1, "pageInfo": {}, "nodes": []}}])
def test_an_answer_that_cannot_be_read_is_no_empty_month(data: dict[str, object]) -> None:
    """Whatever is missing in it."""
    with world(loopback_repository("o/r", *many_pulls(3, start=WINDOW.start))) as here:
        here.server.answers["/graphql"] = lambda seen: Response.of({"data": data})
        with pytest.raises(ForgeUnavailable, match="cannot be read"):
            found(here, "o/r")


def suites(count: int, *, size: int | None = None, path: str = "asv.conf.json") -> list[LoopbackRepository]:
    """Repositories with an asv configuration each, of sizes from 500 bytes up, or all of one."""
    return [
        LoopbackRepository(f"o{n}/r", id=n + 1, stars=n, code={path: 500 + n % 900 if size is None else size})
        for n in range(count)
    ]


def test_code_search_finds_all_suites_beyond_the_cap() -> None:
    """2,600 files, 1,200 of them of one size in different directories, come whole; other files do not."""
    places = ("asv.conf.json", "benchmarks/asv.conf.json", "asv_bench/asv.conf.json")
    same = [LoopbackRepository(f"s{n}/r", id=5000 + n, code={places[n % 3]: 1234}) for n in range(1200)]
    other = LoopbackRepository("x/y", id=9999, code={"src/asv.py": 1234, "docs/myasv.conf.json.txt": 9})
    with world(*suites(1400), *same, other) as here:
        hits = asyncio.run(_search(here))
        queries = [seen.query.get("q", "") for seen in here.server.seen]
    assert hits.missing == 0 and len(hits.listed) == 2600
    assert {listed.asv_paths for listed in hits.listed} == {(place,) for place in places}
    assert any("-path:" in query for query in queries)


async def _search(here: World):  # type: ignore[no-untyped-def]
    async with here.client() as client:
        return await search_suites(client)


def test_incomplete_code_searches_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the hits with `incomplete_results` are not an answer; when it never ends, what is missing is told."""
    monkeypatch.setattr("datasmith.github.search.PAUSE_S", 0.0)
    with world(*suites(40)) as here:
        here.server.incomplete = lambda seen: seen.number == 1
        assert (asyncio.run(_search(here)).missing, len(here.server.seen)) == (0, 2)
        here.server.incomplete = lambda seen: True
        short = asyncio.run(_search(here))
    assert (short.missing, short.incomplete, len(short.listed)) == (20, True, 20)


def test_stars_forks_archives_and_new_names_come_a_hundred_a_request() -> None:
    """250 repositories are three requests; each is told by what it is today, a gone one by that."""
    known = [LoopbackRepository(f"o{n}/r", id=n + 1, stars=n, fork=n == 3, archived=n == 4) for n in range(250)]
    known[5].old_names = ("old/name",)
    known[6].language = known[6].licence = known[6].description = None
    asked = [listed(f"o{n}/r") for n in range(250)]
    asked[5], asked[7] = listed("old/name"), listed("no/where")

    async def look(here: World) -> list[Listed]:
        async with here.client() as client:
            return await look_up(client, asked)

    with world(*known) as here:
        told = asyncio.run(look(here))
        assert len(here.server.seen) == 3
    assert [each.repository.stars for each in told[8:]] == list(range(8, 250))
    assert (told[3].fork, told[4].archived, told[2].fork, told[2].archived) == (True, True, False, False)
    assert (told[5].repository.full_name, told[5].renamed_from) == ("o5/r", "old/name")
    assert told[7].reason and told[7].repository.stars is None
    assert (told[6].repository.language, told[6].repository.licence, told[6].repository.topics) == (
        "",
        None,
        ("speed",),
    )


def test_a_repository_that_github_refuses_stops_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is listed with GitHub's reason, and named; its pull requests are an error, not an empty month."""
    asked = [Repository(owner="o", repo=name) for name in ("r", "shut", "s")]

    async def offered(here: World) -> list[int | None]:
        async with here.client() as client:
            forge = GitHubForge(client, CloneCache(tmp_path), asked)
            found = await forge.repositories()
            with pytest.raises(ForgeError, match="o/shut: GitHub refuses it: FORBIDDEN: too long a token") as raised:
                await anext(forge.merged_pull_requests(asked[1], WINDOW))
            assert not isinstance(raised.value, NotFound)
            return [repository.stars for repository in found]

    shut = LoopbackRepository("o/shut", id=2, forbidden="too long a token")
    with world(LoopbackRepository("o/r"), shut, LoopbackRepository("o/s", id=3, stars=7)) as here:
        assert asyncio.run(offered(here)) == [100, None, 7]
    assert "o/shut: GitHub refuses it: FORBIDDEN: too long a token" in caplog.text


def test_a_licence_that_github_does_not_know_is_none() -> None:
    """Neither in the answers for many repositories nor in that for one is its word for it a licence."""

    async def licences(here: World) -> list[str | None]:
        async with here.client() as client:
            one = await client.get_repository("o", "r")
            many = await look_up(client, [listed("o/r"), listed("o/s")])
            assert one is not None
            return [one.licence, *[each.repository.licence for each in many]]

    with world(LoopbackRepository("o/r", licence="NOASSERTION"), LoopbackRepository("o/s", id=2)) as here:
        assert asyncio.run(licences(here)) == [None, None, "MIT"]


def test_discovery_keeps_what_has_stars_and_is_no_fork_or_archive() -> None:
    """Every repository that was found is listed, with the reason against it."""
    known = suites(60)
    known[55].fork, known[56].archived = True, True

    async def look(here: World):  # type: ignore[no-untyped-def]
        async with here.client() as client:
            return await discover(client, 50)

    with world(*known) as here:
        result = asyncio.run(look(here))
    assert [each.repository.stars for each in result.valid] == [50, 51, 52, 53, 54, 57, 58, 59]
    assert dict(result.reasons) == {"fewer than 50 stars": 50, "archived": 1, "a fork": 1}
    assert result.missing == 0 and len(result.listed) == 60


def listed(name: str) -> Listed:
    owner, repo = name.split("/")
    return Listed(repository=Repository(owner=owner, repo=repo))
