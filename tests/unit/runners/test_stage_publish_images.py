"""Stage 6 with a registry: a push that fails fails its item, and nothing says that it was published."""

from functools import partial
from pathlib import Path

import polars as pl
import pytest

from datasmith.docker.engine import ImageRef
from datasmith.publish.images import PUBLISHED, ImagePublisher
from datasmith.publish.registry import Pauses
from datasmith.runners.order import Order
from datasmith.runners.publish import PublishRunner
from datasmith.settings import Settings
from datasmith.storage.sql import SqlStore
from datasmith.tasks.task import Task
from tests.clones import Clone
from tests.loopback.registry import free_port, registry
from tests.sandboxes import embedded_engine, tree_image
from tests.unit.runners.orders import made
from tests.unit.runners.staged import KEY, NOW, OPTIONS, done, entered, states
from tests.unit.runners.test_stages import synthesised, tasks_of
from tests.unit.tasks.samples import certificate

pytestmark = pytest.mark.engine


def with_image(image: ImageRef, order: Order) -> Task:
    """A certified task of that image for pull request 5; the others have an image that no engine holds."""
    task = made(order)
    if order.pr.issue_number != 5:
        return task
    proof = certificate(task.task_id, image.digest)
    return task.model_copy(update={"image_digest": image.digest, "certificate": proof})


def test_a_push_that_fails_fails_the_item(tmp_path: Path) -> None:
    """No registry, no image: both items fail and stay unpublished; later the one that arrives is published."""
    store, clone = SqlStore(), Clone(tmp_path / "calc")
    store.migrate()
    clone.merge(2, "Speed up everything")
    clone.merge(5, "perf: cache more")
    engine = embedded_engine(tmp_path / "cache")
    (tmp_path / "work").mkdir()
    image = tree_image(engine, tmp_path / "work", {"a.py": b"x = 1\n"})
    synthesised(store, entered(store, clone, 5), tmp_path, partial(with_image, image))

    def publish(port: int) -> None:
        settings = Settings(registries=f"127.0.0.1:{port}/formulacode", cache_dir=tmp_path / "cache")
        images = ImagePublisher(settings, lambda: engine, pauses=Pauses(sleep=lambda _seconds: None))
        done(PublishRunner(store, KEY, OPTIONS, data_dir=tmp_path, images=images))

    publish(free_port())
    assert "holds no image" in states(store, 6)["2"] and "no answer" in states(store, 6)["5"]
    assert all(state.startswith("failed PublishError:") for state in states(store, 6).values())
    assert tasks_of(tmp_path / "dataset/tasks") == []
    assert [row["published_at"] for row in store.select("pull_requests", {})] == [None, None]
    for number in (2, 5):
        store.record(KEY, 6, [(f"acme/calc:{number}", "pull_request", "pending", "")], NOW)
    with registry(tmp_path / "registry") as port:
        publish(port)
    assert states(store, 6)["5"] == "passed" and states(store, 6)["2"].startswith("failed")
    assert (tmp_path / "dataset/tasks/acme_calc_5" / PUBLISHED).is_file()
    (row,) = store.select("pull_requests", {"issue_number": 5})
    assert str(row["container_name"]).startswith(f"127.0.0.1:{port}/formulacode/all:acme-calc-")
    assert row["image_digest"] == image.digest and row["published_at"]
    (record,) = pl.read_parquet(tmp_path / "dataset/tasks.parquet").to_dicts()
    assert record["container_name"] == row["container_name"]
