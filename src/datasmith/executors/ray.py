"""Work on the nodes of a Ray cluster: Ray finds a node with the tags, and makes a call again whose process died.

Ray only places work. Which items are done is in the ledger, whose leases and fences hold whatever Ray does twice.
"""

import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec

import anyio

from datasmith.errors import ConfigError, DatasmithError
from datasmith.executors.base import Item, Result
from datasmith.executors.local import LocalExecutor, check_bound, first_error
from datasmith.settings import set_where_unset

RETRIES = 3
"""A call whose process was killed is made again this often."""
STOP_S = 30.0
"""A call that is told to stop has this long to give back what it holds; then its process is killed."""
ANSWER_S = 10.0
"""How long the head of the cluster may take to accept a connection."""
_TICK_S = 0.2
_QUIET = {
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}
"""Ray keeps its notes off our standard output, and sends no directory of ours to nodes, not even under `uv run`."""

_NOT_LET_IN = "this machine is no node of the cluster, or RAY_AUTH_TOKEN is not the cluster's"

_log = logging.getLogger(__name__)


class RayExecutor:
    """Places every call on a node of the cluster at `address` ("host:port", or "auto" for one on this machine)."""

    def __init__(self, address: str) -> None:
        """Connect to the cluster, of which this machine must be a node.

        Raises:
            ConfigError: Ray is not installed, no address is given, or nobody answers there.
        """
        if not address:
            raise ConfigError("--executor ray needs FC_RAY_ADDRESS (example: FC_RAY_ADDRESS=10.0.0.1:6379)")
        if find_spec("ray") is None:
            raise ConfigError("--executor ray needs the extra (example, in the checkout: pip install '.[ray]')")
        _check_answers(address)
        for name, value in _QUIET.items():
            set_where_unset(name, value)
        import ray

        self._ray = ray
        self._connected = not ray.is_initialized()
        if self._connected:
            self._connect(address)

    def _connect(self, address: str) -> None:
        before = signal.getsignal(signal.SIGTERM)
        try:
            self._ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
        except (OSError, ValueError, RuntimeError, self._ray.exceptions.RayError) as error:
            raise _unusable(address, str(error) or _NOT_LET_IN) from error
        finally:
            now = signal.getsignal(signal.SIGTERM)
            if before is not None and getattr(now, "__module__", "").startswith("ray."):  # it takes it over
                signal.signal(signal.SIGTERM, before)

    async def map(
        self,
        function: Callable[[Item], Awaitable[Result]],
        items: Iterable[Item],
        *,
        n_concurrent: int,
        needs: Sequence[str] = (),
    ) -> list[Result]:
        """See Executor.

        Raises:
            DatasmithError: the processes of one call died more than RETRIES times.
        """
        check_bound(n_concurrent)
        self.places(needs)
        place = self._ray.remote(num_cpus=0, resources=dict.fromkeys(needs, 1.0), max_retries=RETRIES)
        call: Callable[..., Awaitable[Result]] = place(_in_this_process).remote

        async def elsewhere(item: Item) -> Result:
            return await self._answer(call(function, item))

        return await LocalExecutor().map(elsewhere, items, n_concurrent=n_concurrent)

    def places(self, needs: Sequence[str]) -> int:
        """See Executor; without tags, one a node."""
        offers: list[Mapping[str, float]] = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        for tag in needs:
            if all(offer.get(tag, 0) < 1 for offer in offers):
                raise ConfigError(f"no node of the Ray cluster has the tag {tag} ({_example(tag)})")
        found = sum(min((int(offer.get(tag, 0)) for tag in needs), default=1) for offer in offers)
        if not found:
            raise ConfigError(f"no node of the Ray cluster has all of {', '.join(needs)} ({_example(*needs)})")
        return found

    def close(self) -> None:
        """Leave the cluster, where it was joined here."""
        if self._connected:
            self._ray.shutdown()

    async def _answer(self, reference: Awaitable[Result]) -> Result:
        """What a call returns, or the exception itself that it raised; a call that nobody waits for is stopped."""
        try:
            return await reference
        except self._ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, Exception) and not isinstance(cause, self._ray.exceptions.RayError):
                _log.info("a call on %s ended with %s", getattr(error, "ip", "a node"), type(cause).__name__)
                raise cause from error
            told = " ".join(str(error).split())[:300]
            raise DatasmithError(f"a call on the Ray cluster was lost {RETRIES + 1} times: {told}") from error
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._stop(reference)
            raise

    async def _stop(self, reference: Awaitable[object]) -> None:
        """Interrupt a call as Ctrl-C does, so that it gives back its leases, and wait until it has ended."""
        for force in (False, True):
            self._ray.cancel(reference, force=force)
            with anyio.move_on_after(STOP_S), suppress(self._ray.exceptions.RayError):
                await reference
                return


def _check_answers(address: str) -> None:
    """Raises ConfigError where nobody does; Ray itself would try for a minute."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=ANSWER_S):
            pass
    except (OSError, ValueError) as error:
        raise _unusable(address, str(error)) from error


def _unusable(address: str, why: str) -> ConfigError:
    told = " ".join(why.split())[:300]
    return ConfigError(f"FC_RAY_ADDRESS={address}: {told} (example: FC_RAY_ADDRESS=10.0.0.1:6379)")


def _example(*tags: str) -> str:
    offered = ", ".join(f'"{tag}": 1' for tag in tags)
    return f"example: ray start --address=HOST:6379 --resources='{{{offered}}}'"


def _in_this_process(function: Callable[[Item], Awaitable[Result]], item: Item) -> Result:
    """What runs on a node: the call, in a loop that sees within a moment that Ray interrupts it.

    A node that was started in the background of a shell ignores Ctrl-C, and its workers would, too. And Ray interrupts
    without a signal, which a loop that waits for nothing else would not notice.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return anyio.run(_awake, function, item)


async def _awake(function: Callable[[Item], Awaitable[Result]], item: Item) -> Result:
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_tick)
            result = await function(item)
            group.cancel_scope.cancel()
    except BaseExceptionGroup as several:
        raise first_error(several) from several
    return result


async def _tick() -> None:
    while True:  # noqa: ASYNC110 - nothing is waited for: to wake up is the point
        await anyio.sleep(_TICK_S)
