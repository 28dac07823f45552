"""GitHub misbehaves: nothing is lost, no spent token is used, and nothing else has to wait."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from functools import cache

import pytest

from datasmith.errors import DatasmithError, ForgeError, ForgeUnavailable
from datasmith.github import GitHubClient
from datasmith.github.tokens import TokenPool, Wait
from datasmith.settings import Settings
from tests.loopback.clock import VirtualClock
from tests.loopback.github_server import FAULTS, Fault, GitHubServer, Quota, Seen, github_server
from tests.loopback.github_world import ChangedFile, LoopbackIssue, LoopbackPull, LoopbackRepository, many_pulls

TOKENS = ("token-a", "token-b")
MERGED = datetime(2026, 2, 5, tzinfo=UTC)
PASSING: list[Fault] = [fault for fault in FAULTS if fault not in {"403_forbidden", "silence"}]
"""What goes away: 403_forbidden is an answer, and silence takes real seconds."""
TIMEOUT_S = 0.5


def world() -> list[LoopbackRepository]:
    """o/r with lists of more than a page, and p/q with few pull requests."""
    other = LoopbackRepository("p/q", id=2)
    other.add(*many_pulls(3))
    found = LoopbackRepository("o/r", old_names=("o/old",), code={"asv.conf.json": 100})
    found.add(*many_pulls(101, first=10))
    files = tuple(ChangedFile(f"f{number}.py") for number in range(195))
    pull = LoopbackPull(1, merged_at=MERGED, closed_at=MERGED, files=files, events=150)
    found.add(pull, LoopbackIssue(2, comments=("a",)))
    return [found, other]


async def everything(client: GitHubClient) -> list[object]:
    """All kinds of calls, each of which needs its answer whole."""
    search = [await client.search_issues("repo:o/r is:merged", page=page, sort="created") for page in (1, 2)]
    return [
        await client.get_pr("o", "old", 1),
        await client.get_files("o", "r", 1),
        await client.get_timeline("o", "r", 1),
        await client.get_diff("o", "r", 1),
        await client.get_issue_expanded("o", "r", 2),
        [item["number"] for page in search for item in page.items],
        (await client.search_code("filename:asv.conf.json")).items,
        [item["number"] async for item in client.paginate("/repos/p/q/pulls", {"state": "all", "per_page": 2})],
        await client.graphql('{ repository(owner: "o", name: "r") { stargazerCount } }'),
    ]


def mine(server: GitHubServer, clock: VirtualClock | None = None, timeout_s: float = 30.0) -> list[object]:
    """Everything, asked for by a client that knows nothing yet; its waits take no time."""
    clock = clock or VirtualClock()
    server.now = clock.epoch

    async def main() -> list[object]:
        pool = TokenPool(TOKENS, clock=clock.monotonic, sleep=clock.sleep)
        settings = Settings(github_timeout_s=timeout_s)
        async with GitHubClient(pool, base_url=server.url, settings=settings, timing=clock.timing()) as client:
            return await everything(client)

    return asyncio.run(main())


@cache
def golden() -> tuple[list[object], int]:
    """What an undisturbed run gives, and how many calls it makes."""
    with github_server(*world()) as server:
        found = mine(server)
        # The code search's hits and GitHub's addresses carry the server's port.
        return [str(part).replace(server.url, "URL") for part in found], len(server.seen)


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_of_any_call_loses_nothing(fault: Fault) -> None:
    """Whichever call fails, the result is that of an undisturbed run, after one more call or a few."""
    wanted, calls = golden()
    lost = spent = 0
    for nth in range(1, calls + 1):
        with github_server(*world()) as server:
            server.fail_nth(nth, fault)
            found = [str(part).replace(server.url, "URL") for part in mine(server)]
            lost += sum(one != other for one, other in zip(wanted, found, strict=True))
            spent += server.spent_calls
            assert len(server.seen) > calls
    print(f"forge: {fault} at each of {calls} calls: {lost} items lost, {spent} calls on a spent token")
    assert (lost, spent) == (0, 0)


def test_a_silent_server_is_asked_again() -> None:
    """A call that gets no reply is given up after the time that the setting names, and made again."""
    wanted, _ = golden()
    with github_server(*world()) as server:
        server.fail_nth(5, "silence")
        assert [str(part).replace(server.url, "URL") for part in mine(server, timeout_s=TIMEOUT_S)] == wanted


def test_many_faults_in_a_row_lose_nothing() -> None:
    """Every second call fails, each time in another way, and still the result is whole."""
    wanted, calls = golden()
    with github_server(*world()) as server:
        server.fault = lambda seen: (
            PASSING[seen.number // 2 % len(PASSING)] if seen.number % 2 and _mild(seen) else None
        )
        assert [str(part).replace(server.url, "URL") for part in mine(server)] == wanted
    print(f"forge: {len(server.seen)} calls for {calls} answers: 0 items lost")


def _mild(seen: Seen) -> bool:
    """True unless this call would refuse a token: two refusals, and there is none left."""
    return PASSING[seen.number // 2 % len(PASSING)] != "401"


def test_an_outage_is_an_error_and_no_empty_answer() -> None:
    """Where GitHub stays broken the call ends with ForgeUnavailable that says how, after six tries."""
    for fault in ("502", "reset", "truncated", "html_200", "short_json"):
        with github_server(*world()) as server:
            server.fault = lambda seen, fault=fault: fault  # type: ignore[misc]
            with pytest.raises(ForgeUnavailable, match=r"/search/issues: .* \(6 tries\)"):
                mine(server)
            assert len(server.seen) == 6


def test_a_refusal_is_not_tried_again() -> None:
    """A 403 that speaks of no limit is an answer: one call, and an error with GitHub's words."""
    with github_server(*world()) as server:
        server.fault = lambda seen: "403_forbidden"
        with pytest.raises(ForgeError, match="Resource not accessible"):
            mine(server)
        assert len(server.seen) == 1


def test_no_call_is_made_on_a_spent_token() -> None:
    """300 calls at once on three tokens with 20 calls a minute each: all answered, none beyond a limit."""
    clock, heard = VirtualClock(), list[Wait]()
    repository = LoopbackRepository("o/r")
    repository.add(*many_pulls(300))

    async def main(server: GitHubServer) -> int:
        tokens = ("token-a", "token-b", "token-c")
        pool = TokenPool(tokens, clock=clock.monotonic, sleep=clock.sleep, on_wait=heard.append)
        async with GitHubClient(pool, base_url=server.url, settings=Settings(), timing=clock.timing()) as client:
            found = await asyncio.gather(*[client.get_pr("o", "r", number) for number in range(1, 301)])
        return sum(pr is not None for pr in found)

    with github_server(repository) as server:
        server.now = clock.epoch
        server.quotas["core"] = Quota(limit=20, window_s=60)
        answered = asyncio.run(main(server))
        used = Counter(seen.token for seen in server.seen if seen.resource == "core")
        print(f"forge: {answered} of 300 answered, {server.spent_calls} calls on a spent token, {len(heard)} waits")
        assert (answered, server.spent_calls, used.total()) == (300, 0, 300)
        assert len(used) == 3 and all(abs(calls - 100) <= 20 for calls in used.values())  # within a minute's calls
        assert heard and all(wait.resource == "core" and 0 < wait.seconds <= 62 for wait in heard)


def test_a_token_that_is_spent_already_is_asked_once() -> None:
    """What another program has used up is found out by one call; the rest go to the other token."""
    with github_server(*world()) as server:
        server.spent = {"token-a"}
        mine(server)
        core = [seen.token for seen in server.seen if seen.resource == "core"]
    assert core.count("token-a") == 1
    assert core.count("token-b") > 5


def test_a_pause_stops_one_token_and_nobody_else() -> None:
    """Retry-After holds the token that ran into it as long as GitHub says; the other works on at once."""
    clock = VirtualClock()
    with github_server(*world()) as server:
        server.retry_after = "600"
        server.fault = lambda seen: "403_retry_after" if seen.token == "token-a" else None
        wanted, _ = golden()
        assert [str(part).replace(server.url, "URL") for part in mine(server, clock)] == wanted
        assert server.tokens_seen.count("token-a") == 1
    assert clock.slept == []


def test_the_event_loop_is_never_blocked_by_a_wait() -> None:
    """While every token waits for its reset, other work in the loop goes on: the wait ends when that has finished."""
    clock = VirtualClock()
    ticks = 0

    async def main(server: GitHubServer) -> bool:
        done = asyncio.Event()

        async def sleep(seconds: float) -> None:
            await done.wait()
            await clock.sleep(seconds)

        async def tick() -> None:
            nonlocal ticks
            while ticks < 10_000:
                ticks += 1
                await asyncio.sleep(0)
            done.set()

        pool = TokenPool(TOKENS, clock=clock.monotonic, sleep=sleep)
        async with GitHubClient(pool, base_url=server.url, settings=Settings(), timing=clock.timing()) as client:
            found, _ = await asyncio.gather(client.get_pr("o", "r", 1), tick())
        return found is not None

    with github_server(*world()) as server:
        server.now = clock.epoch
        server.spent = set(TOKENS)
        assert asyncio.run(asyncio.wait_for(main(server), 60))
    print(f"forge: {ticks} ticks of another task during a wait of {clock.seconds:.0f} s")
    assert ticks == 10_000
    assert clock.seconds > 3000


def test_tokens_are_in_no_log_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever goes wrong, what is written about it holds no token."""
    caplog.set_level("DEBUG")
    told = []
    for fault in FAULTS:
        if fault == "silence":
            continue
        with github_server(*world()) as server:
            server.fault = lambda seen, fault=fault: fault  # type: ignore[misc]
            with pytest.raises(DatasmithError) as caught:
                mine(server)
            told.append(repr(caught.value))
    assert len(told) == len(FAULTS) - 1
    assert not any(token in text for token in TOKENS for text in [*told, caplog.text])
