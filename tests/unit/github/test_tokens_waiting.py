"""How calls wait for a token."""

import asyncio
from datetime import UTC, datetime

import pytest

from datasmith.errors import RateLimited
from datasmith.github.tokens import Wait
from tests.loopback.clock import VirtualClock
from tests.unit.github.test_tokens import learn, limits, pool_of, take


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


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


def test_each_wait_is_told_once_with_its_end(clock: VirtualClock) -> None:
    """A window that is spent again is told again; the moment lies as far ahead as the seconds say."""
    heard: list[Wait] = []
    pool = pool_of(clock, ["token-a"], on_wait=heard.append)
    for resets_in_s in (60.0, 600.0):
        pool.release(take(pool), limits(0, resets_in_s), answered=True)
    take(pool)
    assert [wait.seconds for wait in heard] == [61.0, 601.0]
    ahead = (heard[1].until - datetime.now(UTC)).total_seconds()
    assert 500.0 < ahead <= 601.0


def test_a_window_ends_at_its_moment(clock: VirtualClock) -> None:
    """From that very second on the tokens are full again; a moment before they are not."""
    pool = pool_of(clock, ["token-a"], max_wait_s=0.5)
    learn(pool, 0)
    clock.seconds = 60.0
    with pytest.raises(RateLimited):
        take(pool)
    clock.seconds = 61.0
    assert take(pool).number == 1


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
