"""Which token the next call uses, and when none may be used."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from datasmith.errors import ConfigError, RateLimited
from datasmith.github.tokens import LONGEST_WAIT_S, Lease, Limits, TokenPool, Wait
from datasmith.utils import TokenPool as PublicTokenPool
from tests.loopback.clock import VirtualClock

ABC = ["token-a", "token-b", "token-c"]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def pool_of(
    clock: VirtualClock,
    tokens: list[str] = ABC,
    *,
    in_flight: int = 90,
    max_wait_s: float = math.inf,
    on_wait: Callable[[Wait], None] | None = None,
    sleep: Callable[[float], Awaitable[None]] | None = None,
) -> TokenPool:
    return TokenPool(
        tokens, in_flight=in_flight, max_wait_s=max_wait_s, on_wait=on_wait, clock=clock.monotonic,
        sleep=sleep or clock.sleep,
    )  # fmt: skip


def take(pool: TokenPool, resource: str = "core") -> Lease:
    """A lease that must be there at once."""

    async def now() -> Lease:
        return await asyncio.wait_for(pool.acquire(resource), 5)

    return asyncio.run(now())


def limits(remaining: int, resets_in_s: float = 60.0, *, limit: int = 10, resource: str = "core") -> Limits:
    return Limits(resource, limit, remaining, resets_in_s)


def learn(pool: TokenPool, *remaining: int, resets_in_s: float = 60.0, resource: str = "core") -> None:
    """Let each token make one call, whose reply says how many are left."""
    leases = [take(pool, resource) for _ in remaining]
    for lease in leases:
        left = remaining[lease.number - 1]
        pool.release(lease, limits(left, resets_in_s, resource=resource), answered=True)


def test_calls_are_spread(clock: VirtualClock) -> None:
    """Tokens with as many calls left take turns."""
    pool = pool_of(clock)
    learn(pool, 9, 9, 9)
    assert sorted(take(pool).secret for _ in range(9)) == sorted(ABC * 3)


def test_the_token_with_most_calls_left_is_used(clock: VirtualClock) -> None:
    """A token is used until it has no more calls left than another."""
    pool = pool_of(clock)
    learn(pool, 3, 7, 5)
    assert [take(pool).secret for _ in range(3)] == ["token-b", "token-b", "token-c"]
    assert [take(pool).secret for _ in range(3)] == ["token-b", "token-c", "token-b"]


def test_a_token_that_nobody_knows_makes_one_call_at_a_time(clock: VirtualClock) -> None:
    """Until its first reply a token may have no calls left: only one call finds out."""
    pool = pool_of(clock, ["token-a"])
    first = take(pool)
    assert pool.pick("core", 0.0).number is None
    assert math.isinf(pool.pick("core", 0.0).wait_s)
    pool.release(first, limits(5), answered=True)
    assert pool.pick("core", 0.0).number == 1


def test_a_call_that_got_no_reply_says_nothing_of_the_limits(clock: VirtualClock) -> None:
    """After a lost call the token is as unknown as before: again one call at a time."""
    pool = pool_of(clock, ["token-a"])
    pool.release(take(pool), None, answered=False)
    take(pool)
    assert pool.pick("core", 0.0).number is None


def test_a_server_without_limits_is_not_counted(clock: VirtualClock) -> None:
    """Where a reply names no limits there are none, and tokens still take turns."""
    pool = pool_of(clock)
    for lease in [take(pool) for _ in ABC]:
        pool.release(lease, None, answered=True)
    assert sorted(take(pool).secret for _ in range(6)) == sorted(ABC * 2)


def test_calls_in_flight_are_counted(clock: VirtualClock) -> None:
    """A token with 2 calls left has none as soon as 2 are under way."""
    pool = pool_of(clock, ["token-a"])
    learn(pool, 2)
    take(pool)
    take(pool)
    choice = pool.pick("core", 0.0)
    assert (choice.number, choice.wait_s) == (None, 61.0)


def test_a_token_has_a_bound_on_calls_in_flight(clock: VirtualClock) -> None:
    """No more than `in_flight` calls of a token are under way; one that ends makes room."""
    pool = pool_of(clock, ["token-a"], in_flight=2)
    learn(pool, 9)
    first, _ = take(pool), take(pool)
    assert math.isinf(pool.pick("core", 0.0).wait_s)
    pool.release(first, limits(8), answered=True)
    assert pool.pick("core", 0.0).number == 1


def test_an_overtaken_reply_does_not_give_calls_back(clock: VirtualClock) -> None:
    """Within one window a reply that came late, with more calls left, is not believed."""
    pool = pool_of(clock, ["token-a"])
    learn(pool, 9)
    first, second = take(pool), take(pool)
    pool.release(second, limits(1), answered=True)
    pool.release(first, limits(8), answered=True)
    take(pool)
    assert pool.pick("core", 0.0).number is None


def test_a_reply_of_a_window_that_is_over_says_nothing(clock: VirtualClock) -> None:
    """Limits whose reset lies before the known one are old."""
    pool = pool_of(clock, ["token-a"])
    learn(pool, 5, resets_in_s=100.0)
    pool.release(take(pool), limits(0, 10.0), answered=True)
    assert pool.pick("core", 0.0).number == 1


def test_a_reply_of_a_new_window_is_believed(clock: VirtualClock) -> None:
    """Limits whose reset lies after the known one start the count anew."""
    pool = pool_of(clock, ["token-a"])
    learn(pool, 1, resets_in_s=10.0)
    pool.release(take(pool), limits(7, 100.0), answered=True)
    assert [take(pool).number for _ in range(7)] == [1] * 7
    assert pool.pick("core", 0.0).wait_s == 101.0


def test_a_304_is_not_counted(clock: VirtualClock) -> None:
    """A call that GitHub does not count leaves as many calls as before."""
    pool = pool_of(clock, ["token-a"])
    learn(pool, 1)
    for _ in range(5):
        pool.release(take(pool), limits(1), answered=True, free=True)
    assert pool.pick("core", 0.0).number == 1


def test_an_exhausted_token_is_skipped(clock: VirtualClock) -> None:
    """A token that GitHub calls spent is not used before its reset."""
    pool = pool_of(clock, ["token-a", "token-b"])
    lease = take(pool)
    pool.spend(lease, 30.0)
    pool.release(lease, limits(0, 30.0), answered=False)
    learn_other = take(pool)
    pool.release(learn_other, limits(9), answered=True)
    assert learn_other.secret != lease.secret
    assert {take(pool).secret for _ in range(9)} == {learn_other.secret}
    assert pool.pick("core", 0.0).wait_s == 31.0


def test_resources_have_windows_of_their_own(clock: VirtualClock) -> None:
    """A token without search calls can still read pull requests."""
    pool = pool_of(clock, ["token-a"])
    learn(pool, 0, resource="search")
    assert pool.pick("search", 0.0).number is None
    assert pool.pick("core", 0.0).number == 1


def test_the_name_that_github_gives_a_resource_counts_too(clock: VirtualClock) -> None:
    """A reply that counts in another window than asked for tells about both."""
    pool = pool_of(clock, ["token-a"])
    pool.release(take(pool, "code_search"), limits(0, resource="search"), answered=True)
    assert pool.pick("search", 0.0).wait_s == 61.0
    assert pool.pick("code_search", 0.0).wait_s == 61.0


def test_all_exhausted_waits_until_the_earliest_reset(clock: VirtualClock) -> None:
    """The call goes on a second after the first reset, with that token, and sleeps once."""
    pool = pool_of(clock)
    for number, lease in enumerate([take(pool) for _ in ABC]):
        pool.release(lease, limits(0, 100.0 - 20 * number), answered=True)
    lease = take(pool)
    assert (lease.secret, clock.slept, clock.seconds) == ("token-c", [61.0], 61.0)


def test_after_a_reset_one_call_goes_ahead(clock: VirtualClock) -> None:
    """Somebody else may use the token too: the first call of a window finds out."""
    pool = pool_of(clock, ["token-a"])
    learn(pool, 0)
    clock.seconds = 61.0
    assert pool.pick("core", 61.0).number == 1
    lease = take(pool)
    assert pool.pick("core", 61.0).number is None
    pool.release(lease, limits(3), answered=True)
    assert [take(pool).number for _ in range(3)] == [1, 1, 1]


def test_an_unknown_window_counts_as_the_last_one_did(clock: VirtualClock) -> None:
    """A token whose window began anew is preferred to one with few calls left."""
    pool = pool_of(clock, ["token-a", "token-b"])
    first, second = take(pool), take(pool)
    pool.release(first, limits(0, 10.0), answered=True)
    pool.release(second, limits(4, 100.0), answered=True)
    clock.seconds = 20.0
    assert take(pool).secret == first.secret


def test_a_pause_with_a_time_is_kept(clock: VirtualClock) -> None:
    """A secondary limit holds the token, for every resource, as long as GitHub says; others go on."""
    pool = pool_of(clock, ["token-a", "token-b"])
    learn(pool, 9, 9)
    lease = take(pool)
    pool.hold(lease, 45.0)
    pool.release(lease, None, answered=False)
    assert {take(pool).secret for _ in range(5)} == set(ABC[:2]) - {lease.secret}
    assert pool.pick("search", 0.0).number != lease.number
    assert clock.slept == []


def test_a_pause_without_a_time_grows(clock: VirtualClock) -> None:
    """A minute, then two, four, eight, sixteen and no more, until a call is answered."""
    pool = pool_of(clock, ["token-a"])
    waited = []
    for _ in range(7):
        lease = take(pool)
        before = clock.seconds
        pool.hold(lease, None)
        pool.release(lease, None, answered=False)
        waited.append(pool.pick("core", before).wait_s)
    assert waited == [60.0, 120.0, 240.0, 480.0, 960.0, 960.0, 960.0]
    pool.release(take(pool), limits(5), answered=True)
    lease = take(pool)
    pool.hold(lease, None)
    assert pool.pick("core", clock.seconds).wait_s == 60.0


def test_calls_under_way_when_a_pause_begins_do_not_lengthen_it(clock: VirtualClock) -> None:
    """Twenty calls that run into one limit are one breach, not twenty; one that succeeds ends no pause."""
    pool = pool_of(clock, ["token-a"], in_flight=30)
    learn(pool, 29)
    leases = [take(pool) for _ in range(21)]
    for lease in leases[1:]:
        pool.hold(lease, None)
        pool.release(lease, None, answered=False)
    pool.release(leases[0], limits(9), answered=True)
    assert pool.pick("core", 0.0).wait_s == 60.0
    clock.seconds = 60.0
    probe = take(pool)
    assert math.isinf(pool.pick("core", 60.0).wait_s)  # after a pause one call goes ahead
    pool.release(probe, limits(8), answered=True)
    assert [take(pool).number for _ in range(5)] == [1] * 5


@pytest.mark.parametrize(("seconds", "waited"), [(1e12, LONGEST_WAIT_S), (-5.0, 0.0), (7.0, 7.0)])
def test_no_wait_is_longer_than_githubs_windows(clock: VirtualClock, seconds: float, waited: float) -> None:
    """A nonsensical Retry-After does not stop the work for years, and a negative one is none."""
    pool = pool_of(clock, ["token-a"])
    lease = take(pool)
    pool.hold(lease, seconds)
    pool.release(lease, None, answered=False)
    assert pool.pick("search", 0.0).wait_s == waited


def test_a_refused_token_is_not_used_again(clock: VirtualClock) -> None:
    """After a 401 the others do the work; without others the error names the setting."""
    pool = pool_of(clock, ["token-a", "token-b"])
    for left in (1, 0):
        lease = take(pool)
        pool.refuse(lease)
        pool.release(lease, None, answered=False)
        assert len(pool) == left
    with pytest.raises(ConfigError, match="GH_TOKENS"):
        take(pool)


def test_waiting_calls_are_served_when_others_end(clock: VirtualClock) -> None:
    """A hundred calls of two resources get through a pool that permits two at a time, none is forgotten."""

    async def main() -> list[str]:
        pool = pool_of(clock, ["token-a"], in_flight=2)

        async def call(resource: str) -> str:
            lease = await pool.acquire(resource)
            await asyncio.sleep(0)
            pool.release(lease, limits(500, limit=500, resource=resource), answered=True)
            return resource

        calls = [call("core" if number % 2 else "search") for number in range(100)]
        return await asyncio.wait_for(asyncio.gather(*calls), 20)

    assert sorted(asyncio.run(main())) == ["core"] * 50 + ["search"] * 50


def test_a_cancelled_call_takes_nobody_elses_turn(clock: VirtualClock) -> None:
    """Where a waiting call is cancelled, just as it was woken too, the next one is served."""

    async def main() -> int:
        pool = pool_of(clock, ["token-a"])
        first = await pool.acquire("core")
        waiting = [asyncio.create_task(pool.acquire("core")) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        pool.release(first, limits(5), answered=True)
        waiting[1].cancel()
        return (await asyncio.wait_for(waiting[2], 5)).number

    assert asyncio.run(main()) == 1


def test_the_event_loop_goes_on_while_calls_wait(clock: VirtualClock) -> None:
    """While every token is spent, other tasks run; the observer hears once until when."""
    heard: list[Wait] = []
    ticks = 0

    async def main() -> int:
        nonlocal ticks
        ticked = asyncio.Event()

        async def sleep(seconds: float) -> None:
            await ticked.wait()
            clock.seconds += seconds

        async def tick() -> None:
            nonlocal ticks
            for _ in range(1000):
                ticks += 1
                await asyncio.sleep(0)
            ticked.set()

        pool = pool_of(clock, ["token-a"], sleep=sleep, on_wait=heard.append)
        pool.release(await pool.acquire("core"), limits(0, 60.0), answered=True)

        async def call() -> None:
            lease = await pool.acquire("core")
            pool.release(lease, limits(9), answered=True)

        await asyncio.wait_for(asyncio.gather(call(), call(), tick()), 20)
        return len(heard)

    assert asyncio.run(main()) == 1
    assert ticks == 1000
    assert (heard[0].resource, heard[0].seconds) == ("core", 61.0)
    assert heard[0].until.utcoffset() is not None


def test_it_says_when_calls_go_on(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    """The log names the resource and the moment, and no token."""
    pool = pool_of(clock, ["token-a"])
    learn(pool, 0)
    take(pool)
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "core" in line and "on at 20" in line and "token-a" not in caplog.text


def test_a_wait_may_have_a_bound(clock: VirtualClock) -> None:
    """Whoever will not wait that long is told until when; a wait within the bound is waited."""
    pool = pool_of(clock, ["token-a"], max_wait_s=61.0)
    learn(pool, 0)
    take(pool)
    pool = pool_of(clock, ["token-a"], max_wait_s=60.9)
    learn(pool, 0)
    with pytest.raises(RateLimited, match="core") as caught:
        take(pool)
    assert caught.value.resets_at.utcoffset() is not None


@pytest.mark.parametrize("tokens", [[], ["", " "]])
def test_no_token_is_an_error_that_names_the_setting(tokens: list[str]) -> None:
    """One line with the variable and an example."""
    with pytest.raises(ConfigError, match=r"^GH_TOKENS is not set.*example: GH_TOKENS="):
        TokenPool(tokens)


@pytest.mark.parametrize("token", ["gh\np_secret", "ghp secret", "ghp_sécret"])
def test_a_token_that_no_header_can_carry_is_refused_without_being_shown(token: str) -> None:
    """A broken token is named by its place in the list."""
    with pytest.raises(ConfigError, match="token 2") as caught:
        TokenPool(["good", token])
    assert token not in str(caught.value)


def test_secrets_are_in_no_representation(clock: VirtualClock) -> None:
    """Pool, token and lease can be logged."""
    pool = pool_of(clock, ["token-a"])
    lease = take(pool)
    assert "token-a" not in repr(pool) + repr(lease) + repr(pool._known()) + str(pool.pick("core", 0.0))
    assert repr(pool) == "TokenPool(1 tokens)"


def test_settings_are_read_at_the_first_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Making a pool reads nothing; tokens are separated by commas or spaces, each once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GH_TOKENS", raising=False)
    monkeypatch.delenv("FC_GH_TOKENS", raising=False)
    pool, other = PublicTokenPool(), TokenPool()
    assert "not read yet" in repr(pool)
    with pytest.raises(ConfigError, match="GH_TOKENS"):
        len(other)
    monkeypatch.setenv("GH_TOKENS", " ghp_1,ghp_2, ghp_1 ,\tghp_3")
    assert len(pool) == 3
