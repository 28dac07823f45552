"""Where the real data is that some tests read; it lies beside the checkout and is no part of it."""

import os
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / "../shared/data"


def real_data(name: str = "") -> Path:
    """The directory, or a file in it; without it the test is skipped, but under CI, where it then fails."""
    path = DATA / name
    if not path.exists() and not os.environ.get("CI"):
        pytest.skip(f"../shared/data/{name} is not beside the checkout")
    return path
