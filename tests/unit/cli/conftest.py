"""What the tests of the commands share."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def hangs_up() -> Iterator[None]:
    """SIGHUP is nobody's here, as in a terminal; below nohup it is ignored, and so it is by what tests start."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
