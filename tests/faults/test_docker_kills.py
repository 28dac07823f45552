"""kill -9 of a process that works with Docker: the next one deletes its containers and images, and nobody else's."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.cli_owner import OWNER_LABEL
from tests.support.base_image import ensure_base_image

pytestmark = [pytest.mark.engine, pytest.mark.docker]
CHILD = """
import sys, time
from datasmith.docker.cli_engine import CliEngine
engine = CliEngine("docker", base_image=sys.argv[1])
image = engine.inspect(sys.argv[1])
frozen, running = engine.start(image).freeze(), engine.start(image)
print("ready", flush=True)
time.sleep(600)
"""


def owned() -> dict[str, set[str]]:
    """Ids of the containers and images that bear an owner's name."""
    chosen = ["--no-trunc", "--quiet", "--filter", f"label={OWNER_LABEL}"]
    listings = {"containers": ["ps", "--all"], "images": ["images"]}
    return {kind: set(process.run(["docker", *words, *chosen]).text.split()) for kind, words in listings.items()}


def test_what_a_killed_process_left_is_deleted(tmp_path: Path) -> None:
    """Two containers and a committed image; those of a living process stay, while it lives."""
    base = ensure_base_image(tmp_path)
    engine = CliEngine("docker", base_image=base)
    image = engine.inspect(base)
    assert image
    with engine.start(image):
        before = owned()
        child = subprocess.Popen([sys.executable, "-c", CHILD, base], stdout=subprocess.PIPE, text=True)
        assert child.stdout and child.stdout.readline() == "ready\n"
        left = owned()
        assert len(left["containers"] - before["containers"]) == 2 and len(left["images"] - before["images"]) == 1
        engine.check()
        assert owned() == left
        child.send_signal(signal.SIGKILL)
        child.wait()
        engine.check()
        assert owned() == before
    assert len(before["containers"] - owned()["containers"]) == 1
