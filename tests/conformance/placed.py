"""Work for executors, some of which run it in other processes: what it sees is left in files."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import anyio
from anyio import to_thread

from datasmith.errors import RateLimited


@dataclass(frozen=True)
class Job:
    """A number, the directory for its files, and how many have to be under way at once before `counted` ends."""

    number: int
    place: Path
    at_once: int = 1

    @contextmanager
    def under_way(self) -> Iterator[int]:
        """Leaves a file for as long as the body runs, and the number of such files for good."""
        mine = self.place / f"{self.number}.on"
        mine.touch()
        seen = len(list(self.place.glob("*.on")))
        (self.place / f"{self.number}.seen").write_text(str(seen))
        try:
            yield seen
        finally:
            mine.rename(self.place / f"{self.number}.off")


def until(met: Callable[[], bool]) -> None:
    """Wait for it, for no more than a minute."""
    deadline = time.monotonic() + 60
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def backwards(job: Job) -> int:
    """The square; the first jobs take longest."""
    await anyio.sleep((8 - job.number) / 100)
    return job.number * job.number


async def counted(job: Job) -> None:
    """Under way until as many as are expected have been seen at once, however long they take to start."""
    with job.under_way():
        await to_thread.run_sync(
            until, lambda: max(int(file.read_text() or 0) for file in job.place.glob("*.seen")) >= job.at_once
        )
        await anyio.sleep(0.05)


async def broken_at_two(job: Job) -> None:
    """The third job breaks as soon as three are under way, the others wait until they are cancelled."""
    with job.under_way():
        while job.number == 2:
            await anyio.sleep(0.01)
            if len(list(job.place.glob("*.on"))) == 3:
                raise KeyError(job.number)
        try:
            await anyio.sleep(60)
        except anyio.get_cancelled_exc_class():
            (job.place / f"{job.number}.cancelled").touch()
            raise


async def broken(job: Job) -> None:
    """Breaks."""
    raise KeyError(job.number)


async def meets(job: Job) -> int:
    """Waits in a thread until three are there."""
    (job.place / f"{job.number}.here").touch()
    await to_thread.run_sync(until, lambda: len(list(job.place.glob("*.here"))) >= 3)
    return job.number


async def node_of(_: Job) -> str:
    """The address of the node of Ray that this runs on."""
    import ray

    return str(ray.util.get_node_ip_address())


async def refused(job: Job) -> None:
    """Breaks with an error of ours that carries a fact."""
    raise RateLimited(f"job {job.number}", datetime(2026, 3, 1, tzinfo=UTC))
