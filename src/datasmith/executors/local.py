"""Work on this machine, in this event loop."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import anyio

from datasmith.errors import ConfigError
from datasmith.executors.base import Item, Result


class LocalExecutor:
    """Runs items side by side; takes the next one out of `items` only when there is room for it."""

    async def map(
        self,
        function: Callable[[Item], Awaitable[Result]],
        items: Iterable[Item],
        *,
        n_concurrent: int,
        needs: Sequence[str] = (),  # noqa: ARG002 - this machine has all tags
    ) -> list[Result]:
        """See Executor."""
        check_bound(n_concurrent)
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

    def places(self, needs: Sequence[str]) -> int:  # noqa: ARG002 - this machine has all tags
        """One: a stage spreads over this machine's cores by itself."""
        return 1

    def close(self) -> None:
        """Nothing was opened."""


def check_bound(n_concurrent: int) -> None:
    """Raises ConfigError for a bound under which nothing would ever be done."""
    if n_concurrent < 1:
        raise ConfigError(f"n_concurrent must be at least 1, not {n_concurrent} (example: --n-concurrent 4)")


def first_error(error: BaseException) -> BaseException:
    """The first plain exception inside a group, the one that cancelled its siblings; a plain one is itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
