"""A Ray cluster of two nodes on loopback, with the tags of stages 4 and 5."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from socket import socket

from datasmith.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
HEAD, OTHER = "127.0.0.2", "127.0.0.3"
"""An address for each node: all of 127.0.0.0/8 is this machine."""
SMALL = (
    "--num-cpus=1",
    "--object-store-memory=80000000",
    "--min-worker-port=0",
    "--max-worker-port=0",
    "--include-log-monitor=false",
    "--disable-usage-stats",
    "--block",
)
QUIET = {
    "RAY_AUTH_MODE": "token",
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_worker_niceness": "0",
}
"""A token, no workers in advance, and workers as fast as anybody."""


@dataclass(frozen=True)
class RayCluster:
    """Where the cluster listens, what a driver's environment needs, and the cache of the engine on its nodes."""

    address: str
    variables: Mapping[str, str] = field(repr=False)
    cache: Path


@contextmanager
def two_nodes(cache: Path) -> Iterator[RayCluster]:
    """The head has the tag docker, the other node docker and bench; both are `ray start`, as everybody runs it.

    They end with the body. Who lacks the token is refused.
    """
    variables = {**QUIET, "RAY_AUTH_TOKEN": token_hex(32)}
    ours = {"DATABASE_URL", *(f"FC_{name.upper()}" for name in Settings.model_fields)} - {"FC_INDEX_URL"}
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    env = {**inherited, **variables, "PYTHONPATH": str(ROOT)}
    env |= {"FC_CACHE_DIR": str(cache), "FC_ENGINE": "bubblewrap"}
    port = _free_port(HEAD)
    with ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="fcr-"))  # short: it holds sockets
        first = ["--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={place}"]
        stack.enter_context(_node(first, HEAD, {"docker": 1}, env))
        stack.enter_context(_node([f"--address={HEAD}:{port}"], OTHER, {"docker": 1, "bench": 1}, env))
        yield RayCluster(f"{HEAD}:{port}", variables, cache)


@contextmanager
def _node(words: list[str], host: str, tags: Mapping[str, int], env: Mapping[str, str]) -> Iterator[None]:
    """One node, from the moment that it is up: two that start at once would take each other's sockets.

    It ignores Ctrl-C, as whatever a script starts in the background does, and ends when we are killed.
    """
    own = [f"--node-ip-address={host}", f"--dashboard-agent-listen-port={_free_port(host)}"]
    ignores_ctrl_c = ["setpriv", "--pdeathsig", "TERM", "sh", "-c", "trap '' INT; exec \"$@\"", "node"]
    ray_start = [sys.executable, "-m", "ray.scripts.scripts", "start", *words, *SMALL, *own]
    command = [*ignores_ctrl_c, *ray_start, f"--resources={json.dumps(tags)}"]
    pipe = subprocess.PIPE
    node = subprocess.Popen(command, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    assert node.stdout is not None
    try:
        told = ""
        for line in node.stdout:
            told += line
            if "Ray runtime started" in line:
                break
        else:
            raise RuntimeError(f"no node of Ray came up on {host}: {told[-2000:]}")
        yield
    finally:
        node.terminate()
        node.communicate(timeout=60)


def _free_port(host: str) -> int:
    with socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
