"""The seam to places where work runs."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs one async function over many items.

    Where that is in other processes, the function is sent as its module and name, items and results are pickled, and a
    call whose process died is made again there. So a function must be safe to call twice: what has to happen once
    belongs in the ledger.
    """

    async def map(
        self,
        function: Callable[[Item], Awaitable[Result]],
        items: Iterable[Item],
        *,
        n_concurrent: int,
        needs: Sequence[str] = (),
    ) -> list[Result]:
        """Results in the items' order, at most `n_concurrent` under way at once.

        Each call holds one of every tag in `needs` at the place where it runs; this machine has all tags. An
        exception of `function` cancels what is under way and is raised: isolating items is the runner's work. When
        `map` returns or raises, no call is under way any more; one that does not end when it is told to is killed.

        Raises:
            ConfigError: `n_concurrent` is below 1, or no place has these tags.
        """

    def places(self, needs: Sequence[str]) -> int:
        """How many calls that need these tags can be under way at once.

        Raises:
            ConfigError: none can.
        """

    def close(self) -> None:
        """Let go of what was opened to reach other machines."""
