"""A Ray cluster of two nodes on loopback, with the tags of stages 4 and 5."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from secrets import token_hex
from socket import socket
from unittest.mock import patch

from datasmith.executors.ray import RayExecutor

PORTS = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_raylet_start_wait_time_s": "120",
}
"""No statistics, a token, no processes in advance, and time to start on a busy machine."""


@contextmanager
def two_nodes() -> Iterator[RayExecutor]:
    """The head has the tag docker twice, the other node docker and bench; who does not know the token is refused."""
    with patch.dict(os.environ, {**QUIET, "RAY_AUTH_TOKEN": token_hex(32)}):
        from ray.cluster_utils import Cluster  # reads the variables when it is imported

        cluster = Cluster()
        try:
            cluster.add_node(num_cpus=1, resources={"docker": 2}, include_dashboard=False, **_small())  # type: ignore[arg-type]
            cluster.add_node(num_cpus=1, resources={"docker": 1, "bench": 1}, **_small())  # type: ignore[arg-type]
            cluster.wait_for_nodes()
            executor = RayExecutor(cluster.address)
            try:
                yield executor
            finally:
                executor.close()
        finally:
            cluster.shutdown()  # type: ignore[no-untyped-call]


def _small() -> dict[str, int]:
    """Little memory, and ports of our own: a node gives up that waits half a minute for its agents to tell theirs."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket()) for _ in PORTS]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        ports = {name: int(probe.getsockname()[1]) for name, probe in zip(PORTS, probes, strict=True)}
    return {"object_store_memory": 80 * 2**20, **ports}
