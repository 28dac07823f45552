"""What a command writes comes out, however Python was started."""

import subprocess
import sys

import pytest

SAYS = """
import os, sys
from datasmith.standard_streams import standard_streams
with standard_streams():
    print("a line", file=sys.{stream})
    os._exit(0)
"""


@pytest.mark.parametrize(
    ("options", "stream"),
    [([], "stderr"), (["-u"], "stderr"), (["-u"], "stdout")],
)
def test_a_line_is_out_when_it_is_written(options: list[str], stream: str) -> None:
    """Nothing that ends the process, and nobody who holds the stream beyond the command's end, can keep it back."""
    words = [sys.executable, *options, "-c", SAYS.format(stream=stream)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert getattr(done, stream) == "a line\n"
