"""What is taken from uv's output; the calls themselves are in tests/integration/test_resolution.py."""

import os

from datasmith.process import find_uv
from datasmith.resolution.uv import pins_of

LOCK = """--only-binary :all:

numpy==1.26.4 \\
    --hash=sha256:00 \\
    --hash=sha256:11
attrs==23.2.0 ; python_version < "4" \\
    --hash=sha256:22
"""


def test_pins_are_names_and_versions_in_order() -> None:
    """Options, hashes and markers are not part of a pin."""
    assert pins_of(LOCK) == ("attrs==23.2.0", "numpy==1.26.4")


def test_uv_is_found_and_can_be_run() -> None:
    """It comes with this package, or lies on the PATH."""
    assert os.access(find_uv(), os.X_OK)
