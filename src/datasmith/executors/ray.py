"""Work on the nodes of a Ray cluster: Ray finds a node with the tags, and makes a call again whose process died.

Ray only places work. Which items are done is in the ledger, whose leases and fences hold whatever Ray does twice.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import anyio

from datasmith.errors import ConfigError, DatasmithError
from datasmith.executors.base import Item, Result
from datasmith.executors.local import LocalExecutor, check_bound

RETRIES = 3
"""A call whose process was killed is made again this often."""
STOP_S = 30.0
"""A cancelled call has this long to give back what it holds; then its process is killed."""


class RayExecutor:
    """Places every call on a node of the cluster at `address` ("host:port", or "auto" for one on this machine)."""

    def __init__(self, address: str) -> None:
        """Connect to the cluster.

        Raises:
            ConfigError: Ray is not installed, no address is given, or nobody answers there.
        """
        if not address:
            raise ConfigError("--executor ray needs FC_RAY_ADDRESS (example: FC_RAY_ADDRESS=10.0.0.1:6379)")
        try:
            import ray
        except ImportError as error:
            raise ConfigError("--executor ray needs the extra (example: pip install 'fc-data[ray]')") from error
        self._ray = ray
        self._connected = not ray.is_initialized()
        if self._connected:
            try:
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, ValueError, RuntimeError) as error:
                told = " ".join(str(error).split())[:200]
                raise ConfigError(
                    f"FC_RAY_ADDRESS={address}: {told} (example: FC_RAY_ADDRESS=10.0.0.1:6379)"
                ) from error

    async def map(
        self,
        function: Callable[[Item], Awaitable[Result]],
        items: Iterable[Item],
        *,
        n_concurrent: int,
        needs: Sequence[str] = (),
    ) -> list[Result]:
        """See Executor."""
        check_bound(n_concurrent)
        self.places(needs)
        tags = dict.fromkeys(needs, 1.0)
        place = self._ray.remote(num_cpus=0, resources=tags, max_retries=RETRIES)
        call: Callable[..., Awaitable[Result]] = place(_in_this_process).remote

        async def elsewhere(item: Item) -> Result:
            return await self._answer(call(function, item))

        return await LocalExecutor().map(elsewhere, items, n_concurrent=n_concurrent)

    def places(self, needs: Sequence[str]) -> int:
        """As many as the cluster has of the rarest tag; without tags, one a node.

        Raises:
            ConfigError: no node has one of the tags; names it.
        """
        offered: Mapping[str, float] = self._ray.cluster_resources()  # type: ignore[no-untyped-call]
        for tag in needs:
            if offered.get(tag, 0) < 1:
                example = f"ray start --address=HOST:6379 --resources='{{\"{tag}\": 1}}'"
                raise ConfigError(f"no node of the Ray cluster has the tag {tag} (example: {example})")
        if needs:
            return min(int(offered[tag]) for tag in needs)
        return sum(bool(node["Alive"]) for node in self._ray.nodes())  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Leave the cluster, where it was joined here."""
        if self._connected:
            self._ray.shutdown()

    async def _answer(self, reference: Awaitable[Result]) -> Result:
        """What a call returns, or the exception itself that it raised; a call that nobody waits for is stopped."""
        errors = self._ray.exceptions
        try:
            return await reference
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            told = " ".join(str(error).split())[:300]
            raise DatasmithError(f"a Ray worker died {RETRIES + 1} times: {told}") from error
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._stop(reference)
            raise

    async def _stop(self, reference: Awaitable[object]) -> None:
        """Interrupt a call as Ctrl-C does, so that it gives back its leases; wait until it has."""
        for force in (False, True):
            self._ray.cancel(reference, force=force)
            with anyio.move_on_after(STOP_S), suppress(self._ray.exceptions.RayError):
                await reference
                return


def _in_this_process(function: Callable[[Item], Awaitable[Result]], item: Item) -> Result:
    """What runs on a node."""
    return anyio.run(function, item)
