"""The seam to places where work runs."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs one async function over many items."""

    async def map(
        self, function: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, n_concurrent: int
    ) -> list[Result]:
        """Results in the items' order, at most `n_concurrent` under way at once.

        An exception of `function` cancels what is under way and is raised: isolating items is the runner's work.
        """
