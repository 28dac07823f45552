"""Work one item after another, in the caller's own task: the order of everything is known."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from datasmith.executors.base import Item, Result
from datasmith.executors.local import check_bound


class InlineExecutor:
    """Never has more than one item under way."""

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
        return [await function(item) for item in items]

    def places(self, needs: Sequence[str]) -> int:  # noqa: ARG002 - this machine has all tags
        """One."""
        return 1

    def close(self) -> None:
        """Nothing was opened."""
