"""Work on this machine, in this event loop."""

from collections.abc import Awaitable, Callable, Iterable

import anyio

from datasmith.errors import ConfigError
from datasmith.executors.base import Item, Result


class LocalExecutor:
    """Runs items side by side; takes the next one out of `items` only when there is room for it."""

    async def map(
        self, function: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, n_concurrent: int
    ) -> list[Result]:
        """See Executor.

        Raises:
            ConfigError: `n_concurrent` is below 1.
        """
        if n_concurrent < 1:
            raise ConfigError(f"n_concurrent must be at least 1, not {n_concurrent} (example: --n-concurrent 4)")
        source = enumerate(items)
        results: dict[int, Result] = {}

        async def one_after_another() -> None:
            for index, item in source:
                results[index] = await function(item)

        try:
            async with anyio.create_task_group() as group:
                for _ in range(n_concurrent):
                    group.start_soon(one_after_another)
        except BaseExceptionGroup as several:
            raise first_error(several) from several
        return [results[index] for index in range(len(results))]


def first_error(error: BaseException) -> BaseException:
    """The first plain exception inside a group, the one that cancelled its siblings; a plain one is itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
