"""What is special about Ray: who is told what is missing, tags choose nodes, errors keep their class on the way."""

import pickle
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from datasmith.errors import BuildFailed, ConfigError, DatasmithError, InvalidTask, RateLimited, SchemaMismatch
from datasmith.executors.ray import RayExecutor
from tests.conformance.placed import Job, meets, node_of, refused
from tests.support.ray_cluster import HEAD, OTHER, RayCluster


def test_without_an_address_the_setting_is_named() -> None:
    """With an example of its value."""
    with pytest.raises(ConfigError, match=r"FC_RAY_ADDRESS.*example: FC_RAY_ADDRESS="):
        RayExecutor("")


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, without a traceback of an import."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[ray\]'"):
        RayExecutor("127.0.0.1:6379")


@pytest.mark.parametrize("address", ["closed", "localhost", "localhost:port"])
def test_an_address_where_nobody_answers_is_told_at_once(address: str) -> None:
    """Ray itself would try for a minute."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{probe.getsockname()[1]}"
        asked = closed if address == "closed" else address
        with pytest.raises(ConfigError, match=f"FC_RAY_ADDRESS={asked}: .*example: FC_RAY_ADDRESS=") as told:
            RayExecutor(asked)
    assert "\n" not in str(told.value)


def test_tags_choose_the_nodes(ray_cluster: RayCluster, tmp_path: Path) -> None:
    """What needs bench runs where it is offered, and nowhere else; as many at once as nodes have all the tags."""
    executor = RayExecutor(ray_cluster.address)
    jobs = [Job(number, tmp_path) for number in range(4)]

    async def go(*needs: str) -> list[str]:
        return await executor.map(node_of, jobs, n_concurrent=4, needs=needs)

    assert set(anyio.run(go, "docker", "bench")) == {OTHER}
    assert set(anyio.run(go, "docker")) <= {HEAD, OTHER}
    assert (executor.places(()), executor.places(("docker",)), executor.places(("docker", "bench"))) == (2, 2, 1)
    executor.close()


def test_a_tag_that_no_node_has_is_named(ray_cluster: RayCluster, tmp_path: Path) -> None:
    """With the words that start a node which has it; before, a call would wait for ever."""
    executor = RayExecutor(ray_cluster.address)

    async def go() -> None:
        await executor.map(meets, [Job(0, tmp_path)], n_concurrent=1, needs=("docker", "gpu"))

    with pytest.raises(ConfigError, match=r"has the tag gpu \(example: ray start .*\"gpu\": 1"):
        anyio.run(go)
    executor.close()


def test_errors_of_ours_come_back_as_they_are(ray_cluster: RayCluster, tmp_path: Path) -> None:
    """Their class decides the exit code, and whether an outage is tried again."""
    executor = RayExecutor(ray_cluster.address)

    async def go() -> None:
        await executor.map(refused, [Job(7, tmp_path)], n_concurrent=1)

    with pytest.raises(RateLimited, match="job 7") as raised:
        anyio.run(go)
    executor.close()
    assert raised.value.resets_at == datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("slow down", datetime(2026, 3, 1, tzinfo=UTC)),
        SchemaMismatch("0001", "0002"),
        BuildFailed("pkg", 2, "no compiler"),
        InvalidTask(["a", "b"]),
        ConfigError("FC_X"),
    ],
)
def test_every_error_can_be_sent(error: DatasmithError) -> None:
    """With its message and its facts, whatever its constructor takes."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)
